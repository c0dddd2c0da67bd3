"""Counts move by whole numbers only; where a program's vertex is not whole, an integer program decides.

Relations of two dimensions are totally unimodular: vertices of max d_t, M d = 0, -down <= d <= up are whole by
themselves (Hoffman and Kruskal 1956). In three dimensions they need not be, and halves of a count prove nothing. Then
the same program is solved over the integers; its bound refutes, its best point is a witness.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import FloatArray, LongArray
from cellguard.errors import InternalError
from cellguard.proofs.chunks import Component, Task
from cellguard.proofs.moves import Move
from cellguard.proofs.reduction import Reduction
from cellguard.proofs.scale import NEAR
from cellguard.run_context import Run
from cellguard.solver.program import Program, Status

_NODES = 5_000  # of a single integer program; what it has not settled by then is undecided
_FAR = 1e6  # integer programs want finite bounds: so many grains, or four times the request for


def whole_move(
    reduction: Reduction, component: Component, task: Task, exact: Move | None, reach: float, *, run: Run
) -> tuple[Move | None, float]:
    """Return a whole move of the task's variable and how far it can go, as far as its protection levels reach.

    ``exact`` and ``reach`` are those of the program without integrality: if that move is whole already, it stands.
    """
    v = task.variable
    wanted = int(reduction.levels.take(slice(v, v + 1)).most()[0])
    # The program's vertex is enough where it is whole: most are, and an integer program is a thousand times dearer.
    if exact is not None and exact.denominator == 1 and _reaches(exact, task, min(wanted, int(np.floor(reach + NEAR)))):
        return exact, reach
    n, end = furthest(reduction, component, task, wanted, nodes=_NODES, run=run)
    return Move.of_some(component.variables, n), float(end)


def furthest(
    reduction: Reduction, component: Component, task: Task, limit: int, *, nodes: int | None = None, run: Run
) -> tuple[LongArray, int]:
    """Return the furthest whole move of one variable, up to a limit, and a bound on how far any goes.

    Where the nodes of the search are limited, the move may end before the bound.
    """
    lower, upper = _bounds(reduction, component, max(_FAR, 4.0 * limit))
    column = int(np.flatnonzero(component.variables == task.variable)[0])
    if task.sign > 0:
        upper[column] = min(upper[column], limit)
    else:
        lower[column] = max(lower[column], -limit)
    cost = np.zeros(len(lower))
    cost[column] = -task.sign
    zero = np.zeros(component.matrix.shape[0])
    matrix = component.matrix.astype(float)
    program = Program(matrix, zero, zero, lower, upper, cost, np.ones(len(lower), bool))
    session = solver.open(program, presolve=True, run=run)
    if nodes is not None:
        session.limit_nodes(nodes)
    solution = session.solve()
    if solution.status is not Status.optimal and nodes is None:
        raise InternalError(f"an attacker's integer program ended as {solution.status.value}")
    n = np.rint(solution.x).astype(np.int64) if len(solution.x) else np.zeros(len(lower), np.int64)
    return n, min(limit, int(np.floor(-solution.bound + NEAR)))


def around(reduction: Reduction, variable: int, size: int) -> Component:
    """Return the variables around one, ring by ring and no more than so many, and their relations.

    All others stay fixed, so that whatever moves in it is a move of all.
    """
    matrix = reduction.matrix
    terms = abs(matrix).astype(float)
    inside, wider = np.zeros(matrix.shape[1], bool), np.arange(matrix.shape[1]) == variable
    while inside.sum() < wider.sum() <= size:
        inside = wider
        wider = terms.T @ (terms @ inside) > 0
    variables = np.flatnonzero(inside)
    part = sp.csr_array(matrix[:, variables])
    return Component(variables, sp.csr_array(part[np.flatnonzero(np.diff(part.indptr))]))


def is_closed(reduction: Reduction, part: Component) -> bool:
    """Return whether no relation ties the variables of a part to others: what its program refutes is refuted."""
    inside = np.zeros(reduction.n, bool)
    inside[part.variables] = True
    terms = abs(reduction.matrix).astype(float)
    touched = terms @ inside.astype(float) > 0
    return not bool((terms.T @ touched.astype(float))[~inside].any())


def _reaches(move: Move, task: Task, amount: int) -> bool:
    moved = move.amount(task.variable)
    return moved != 0 and task.sign * moved >= amount


def _bounds(reduction: Reduction, component: Component, far: float) -> tuple[FloatArray, FloatArray]:
    down, up = reduction.down[component.variables], reduction.up[component.variables]
    return -np.minimum(down, far).astype(float), np.minimum(up, far).astype(float)
