"""Exact moves, one by one and, by the ten thousand, in flat arrays.

A move d has M d = 0 for the relations M. It is kept as whole numbers over one denominator: d_v = n_v / q grains, so
that M n = 0 can be checked in int64 without rounding. A cell that moves by n / q moves by floor(|n| / q) whole grains
at least: only these count for a protection level.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cellguard.arrays import LongArray, Positions
from cellguard.proofs.made_items import MadeItems


@dataclass(frozen=True, eq=False)
class Move:
    """An exact move: variable v moves by n[v] / denominator grains; only variables that move are listed."""

    variables: Positions
    n: LongArray
    denominator: int

    @classmethod
    def of(cls, n: LongArray, denominator: int) -> Move:
        """Return the move by n / denominator of all variables."""
        moving = np.flatnonzero(n)
        return cls(moving, n[moving], denominator)

    @classmethod
    def of_some(cls, variables: Positions, n: LongArray) -> Move:
        """Return the move by n of these variables; the others stay fixed."""
        order = np.argsort(variables)
        order = order[n[order] != 0]
        return cls(variables[order], n[order], 1)

    def amount(self, variable: int) -> int:
        """Return the numerator of one variable's move."""
        place = np.flatnonzero(self.variables == variable)
        return int(self.n[place[0]]) if len(place) else 0

    def reversed(self) -> Move:
        """Return the opposite move."""
        return Move(self.variables, -self.n, self.denominator)

    def reach(self) -> LongArray:
        """Return how far each listed variable moves at least, in whole grains, with its sign."""
        return np.sign(self.n) * (np.abs(self.n) // self.denominator)


class MoveStore(MadeItems[Move]):
    """Moves that are only ever added to, one after the other in flat arrays that grow: 12 bytes per variable moved.

    >>> store = MoveStore([Move(np.array([0, 3]), np.array([1, -1]), 2)])
    >>> store.append(Move(np.array([1]), np.array([5]), 1))
    >>> len(store), store[1].variables.tolist(), store[0].n.tolist(), store[0].denominator
    (2, [1], [1, -1], 2)
    """

    def __init__(self, moves: Iterable[Move] = ()) -> None:
        self._start, self._denominator = [0], list[int]()
        self._variables, self._n = np.empty(64, np.int32), np.empty(64, np.int64)
        for move in moves:
            self.append(move)

    def append(self, move: Move) -> None:
        """Add a move."""
        first, end = self._start[-1], self._start[-1] + len(move.variables)
        if end > len(self._n):
            size = max(end, 2 * len(self._n))
            self._variables, self._n = _grown(self._variables, first, size), _grown(self._n, first, size)
        self._variables[first:end], self._n[first:end] = move.variables, move.n
        self._start.append(end)
        self._denominator.append(move.denominator)

    def copy(self) -> MoveStore:
        """Return a store of the same moves to which others may be added."""
        other, end = MoveStore(), self._start[-1]
        other._start, other._denominator = list(self._start), list(self._denominator)
        other._variables, other._n = self._variables[:end].copy(), self._n[:end].copy()
        return other

    def __len__(self) -> int:
        return len(self._denominator)

    def item(self, number: int) -> Move:
        """Return one move."""
        part = slice(self._start[number], self._start[number + 1])
        return Move(self._variables[part].astype(np.intp), self._n[part], self._denominator[number])


def _grown(part: npt.NDArray[Any], used: int, size: int) -> npt.NDArray[Any]:
    grown = np.empty(size, part.dtype)
    grown[:used] = part[:used]
    return grown
