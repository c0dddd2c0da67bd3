"""Rounds of whole witnesses for counts: circuits prove most of them, integer programs what these leave.

Programs that move many counts at once come first, then short moves of a few, and at last programs of single counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import LongArray, Positions
from cellguard.attack.integer_moves import around, furthest, is_closed
from cellguard.attack.pooling import next_targets
from cellguard.attack.witness_ledger import WitnessLedger
from cellguard.linalg.circuits import circuits
from cellguard.proofs.chunks import Task
from cellguard.proofs.local import Neighbours
from cellguard.proofs.moves import Move
from cellguard.proofs.pool import whole_moves
from cellguard.proofs.scale import as_floats
from cellguard.proofs.short import short_moves
from cellguard.run_context import Run
from cellguard.solver.program import SEED

_LOOK, _TERMS = (20, 200), 2e6  # sweeps of elimination in a row, more of a small system, which together must close
# ... so many protection levels, and this part of those left over the sweeps, or else programs are quicker
_GAIN, _PART = 4, 2.0
_SWEEPS = 15  # times as many sweeps at most
_ALONE = 16  # targets of a sweep at least: fewer are less in each other's way, but take more sweeps
_RELATIONS, _TOGETHER = (700, 1_500), 20  # of a block, and its open counts that one integer program moves at once
_WORTH, _IDLE = 3, 3  # counts that it must prove, and how many in a row may prove fewer
_TRIES = 6  # short moves that look for a count's witness, before it is looked at by itself
_SHARE, _LEAST = 256, 6  # of that many variables one is wanted of a short move, but so many at least
_NEIGHBOURHOODS = (300, 1_500, 6_000)  # variables that may move in an integer program of a single count
_NODES = 100  # of these programs
_FAR = 1e6  # grains that a short move has at most


class Fixed(NamedTuple):
    """A count that no whole move takes a way, upwards or downwards."""

    variable: int
    sign: int


def pool_counts(ledger: WitnessLedger, *, run: Run) -> list[Fixed]:
    """Close unmet protection levels of counts by whole moves that serve some of them at once: programs, small and
    local ones.

    Return the counts that turn out not to move a way at all.
    """
    for relations in _RELATIONS:
        _by_blocks(ledger, relations, run)
    _by_short_moves(ledger, run)
    fixed, looked = list[Fixed](), dict[int, int]()
    for size in _NEIGHBOURHOODS:
        fixed += _by_neighbours(ledger, size, looked, run)
    return fixed


def circle_counts(ledger: WitnessLedger, *, run: Run) -> None:
    """Close needs of one more by circuits, which are whole and take no program.

    Variables that can go both ways come before those that go one way: mostly only the targets themselves are then in
    each other's way, and whichever are, are tried again with fewer of them.
    """
    reduction, rng, size = ledger.reduction, np.random.default_rng(SEED), ledger.reduction.n
    room = np.where(reduction.whole, np.minimum(reduction.down, reduction.up), -1)
    columns = sp.csc_array(reduction.matrix)
    look = int(np.clip(_TERMS / max(columns.nnz, 1), *_LOOK))
    left = [len(_small(ledger))]
    while left[-1] and len(left) <= _SWEEPS * look:
        targets = np.sort(rng.permutation(_small(ledger))[:size])
        first = np.zeros(reduction.n, bool)
        first[targets] = True
        order = np.lexsort((rng.random(reduction.n), -np.minimum(room, 3), ~first))
        order = order[room[order] >= 0]
        down, up = reduction.down[order], reduction.up[order]
        for move in _circuits(sp.csr_array(columns[:, order]), len(targets), down, up):
            ledger.credit(Move.of_some(order[move.indices], move.data))
        left.append(len(_small(ledger)))
        ledger.tell(run)
        run.check()
        if 2 * (left[-2] - left[-1]) < len(targets):
            size = max(min(size, left[-1]) // 2, _ALONE)
        if len(left) > look and left[-1 - look] - left[-1] < max(_GAIN, _PART * left[-1] / look):
            break


def _circuits(matrix: sp.csr_array, targets: int, down: LongArray, up: LongArray) -> Iterator[sp.csr_array]:
    """Go through moves within the bounds, one row each, in which many of the first columns move."""
    all_ = circuits(matrix, targets)
    moves = all_.some(all_.within(down, up)).joined(np.arange(len(down)) < targets, down, up)
    for number in range(moves.shape[0]):
        yield sp.csr_array(moves[[number]])


def _small(ledger: WitnessLedger) -> Positions:
    """Return the counts that need nothing but to move by one, whichever way."""
    reduction = ledger.reduction
    more = ledger.open_up() | ledger.open_down()
    return np.flatnonzero(ledger.open_sliding() & ~more & (reduction.levels.width == 1) & reduction.whole)


def _by_blocks(ledger: WitnessLedger, relations: int, run: Run) -> None:
    """Close protection levels by integer programs of so many relations around one open count, in which many of those
    there move.

    As long as circuits are long, and so hardly ever within the bounds, one such program closes what takes dozens of
    programs of single counts.
    """
    reduction, rng = ledger.reduction, np.random.default_rng(SEED)
    whole = np.flatnonzero(reduction.whole)
    neighbours = Neighbours(sp.csr_array(reduction.matrix[:, whole].astype(float)))
    down, up = (as_floats(room[whole]) for room in (reduction.down, reduction.up))
    idle = 0
    while idle < _IDLE:
        targets, signs, amounts = next_targets(ledger, reduction.down, reduction.up, rng)
        counted = reduction.whole[targets]
        places, wanted = np.searchsorted(whole, targets[counted]), (signs * amounts)[counted].astype(float)
        if not len(places):
            break
        inside, matrix = neighbours.block(int(rng.choice(places)), relations)
        chosen = np.sort(rng.permutation(np.flatnonzero(np.isin(places, inside)))[:_TOGETHER])
        closed = 0
        if len(chosen):
            at, rooms = np.searchsorted(inside, places[chosen]), (down[inside], up[inside])
            closed = ledger.credit(
                Move.of_some(whole[inside], whole_moves(matrix, *rooms, at, wanted[chosen], run=run))
            )
        idle = 0 if closed >= _WORTH else idle + 1
        ledger.tell(run)
        run.check()


def _by_short_moves(ledger: WitnessLedger, run: Run) -> None:
    """Close protection levels by short moves of a few at a time, in other directions and with other weights each
    time.
    """
    reduction, rng = ledger.reduction, np.random.default_rng(SEED)
    whole = np.flatnonzero(reduction.whole)
    matrix = sp.csr_array(reduction.matrix[:, whole].astype(float))
    down, up = (np.minimum(as_floats(room[whole]), _FAR) for room in (reduction.down, reduction.up))
    rigid = np.minimum(down, up) < 1
    tries, few = np.zeros(reduction.n, np.int64), max(_LEAST, len(whole) // _SHARE)
    while True:
        targets, amounts = _untried(ledger, tries, rng)
        chosen = np.sort(rng.permutation(len(targets))[:few])
        targets, amounts = targets[chosen], amounts[chosen]
        if not len(targets):
            break
        weights = 1 + rng.random(len(whole)) / 2 + 3 * rigid
        move = short_moves(matrix, (down, up), np.searchsorted(whole, targets), amounts, weights, run=run)
        ledger.credit(Move.of_some(whole, move))
        tries[targets] += 1
        ledger.tell(run)
        run.check()


def _untried(ledger: WitnessLedger, tries: LongArray, rng: np.random.Generator) -> tuple[Positions, LongArray]:
    """Return open counts that may be tried again, and signed amounts."""
    reduction = ledger.reduction
    targets, signs, amounts = next_targets(ledger, reduction.down, reduction.up, rng)
    worth = reduction.whole[targets] & (tries[targets] < _TRIES)
    return targets[worth], (signs * amounts)[worth]


def _by_neighbours(ledger: WitnessLedger, size: int, looked: dict[int, int], run: Run) -> list[Fixed]:
    """Close protection levels of single counts by integer programs in which only variables near to them move.

    ``looked`` says of how many variables each count's last program was: where there are no more, none is solved.
    """
    reduction, fixed = ledger.reduction, list[Fixed]()
    targets, signs, amounts = next_targets(ledger, reduction.down, reduction.up, np.random.default_rng(SEED))
    for v, sign, amount in zip(targets.tolist(), signs.tolist(), amounts.tolist(), strict=True):
        if not reduction.whole[v] or not ledger.open()[v]:
            continue
        near = around(reduction, v, size)
        if looked.get(v) == len(near.variables):
            continue
        looked[v] = len(near.variables)
        for way in (sign, -sign):
            if ledger.open()[v]:
                run.check()
                n, end = furthest(reduction, near, Task(v, way, 1.0), amount, nodes=_NODES, run=run)
                ledger.credit(Move.of_some(near.variables, n))
                if end < 1 and is_closed(reduction, near):
                    fixed.append(Fixed(v, way))
    return fixed
