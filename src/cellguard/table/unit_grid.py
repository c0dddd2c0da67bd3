"""Whole numbers that stand for values, so that sums are exact and do not depend on their order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cellguard.arrays import FloatArray
from cellguard.errors import InputError

Wholes = npt.NDArray[np.int64]
_MOST_DECIMALS = 6
_BITS = 62
_SAMPLE = 1000
_PART = 1 << 16


@dataclass(frozen=True, slots=True)
class Grid:
    """Steps on which values lie: 10^-decimals, or 2^-bits for values that have no few decimals."""

    decimals: int = 0
    bits: int = 0

    def floats(self, wholes: Wholes, out: FloatArray | None = None) -> FloatArray:
        """Return the values that whole numbers of steps stand for."""
        if self.bits:
            return np.asarray(np.ldexp(wholes.astype(np.float64), -self.bits, out=out))
        return np.asarray(np.divide(wholes, 10.0**self.decimals, out=out))

    def wholes(self, values: FloatArray) -> Wholes:
        """Return the values in whole steps, rounded to the nearest."""
        steps = np.empty(len(values), np.int64)
        for part in _parts(values):
            scaled = np.ldexp(values[part], self.bits) if self.bits else values[part] * 10.0**self.decimals
            steps[part] = np.rint(scaled, out=scaled)
        return steps


def grid_of(values: FloatArray) -> Grid:
    """Return the grid on which values are exact: that of their last decimal, where they have six at most.

    Otherwise it is the finest binary one on which the sum of all still fits into 61 bits: a value is then off by at
    most 2^-61 of the sum of all, and sums are as exact as ever.

    >>> grid_of(np.array([1.25, 3.0])), grid_of(np.array([0.1, 1 / 3])).bits > 50
    (Grid(decimals=2, bits=0), True)
    """
    size = _size(values)
    for decimals in range(_MOST_DECIMALS + 1):
        if size * 10.0**decimals >= 2.0**_BITS:
            break
        if _lie_on(values[:_SAMPLE], decimals) and all(_lie_on(values[part], decimals) for part in _parts(values)):
            return Grid(decimals)
    return binary_grid(values, _BITS - 1)


def binary_grid(values: FloatArray, bits: int) -> Grid:
    """Return the finest grid of a power of two on which the sum of all sizes has so many bits, whatever their order.

    >>> binary_grid(np.array([0.75, -0.5]), 52)
    Grid(decimals=0, bits=51)
    """
    size = _size(values)
    if math.frexp(size * (1 - 1e-9))[1] != math.frexp(size * (1 + 1e-9))[1]:
        size = math.fsum(np.abs(values).tolist())  # next to a power of two, where the order of adding must not decide
    return Grid(bits=bits - math.frexp(size)[1])


def _size(values: FloatArray) -> float:
    with np.errstate(over="ignore"):
        size = float((values if values.min(initial=0.0) >= 0 else np.abs(values)).sum())
    if not math.isfinite(size):
        raise InputError("the values are too large to be added up; give them in larger units, for instance in millions")
    return size


def _parts(values: FloatArray) -> Iterator[slice]:
    """Cut values into parts that stay in the processor's memory, and need little of their own beside it."""
    return (slice(begin, begin + _PART) for begin in range(0, len(values), _PART))


def _lie_on(values: FloatArray, decimals: int) -> bool:
    """Return whether all values are multiples of the last decimal, but for the dust of floating point."""
    scaled = values * 10.0**decimals
    off = np.abs(scaled - np.rint(scaled))
    return bool((off <= 1e-7 + 1e-15 * np.abs(scaled)).all())
