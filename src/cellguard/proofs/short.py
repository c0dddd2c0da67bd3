"""Short moves: of all that serve some targets one in which the least moves, and whole ones next to it.

Minimise sum of w |d| - (much) sum of min(d_t, u_t) / u_t over M d = 0 within the bounds, u_t being what target t needs.
A short move falls apart into pieces that share no relation, and each piece is a move of its own. Most pieces are whole.
Of the others a small integer program, over the variables that move in it, makes whole ones where there are any.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import FloatArray, LongArray, Positions
from cellguard.proofs.scale import NEAR
from cellguard.run_context import Run
from cellguard.solver.program import Program, Status
from cellguard.table.components import components

_REWARD = 1e4  # for a target, where each variable that moves costs about 1
_SMALL, _NODES, _ROUGHLY = 300, 50, 1e-2  # of integer programs: variables, nodes, and the gap that will do


def short_moves(
    matrix: sp.csr_array,
    limits: tuple[FloatArray, FloatArray],
    targets: Positions,
    amounts: LongArray,
    weights: FloatArray,
    *,
    run: Run,
) -> LongArray:
    """Return a whole move within the limits, down and up, in which many targets move by their signed amounts."""
    moves = _short(matrix, limits, targets, amounts, weights, whole=False, run=run)
    move = np.zeros(matrix.shape[1], np.int64)
    if moves is None:
        return move
    support = np.flatnonzero(np.abs(moves) > NEAR)
    label = components(_part(matrix, support))[1]
    broken = np.bincount(label, np.abs(moves[support] - np.rint(moves[support])) > NEAR, label.max(initial=-1) + 1) > 0
    kept = support[~broken[label]]
    move[kept] = np.rint(moves[kept])
    for piece in np.flatnonzero(broken).tolist():
        own = support[label == piece]
        inside = np.isin(targets, own)
        if len(own) <= _SMALL and inside.any():
            places = np.searchsorted(own, targets[inside])
            bounds = limits[0][own], limits[1][own]
            whole = _short(_part(matrix, own), bounds, places, amounts[inside], weights[own], whole=True, run=run)
            move[own] = 0 if whole is None else np.rint(whole)
    return move


def _part(matrix: sp.csr_array, columns: Positions) -> sp.csr_array:
    """Return the system of some columns, without rows that have none of them."""
    part = sp.csr_array(matrix[:, columns])
    return sp.csr_array(part[np.flatnonzero(np.diff(part.indptr))])


def _short(
    matrix: sp.csr_array,
    limits: tuple[FloatArray, FloatArray],
    targets: Positions,
    amounts: LongArray,
    weights: FloatArray,
    *,
    whole: bool,
    run: Run,
) -> FloatArray | None:
    """Solve the program of the short move; a variable stands as what it goes up, what it goes down, and what pays."""
    n, ahead, size = matrix.shape[1], amounts > 0, np.abs(amounts).astype(float)
    down, up = limits[0].copy(), limits[1].copy()
    up[targets] = np.where(ahead, np.maximum(up[targets] - size, 0), 0)
    down[targets] = np.where(ahead, 0, np.maximum(down[targets] - size, 0))
    zero = np.zeros(matrix.shape[0])
    signed = sp.csr_array(matrix[:, targets] @ sp.diags_array(np.where(ahead, 1.0, -1.0)))
    program = Program(
        sp.csr_array(sp.hstack([matrix, -matrix, signed], format="csr")),
        zero,
        zero,
        np.zeros(2 * n + len(targets)),
        np.concatenate([up, down, size]),
        np.concatenate([weights, weights, -_REWARD / size]),
        np.ones(2 * n + len(targets), bool) if whole else None,
    )
    session = solver.open(program, presolve=True, run=run)
    if whole:
        session.limit_nodes(_NODES, gap=_ROUGHLY)
    solution = session.solve()
    if not len(solution.x) or (not whole and solution.status is not Status.optimal):
        return None
    moves = solution.x[:n] - solution.x[n : 2 * n]
    moves[targets] += np.where(ahead, 1.0, -1.0) * solution.x[2 * n :]
    return np.asarray(moves, float)
