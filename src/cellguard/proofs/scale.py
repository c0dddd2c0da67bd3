"""The numbers that keep programs well scaled, once for all who build them.

A solver works to about 1e-9 of the numbers it sees, so that a program is divided by the size that matters in it, and
whatever lies many orders of magnitude beside that size is cut off: above, which only shortens moves, and below, which
only makes fewer cells move. Either way a move of the cut program is a move.
"""

from __future__ import annotations

import numpy as np

from cellguard.arrays import FloatArray, LongArray, Positions

DECADE = 13  # sizes within a factor of 2**13 share a program: the smallest is 2**17 times what a solver resolves
WIDE = 2.0**22  # bounds wider than this many times the scale are cut off
FARTHEST = 2.0**52  # and so are longer ones in grains, which would not add up within int64
NARROW = 2.0**-17  # cells that can only move by this share of the scale do not move
UNLIMITED = 2**62  # the room, in grains, of a cell without a bound
PROPAGATION = 50  # rounds in which relations narrow each other's bounds, at most
NEAR, NEARLY = 1e-6, 1e-9  # what a solver's number may be off: so many grains, and this share of the number


def hair(amount: FloatArray | float) -> FloatArray | float:
    """Return by how much a solver's number may differ from the exact one."""
    return NEAR + NEARLY * np.abs(amount)


def as_floats(room: LongArray) -> FloatArray:
    """Return room in whole grains as floating-point numbers, infinite where there is no bound.

    >>> as_floats(np.array([3, UNLIMITED])).tolist()
    [3.0, inf]
    """
    return np.where(room >= UNLIMITED, np.inf, room.astype(float))


def power_of_two(size: float) -> float:
    """Return the power of two nearest to a size: dividing by it loses no digit.

    >>> power_of_two(1000.0)
    1024.0
    """
    return float(2.0 ** np.round(np.log2(size)))


def decades(sizes: FloatArray | LongArray) -> list[Positions]:
    """Group sizes of like magnitude, the smallest first: a program resolves only so many orders of it.

    >>> [group.tolist() for group in decades(np.array([1.0, 1e9, 5.0]))]
    [[0, 2], [1]]
    """
    decade = np.floor(np.log2(np.maximum(sizes, 1)) / DECADE).astype(int)
    return [np.flatnonzero(decade == d) for d in np.unique(decade)]
