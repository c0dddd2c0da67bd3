"""Protection levels: how far an attacker's interval must reach below and above a value, and how wide it must be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions

A = TypeVar("A", LongArray, FloatArray)


class Level(NamedTuple):
    """The protection levels of one cell."""

    down: int
    up: int
    width: int


@dataclass(frozen=True, slots=True, eq=False)
class Levels(Generic[A]):
    """One entry per cell, 0 where nothing is asked for: ``down`` and ``up`` from the value, ``width`` from end to end.

    They are counted in grains; of merged cells in floating-point numbers, since programs are.

    >>> levels = Levels(np.array([2, 0]), np.array([3, 0]), np.array([0, 1]))
    >>> levels.most().tolist(), levels.short_of(np.array([2, 0]), np.array([2, 1])).tolist()
    ([3, 1], [True, False])
    """

    down: A
    up: A
    width: A

    @staticmethod
    def none(cells: int) -> Levels[LongArray]:
        """Return levels of cells of which nothing is asked."""
        zero = np.zeros(cells, np.int64)
        return Levels(zero, zero, zero)

    @staticmethod
    def of_rows(rows: Sequence[tuple[int, int, int]]) -> Levels[LongArray]:
        """Return the levels of cells from those of one after the other."""
        return Levels(*np.array(rows, np.int64).reshape(-1, 3).T)

    def rows(self) -> list[Level]:
        """Return the levels cell by cell."""
        return [Level(*row) for row in zip(self.down.tolist(), self.up.tolist(), self.width.tolist(), strict=True)]

    def take(self, cells: Positions | BoolArray | slice) -> Levels[A]:
        """Return the levels of some cells."""
        return Levels(self.down[cells], self.up[cells], self.width[cells])

    def map(self, change: Callable[[A], A]) -> Levels[A]:
        """Return the levels with a change that is the same for all three."""
        return Levels(change(self.down), change(self.up), change(self.width))

    def kept(self, cells: BoolArray) -> Levels[A]:
        """Return the levels without those of all but some cells."""
        return self.map(lambda level: level * cells)

    def most(self) -> A:
        """Return the largest of the three."""
        return np.maximum(np.maximum(self.down, self.up), self.width)

    def asked(self) -> BoolArray:
        """Return which cells have a protection level."""
        return np.asarray((self.down > 0) | (self.up > 0) | (self.width > 0), bool)

    def short_of(self, down: FloatArray | LongArray, up: FloatArray | LongArray, slack: float = 0) -> BoolArray:
        """Return which cells, as they can move so far, do not reach the request of them, but for some slack."""
        beyond = (self.up > up + slack) | (self.down > down + slack) | (self.width > down + up + slack)
        return np.asarray(beyond, bool)

    def largest(self, place: Positions, n: int, ahead: BoolArray | None = None) -> Levels[A]:
        """Return the largest levels of the cells at each of n places; up and down change sides unless it is ``ahead``.

        >>> here = Levels(np.array([1, 4]), np.array([3, 2]), np.array([0, 5]))
        >>> here.largest(np.array([0, 0]), 1, np.array([True, False])).rows()
        [Level(down=2, up=4, width=5)]
        """
        down, up, width = (np.zeros(n, self.down.dtype) for _ in range(3))
        same = np.ones(len(place), bool) if ahead is None else ahead
        np.maximum.at(down, place, np.where(same, self.down, self.up))
        np.maximum.at(up, place, np.where(same, self.up, self.down))
        np.maximum.at(width, place, self.width)
        return Levels(down, up, width)
