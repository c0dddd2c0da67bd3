"""Large sets in blocks: witnesses from pooled programs of a few thousand relations around one open cell after another.

What moves in a block, while all else stays fixed, moves in the whole set. One program of all of a large set takes
minutes; those of its blocks take a tenth of a second, and their moves are short, and so are quickly made exact.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import LongArray, Positions
from cellguard.attack.pooling import next_targets
from cellguard.attack.witness_ledger import WitnessLedger
from cellguard.proofs.exact import exact_among
from cellguard.proofs.local import Neighbours, reduction_of
from cellguard.proofs.moves import Move
from cellguard.proofs.pool import pooled_moves
from cellguard.proofs.scale import as_floats, decades
from cellguard.run_context import Run
from cellguard.solver.program import SEED

_POOLED = 3_000, 8_000  # relations of a block whose open cells are moved together
_ALONE = 1_000, 3_000, 8_000  # relations of a block in which one cell is moved by itself
_WIDE = 16_000, 32_000  # ... and of those in which what is left then is moved together, and at last alone
_WORTH, _LAST = 5.0, 25  # cells that a block must prove, on average of so many blocks, or larger ones follow
_LITTLE = 0.2  # ... a wide one, which takes a second where a program of the whole set takes minutes


def prove_in_blocks(ledger: WitnessLedger, *, run: Run) -> None:
    """Close what moves of blocks can close: of all open cells in a block together, and then of single ones."""
    blocks, rng = _Blocks(ledger, run), np.random.default_rng(SEED)
    for rows in _POOLED:
        _together(ledger, blocks, rows, _WORTH, rng)
    for rows in _ALONE:
        _alone(ledger, blocks, rows, rng)
    for rows in _WIDE:
        _together(ledger, blocks, rows, _LITTLE, rng)
        _alone(ledger, blocks, rows, rng)


def _together(ledger: WitnessLedger, blocks: _Blocks, rows: int, worth: float, rng: np.random.Generator) -> None:
    """Move all open cells in a block, around one open cell after another, as long as each block proves enough."""
    reduction = ledger.reduction
    tried, closed = np.zeros(reduction.n, bool), [worth] * _LAST
    while sum(closed[-_LAST:]) >= worth * _LAST:
        targets, signs, amounts = next_targets(ledger, reduction.down, reduction.up, rng)
        fresh = targets[~tried[targets]]
        if not len(fresh):
            break
        middle = int(rng.choice(fresh))
        tried[middle] = True
        closed.append(blocks.close(middle, rows, targets, signs * amounts))


def _alone(ledger: WitnessLedger, blocks: _Blocks, rows: int, rng: np.random.Generator) -> None:
    """Move each open cell by itself, in a block around it."""
    reduction = ledger.reduction
    tried = np.zeros(2 * reduction.n, bool)
    while True:
        targets, signs, amounts = next_targets(ledger, reduction.down, reduction.up, rng)
        fresh = np.flatnonzero(~tried[2 * targets + (signs > 0)])
        if not len(fresh):
            break
        for one in fresh.tolist():
            tried[2 * targets[one] + (signs[one] > 0)] = True
            if ledger.open()[targets[one]]:
                blocks.close(int(targets[one]), rows, targets[[one]], (signs * amounts)[[one]])


class _Blocks:
    """The blocks of a ledger's problem, and what their moves prove."""

    def __init__(self, ledger: WitnessLedger, run: Run) -> None:
        self._ledger, self._run = ledger, run
        self._neighbours = Neighbours(sp.csr_array(ledger.reduction.matrix))
        self._done = 0

    def close(self, middle: int, rows: int, targets: Positions, amounts: LongArray) -> int:
        """Move those of some targets that lie in the block around one; return how many cells that proves."""
        inside, matrix = self._neighbours.block(middle, rows)
        chosen = np.isin(targets, inside)
        places, far = np.searchsorted(inside, targets[chosen]), amounts[chosen]
        closed = sum(
            self._ledger.credit(self._move(inside, matrix, places[group], far[group])) for group in decades(np.abs(far))
        )
        self._done += 1
        if self._done % _LAST == 0:
            self._ledger.tell(self._run)
        self._run.check()
        return closed

    def _move(self, inside: Positions, matrix: sp.csr_array, places: Positions, amounts: LongArray) -> Move | None:
        """Return an exact move of a block that serves as many targets as can be."""
        reduction = self._ledger.reduction
        down, up = reduction.down[inside], reduction.up[inside]
        rooms = as_floats(down), as_floats(up)
        moves = pooled_moves(matrix.astype(float), *rooms, places, amounts.astype(float), run=self._run)
        if moves is None:
            return None
        move = exact_among(reduction_of(matrix, down, up, reduction.whole[inside]), moves, 0.0)
        return None if move is None else Move(inside[move.variables], move.n, move.denominator)
