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
_NARROW = 2.0**-17  # cells that can only move this little do not move
_SEED = 20240501

Tell = Callable[[str], None]
Positions = npt.NDArray[np.intp]


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
            for decade in _decades(amounts):
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


def _decades(amounts: Whole) -> list[Positions]:
    """Group amounts of like size, the largest first: a program resolves only so many orders of magnitude."""
    decade = np.floor(np.log2(np.maximum(amounts, 1)) / _DECADE).astype(int)
    return [np.flatnonzero(decade == d) for d in np.unique(decade)[::-1]]


def pooled_move(
    ledger: Ledger, targets: Positions, signs: Whole, amounts: Whole, down: Whole, up: Whole
) -> Move | None:
    """Maximise the sum over the targets of min(move, amount) / amount within the bounds.

    A target's column stands twice in the program: as the part of its move up to the amount, which pays, and as the part
    beyond it, which does not.
    """
    reduction, form = ledger.reduction, ledger.form
    scale = float(2.0 ** np.round(np.log2(np.median(amounts))))
    low, high = (_scaled(bound, scale) for bound in (down, up))
    part = amounts / scale
    beyond = np.where(signs > 0, high[targets], low[targets]) - part
    lower, upper, cost = -low, high, np.zeros(reduction.n)
    lower[targets] = np.where(signs > 0, lower[targets], -part)
    upper[targets] = np.where(signs > 0, part, upper[targets])
    cost[targets] = -signs / part
    zero = np.zeros(len(targets))
    beyond = np.maximum(beyond, 0)
    program = _program(
        sp.csr_array(sp.hstack([reduction.matrix, reduction.matrix[:, targets]], format="csr", dtype=float)),
        np.concatenate([lower, np.where(signs > 0, zero, -beyond)]),
        np.concatenate([upper, np.where(signs > 0, beyond, zero)]),
        np.concatenate([cost, zero]),
    )
    solution = Session(program, presolve=True).solve()
    if solution.status is not Status.optimal:
        return None
    moves = solution.x[: reduction.n].copy()
    moves[targets] += solution.x[reduction.n :]
    return exact_move(reduction, form, moves * scale)


def _scaled(bound: Whole, scale: float) -> npt.NDArray[np.float64]:
    scaled = np.where(bound >= UNLIMITED, np.inf, bound / scale)
    return np.where(scaled < _NARROW, 0.0, np.minimum(scaled, _WIDE))


def _program(
    matrix: sp.csr_array,
    lower: npt.NDArray[np.float64],
    upper: npt.NDArray[np.float64],
    cost: npt.NDArray[np.float64],
) -> Program:
    zero = np.zeros(matrix.shape[0])
    return Program(matrix, zero, zero, lower, upper, cost)
