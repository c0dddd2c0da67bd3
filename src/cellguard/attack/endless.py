"""Which variables have no end below or above: some direction, within the relations, moves them on for ever."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.attack.probe import FloatArray, Positions
from cellguard.attack.reduction import Reduction
from cellguard.solver.highs import Session, solve
from cellguard.solver.program import Program, Status
from cellguard.table.facts import BoolArray

_ROUNDS = 6
_SEED = 20240501


def endless(reduction: Reduction, low: FloatArray, high: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Tell which variables have no end below, and which none above."""
    down, up = np.isinf(low), np.isinf(high)
    free = down & up
    no_low = _rays(reduction, down, up, np.flatnonzero(down & ~free), -1.0)
    no_high = _rays(reduction, down, up, np.flatnonzero(up & ~free), 1.0)
    if free.any():
        _free_rays(reduction, down, up, no_low, no_high)
    return no_low, no_high


def _rays(reduction: Reduction, down: BoolArray, up: BoolArray, wanted: Positions, sign: float) -> BoolArray:
    """Tell which variables with one open side move on that side for ever.

    They cannot move the other way, so their directions add up, and one program finds all of them: as many as possible
    move by 1.
    """
    found = np.zeros(reduction.n, bool)
    if not len(wanted):
        return found
    many = len(wanted)
    big = 1e4
    lower = np.concatenate([np.where(down, -big, 0.0), np.zeros(many)])
    upper = np.concatenate([np.where(up, big, 0.0), np.ones(many)])
    # sign * d - y >= 0 pays y, at most 1, for each wanted variable
    pay = sp.csr_array((np.full(many, sign), (np.arange(many), wanted)), shape=(many, reduction.n))
    above = sp.hstack([reduction.matrix.astype(float), sp.csr_array((reduction.matrix.shape[0], many))])
    matrix = sp.csr_array(sp.vstack([above, sp.hstack([pay, -sp.eye_array(many)])], format="csr"))
    rows = np.zeros(matrix.shape[0])
    row_upper = np.concatenate([np.zeros(reduction.matrix.shape[0]), np.full(many, np.inf)])
    cost = np.concatenate([np.zeros(reduction.n), -np.ones(many)])
    solution = solve(Program(matrix, rows, row_upper, lower, upper, cost))
    if solution.status is Status.optimal:
        found[wanted[solution.x[reduction.n :] > 0.5]] = True
    return found


def _free_rays(reduction: Reduction, down: BoolArray, up: BoolArray, no_low: BoolArray, no_high: BoolArray) -> None:
    """Enter the variables open on both sides, whose directions may cancel: shared directions first, then one by one."""
    zero = np.zeros(reduction.matrix.shape[0])
    lower, upper = np.where(down, -1.0, 0.0), np.where(up, 1.0, 0.0)
    matrix, every = reduction.matrix.astype(float), np.arange(reduction.n)
    session = Session(Program(matrix, zero, zero, lower, upper, np.zeros(reduction.n)), primal=True)
    free = down & up
    rng = np.random.default_rng(_SEED)

    def follow(cost: FloatArray) -> None:
        session.set_cost(every, cost)
        found = session.solve()
        if found.status is not Status.optimal:
            return
        ahead, back = found.x > 1e-6, found.x < -1e-6
        reversible = not (~free & (ahead | back)).any()
        no_high[:] |= ahead | (back & reversible)
        no_low[:] |= back | (ahead & reversible)

    for _ in range(_ROUNDS):
        follow(np.where(free & ~(no_low & no_high), rng.uniform(-1, 1, reduction.n), 0.0))
    for v in np.flatnonzero(free & ~(no_low & no_high)).tolist():
        for sign, done in ((1.0, no_high), (-1.0, no_low)):
            if not done[v]:
                follow(np.where(every == v, -sign, 0.0))
