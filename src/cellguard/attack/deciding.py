"""Safe, unsafe or undecided: pooled witnesses prove most protection levels, propagation refutes most others, programs
the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from cellguard.arrays import BoolArray, FloatArray
from cellguard.attack.block_proofs import prove_in_blocks
from cellguard.attack.counting import circle_counts, pool_counts
from cellguard.attack.integer_moves import whole_move
from cellguard.attack.pooling import pool
from cellguard.attack.unbounded_witnesses import move_freely
from cellguard.attack.witness_ledger import WitnessLedger
from cellguard.errors import Spent
from cellguard.proofs.chunks import Chunk, Task, cut_tasks, in_parallel
from cellguard.proofs.exact import exact_move, tight_move
from cellguard.proofs.moves import Move
from cellguard.proofs.pool import is_vast
from cellguard.proofs.probe import ScaledProbe, Unsolved
from cellguard.proofs.problem import Problem
from cellguard.proofs.reduction import Reduction, reduce_problem, with_needs
from cellguard.proofs.scale import NEAR, PROPAGATION, UNLIMITED, hair
from cellguard.run_context import Run
from cellguard.table.propagate import tighten

_LONG = 10_000  # relations of counts beyond which one program for all takes minutes, and local ones are quicker


@dataclass(frozen=True, eq=False)
class Verdict:
    """What is proven of each unknown cell of a problem.

    ``failing`` cells do not get their protection levels, ``undecided`` ones could not be settled. ``least`` and
    ``most`` bound the move of each cell from outside, in grains; for failing cells they are exact on the side that
    fails. ``moves`` are the witnesses, one move per entry, over its denominator.
    """

    failing: BoolArray
    undecided: BoolArray
    least: FloatArray
    most: FloatArray
    moves: Sequence[Move]
    reduction: Reduction

    @property
    def safe(self) -> bool:
        """Whether every protection level is proven."""
        return not (self.failing.any() or self.undecided.any())


class Propagated(NamedTuple):
    """A problem without the needs that propagation refutes, its reduction within the ``least`` and ``most`` moves."""

    hopeful: Problem
    reduction: Reduction
    least: FloatArray
    most: FloatArray


def decide(problem: Problem, *, before: Sequence[Move] = (), run: Run) -> Verdict:
    """Decide for every protection level whether an attacker's interval reaches it.

    ``before`` are moves of the problem's cells from elsewhere that may prove some; each is checked like any other.
    """
    _, reduction, least, most = propagated(problem)
    ledger = WitnessLedger(reduction)
    for move in before:
        ledger.credit(reduction.apply(move))
    ledger.tell(run)
    with suppress(Spent):  # what is proven and refuted by then is so
        _settle(ledger, least, most, run)
    low, high = reduction.cell_ends(least, most)
    failing = _beyond(problem, low, high)
    proven = ~_beyond(problem, *reduction.cell_ends(-ledger.down.astype(float), ledger.up.astype(float)))
    return Verdict(failing, ~failing & ~proven, low, high, ledger.moves, reduction)


def _settle(ledger: WitnessLedger, least: FloatArray, most: FloatArray, run: Run) -> None:
    """Prove what can be proven, and narrow ``least`` and ``most`` where a level is refuted."""
    reduction = ledger.reduction
    run.check()
    move_freely(ledger, run=run)
    circle_counts(ledger, run=run)
    if is_vast(reduction.matrix) and not reduction.whole.any():
        prove_in_blocks(ledger, run=run)
        _prove_inside(ledger, run)
    elif not (reduction.whole.all() and reduction.matrix.shape[0] > _LONG):
        pool(ledger, run=run)
    for v, sign in pool_counts(ledger, run=run):
        (most if sign > 0 else least)[v] = 0.0
    _probe(ledger, least, most, run)


def propagated(problem: Problem) -> Propagated:
    """Return what propagation leaves of a problem."""
    reduction = reduce_problem(problem)
    least, most = tighten(reduction.matrix.astype(float), *reduction.limits, rounds=PROPAGATION)
    least, most = np.ceil(least - NEAR), np.floor(most + NEAR)
    hopeful = _without(problem, _beyond(problem, *reduction.cell_ends(least, most)))
    return Propagated(hopeful, with_needs(_narrowed(reduction, least, most), hopeful), least, most)


def _beyond(problem: Problem, low: FloatArray, high: FloatArray) -> BoolArray:
    """Return which cells need more than moves between ``low`` and ``high`` give them."""
    return problem.levels.short_of(-low, high, NEAR)


def _without(problem: Problem, cells: BoolArray) -> Problem:
    """Forget the protection levels of some cells."""
    return replace(problem, levels=problem.levels.kept(~cells))


def _narrowed(reduction: Reduction, least: FloatArray, most: FloatArray) -> Reduction:
    """Take over narrower bounds."""
    down = np.where(np.isinf(least), UNLIMITED, -np.where(np.isinf(least), 0, least)).astype(np.int64)
    up = np.where(np.isinf(most), UNLIMITED, np.where(np.isinf(most), 0, most)).astype(np.int64)
    return replace(reduction, down=down, up=up)


def _probe(ledger: WitnessLedger, least: FloatArray, most: FloatArray, run: Run) -> None:
    """Settle what is still open by programs for single variables; narrow ``least`` and ``most`` where they refute."""
    tasks = [task for task in _tasks(ledger) if (most if task.sign > 0 else -least)[task.variable] >= 1]
    chunks = cut_tasks(ledger.reduction, tasks)
    for done, results in enumerate(in_parallel(chunks, partial(_work, ledger, run), run.threads), 1):
        for task, reach, move in results:
            ledger.credit(move)
            v = task.variable
            if reach >= 2 * task.scale:
                continue  # far enough, and perhaps not the end
            if task.sign > 0:
                most[v] = min(most[v], np.floor(reach + hair(reach)))
            else:
                least[v] = max(least[v], np.ceil(-reach - hair(reach)))
        ledger.tell(run, f"({done} of {len(chunks)} chunks)")
        run.check()


def _prove_inside(ledger: WitnessLedger, run: Run) -> None:
    """Prove single variables of a large set by points in the middle of all moves that serve them.

    Interior points take seconds there, and the simplex algorithm, which finds how far a variable goes, minutes.
    """
    reduction = ledger.reduction
    for chunk in cut_tasks(reduction, _tasks(ledger)):
        probe = chunk.probe(reduction.limits, run=run, enough=True)
        for task in chunk.tasks:
            need = int((reduction.levels.up if task.sign > 0 else reduction.levels.down)[task.variable])
            if need and ledger.open()[task.variable]:
                ledger.credit(_just(reduction, probe, chunk, task, need))
                ledger.tell(run)
            run.check()


def _tasks(ledger: WitnessLedger) -> list[Task]:
    reduction = ledger.reduction
    up, down, slides = ledger.open_up(), ledger.open_down(), ledger.open_sliding()
    tasks, most = [], reduction.levels.most()
    for v in np.flatnonzero(ledger.open()).tolist():
        scale = float(max(most[v], 1))
        tasks += [Task(v, 1, scale)] if up[v] or slides[v] else []
        tasks += [Task(v, -1, scale)] if down[v] or slides[v] else []
    return tasks


def _work(ledger: WitnessLedger, run: Run, chunk: Chunk) -> list[tuple[Task, float, Move | None]]:
    """Do one chunk: for each task how far it goes at most, and the exact move that goes there."""
    reduction = ledger.reduction
    probe = chunk.probe(reduction.limits, run=run, enough=True)
    results: list[tuple[Task, float, Move | None]] = []
    for task in chunk.tasks:
        run.check()
        try:
            moves = chunk.spread(probe.extreme(task.variable, task.sign), reduction.n)
        except Unsolved:
            results.append((task, np.inf, None))  # neither proven nor refuted
            continue
        reach = max(float(task.sign * moves[task.variable]), 0.0)  # to stay is a move
        exact = exact_move(reduction, ledger.form, moves)
        if reduction.whole[task.variable]:
            exact, reach = whole_move(reduction, chunk.component, task, exact, reach, run=run)
        elif need := _missed(reduction, task, exact, reach):
            exact = _just(reduction, probe, chunk, task, need) or exact
        results.append((task, reach, exact))
    return results


def _missed(reduction: Reduction, task: Task, exact: Move | None, reach: float) -> int:
    """Return what a program reaches of a need, but the exact move next to it misses by rounding error; 0 if nothing.

    Of a width, which both directions may share, that is all that this direction can give.
    """
    v, levels = task.variable, reduction.levels
    need = int((levels.up if task.sign > 0 else levels.down)[v])
    wide = int(levels.width[v])
    if wide > need:
        need = max(min(wide, int(np.floor(reach))), need)
    if need < 1 or reach < need - hair(need):
        return 0
    served = exact is not None and task.sign * exact.amount(v) >= need * exact.denominator
    return 0 if served else need


def _just(reduction: Reduction, probe: ScaledProbe, chunk: Chunk, task: Task, need: int) -> Move | None:
    """Return an exact move that serves a need without a grain more, from the middle of all that do."""
    local = probe.inside(task.variable, task.sign * need)
    if local is None:
        return None
    moves = chunk.spread(local, reduction.n)
    moves[task.variable] = task.sign * need
    return tight_move(reduction, moves, task.variable)
