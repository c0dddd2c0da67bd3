"""Every call of a kernel made twice, compiled and interpreted on copies: results and what is written must be equal."""

from __future__ import annotations

from contextlib import contextmanager
from unittest import mock

import numpy as np

from cellguard.kernels.kernel import KERNELS, Kernel, ways


@contextmanager
def twins(first="extension", second="python", most=1_000_000):
    """Within it, calls go both ways; yield how many calls of each kernel were compared. Large ones go one way."""
    compared = dict.fromkeys(KERNELS, 0)
    call = Kernel.__call__

    def both(self, *args):
        from cellguard.kernels import kernel as module

        if module._here.inside or ways.way not in ("auto", first):
            return call(self, *args)
        copies = _copied(args)
        with mock.patch.object(ways, "way", first):
            found = call(self, *args)
        if _size(args) <= most:
            with mock.patch.object(ways, "way", second):
                other = call(self, *copies)
            compared[self.name] = compared.get(self.name, 0) + 1
            _equal(self.name, found, other)
            _equal(self.name, args, copies)
        return found

    with mock.patch.object(Kernel, "__call__", both):
        yield compared


def _copied(value):
    if isinstance(value, np.ndarray):
        made = np.empty_like(value) if value.flags.c_contiguous else np.repeat(value, 2, axis=-1)[..., ::2]
        made[...] = value
        made.flags.writeable = value.flags.writeable
        return made
    if isinstance(value, tuple):
        parts = [_copied(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _size(value):
    return sum(_size(part) for part in value) if isinstance(value, tuple) else getattr(value, "size", 1)


def _equal(name, one, other):
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype and one.shape == other.shape, f"{name}: {one.dtype} and {other.dtype}"
        assert one.tobytes() == other.tobytes(), f"{name}: other numbers"
    elif isinstance(one, tuple | list):
        assert len(one) == len(other), name
        for a, b in zip(one, other, strict=True):
            _equal(name, a, b)
    else:
        assert one == other or (one != one and other != other), f"{name}: {one} and {other}"
