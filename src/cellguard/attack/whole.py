"""Counts move by whole numbers only; where a program's vertex is not whole, an integer program decides."""

from __future__ import annotations

import numpy as np

from cellguard.attack.exact import Move
from cellguard.attack.probe import Component, FloatArray, Task
from cellguard.attack.problem import Whole
from cellguard.attack.reduction import Reduction
from cellguard.errors import InternalError
from cellguard.solver.highs import solve
from cellguard.solver.program import Program, Status

_FAR = 1e6


def whole_move(
    reduction: Reduction, component: Component, task: Task, exact: Move | None, reach: float
) -> tuple[Move | None, float]:
    """Return a whole move of the task's variable and how far it can go, as far as its needs reach.

    ``exact`` and ``reach`` are what the program without integrality found: if that is whole already, it stands.
    """
    v = task.variable
    wanted = max(int(reduction.need_up[v]), int(reduction.need_down[v]), int(reduction.sliding[v]))
    if exact is not None and exact.denominator == 1 and _reaches(exact, task, min(wanted, int(np.floor(reach + 1e-6)))):
        return exact, reach
    n, end = furthest(reduction, component, task, wanted)
    some = np.flatnonzero(n)
    return Move(component.variables[some], n[some], 1), float(end)


def furthest(reduction: Reduction, component: Component, task: Task, limit: int) -> tuple[Whole, int]:
    """Solve for the furthest whole move of one variable, up to a limit."""
    lower, upper = _bounds(reduction, component, max(_FAR, 4.0 * limit))
    at = int(np.flatnonzero(component.variables == task.variable)[0])
    if task.sign > 0:
        upper[at] = min(upper[at], limit)
    else:
        lower[at] = max(lower[at], -limit)
    cost = np.zeros(len(lower))
    cost[at] = -task.sign
    zero = np.zeros(component.matrix.shape[0])
    matrix = component.matrix.astype(float)
    found = solve(Program(matrix, zero, zero, lower, upper, cost, np.ones(len(lower), bool)))
    if found.status is not Status.optimal:
        raise InternalError(f"an attacker's integer program ended as {found.status.value}")
    n = np.rint(found.x).astype(np.int64)
    return n, int(abs(n[at]))


def _reaches(move: Move, task: Task, amount: int) -> bool:
    at = np.flatnonzero(move.variables == task.variable)
    return bool(len(at) and task.sign * move.n[at[0]] >= amount)


def _bounds(reduction: Reduction, component: Component, far: float) -> tuple[FloatArray, FloatArray]:
    down, up = reduction.down[component.variables], reduction.up[component.variables]
    return -np.minimum(down, far).astype(float), np.minimum(up, far).astype(float)
