"""Clarabel, behind `solver.solve_quadratic`: the only file that imports clarabel. Every status is checked.

It solves by interior points: min 1/2 x'Px + q'x with Ax + s = b, where s is 0 for equations and not negative for
inequalities; bounds of rows and columns are such inequalities.
"""

from __future__ import annotations

import clarabel
import numpy as np
import scipy.sparse as sp

from cellguard.arrays import FloatArray
from cellguard.errors import InternalError
from cellguard.run_context import Run
from cellguard.solver.program import Program, Solution, Status

_STATUS = {
    clarabel.SolverStatus.Solved: Status.optimal,
    clarabel.SolverStatus.AlmostSolved: Status.stopped,
    clarabel.SolverStatus.PrimalInfeasible: Status.infeasible,
    clarabel.SolverStatus.AlmostPrimalInfeasible: Status.infeasible,
    clarabel.SolverStatus.DualInfeasible: Status.unbounded,
    clarabel.SolverStatus.AlmostDualInfeasible: Status.unbounded,
    clarabel.SolverStatus.MaxIterations: Status.stopped,
    clarabel.SolverStatus.InsufficientProgress: Status.stopped,
    clarabel.SolverStatus.NumericalError: Status.stopped,
}
_NOTHING = np.zeros(0)


class _Watch:
    """Looks between two steps whether the run is to stop; what is raised there cannot pass through the solver."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.raised: BaseException | None = None

    def __call__(self, info: object) -> bool:
        try:
            self._run.check()
        except BaseException as error:
            self.raised = error
        return self.raised is not None


def solve(program: Program, curvature: FloatArray, run: Run) -> Solution:
    """Minimise curvature @ x**2 / 2 beside the program's cost; there are no duals.

    What was stopped before the optimum, since rounding had the better of it, has the point that was reached.
    """
    if program.integer is not None or (curvature < 0).any():
        raise InternalError("a quadratic program has no integers, and no curvature below 0")
    run.check()
    rows, right, equations = _rows(program)
    cones = [clarabel.ZeroConeT(equations), clarabel.NonnegativeConeT(rows.shape[0] - equations)]
    square = sp.csc_matrix(sp.diags_array(np.asarray(curvature, float)))
    solver = clarabel.DefaultSolver(square, np.asarray(program.cost, float), rows, right, cones, _settings())
    watch = _Watch(run)
    solver.set_termination_callback(watch)
    found = solver.solve()
    if watch.raised is not None:
        raise watch.raised
    if found.status not in _STATUS:
        raise InternalError(f"the quadratic solver ended with {found.status}")
    status, x = _STATUS[found.status], np.asarray(found.x, float)
    if status not in (Status.optimal, Status.stopped) or not np.isfinite(x).all():
        return Solution(status, np.nan, _NOTHING, _NOTHING)
    return Solution(status, found.obj_val, x, _NOTHING)


def _rows(program: Program) -> tuple[sp.csc_matrix, FloatArray, int]:
    """Return all constraints as rows and right-hand sides, equations first, and how many equations there are."""
    matrix, one = sp.csr_array(program.matrix), sp.eye_array(program.matrix.shape[1], format="csr")
    same = program.row_lower == program.row_upper
    parts = [(matrix[same], program.row_upper[same])]
    for these, lower, upper in (
        (matrix[~same], program.row_lower[~same], program.row_upper[~same]),
        (one, program.lower, program.upper),
    ):
        high, low = np.isfinite(upper), np.isfinite(lower)
        parts += [(these[high], upper[high]), (-these[low], -lower[low])]
    rows, right = zip(*parts, strict=True)
    return sp.csc_matrix(sp.vstack(rows)), np.concatenate(right), int(same.sum())


def _settings() -> clarabel.DefaultSettings:
    """Return the settings: silent, and one thread, so that results do not depend on their number."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    return settings
