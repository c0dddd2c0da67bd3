"""What compiled code is chosen by: the exact types of a call's arguments.

Code compiled ahead of time reads arrays as what it was compiled for, without a look at what they are: of another type
it would read other memory. So a description has everything that the compiled code depends on, and only a call of
exactly the same description may reach it.
"""

# ruff: noqa: ANN401 - kernels take anything
from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np

Description = tuple[Any, ...]

_LAYOUT = 0x1 | 0x100 | 0x400  # of `ndarray.flags.num`: in C order, aligned, writeable
_ALIGNED, _WRITEABLE = 0x100, 0x400
_SCALARS = {
    bool: "bool", np.bool_: "bool", int: "int", float: "float", np.float64: "float",
    np.int64: "int", np.int32: "int", np.int16: "int", np.int8: "int", np.uint8: "int", np.uint16: "int",
    np.uint32: "int", np.longlong: "int", np.intc: "int",
}  # fmt: skip


def describe(args: Iterable[Any]) -> Description:
    """Return what the types of some arguments are; of what no compiled code takes, an object equal to nothing else.

    >>> describe((np.zeros(3), 2, True)) == describe((np.ones(7), 5, False))
    True
    >>> describe((np.zeros(3),)) == describe((np.zeros(3, np.float32),))
    False
    """
    parts: list[Any] = []
    for arg in args:
        kind = type(arg)
        if kind is np.ndarray:
            parts.append((arg.dtype, arg.ndim, arg.flags.num & _LAYOUT))
        elif kind in _SCALARS:
            parts.append(_SCALARS[kind])
        elif isinstance(arg, tuple):
            parts.append((kind, describe(arg)))
        else:
            parts.append(object())
    return tuple(parts)


def write(description: Description) -> str | None:
    """Return a description as text, None if compiled code takes no such arguments.

    >>> write(describe((np.zeros((3, 2)), 1, (np.zeros(4, np.int32)[::2], 2.0))))
    'float64[2]C int (int32[1]A float)'
    """
    words = [_word(part) for part in description]
    return None if None in words else " ".join(map(str, words))


def _word(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if not isinstance(part, tuple):
        return None
    if isinstance(part[0], type):
        kind, inner = part
        written = write(inner)
        name = "" if kind is tuple else f"{kind.__module__}:{kind.__qualname__}"
        return None if written is None else f"{name}({written})"
    dtype, dimensions, layout = part
    if not (layout & _ALIGNED and dtype.isnative and dtype.kind in "biuf"):
        return None
    return f"{dtype.name}[{dimensions}]{'C' if layout & 1 else 'A'}{'' if layout & _WRITEABLE else 'r'}"


def read(text: str) -> Description:
    """Return the description that a text stands for.

    >>> call = (np.zeros((3, 2)), 1, (np.zeros(4, np.int32)[::2], 2.0))
    >>> read("float64[2]C int (int32[1]A float)") == describe(call)
    True
    """
    stack: list[tuple[str, list[Any]]] = [("", [])]
    for word in text.replace("(", "( ").replace(")", " )").split():
        if word.endswith("("):
            stack.append((word[:-1], []))
        elif word == ")":
            name, inner = stack.pop()
            stack[-1][1].append((_class(name), tuple(inner)))
        elif "[" in word:
            name, _, rest = word.partition("[")
            dimensions, _, layout = rest.partition("]")
            flags = _ALIGNED | (layout[0] == "C") | (0 if layout.endswith("r") else _WRITEABLE)
            stack[-1][1].append((np.dtype(name), int(dimensions), flags))
        else:
            stack[-1][1].append(word)
    return tuple(stack[0][1])


def _class(name: str) -> type:
    if not name:
        return tuple
    module, _, qualified = name.partition(":")
    found: type = getattr(import_module(module), qualified)
    return found
