"""Pooled moves: one linear program moves thousands of cells at once towards their protection levels.

Over all d with M d = 0 within the bounds it maximises the sum over the targets of min(d_t, u_t) / u_t, where u_t is the
need of target t. That is concave and piecewise linear in d_t, so it takes two columns per target: d_t = a + b with
0 <= a <= u_t, which pays 1 / u_t, and b >= 0 beyond it, which pays nothing. Every target with a = u_t has its witness,
and all have the same one; where targets hinder each other, other random directions find other moves. Variables that
are linked with no target stay fixed. Counts move by whole numbers: `whole_moves` solves the same program in them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import FloatArray, LongArray, Positions
from cellguard.proofs.scale import FARTHEST, NARROW, WIDE, power_of_two
from cellguard.run_context import Run
from cellguard.solver.program import Program, Solution, Status
from cellguard.table.components import components

_MANY, _LINKED = 30_000, 2.5
_FAR = 100.0  # times the largest amount that a variable moves at most in an integer program, which wants bounds
_ROUGHLY = 0.3  # of an integer program's targets that it may miss: the next one looks at them again


def is_vast(matrix: sp.csr_array) -> bool:
    """Return whether relations are so many, and so linked, that the simplex algorithm takes minutes for one program.

    Interior points take seconds then. In two dimensions variables are in two relations, and nothing is very large.
    """
    return bool(matrix.shape[0] > _MANY and matrix.nnz > _LINKED * matrix.shape[1])


def pooled_moves(
    matrix: sp.csr_array,
    down: FloatArray,
    up: FloatArray,
    targets: Positions,
    amounts: FloatArray,
    *,
    interior: bool = False,
    run: Run,
) -> FloatArray | None:
    """Maximise the sum over the targets of min(move, amount) / amount, where negative amounts mean moves down.

    A target's column stands twice in the program: as the part of its move up to the amount, which pays, and as the part
    beyond it, which does not. With ``interior`` the move is not at a corner, and so hardly ever one in whole numbers.
    """
    label = components(matrix)[1]
    near = np.flatnonzero(np.isin(label, label[targets]))
    part = sp.csr_array(matrix[:, near])
    part = sp.csr_array(part[np.flatnonzero(np.diff(part.indptr))])
    moves = _joint_moves(part, down[near], up[near], np.searchsorted(near, targets), amounts, interior, run)
    if moves is None:
        return None
    all_ = np.zeros(matrix.shape[1])
    all_[near] = moves
    return all_


def _joint_moves(
    matrix: sp.csr_array,
    down: FloatArray,
    up: FloatArray,
    targets: Positions,
    amounts: FloatArray,
    interior: bool,
    run: Run,
) -> FloatArray | None:
    """Solve the program of variables that all are linked with targets."""
    scale = power_of_two(float(np.median(np.abs(amounts))))
    rooms = tuple(_scaled(bound, scale) for bound in (down, up))
    solution = solver.solve(_program(matrix, rooms, targets, amounts / scale), interior=interior, run=run)
    return _moved(solution, matrix.shape[1], targets) * scale if solution.status is Status.optimal else None


def whole_moves(
    matrix: sp.csr_array, down: FloatArray, up: FloatArray, targets: Positions, amounts: FloatArray, *, run: Run
) -> LongArray:
    """Return a move in whole numbers that serves many of the targets, not always as many as can be; perhaps none."""
    far = _FAR * float(np.abs(amounts).max(initial=1))
    low, high = np.minimum(down, far), np.minimum(up, far)
    # A target that goes the other way serves nobody here, and rounding is easier where none does.
    low[targets] = np.where(amounts > 0, 0.0, low[targets])
    high[targets] = np.where(amounts > 0, high[targets], 0.0)
    program = _program(matrix, (low, high), targets, amounts)
    session = solver.open(replace(program, integer=np.ones(len(program.cost), bool)), presolve=True, run=run)
    session.limit_nodes(1, gap=_ROUGHLY)
    solution = session.solve()
    moves = _moved(solution, matrix.shape[1], targets) if len(solution.x) else np.zeros(matrix.shape[1])
    return np.rint(moves).astype(np.int64)


def _program(matrix: sp.csr_array, rooms: tuple[FloatArray, ...], targets: Positions, amounts: FloatArray) -> Program:
    """Return the program: all variables, with the part of each target's move that pays, and then the parts beyond."""
    n, (low, high) = matrix.shape[1], rooms
    ahead, part = amounts > 0, np.abs(amounts)
    beyond = np.maximum(np.where(ahead, high[targets], low[targets]) - part, 0)
    lower, upper, cost = -low, high, np.zeros(n)
    lower[targets] = np.where(ahead, lower[targets], -np.minimum(part, low[targets]))
    upper[targets] = np.where(ahead, np.minimum(part, high[targets]), upper[targets])
    cost[targets] = np.where(ahead, -1, 1) / part
    zero = np.zeros(len(targets))
    empty = np.zeros(matrix.shape[0])
    return Program(
        sp.csr_array(sp.hstack([matrix, matrix[:, targets]], format="csr")),
        empty,
        empty,
        np.concatenate([lower, np.where(ahead, zero, -beyond)]),
        np.concatenate([upper, np.where(ahead, beyond, zero)]),
        np.concatenate([cost, zero]),
    )


def _moved(solution: Solution, n: int, targets: Positions) -> FloatArray:
    """Return the moves: what pays and what is beyond it together."""
    moves = solution.x[:n].copy()
    moves[targets] += solution.x[n:]
    return moves


def _scaled(bound: FloatArray, scale: float) -> FloatArray:
    scaled = bound / scale
    return np.where(scaled < NARROW, 0.0, np.minimum(scaled, min(WIDE, FARTHEST / scale)))
