"""Safe, unsafe or undecided: pooled witnesses prove most needs, propagation refutes most others, programs the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cellguard.attack.exact import Move, exact_move, tight_move
from cellguard.attack.ledger import Ledger
from cellguard.attack.pool import Tell, pool
from cellguard.attack.probe import Component, FloatArray, Positions, Prober, Task, chunks, components, in_parallel
from cellguard.attack.problem import UNLIMITED, Problem, Whole
from cellguard.attack.reduction import Reduction, reduce_problem, with_needs
from cellguard.attack.whole import whole_move
from cellguard.table.facts import BoolArray
from cellguard.table.propagate import tighten


@dataclass(frozen=True, eq=False)
class Verdict:
    """What is proven of each unknown cell of a problem.

    ``failing`` cells do not get what they need, ``undecided`` ones could not be settled. ``least`` and ``most`` bound
    the move of each cell from outside, in grains; for failing cells they are exact on the side that fails.
    ``moves`` are the witnesses, one move a cell, over its denominator.
    """

    failing: BoolArray
    undecided: BoolArray
    least: FloatArray
    most: FloatArray
    moves: list[Move]
    reduction: Reduction

    @property
    def safe(self) -> bool:
        """Whether every need is proven."""
        return not (self.failing.any() or self.undecided.any())


def decide(problem: Problem, *, threads: int = 1, tell: Tell) -> Verdict:
    """Decide for every need whether an attacker's interval reaches it."""
    reduction = reduce_problem(problem)
    least, most = tighten(
        reduction.matrix.astype(float), _outer(-reduction.down, -1.0), _outer(reduction.up, 1.0), rounds=50
    )
    least, most = np.ceil(least - 1e-6), np.floor(most + 1e-6)
    hopeless = _beyond(problem, *_cell_ends(reduction, least, most))
    reduction = with_needs(_narrowed(reduction, least, most), _without(problem, hopeless))
    ledger = Ledger(reduction)
    tell(f"{int(ledger.open().sum()):,} cells to prove")
    pool(ledger, tell=tell)
    _probe(ledger, least, most, threads, tell)
    low, high = _cell_ends(reduction, least, most)
    failing = _beyond(problem, low, high)
    proven = ~_beyond(problem, *_cell_ends(reduction, -ledger.down.astype(float), ledger.up.astype(float)))
    return Verdict(failing, ~failing & ~proven, low, high, ledger.moves, reduction)


def _outer(bound: Whole, sign: float) -> FloatArray:
    return np.where(np.abs(bound) >= UNLIMITED, sign * np.inf, bound.astype(float))


def _beyond(problem: Problem, low: FloatArray, high: FloatArray) -> BoolArray:
    """Tell which cells need more than moves between ``low`` and ``high`` give them."""
    short = (problem.upper > high + 1e-6) | (problem.lower > -low + 1e-6) | (problem.sliding > high - low + 1e-6)
    return np.asarray(short, bool)


def _without(problem: Problem, cells: BoolArray) -> Problem:
    """Forget the needs of some cells."""
    keep = ~cells
    return replace(problem, lower=problem.lower * keep, upper=problem.upper * keep, sliding=problem.sliding * keep)


def _narrowed(reduction: Reduction, least: FloatArray, most: FloatArray) -> Reduction:
    """Take over narrower bounds."""
    down = np.where(np.isinf(least), UNLIMITED, -np.where(np.isinf(least), 0, least)).astype(np.int64)
    up = np.where(np.isinf(most), UNLIMITED, np.where(np.isinf(most), 0, most)).astype(np.int64)
    return replace(reduction, down=down, up=up)


