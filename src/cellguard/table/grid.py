"""Whole numbers that stand for values, so that sums are exact and do not depend on their order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cellguard.table.facts import FloatArray

Wholes = npt.NDArray[np.int64]
_MOST_DECIMALS = 6
_LIMIT = 2.0**62
_SAMPLE = 1000


@dataclass(frozen=True, slots=True)
class Grid:
    """Steps on which values lie: 10^-decimals, or 2^-bits for values that have no few decimals."""

    decimals: int = 0
    bits: int = 0

    def floats(self, wholes: Wholes) -> FloatArray:
        """Return the values that whole numbers of steps stand for."""
        if self.bits:
            return np.ldexp(wholes.astype(np.float64), -self.bits)
        return wholes / 10.0**self.decimals

    def wholes(self, values: FloatArray) -> Wholes:
        """Return the values in whole steps, rounded to the nearest."""
        scaled = np.ldexp(values, self.bits) if self.bits else values * 10.0**self.decimals
        return np.rint(scaled).astype(np.int64)


def grid_of(values: FloatArray) -> Grid:
    """Return the grid on which values are exact: that of their last decimal, where they have six at most.

    Otherwise it is the finest binary one on which the sum of all still fits into 62 bits: a value is then off by at
    most 2^-62 of the sum of all, and sums are as exact as ever.

    >>> grid_of(np.array([1.25, 3.0])), grid_of(np.array([0.1, 1 / 3])).bits > 50
    (Grid(decimals=2, bits=0), True)
    """
    size = float(np.abs(values).sum())
    for decimals in range(_MOST_DECIMALS + 1):
        if size * 10.0**decimals >= _LIMIT:
            break
        if _lie_on(values[:_SAMPLE], decimals) and _lie_on(values, decimals):
            return Grid(decimals)
    return Grid(bits=int(np.floor(np.log2(_LIMIT / max(size, 1e-290)))) - 1)


def _lie_on(values: FloatArray, decimals: int) -> bool:
    """Tell whether all values are multiples of the last decimal, but for the dust of floating point."""
    scaled = values * 10.0**decimals
    off = np.abs(scaled - np.rint(scaled))
    return bool((off <= 1e-7 + 1e-15 * np.abs(scaled)).all())
