"""How closely an attacker can bound single perturbed contributions, knowing that none is below 0 (linear programs)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.solver.highs import Session
from cellguard.solver.program import Program, Status
from cellguard.table.facts import FloatArray

Positions = npt.NDArray[np.int64]


def close_bounds(
    members: sp.csr_array, solution: FloatArray, wanted: Positions, p: float, *, programs: int = 400
) -> tuple[list[tuple[int, float, float]], int]:
    """Return the unknowns with max / min - 1 < p under A u = t, u >= 0, with their bounds; and how many are undecided.

    ``solution`` are the perturbed contributions themselves, which satisfy the system. One program makes as many of the
    wanted unknowns 0 as it can; whatever can be 0 has no bound. Only what is left needs programs of its own.
    """
    session, scale = _open(members, solution)
    left = wanted[solution[wanted] > 0]
    spent = 0
    while len(left) and spent < programs:
        point = _solve(session, left, 1.0, members.shape[1])
        spent += 1
        still = left if point is None else left[point[left] > 1e-9 * max(float(solution[left].max()) / scale, 1e-12)]
        if len(still) == len(left):
            break
        left = still
    found, undecided = [], 0
    for at in left.tolist():
        if spent + 2 > programs:
            undecided += 1
            continue
        spent += 2
        low = _solve(session, np.array([at]), 1.0, members.shape[1])
        high = _solve(session, np.array([at]), -1.0, members.shape[1])
        if low is None or high is None:
            undecided += 1
        elif high[at] < (1 + p) * low[at]:
            found.append((at, float(low[at] * scale), float(high[at] * scale)))
    return found, undecided


def _open(members: sp.csr_array, solution: FloatArray) -> tuple[Session, float]:
    scale = float(solution.max(initial=1.0))
    totals = np.asarray(members @ solution, float) / scale
    n = members.shape[1]
    matrix = sp.csr_array(members.astype(float))
    return Session(Program(matrix, totals, totals, np.zeros(n), np.full(n, np.inf), np.zeros(n)), presolve=False), scale


def _solve(session: Session, columns: Positions, sign: float, n: int) -> FloatArray | None:
    cost = np.zeros(n)
    cost[columns] = sign
    session.set_cost(np.arange(n), cost)
    found = session.solve()
    return found.x if found.status is Status.optimal else None
