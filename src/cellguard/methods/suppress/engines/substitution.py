"""`Substitution`: a system without the columns whose bounds say nothing; moves and multipliers find their way back.

A column v with no bound of its own that could ever bind is solved for in one of its relations, a_v d_v = -sum a_j d_j,
and put into the others: that relation and column are gone. Going back, moves follow from that same equation; the
multiplier of the relation that is gone follows from the dual one, that the reduced cost of v is 0.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray
from cellguard.methods.suppress.engines import substitution_kernel as kernel
from cellguard.methods.suppress.engines.policy import Policy


class Substitution:
    """``matrix`` has the rows and ``columns`` that are left of M d = 0; columns to ``keep`` are among them."""

    def __init__(self, matrix: sp.csr_array, down: FloatArray, up: FloatArray, keep: BoolArray, policy: Policy) -> None:
        start, column, value, steps = kernel.substitute(
            matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data.astype(float), down, up, keep,
            policy.substituted_rows, policy.substituted_terms, policy.substituted_fill,
        )  # fmt: skip
        self._steps, self._shape = kernel.Substitutions(*steps), matrix.shape
        self.rows = np.flatnonzero(np.diff(start))
        left = np.ones(matrix.shape[1], bool)
        left[self._steps.gone] = False
        self.columns = np.flatnonzero(left)
        whole = sp.csr_array((value, column, start), shape=matrix.shape)
        self.matrix = sp.csr_array(sp.csr_array(whole[self.rows])[:, self.columns])

    def moves(self, left: FloatArray) -> FloatArray:
        """Return the moves of all columns from those of the columns left."""
        moves = np.zeros(self._shape[1])
        moves[self.columns] = left
        kernel.restore_moves(moves, self._steps)
        return moves

    def multipliers(self, left: FloatArray) -> FloatArray:
        """Return the multipliers of all rows from those of the rows left."""
        multipliers = np.zeros(self._shape[0])
        multipliers[self.rows] = left
        kernel.restore_multipliers(multipliers, self._steps)
        return multipliers
