"""Circuits: moves of as few variables as can be, found by elimination and without a solver.

Sweep the columns of M from left to right. A column that no pivot to its left explains is free, and closes a circuit:
the one move of that column and pivots to its left. The arithmetic is exact, modulo a prime; a circuit whose values are
small numbers there is one in whole numbers too, next to always, and whoever takes it for a witness checks M n = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.linalg import circuits_kernel as kernel


@dataclass(frozen=True, eq=False)
class Circuits:
    """Circuits that cover the first columns of a system: in each, ``columns`` move by ``values``, modulo the prime."""

    start: LongArray
    columns: LongArray
    values: LongArray

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def circuit(self) -> LongArray:
        """The circuit that each entry belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @property
    def moves(self) -> LongArray:
        """The values as whole numbers around 0."""
        return np.where(self.values > kernel.PRIME // 2, self.values - kernel.PRIME, self.values)

    def within(self, down: FloatArray | LongArray, up: FloatArray | LongArray) -> BoolArray:
        """Return which circuits are within bounds, forwards or backwards."""
        moves, circuit, size = self.moves, self.circuit, len(self)
        down, up = down[self.columns], up[self.columns]
        ahead = np.bincount(circuit, (moves > up) | (-moves > down), size) == 0
        back = np.bincount(circuit, (-moves > up) | (moves > down), size) == 0
        return np.asarray(ahead | back, bool)

    def some(self, which: BoolArray) -> Circuits:
        """Return some of the circuits."""
        entries = which[self.circuit]
        start = np.concatenate([[0], np.cumsum(np.diff(self.start)[which])])
        return Circuits(start, self.columns[entries], self.values[entries])

    def joined(self, wanted: BoolArray, down: LongArray, up: LongArray) -> sp.csr_array:
        """Return few moves within the bounds, one per row, in which every wanted column on a circuit moves.

        Each circuit must be within the bounds by itself.
        """
        number, sign, joint = kernel.join(self.start, self.columns, self.moves, wanted, down, up)
        used = np.flatnonzero(number >= 0)
        signs = sp.csr_array((sign[used], (number[used], used)), shape=(joint, len(self)))
        moves = sp.csr_array((self.moves, self.columns, self.start), shape=(len(self), len(down)))
        return sp.csr_array(signs @ moves)


def circuits(matrix: sp.csr_array, targets: int, columns: Positions | None = None) -> Circuits:
    """Return circuits that cover all of the first ``targets`` columns that can be, among some columns, or all.

    ``columns`` are in rising order.

    >>> square = sp.csr_array(np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]))
    >>> circuits(square, 1).moves.tolist()
    [1, -1, -1, 1]
    """
    part = sp.csr_array(matrix) if columns is None else sp.csr_array(sp.csc_array(matrix)[:, columns])
    part.sort_indices()
    among = targets if columns is None else int(np.searchsorted(columns, targets))
    pivot, cover, *rows = kernel.sweep(
        part.indptr.astype(np.int64), part.indices.astype(np.int32), np.rint(part.data).astype(np.int64),
        part.shape[1], among,
    )  # fmt: skip
    start, own, values = kernel.circuits(np.unique(cover[cover >= 0]), pivot, *rows)
    return Circuits(start, own.astype(np.int64) if columns is None else columns[own], values)
