"""Refutations from close by: programs of the few relations around a target, all others left out.

Leaving relations out gives the attacker more room, so what even these refute is refuted, and their multipliers make a
cut as any others do. In two dimensions most targets that are not served are refuted by a dozen relations.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.protect.suppress import near_kernel
from cellguard.protect.suppress.hidden import HiddenSystem
from cellguard.protect.suppress.policy import POLICY
from cellguard.solver.program import Program, Status
from cellguard.types import FloatArray, Positions, Run

_ENOUGH = 1.0 - 1e-6  # of the need: what is nearly served is left to the program of all relations


class Near:
    """The relations of a hidden system, by class; ``work`` counts simplex iterations times rows."""

    def __init__(self, classes: HiddenSystem, run: Run) -> None:
        self.work = 0.0
        self._classes, self._run = classes, run
        columns = sp.csc_array(classes.matrix)
        self._graph = tuple(
            part.astype(np.int64)
            for part in (classes.matrix.indptr, classes.matrix.indices, columns.indptr, columns.indices)
        )

    def refute(self, cell: int, upward: bool, need: float) -> tuple[Positions, FloatArray] | None:
        """Return relations left and multipliers that keep a cell from its need, or None if those near it do not."""
        classes = self._classes
        ratio = float(classes.ratio[cell])
        sign = 1.0 if upward == (ratio > 0) else -1.0
        rows, columns = near_kernel.relations_near(
            int(classes.place[cell]), POLICY.near_rows, POLICY.near_terms, *self._graph
        )
        size = need / abs(ratio)
        lower = -np.minimum(classes.down[columns] / size, POLICY.cut_far)
        upper = np.minimum(classes.up[columns] / size, POLICY.cut_far)
        lower[0], upper[0] = max(lower[0], -1.0), min(upper[0], 1.0)
        cost, zero = np.zeros(len(columns)), np.zeros(len(rows))
        cost[0] = -sign
        matrix = sp.csr_array(sp.csr_array(classes.matrix[rows])[:, columns])
        session = solver.open(Program(matrix, zero, zero, lower, upper, cost), presolve=True, run=self._run)
        solution = session.solve()
        self.work += float(session.iterations + 1) * len(rows)
        refuted = solution.status is Status.optimal and sign * solution.x[0] < _ENOUGH
        return (rows, solution.duals * sign * ratio) if refuted else None