def _probe(ledger: Ledger, least: FloatArray, most: FloatArray, threads: int, tell: Tell) -> None:
    """Settle what is still open by programs for single variables; narrow ``least`` and ``most`` where they refute."""
    work = partial(_work, ledger)
    jobs = []
    for component, wanted in components(ledger.reduction, np.flatnonzero(ledger.open())):
        jobs += [(component, chunk) for chunk in chunks(_tasks(ledger, wanted))]
    for done, results in enumerate(in_parallel(jobs, work, threads), 1):
        for task, reach, moves in results:
            for move in moves:
                ledger.credit(move)
            if reach >= 2 * task.scale:
                continue  # far enough, and perhaps not the end
            if task.sign > 0:
                most[task.variable] = min(most[task.variable], np.floor(reach + 1e-6 + 1e-9 * abs(reach)))
            else:
                least[task.variable] = max(least[task.variable], np.ceil(-reach - 1e-6 - 1e-9 * abs(reach)))
        tell(f"{int(ledger.open().sum()):,} cells left to prove ({done} of {len(jobs)} chunks)")


def _tasks(ledger: Ledger, variables: Positions) -> list[Task]:
    reduction = ledger.reduction
    up, down, slides = ledger.open_up(), ledger.open_down(), ledger.open_sliding()
    tasks = []
    for v in variables.tolist():
        scale = float(max(reduction.need_up[v], reduction.need_down[v], reduction.sliding[v], 1))
        tasks += [Task(v, 1, scale)] if up[v] or slides[v] else []
        tasks += [Task(v, -1, scale)] if down[v] or slides[v] else []
    return tasks


def _work(ledger: Ledger, job: tuple[Component, list[Task]]) -> list[tuple[Task, float, list[Move]]]:
    """Do one chunk: for each task how far it goes at most, and the exact moves found on the way."""
    component, tasks = job
    reduction = ledger.reduction
    lower, upper = _outer(-reduction.down, -1.0), _outer(reduction.up, 1.0)
    prober = Prober(component, lower, upper, 2.0 ** round(np.log2(tasks[0].scale)), enough=True)
    found = []
    for task in tasks:
        local = prober.extreme(task.variable, task.sign)
        moves = np.zeros(reduction.n)
        moves[component.variables] = local
        reach = float(task.sign * moves[task.variable])
        exact = exact_move(reduction, ledger.form, moves)
        if not reduction.whole[task.variable] and (need := _missed(reduction, task, exact, reach)):
            exact = _just(reduction, prober, task, need) or exact
        if reduction.whole[task.variable]:
            exact, reach = whole_move(reduction, component, task, exact, reach)
        found.append((task, reach, [exact] if exact is not None else []))
    return found


def _missed(reduction: Reduction, task: Task, exact: Move | None, reach: float) -> int:
    """Return the need that a program serves, but the exact move next to it misses by a hair; 0 if there is none."""
    v = task.variable
    need = int(reduction.need_up[v] if task.sign > 0 else reduction.need_down[v])
    if reach < need - 1e-9 * need - 1e-6:
        return 0
    at = np.flatnonzero(exact.variables == v) if exact is not None else np.zeros(0, np.intp)
    served = exact is not None and len(at) and task.sign * int(exact.n[at[0]]) >= need * exact.denominator
    return 0 if served else need


def _just(reduction: Reduction, prober: Prober, task: Task, need: int) -> Move | None:
    """Return an exact move that serves a need without a grain more, from the middle of all that do."""
    local = prober.inside(task.variable, task.sign * need)
    if local is None:
        return None
    moves = np.zeros(reduction.n)
    moves[prober.component.variables] = local
    moves[task.variable] = task.sign * need
    return tight_move(reduction, moves, task.variable)


def _cell_ends(reduction: Reduction, least: FloatArray, most: FloatArray) -> tuple[FloatArray, FloatArray]:
    sign = reduction.sign
    low, high = least[reduction.variable], most[reduction.variable]
    fixed = sign == 0
    return (
        np.where(fixed, 0.0, np.where(sign > 0, low, -high)),
        np.where(fixed, 0.0, np.where(sign > 0, high, -low)),
    )
