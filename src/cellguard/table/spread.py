"""How contributions of either sign spread: extremes, sums of squares, medians and entropy, from one sorted pass.

With y_(1), y_(2), ... in the order of falling |y| and lo the lower median, all sums run over u = y - lo, exact in whole
steps. So equal contributions have a spread of exactly 0, and no sum of squares is the difference of two large
ones: that of the rest without the h first is added up over the rest, about the rest's own mean.

Of +v and -v either may be the h-th. The sum of squares of what is left, as a function of how many of the equally far
positive ones are taken, is concave, so that its smallest value is at an end: positive ones first, or negative ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.table.unit_grid import Grid, Wholes


@dataclass(frozen=True, eq=False)
class Spread:
    """One row per cell of what `signed_facts` says; ``squares`` has one column more than ``extremes``."""

    extremes: FloatArray
    squares: FloatArray
    middle: FloatArray
    entropy: FloatArray


def spread_of(start: LongArray, value: Wholes, *, extremes: int, grid: Grid) -> Spread:
    """Return the spread of cells whose contributions, in steps of ``grid``, lie from ``start[i]`` to ``start[i + 1]``.

    No cell may be empty. Contributions of one cell are in the order of their holdings.

    >>> cell = spread_of(np.array([0, 3]), np.array([1, -10, 3]), extremes=1, grid=Grid())
    >>> cell.extremes.tolist(), cell.squares.tolist(), cell.middle.tolist()
    ([[-10.0]], [[98.0, 2.0]], [[1.0, 3.0, 125.0]])
    """
    first, many = start[:-1], np.diff(start)
    if not len(first):
        nothing = np.zeros((0, extremes))
        return Spread(nothing, np.zeros((0, extremes + 1)), np.zeros((0, 3)), np.zeros(0))
    cell = np.repeat(np.arange(len(first)), many)
    rank = np.arange(len(value)) - first[cell]
    rising = value[np.lexsort((value, cell))]
    low, high = rising[first + (many - 1) // 2], rising[first + many // 2]
    off = value - low[cell]  # u
    middle = (high - low) / 2.0  # the median less lo
    size = np.abs(value)
    falling = np.lexsort((-size, cell))
    orders = [np.lexsort((-sign * np.sign(value), -size, cell)) for sign in (1, -1)]
    squares = np.minimum(*(_squares(off[order].astype(float), first, rank, extremes) for order in orders))
    farther = (low + high) > 0  # from a positive median the negative ones are farther
    ends = [_first(value[order], start, extremes) for order in orders]
    step = float(grid.floats(np.ones(1, np.int64))[0])
    sizes = size[falling]
    half = grid.floats(sizes[first + (many - 1) // 2]) / 2 + grid.floats(sizes[first + many // 2]) / 2
    about = np.add.reduceat((off - middle[cell]) ** 2, first) * step**2
    median = grid.floats(low) / 2 + grid.floats(high) / 2
    return Spread(
        grid.floats(np.where(farther[:, None], ends[1], ends[0])),
        squares * step**2,
        np.stack([median, half, about], axis=1),
        _entropy(size.astype(float), first, cell),
    )


def _squares(off: FloatArray, first: LongArray, rank: LongArray, extremes: int) -> FloatArray:
    """Return the sums of squares about the mean without the 0, 1, ... first; 0 where fewer than two are left."""
    many = np.diff(first, append=len(off))
    cell = np.repeat(np.arange(len(first)), many)
    squares = np.zeros((len(first), extremes + 1))
    for gone in range(extremes + 1):
        left: BoolArray = rank >= gone
        mean = np.add.reduceat(np.where(left, off, 0.0), first) / np.maximum(many - gone, 1)
        squares[:, gone] = np.add.reduceat(np.where(left, (off - mean[cell]) ** 2, 0.0), first)
    return squares


def _first(value: Wholes, start: LongArray, extremes: int) -> Wholes:
    """Return the first contributions of each cell, 0 where there are fewer."""
    ends = np.zeros((len(start) - 1, extremes), np.int64)
    for rank in range(extremes):
        there = start[:-1] + rank < start[1:]
        ends[there, rank] = value[start[:-1][there] + rank]
    return ends


def _entropy(size: FloatArray, first: LongArray, cell: LongArray) -> FloatArray:
    whole = np.add.reduceat(size, first)[cell]
    share = np.divide(size, whole, out=np.ones(len(size)), where=size > 0)
    return np.maximum(np.add.reduceat(-share * np.log2(share), first), 0.0)
