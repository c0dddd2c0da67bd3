"""Pooled witnesses: one linear program moves thousands of cells at once towards their needs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.attack.exact import Move, exact_move
from cellguard.attack.ledger import Ledger
from cellguard.attack.problem import UNLIMITED, Whole
from cellguard.solver.highs import Session
from cellguard.solver.program import Program, Status

_DECADE = 13  # needs within a factor of 2**13 share a program
_WIDE = 2.0**22  # bounds wider than this many times the scale are cut off, which only shortens moves
_FARTHEST = 2.0**52  # and so are longer ones, which would not add up within int64
_NARROW = 2.0**-17  # cells that can only move this little do not move
_SEED = 20240501

Tell = Callable[[str], None]
Positions = npt.NDArray[np.intp]
FloatArray = npt.NDArray[np.float64]


def pool(ledger: Ledger, *, tell: Tell) -> None:
    """Close as many open needs as shared moves can, first reversible ones, then one way at a time."""
    reduction = ledger.reduction
    both = np.minimum(reduction.down, reduction.up)
    rng = np.random.default_rng(_SEED)
    for down, up, patience in ((both, both, 2), (reduction.down, reduction.up, 2)):
        idle = 0
        while idle < patience:
            closed = 0
            targets, signs, amounts = _targets(ledger, down, up, rng)
            before = len(targets)
            for decade in decades(amounts):
                move = pooled_move(ledger, targets[decade], signs[decade], amounts[decade], down, up)
                closed += ledger.credit(move)
            tell(f"{int(ledger.open().sum()):,} cells left to prove")
            if not before:
                break
            idle = 0 if closed > 0.02 * before else idle + 1


def _targets(ledger: Ledger, down: Whole, up: Whole, rng: np.random.Generator) -> tuple[Positions, Whole, Whole]:
    """Return the open variables that the bounds allow to get what they need, a direction and an amount for each."""
    reduction = ledger.reduction
    toss = rng.random(reduction.n) < 0.5
    wants_up, wants_down = ledger.open_up(), ledger.open_down()
    slides = ledger.open_sliding() & ~wants_up & ~wants_down
    amount_up = np.where(wants_up, reduction.need_up, np.where(slides, reduction.sliding - ledger.down, 0))
    amount_down = np.where(wants_down, reduction.need_down, np.where(slides, reduction.sliding - ledger.up, 0))
    can_up = (amount_up > 0) & (amount_up <= up)
    can_down = (amount_down > 0) & (amount_down <= down)
    go_up = can_up & (toss | ~can_down)
    go_down = can_down & ~go_up
    at = np.flatnonzero(go_up | go_down)
    sign = np.where(go_up, 1, -1)[at]
    return at, sign, np.where(go_up, amount_up, amount_down)[at]


def decades(amounts: Whole) -> list[Positions]:
    """Group amounts of like size, the largest first: a program resolves only so many orders of magnitude."""
    decade = np.floor(np.log2(np.maximum(amounts, 1)) / _DECADE).astype(int)
    return [np.flatnonzero(decade == d) for d in np.unique(decade)[::-1]]


def pooled_move(
    ledger: Ledger, targets: Positions, signs: Whole, amounts: Whole, down: Whole, up: Whole
) -> Move | None:
    """Return an exact move that serves as many targets as possible within the bounds."""
    reduction = ledger.reduction
    low, high = (np.where(bound >= UNLIMITED, np.inf, bound.astype(float)) for bound in (down, up))
    moves = pooled_moves(reduction.matrix.astype(float), low, high, targets, signs * amounts.astype(float))
    return None if moves is None else exact_move(reduction, ledger.form, moves)


def pooled_moves(
    matrix: sp.csr_array, down: FloatArray, up: FloatArray, targets: Positions, amounts: FloatArray
) -> FloatArray | None:
    """Maximise the sum over the targets of min(move, amount) / amount, where negative amounts mean moves down.

    A target's column stands twice in the program: as the part of its move up to the amount, which pays, and as the part
    beyond it, which does not.
    """
    n = matrix.shape[1]
    ahead, size = amounts > 0, np.abs(amounts)
    scale = float(2.0 ** np.round(np.log2(np.median(size))))
    low, high = (_scaled(bound, scale) for bound in (down, up))
    part = size / scale
    beyond = np.maximum(np.where(ahead, high[targets], low[targets]) - part, 0)
    lower, upper, cost = -low, high, np.zeros(n)
    lower[targets] = np.where(ahead, lower[targets], -np.minimum(part, low[targets]))
    upper[targets] = np.where(ahead, np.minimum(part, high[targets]), upper[targets])
    cost[targets] = np.where(ahead, -1, 1) / part
    zero = np.zeros(len(targets))
    empty = np.zeros(matrix.shape[0])
    program = Program(
        sp.csr_array(sp.hstack([matrix, matrix[:, targets]], format="csr")),
        empty,
        empty,
        np.concatenate([lower, np.where(ahead, zero, -beyond)]),
        np.concatenate([upper, np.where(ahead, beyond, zero)]),
        np.concatenate([cost, zero]),
    )
    solution = Session(program, presolve=True).solve()
    if solution.status is not Status.optimal:
        return None
    moves = solution.x[:n].copy()
    moves[targets] += solution.x[n:]
    return moves * scale


def _scaled(bound: FloatArray, scale: float) -> FloatArray:
    scaled = bound / scale
    return np.where(scaled < _NARROW, 0.0, np.minimum(scaled, min(_WIDE, _FARTHEST / scale)))
