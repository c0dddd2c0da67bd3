"""An echelon form of the relations with pivots of 1 and -1, so that whole free columns give whole pivots.

The moves d with M d = 0 are those of the free columns: choose them, and the pivots follow by substitution. In general
that divides by the pivots; with pivots of 1 and -1 it does not, and the move is whole to the last digit whatever whole
numbers the free columns are. What the elimination leaves over (rows without a unit pivot; rare in tables, whose
relations have coefficients of 1 and -1) is left out, and a move that breaks such a row is found out by the exact check.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, LongArray
from cellguard.linalg.echelon_kernel import eliminate, substitute


@dataclass(frozen=True, eq=False)
class Echelon:
    """Pivot column k equals minus the sum of coefficient times column over its row, in reverse order of ``pivots``."""

    pivots: LongArray
    start: LongArray
    columns: LongArray
    coefficients: LongArray
    free: BoolArray

    def complete(self, free: LongArray) -> LongArray | None:
        """Return the whole move with these free columns, or None if it would overflow."""
        n = np.where(self.free, free, 0)
        done = substitute(self.pivots, self.start, self.columns, self.coefficients, n)
        return n if done else None


def echelon(matrix: sp.csr_array) -> Echelon:
    """Eliminate the relations exactly, in whole numbers."""
    matrix = sp.csr_array(matrix)
    rows, columns = matrix.shape
    pivots, start, where, coefficients = eliminate(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data.astype(np.int64), rows, columns
    )
    free = np.ones(columns, bool)
    free[pivots] = False
    return Echelon(pivots, start, where, coefficients, free)
