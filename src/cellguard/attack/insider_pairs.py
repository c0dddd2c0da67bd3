"""Insiders and unsafe cells: how far a cell must move for somebody, and how far it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cellguard.arrays import BoolArray, LongArray, Positions
from cellguard.proofs.levels import Level, Levels
from cellguard.proofs.moves import Move

Entry = tuple[int, frozenset[int], int]  # how far a move takes a cell, who notices it, and its number


class Hint(NamedTuple):
    """A move, and the unsafe cells that it helps to prove: both are looked at like any others, and no more believed."""

    move: Move
    cells: Positions


class OpenLevels(NamedTuple):
    """Insiders against whom a cell may not be proven yet: its protection level, and what it has."""

    who: LongArray
    asked: Levels[LongArray]
    down: LongArray
    up: LongArray

    def take(self, some: BoolArray | slice) -> OpenLevels:
        """Return some of the insiders."""
        return OpenLevels(self.who[some], self.asked.take(some), self.down[some], self.up[some])


NONE_OPEN = OpenLevels(np.zeros(0, np.int64), Levels.none(0), *(np.zeros(0, np.int64),) * 2)


class Reached(NamedTuple):
    """One insider: how far a cell must move down, up and either way, and how far it does."""

    who: int
    asked: Level
    down: int
    up: int

    @property
    def short(self) -> bool:
        """Whether that is not far enough."""
        return self.down < self.asked.down or self.up < self.asked.up or self.down + self.up < self.asked.width

    def helped_by(self, entry: Entry) -> bool:
        """Return whether a move goes further, where that is not far enough, without being noticed."""
        reach, notices, _ = entry
        slides = self.down + self.up < self.asked.width
        up, down = self.up < self.asked.up or slides, self.down < self.asked.down or slides
        return ((up and reach > self.up) or (down and -reach > self.down)) and self.who not in notices


def listed(some: Sequence[Reached]) -> OpenLevels:
    """Return the same, by columns."""
    who, down, up = (np.array(column, np.int64) for column in zip(*((s.who, s.down, s.up) for s in some), strict=True))
    return OpenLevels(who, Levels.of_rows([one.asked for one in some]), down, up)


class Pair(NamedTuple):
    """An insider, an unsafe cell, the way that it does not move far enough (1 up, -1 down, 0 either) and the amount.

    ``others`` are respondents who tell the insider what they contribute.
    """

    insider: int
    cell: int
    sign: int
    amount: int
    others: tuple[int, ...] = ()

    @property
    def members(self) -> tuple[int, ...]:
        """The insider and all who tell it more."""
        return (self.insider, *self.others)


def way_of(open_: OpenLevels) -> tuple[int, int]:
    """Return which way to go next for some insiders, 1 up, -1 down or 0 either, and how far."""
    up, down = open_.asked.up > open_.up, open_.asked.down > open_.down
    if up.any():
        return 1, int(open_.asked.up[up].max())
    if down.any():
        return -1, int(open_.asked.down[down].max())
    return 0, int(open_.asked.width.max())
