"""Kernels: functions on flat arrays that run compiled, or as plain Python where that is cheap; with equal results.

A call from outside goes the first of these ways that is open:

1. to code compiled ahead of time, if the installation has it for exactly these types (`extension`);
2. interpreted, while it is small and what was interpreted of this kernel so far took less than loading would;
3. compiled as it runs, if numba is installed;
4. interpreted.

Calls of one kernel by another stay on the way of the first. A kernel keeps to what means the same on all ways: sums
are loops, functions are those of `math`, lists have a typed first element, sorting is stable.
"""

# ruff: noqa: ANN401 - kernels take and give anything
from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, overload

import numpy as np

from cellguard.errors import InputError
from cellguard.kernels import extension
from cellguard.kernels.signature import Description, describe, write
from cellguard.kernels.store import store

SMALL = 5_000  # elements of the arrays up to which a call may be interpreted although it could be compiled
STORED_AFTER = 0.03  # seconds of interpreting after which code that is stored is loaded
COMPILE_AFTER = 0.5  # ... after which code is compiled
PER_ELEMENT = 1e-6  # seconds that interpreting takes per element, until a call was timed

WAYS = ("auto", "extension", "numba", "python")
SLOW_AFTER = 3.0  # seconds of interpreting after which it is said that this is slow
KERNELS: dict[str, Kernel] = {}  # by module and name


class _Here(threading.local):
    inside = False  # whether this thread interprets a kernel


_here = _Here()


@dataclass
class Ways:
    """Which way calls go: the first that is open, or the same for all (for tests and measurements); and who listens."""

    way: str = "auto"
    heard: Callable[[str, Description], None] | None = None  # hears each call from outside
    compiling: Callable[[], None] | None = None  # is called before code is compiled
    slow: Callable[[], None] | None = None  # is called once interpreting took long, and nothing can compile
    interpreted: float = 0.0  # seconds


def _asked() -> str:
    way = os.environ.get("CELLGUARD_KERNELS") or "auto"
    if way not in WAYS:
        raise InputError(f"CELLGUARD_KERNELS is {way!r}; it must be one of {', '.join(WAYS)}")
    return way


ways = Ways(_asked())


class Kernel:
    """A function with all its ways; see the module."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self.options = function, options
        self.name = f"{function.__module__.removeprefix('cellguard.')}.{function.__name__}"
        self._spent, self._rate, self._compiled = 0.0, PER_ELEMENT, False
        KERNELS[self.name] = self

    def __call__(self, *args: Any) -> Any:
        """Run the kernel the cheapest way."""
        if _here.inside:
            return self.py_func(*args)
        description = describe(args)
        if ways.heard:
            ways.heard(self.name, description)
        if ways.way in ("auto", "extension"):
            built = self.built.get(description)
            if built is not None:
                return built(*args)
            if ways.way == "extension":
                raise LookupError(f"{self.name} is not compiled ahead of time for {write(description)}")
        if ways.way == "numba" or (ways.way == "auto" and (self._compiled or self._is_long(args))):
            self._compiled |= ways.way == "auto"
            return self.dispatcher(*args)
        return self._interpret(args)

    @functools.cached_property
    def built(self) -> dict[Description, Callable[..., Any]]:
        """What was compiled ahead of time, by the types that it takes."""
        return extension.functions(self.name)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """What compiles the kernel as it runs, and keeps the code for the next run."""
        numba = _numba()
        folder = store(extension.stamp())
        options = {**self.options, **({"inline": "always"} if self.options.get("inline") else {})}
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(folder or "")
        try:
            return numba.njit(cache=folder is not None, **options)(self.py_func)
        finally:
            numba.config.CACHE_DIR = before

    @property
    def _numba_type_(self) -> Any:
        """What numba sees in a kernel that another one calls."""
        return _numba().types.Dispatcher(self.dispatcher)

    def _is_long(self, args: tuple[Any, ...]) -> bool:
        """Tell whether to compile rather than interpret."""
        if not has_numba():
            return False
        elements = _elements(args)
        limit = STORED_AFTER if self._is_stored() else COMPILE_AFTER
        return elements > SMALL or self._spent + self._rate * elements > limit

    def _is_stored(self) -> bool:
        module, _, function = self.name.rpartition(".")
        return f"{module.rpartition('.')[2]}.{function}" in _stored()

    def _interpret(self, args: tuple[Any, ...]) -> Any:
        _here.inside = True
        start = time.perf_counter()
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="raise", under="ignore"):
                return self.py_func(*args)
        finally:
            _here.inside = False
            took, elements = time.perf_counter() - start, _elements(args)
            self._spent += took
            ways.interpreted += took
            if ways.slow and ways.interpreted > SLOW_AFTER and not has_numba():
                ways.slow()
            if elements > 100:
                self._rate = max(self._rate / 2, took / elements)


@overload
def kernel(function: Callable[..., Any]) -> Kernel: ...
@overload
def kernel(*, nogil: bool = False, inline: bool = False) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(function: Any = None, **options: bool) -> Any:
    """Make a function a kernel; ``nogil`` lets other threads run beside it, ``inline`` puts it into those that call it.

    >>> @kernel
    ... def twice(x):
    ...     return 2 * x
    >>> twice(3)
    6
    """
    return Kernel(function, {}) if function else lambda made: Kernel(made, options)


@functools.cache
def has_numba() -> bool:
    """Tell whether kernels can be compiled as they run."""
    return find_spec("numba") is not None


@functools.cache
def _numba() -> Any:
    import numba
    from numba.core import event

    class Compiling(event.Listener):
        def on_start(self, event: Any) -> None:
            if ways.compiling:
                ways.compiling()

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Compiling())  # type: ignore[no-untyped-call]
    return numba


@functools.cache
def _stored() -> frozenset[str]:
    """Return the kernels, by file and name, of which compiled code is stored."""
    folder = store(extension.stamp())
    return frozenset(found.name.partition("-")[0] for found in folder.glob("*/*.nbi")) if folder else frozenset()


def _elements(args: tuple[Any, ...]) -> int:
    total = 0
    for arg in args:
        if isinstance(arg, np.ndarray):
            total += arg.size
        elif isinstance(arg, tuple):
            total += _elements(arg)
    return total
