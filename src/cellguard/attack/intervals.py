"""Exact intervals: the least and the most that each unknown cell can be, over all tables that fit what is known."""

from __future__ import annotations

from functools import partial

import numpy as np

from cellguard.attack.endless import endless
from cellguard.attack.pool import Tell
from cellguard.attack.probe import Component, FloatArray, Prober, Task, chunks, components, in_parallel
from cellguard.attack.problem import UNLIMITED, Problem
from cellguard.attack.reduction import Reduction, reduce_problem
from cellguard.attack.whole import furthest
from cellguard.table.facts import BoolArray
from cellguard.table.propagate import tighten


def exact_moves(problem: Problem, *, threads: int = 1, tell: Tell) -> tuple[FloatArray, FloatArray]:
    """Return for each unknown cell how far it can move down (as a number <= 0) and up, in grains; may be infinite.

    Propagation comes first: where a vertex that is known already attains its bound, no program is needed.
    """
    reduction = reduce_problem(problem)
    lower, upper = _limits(reduction)
    outer_low, outer_high = tighten(reduction.matrix.astype(float), lower, upper, rounds=50)
    endless_low, endless_high = endless(reduction, outer_low, outer_high)
    low, high = np.zeros(reduction.n), np.zeros(reduction.n)
    tasks = [Task(v, 1, _size(v, outer_low, outer_high)) for v in _open(outer_high, high, endless_high)]
    tasks += [Task(v, -1, _size(v, outer_low, outer_high)) for v in _open(-outer_low, -low, endless_low)]
    jobs: list[tuple[Component, list[Task]]] = []
    by_variable = np.array([task.variable for task in tasks], np.intp)
    for component, wanted in components(reduction, np.unique(by_variable)):
        mine = [tasks[i] for i in np.flatnonzero(np.isin(by_variable, wanted))]
        jobs += [(component, chunk) for chunk in chunks(mine)]
    work = partial(_work, reduction, outer_low, outer_high)
    for done, found in enumerate(in_parallel(jobs, work, threads), 1):
        for variable, sign, end in found:
            if sign > 0:
                high[variable] = end
            else:
                low[variable] = end
        tell(f"{done} of {len(jobs)} chunks of intervals")
    low[endless_low], high[endless_high] = -np.inf, np.inf
    return _to_cells(reduction, low, high)


def _limits(reduction: Reduction) -> tuple[FloatArray, FloatArray]:
    lower = np.where(reduction.down >= UNLIMITED, -np.inf, -reduction.down.astype(float))
    return lower, np.where(reduction.up >= UNLIMITED, np.inf, reduction.up.astype(float))


def _open(outer: FloatArray, inner: FloatArray, endless: BoolArray) -> list[int]:
    return [int(v) for v in np.flatnonzero((outer > inner + 1e-6) & ~endless)]


def _size(variable: int, low: FloatArray, high: FloatArray) -> float:
    """Return the order of magnitude of a variable's interval, as far as it is known."""
    ends = np.abs([low[variable], high[variable]])
    finite = ends[np.isfinite(ends)]
    return float(max(finite.max(initial=0.0), 1.0))


def _work(
    reduction: Reduction, low: FloatArray, high: FloatArray, job: tuple[Component, list[Task]]
) -> list[tuple[int, int, float]]:
    """Do one chunk; a vertex in which another variable already stands at its outer bound settles that one too."""
    component, tasks = job
    prober = Prober(component, low, high, 2.0 ** round(np.log2(tasks[0].scale)))
    counts = bool(reduction.whole[component.variables].any())
    least, most = np.zeros(reduction.n), np.zeros(reduction.n)
    found = []
    for task in tasks:
        outer, seen = (high, most) if task.sign > 0 else (low, least)
        v = task.variable
        if not np.isfinite(outer[v]) or abs(seen[v] - outer[v]) > 1e-6 + 1e-9 * abs(outer[v]):
            moves = prober.extreme(v, task.sign)
            if counts and not _is_whole(moves):
                moves = furthest(reduction, component, task, _reach(component, task, moves))[0].astype(float)
            least[component.variables] = np.minimum(least[component.variables], moves)
            most[component.variables] = np.maximum(most[component.variables], moves)
        found.append((v, task.sign, _tidy(float(seen[v]))))
    return found


def _is_whole(moves: FloatArray) -> bool:
    return bool((np.abs(moves - np.rint(moves)) <= 1e-6).all())


def _reach(component: Component, task: Task, moves: FloatArray) -> int:
    """Return how far a vertex takes the task's variable, in whole numbers."""
    return int(np.floor(np.abs(moves[component.variables == task.variable][0]) + 1e-6))


def _tidy(end: float) -> float:
    """Take a floating-point neighbour of a whole number of grains for that number."""
    near = round(end)
    return float(near) if abs(end - near) <= 1e-6 + 1e-9 * abs(end) else end


def _to_cells(reduction: Reduction, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    sign = reduction.sign
    least, most = low[reduction.variable], high[reduction.variable]
    return (
        np.where(sign == 0, 0.0, np.where(sign > 0, least, -most)),
        np.where(sign == 0, 0.0, np.where(sign > 0, most, -least)),
    )
