"""Blocks: the relations around one column of a system, and what can move there while all else stands still.

A move of a block is a move of the whole system. A vast system falls into hundreds of blocks whose pooled programs take
a tenth of a second each, where one program of all of it takes minutes.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import Positions
from cellguard.proofs.local import Neighbours
from cellguard.proofs.near_kernel import relations_near

_TERMS = 20  # that each relation of a block may have, on average


class Blocks:
    """The relations of a system by column."""

    def __init__(self, matrix: sp.csr_array) -> None:
        columns = sp.csc_array(matrix)
        self._graph = tuple(
            part.astype(np.int64) for part in (matrix.indptr, matrix.indices, columns.indptr, columns.indices)
        )
        self._neighbours = Neighbours(matrix, np.zeros(matrix.shape[1], bool))

    def near(self, column: int, most: int) -> tuple[Positions, Positions]:
        """Return so many relations near a column, and the columns that they have, that one first."""
        rows, columns = relations_near(column, most, _TERMS * most, *self._graph)
        return np.asarray(rows, np.intp), np.asarray(columns, np.intp)

    def movable(self, column: int, most: int) -> tuple[Positions, sp.csr_array]:
        """Return the columns near one that can move while others stand still, in rising order, and their relations."""
        columns = self._neighbours.movable(np.sort(self.near(column, most)[1]))
        return columns, self._neighbours.relations_of(columns)
