"""How closely an attacker can bound single perturbed contributions, knowing that none is below 0 (linear programs)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import FloatArray, LongArray
from cellguard.run_context import Run
from cellguard.solver.program import Program, Solution, Status


def close_bounds(
    members: sp.csr_array,
    solution: FloatArray,
    lower: FloatArray,
    wanted: LongArray,
    p: float,
    *,
    programs: int = 400,
    run: Run | None = None,
) -> tuple[list[tuple[int, float, float]], int]:
    """Return the unknowns with max / min - 1 < p under A u = t, u >= lower, with their bounds; and how many are open.

    ``solution`` are the perturbed contributions themselves, which satisfy the system. The wanted ones are at least 0.
    One program makes as many of them 0 as it can; whatever can be 0 has no bound. Only what is left needs its own.
    """
    run = run or Run()
    session, scale = _open(members, solution, lower)
    left = wanted[solution[wanted] > 0]
    spent = 0
    while len(left) and spent < programs:
        run.check()
        first = _solve(session, left, 1.0, members.shape[1])
        spent += 1
        if first.status is not Status.optimal:
            break
        still = left[first.x[left] > 1e-9 * max(float(solution[left].max()) / scale, 1e-12)]
        if len(still) == len(left):
            break
        left = still
    close, undecided = [], 0
    for at in left.tolist():
        run.check()
        if spent + 2 > programs:
            undecided += 1
            continue
        spent += 2
        low, high = (_solve(session, np.array([at]), sign, members.shape[1]) for sign in (1.0, -1.0))
        if high.status is Status.unbounded:
            continue
        if low.status is not Status.optimal or high.status is not Status.optimal:
            undecided += 1
        elif high.x[at] < (1 + p) * low.x[at]:
            close.append((at, float(low.x[at] * scale), float(high.x[at] * scale)))
    return close, undecided


def _open(members: sp.csr_array, solution: FloatArray, lower: FloatArray) -> tuple[solver.Session, float]:
    scale = float(np.abs(solution).max(initial=1.0))
    totals = np.asarray(members @ solution, float) / scale
    n = members.shape[1]
    matrix = sp.csr_array(members.astype(float))
    return solver.open(Program(matrix, totals, totals, lower, np.full(n, np.inf), np.zeros(n))), scale


def _solve(session: solver.Session, columns: LongArray, sign: float, n: int) -> Solution:
    cost = np.zeros(n)
    cost[columns] = sign
    session.set_cost(np.arange(n), cost)
    return session.solve()
