"""Rounds of pooled witnesses: shared moves close most of the unmet protection levels before any cell is looked at by
itself.

One program maximises the sum over targets t of min(s_t d_t, need_t) / need_t under M d = 0 and the bounds, with random
signs s: its solution serves thousands of cells at once. First with bounds symmetric about 0, so that -d is a move, too,
and each witness counts both ways; then with the true ones. What rounds with other signs do not serve is left to
programs of single cells.
"""

from __future__ import annotations

import numpy as np

from cellguard.arrays import LongArray, Positions
from cellguard.attack.witness_ledger import WitnessLedger
from cellguard.proofs.exact import exact_among, exact_move
from cellguard.proofs.moves import Move
from cellguard.proofs.pool import pooled_moves
from cellguard.proofs.scale import NEARLY, UNLIMITED, as_floats, decades
from cellguard.run_context import Run
from cellguard.solver.program import SEED

_PATIENCE = 2  # rounds with other random directions, before what they do not close is left to single programs
_BRIEF = 0.1  # a program that serves a smaller share of its targets is not worth another one
_HAIR = 1e-6  # a thousand times what a solver's numbers are off
_WORTH = 0.02  # a round that closes a smaller share of the unmet protection levels was idle


def pool(ledger: WitnessLedger, *, patience: int = _PATIENCE, run: Run) -> None:
    """Close as many unmet protection levels as shared moves can, first reversible ones, then one way at a time.

    ``patience`` is how many rounds that close little end it.
    """
    reduction = ledger.reduction
    both = np.minimum(reduction.down, reduction.up)
    # Random signs: with all of them alike targets of one relation would compete, since their moves add up to 0.
    rng = np.random.default_rng(SEED)
    for down, up in ((both, both), (reduction.down, reduction.up)):
        idle = 0
        while idle < patience:
            closed = 0
            targets, signs, amounts = next_targets(ledger, down, up, rng)
            for decade in reversed(decades(amounts)):
                move = _pooled_move(ledger, targets[decade], signs[decade] * amounts[decade], down, up, run)
                closed += ledger.credit(move)
            ledger.tell(run)
            run.check()
            if not len(targets):
                break
            idle = 0 if closed > _WORTH * len(targets) else idle + 1


def pool_briefly(ledger: WitnessLedger, *, run: Run) -> None:
    """Do the same in few programs: what a program hardly serves is not tried again the same way.

    Programs have a hair less room, and go a hair further: then no target loses by exactness its protection level.
    """
    reduction = ledger.reduction
    down, up = (room if reduction.whole.any() else room - _hairs(room) for room in (reduction.down, reduction.up))
    both = np.minimum(down, up)
    rng = np.random.default_rng(SEED)
    for worth, low, high in ((np.inf, both, both), (_BRIEF, down, up)):
        tired = np.zeros(reduction.n, bool)
        while True:
            targets, signs, amounts = next_targets(ledger, low, high, rng)
            awake = np.flatnonzero(~tired[targets])
            if not len(awake):
                break
            targets, amounts = targets[awake], signs[awake] * amounts[awake]
            for decade in reversed(decades(np.abs(amounts))):
                before = ledger.needs_open()
                ledger.credit(_roomy_move(ledger, targets[decade], amounts[decade], low, high, run))
                tired[targets[decade]] = before - ledger.needs_open() <= worth * len(decade)
            run.check()


def _roomy_move(
    ledger: WitnessLedger, targets: Positions, amounts: LongArray, down: LongArray, up: LongArray, run: Run
) -> Move | None:
    """Return an exact move that takes as many targets as possible a hair further than their amounts."""
    reduction = ledger.reduction
    further = amounts + np.sign(amounts) * _hairs(np.abs(amounts)) * ~reduction.whole[targets]
    moves = pooled_moves(
        reduction.matrix.astype(float), as_floats(down), as_floats(up), targets, further.astype(float), run=run
    )
    return None if moves is None else exact_among(reduction, moves, NEARLY * float(np.abs(amounts).max()))


def _hairs(amount: LongArray) -> LongArray:
    """Return a millionth of an amount, rounded up; nothing of what has no bound."""
    return np.where(amount < UNLIMITED, np.ceil(amount * _HAIR), 0).astype(np.int64)


def next_targets(
    ledger: WitnessLedger, down: LongArray, up: LongArray, rng: np.random.Generator
) -> tuple[Positions, LongArray, LongArray]:
    """Return the open variables that the bounds allow to get their protection levels, a direction and an amount per
    variable.
    """
    reduction, levels = ledger.reduction, ledger.reduction.levels
    toss = rng.random(reduction.n) < 0.5
    wants_up, wants_down = ledger.open_up(), ledger.open_down()
    slides = ledger.open_sliding() & ~wants_up & ~wants_down
    amount_up = np.where(wants_up, levels.up, np.where(slides, levels.width - ledger.down, 0))
    amount_down = np.where(wants_down, levels.down, np.where(slides, levels.width - ledger.up, 0))
    can_up = (amount_up > 0) & (amount_up <= up)
    can_down = (amount_down > 0) & (amount_down <= down)
    go_up = can_up & (toss | ~can_down)
    go_down = can_down & ~go_up
    targets = np.flatnonzero(go_up | go_down)
    signs = np.where(go_up, 1, -1)[targets]
    return targets, signs, np.where(go_up, amount_up, amount_down)[targets]


def _pooled_move(
    ledger: WitnessLedger, targets: Positions, amounts: LongArray, down: LongArray, up: LongArray, run: Run
) -> Move | None:
    """Return an exact move that serves as many targets as possible within the bounds."""
    reduction = ledger.reduction
    moves = pooled_moves(
        reduction.matrix.astype(float), as_floats(down), as_floats(up), targets, amounts.astype(float), run=run
    )
    return None if moves is None else exact_move(reduction, ledger.form, moves)
