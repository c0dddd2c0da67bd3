"""Exact intervals: the least and the most that each unknown cell can be, over all tables that fit what is known."""

from __future__ import annotations

from functools import partial

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.attack.integer_moves import around, furthest
from cellguard.attack.unbounded_directions import endless
from cellguard.proofs.chunks import Chunk, Component, Task, cut_tasks, in_parallel
from cellguard.proofs.problem import Problem
from cellguard.proofs.reduction import Reduction, reduce_problem
from cellguard.proofs.scale import NEAR, PROPAGATION, hair
from cellguard.run_context import Run
from cellguard.table.propagate import tighten

_NEARBY = (100, 400)  # variables that may move in a program of a single count, before all may
_NODES = 100  # of these programs


def exact_moves(problem: Problem, *, run: Run) -> tuple[FloatArray, FloatArray]:
    """Return for each unknown cell how far it can move down (as a number <= 0) and up, in grains; may be infinite.

    Propagation comes first: where a vertex that is known already attains its bound, no program is needed.
    """
    reduction = reduce_problem(problem)
    outer_low, outer_high = tighten(reduction.matrix.astype(float), *reduction.limits, rounds=PROPAGATION)
    endless_low, endless_high = endless(reduction, outer_low, outer_high, run=run)
    low, high = np.zeros(reduction.n), np.zeros(reduction.n)
    tasks = [Task(v, 1, _size(v, outer_low, outer_high)) for v in _open(outer_high, high, endless_high)]
    tasks += [Task(v, -1, _size(v, outer_low, outer_high)) for v in _open(-outer_low, -low, endless_low)]
    chunks = cut_tasks(reduction, tasks)
    work = partial(_work, reduction, outer_low, outer_high, run)
    for done, ends in enumerate(in_parallel(chunks, work, run.threads), 1):
        for task, end in ends:
            (high if task.sign > 0 else low)[task.variable] = end
        run.tell(f"{done} of {len(chunks)} chunks of intervals", done, len(chunks))
        run.check()
    low[endless_low], high[endless_high] = -np.inf, np.inf
    return reduction.cell_ends(low, high)


def _open(outer: FloatArray, inner: FloatArray, endless: BoolArray) -> list[int]:
    return [int(v) for v in np.flatnonzero((outer > inner + NEAR) & ~endless)]


def _size(variable: int, low: FloatArray, high: FloatArray) -> float:
    """Return the order of magnitude of a variable's interval, as far as it is known."""
    ends = np.abs([low[variable], high[variable]])
    finite = ends[np.isfinite(ends)]
    return float(max(finite.max(initial=0.0), 1.0))


def _work(reduction: Reduction, low: FloatArray, high: FloatArray, run: Run, chunk: Chunk) -> list[tuple[Task, float]]:
    """Do one chunk; a vertex in which another variable already stands at its outer bound settles that one too."""
    component = chunk.component
    probe = chunk.probe((low, high), run=run)
    counts = bool(reduction.whole[component.variables].any())
    least, most = np.zeros(reduction.n), np.zeros(reduction.n)
    ends = []
    for task in chunk.tasks:
        run.check()
        outer, seen = (high, most) if task.sign > 0 else (low, least)
        v = task.variable
        if not np.isfinite(outer[v]) or abs(seen[v] - outer[v]) > hair(outer[v]):
            moves = probe.extreme(v, task.sign)
            if counts and not _is_whole(moves):
                moves = _whole(reduction, component, task, moves, run).astype(float)
            least[component.variables] = np.minimum(least[component.variables], moves)
            most[component.variables] = np.maximum(most[component.variables], moves)
        ends.append((task, _tidy(float(seen[v]))))
    return ends


def _whole(reduction: Reduction, component: Component, task: Task, moves: FloatArray, run: Run) -> LongArray:
    """Return the furthest whole move of a variable, of which a program without integrality went this far.

    Nothing goes further than the whole part of that; a move of few variables that gets there is found much sooner than
    one of all: of those that moved anyway, or of those nearby.
    """
    reach = int(np.floor(np.abs(moves[component.variables == task.variable][0]) + NEAR))
    for size in (0, *_NEARBY):
        part = around(reduction, task.variable, size) if size else component.among(component.variables[moves != 0])
        if 0 < len(part.variables) < len(component.variables) and reach > 0:
            n, _ = furthest(reduction, part, task, reach, nodes=_NODES, run=run)
            place = np.searchsorted(part.variables, task.variable)
            if abs(int(n[place])) == reach:
                whole = np.zeros(len(component.variables), np.int64)
                whole[np.searchsorted(component.variables, part.variables)] = n
                return whole
    return furthest(reduction, component, task, reach, run=run)[0]


def _is_whole(moves: FloatArray) -> bool:
    return bool((np.abs(moves - np.rint(moves)) <= NEAR).all())


def _tidy(end: float) -> float:
    """Take a floating-point neighbour of a whole number of grains for that number."""
    near = round(end)
    return float(near) if abs(end - near) <= hair(end) else end
