"""Verdicts from close by: programs of the few relations around a target.

Leaving relations out gives the attacker more room, so what even these refute is refuted, and their multipliers make a
cut as any others do. Letting only the classes around a target move gives less room, so a move that serves it even then
is a witness. In two dimensions a dozen relations decide nearly all targets, one way or the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import FloatArray, Positions
from cellguard.methods.suppress.engines.hidden_system import HiddenSystem
from cellguard.proofs.local import Neighbours
from cellguard.run_context import Run
from cellguard.solver.program import Program, Solution, Status

_ENOUGH = 1.0 - 1e-6  # of the protection level: what is nearly served is left to the program of all relations
_SERVED = 1.0 - 1e-7


@dataclass(frozen=True, eq=False)
class Refuted:
    """Relations left, and the multipliers on them, that keep a cell from its protection level."""

    rows: Positions
    multipliers: FloatArray


@dataclass(frozen=True, eq=False)
class Witnessed:
    """Cells that move, and how far, so that a cell gets its protection level."""

    cells: Positions
    moves: FloatArray


class Near:
    """The relations of a suppressed system, by class; ``work`` counts simplex iterations times rows."""

    def __init__(self, classes: HiddenSystem, run: Run) -> None:
        self.work = 0.0
        self._classes, self._policy, self._run = classes, classes.system.policy, run
        self._neighbours = Neighbours(classes.matrix)

    def decide(self, cell: int, upward: bool, need: float, *, rough: bool = False) -> Refuted | Witnessed | None:
        """Return the proof that a cell can, or cannot, reach its protection level; None if its neighbourhood does not
        decide.

        Few relations are looked at first, more only where the program of all of them takes far longer. A ``rough`` look
        is for what refutes it only.
        """
        for rows in self._policy.near_rows if self._classes.place[cell] >= 0 else ():
            if rows * self._policy.near_worth > self._classes.matrix.shape[0] and not rough:
                break
            verdict: Refuted | Witnessed | None = self.refute(cell, upward, need, rows)
            if verdict is None and not rough:
                verdict = self.prove(cell, upward, need, rows)
            if verdict is not None:
                return verdict
        return None

    def refute(self, cell: int, upward: bool, need: float, most: int) -> Refuted | None:
        """Return what keeps a cell from its protection level, if so many relations near it do."""
        classes, ratio = self._classes, float(self._classes.ratio[cell])
        rows, columns = self._neighbours.around(int(classes.place[cell]), most)
        matrix = sp.csr_array(sp.csr_array(classes.matrix[rows])[:, columns])
        sign, solution = self._furthest(matrix, columns, 0, upward, need / ratio)
        refuted = solution.status is Status.optimal and sign * solution.x[0] < _ENOUGH
        return Refuted(rows, solution.duals * sign * ratio) if refuted else None

    def prove(self, cell: int, upward: bool, need: float, most: int) -> Witnessed | None:
        """Return a move that serves a cell, if the classes of so many relations near it have one."""
        classes, ratio = self._classes, float(self._classes.ratio[cell])
        columns, matrix = self._neighbours.block(int(classes.place[cell]), most)
        at = int(np.searchsorted(columns, classes.place[cell]))
        if at == len(columns) or columns[at] != classes.place[cell]:
            return None
        sign, solution = self._furthest(matrix, columns, at, upward, need / ratio)
        if solution.status is not Status.optimal or sign * solution.x[at] < _SERVED:
            return None
        moving = np.flatnonzero(solution.x)
        return Witnessed(*classes.expand_some(columns[moving], solution.x[moving] * need / abs(ratio)))

    def _furthest(
        self, matrix: sp.csr_array, columns: Positions, at: int, upward: bool, need: float
    ) -> tuple[float, Solution]:
        """Move one of some classes as far as its protection level asks, if it can; return its way and the solution."""
        classes, size = self._classes, abs(need)
        sign = 1.0 if upward == (need > 0) else -1.0
        lower = -np.minimum(classes.down[columns] / size, self._policy.cut_far)
        upper = np.minimum(classes.up[columns] / size, self._policy.cut_far)
        lower[at], upper[at] = max(lower[at], -1.0), min(upper[at], 1.0)
        cost, zero = np.zeros(len(columns)), np.zeros(matrix.shape[0])
        cost[at] = -sign
        program = Program(matrix, zero, zero, lower, upper, cost)
        session = solver.open(program, presolve=True, brief=True, run=self._run)
        solution = session.solve()
        self.work += float(session.iterations + 1) * matrix.shape[0]
        return sign, solution
