"""Many exact moves at once, one after the other on flat arrays, so that they are checked together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, LongArray, Positions
from cellguard.proofs.moves import Move


@dataclass(frozen=True, eq=False)
class Stack:
    """Moves: ``cells`` of each, from its ``start`` on and in rising order, move by ``n`` / ``denominator`` grains."""

    start: LongArray
    cells: Positions
    n: LongArray
    denominator: LongArray

    @classmethod
    def of(cls, moves: Sequence[Move]) -> Stack:
        """Return these moves."""
        length = [len(move.variables) for move in moves]
        return cls(
            np.concatenate([[0], np.cumsum(length)]).astype(np.int64),
            np.concatenate([np.zeros(0, np.intp), *(move.variables for move in moves)]),
            np.concatenate([np.zeros(0, np.int64), *(move.n for move in moves)]),
            np.repeat(np.array([move.denominator for move in moves], np.int64), length),
        )

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def number(self) -> LongArray:
        """The move that each entry belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    def reversed(self) -> Stack:
        """Return the opposite moves."""
        return replace(self, n=-self.n)

    def __getitem__(self, number: int) -> Move:
        part = slice(self.start[number], self.start[number + 1])
        return Move(self.cells[part], self.n[part], int(self.denominator[self.start[number]]))

    def any(self, entries: BoolArray) -> BoolArray:
        """Return which moves have some of these entries."""
        return np.bincount(self.number, entries, len(self)) > 0

    def still(self, columns: sp.csr_array) -> BoolArray:
        """Return for which moves M n = 0, exactly; ``columns`` has a row per column of M."""
        size = np.diff(columns.indptr)[self.cells]
        entry = np.repeat(columns.indptr[self.cells] - np.cumsum(size) + size, size) + np.arange(size.sum())
        relation = np.repeat(self.number, size) * columns.shape[1] + columns.indices[entry]
        touched, place = np.unique(relation, return_inverse=True)
        n, factor = np.repeat(self.n, size), columns.data[entry]
        # In floating point to a hair, and so without overflow in whole numbers.
        most = np.bincount(place, np.abs(n.astype(float) * factor), len(touched))
        left = np.zeros(len(touched), np.int64)
        np.add.at(left, place, n * factor)
        broken = touched[(most > 2.0**62) | (left != 0)] // columns.shape[1]
        return np.bincount(broken, minlength=len(self)) == 0
