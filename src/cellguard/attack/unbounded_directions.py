"""Which variables have no end below or above: some direction, within the relations, moves them on for ever.

A variable v has no end above exactly if there is a direction r with M r = 0 and r_v > 0 in which r_i >= 0 wherever i is
bounded below and r_i <= 0 wherever it is bounded above: then every multiple of r is a move. Directions form a cone, so
that their size may be limited to 1, and a sum of directions is one.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.proofs.reduction import Reduction
from cellguard.proofs.scale import NEAR
from cellguard.run_context import Run
from cellguard.solver.program import SEED, Program, Status

_ROUNDS = 6  # random directions that are tried for all free variables at once, before one program per variable
_BIG = 1e4  # how far others may move for a wanted variable to move by 1


def endless(reduction: Reduction, low: FloatArray, high: FloatArray, *, run: Run) -> tuple[BoolArray, BoolArray]:
    """Return which variables have no end below, and which none above."""
    down, up = np.isinf(low), np.isinf(high)
    free = down & up
    no_low = _rays(reduction, down, up, np.flatnonzero(down & ~free), -1.0, run)
    no_high = _rays(reduction, down, up, np.flatnonzero(up & ~free), 1.0, run)
    if free.any():
        _free_rays(reduction, down, up, no_low, no_high, run)
    return no_low, no_high


def _rays(reduction: Reduction, down: BoolArray, up: BoolArray, wanted: Positions, sign: float, run: Run) -> BoolArray:
    """Return which variables with one open side move on that side for ever.

    They cannot move the other way, so their directions add up, and one program finds all of them: as many as possible
    move by 1.
    """
    moving = np.zeros(reduction.n, bool)
    if not len(wanted):
        return moving
    n = len(wanted)
    lower = np.concatenate([np.where(down, -_BIG, 0.0), np.zeros(n)])
    upper = np.concatenate([np.where(up, _BIG, 0.0), np.ones(n)])
    # sign * d - y >= 0 pays y, at most 1, for each wanted variable
    pay = sp.csr_array((np.full(n, sign), (np.arange(n), wanted)), shape=(n, reduction.n))
    above = sp.hstack([reduction.matrix.astype(float), sp.csr_array((reduction.matrix.shape[0], n))])
    matrix = sp.csr_array(sp.vstack([above, sp.hstack([pay, -sp.eye_array(n)])], format="csr"))
    rows = np.zeros(matrix.shape[0])
    row_upper = np.concatenate([np.zeros(reduction.matrix.shape[0]), np.full(n, np.inf)])
    cost = np.concatenate([np.zeros(reduction.n), -np.ones(n)])
    solution = solver.solve(Program(matrix, rows, row_upper, lower, upper, cost), run=run)
    if solution.status is Status.optimal:
        moving[wanted[solution.x[reduction.n :] > 0.5]] = True
    return moving


def _free_rays(
    reduction: Reduction, down: BoolArray, up: BoolArray, no_low: BoolArray, no_high: BoolArray, run: Run
) -> None:
    """Enter the variables open on both sides, whose directions may cancel: shared directions first, then one by one."""
    zero = np.zeros(reduction.matrix.shape[0])
    lower, upper = np.where(down, -1.0, 0.0), np.where(up, 1.0, 0.0)
    matrix, every = reduction.matrix.astype(float), np.arange(reduction.n)
    program = Program(matrix, zero, zero, lower, upper, np.zeros(reduction.n))
    session = solver.open(program, primal=True, run=run)
    free = down & up
    rng = np.random.default_rng(SEED)

    def follow(cost: FloatArray) -> None:
        session.set_cost(every, cost)
        solution = session.solve()
        if solution.status is not Status.optimal:
            return
        ahead, back = solution.x > NEAR, solution.x < -NEAR
        reversible = not (~free & (ahead | back)).any()
        no_high[:] |= ahead | (back & reversible)
        no_low[:] |= back | (ahead & reversible)

    for _ in range(_ROUNDS):
        follow(np.where(free & ~(no_low & no_high), rng.uniform(-1, 1, reduction.n), 0.0))
    for v in np.flatnonzero(free & ~(no_low & no_high)).tolist():
        for sign, done in ((1.0, no_high), (-1.0, no_low)):
            if not done[v]:
                follow(np.where(every == v, -sign, 0.0))
