"""Local search on a pattern that propagation finds served: drop, cover, exchange and insert cells. Compiled.

All moves keep every target and every watched cut served; whether that is enough only an exact look can tell.
Constants are handed on as `np.bool_` and `np.int64`: for plain ones what takes them is compiled once per constant.
"""

# mypy: ignore-errors
from __future__ import annotations

import heapq
import math

import numpy as np

from cellguard.kernels.kernel import kernel
from cellguard.methods.suppress.engines.incremental_kernel import begin, change, undo
from cellguard.methods.suppress.engines.propagation_kernel import FLIPPED, LOGGED, SEED, SERVED, cut_of, is_served
from cellguard.proofs.extent_kernel import WORK

_NEAR_CELLS = 60  # cells whose relations are followed to find secondaries nearby
_LONG = 60  # relations longer than this are not followed


@kernel
def _random(scratch):  # noqa: ANN001, ANN202
    """Return a number between 0 and 1 (xorshift; the same on every machine)."""
    x = np.uint64(scratch.counts[SEED])
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    scratch.counts[SEED] = np.int64(x)
    return float(x >> np.uint64(11)) / 9007199254740992.0


@kernel
def _lacks(target, goals, pattern, watched, graph, scratch):  # noqa: ANN001, ANN202
    """Return published cells that would help a target or a watched cut, their shares, and what it lacks."""
    many = len(goals.cell)
    if target >= many:
        cut = target - many
        at = slice(watched.cut_start[cut], watched.cut_start[cut + 1])
        cells, shares, left = watched.cut_cells[at], watched.cut_weights[at], 0.0
    else:
        n = len(pattern.hidden)
        at = slice(goals.scale[target] * 2 * n, (goals.scale[target] + 1) * 2 * n)
        cells, shares, left = cut_of(target, goals, pattern.reach[at], pattern.via[at], graph, scratch)
    keep = np.empty(len(cells), np.int64)
    kept = 0
    for k in range(len(cells)):
        if pattern.hidden[cells[k]]:
            left += shares[k]
        elif shares[k] > 1e-7 and not pattern.barred[cells[k]]:
            keep[kept] = k
            kept += 1
    return cells[keep[:kept]], shares[keep[:kept]], 1.0 - left


@kernel
def cover(open_, guide, budget, avoid, noise, price, goals, pattern, watched, graph, scratch):  # noqa: ANN001, ANN201
    """Suppress cells, cut by cut and the largest need first, until all are served; return them and whether that worked.

    A cell is chosen for what it costs by ``guide`` for each part of the lack that it fills. The cells suppressed must
    cost less than the budget. ``avoid`` is not suppressed.
    """
    added = [np.int64(0) for _ in range(0)]
    spent, many = 0.0, len(goals.cell)
    one = np.empty(1, np.int64)
    heap = [(-np.inf, np.int64(-1))]
    for target in open_:
        heap.append((-goals.need[target] if target < many else 1.0, target))
    heapq.heapify(heap)
    while len(heap):
        _, target = heapq.heappop(heap)
        while target >= 0:
            served = (
                watched.left[target - many] >= SERVED
                if target >= many
                else is_served(target, goals, pattern, graph, scratch)
            )
            if served:
                break
            cells, shares, lack = _lacks(target, goals, pattern, watched, graph, scratch)
            best, least = -1, np.inf
            for k in range(len(cells)):
                if cells[k] == avoid:
                    continue
                cost = guide[cells[k]] / min(shares[k], lack)
                if noise > 0:
                    cost *= math.exp(noise * 2.0 * (_random(scratch) + _random(scratch) + _random(scratch) - 1.5))
                if cost < least:
                    best, least = cells[k], cost
            if best < 0:
                return added, False
            spent += pattern.cost[best]
            if spent >= budget:
                return added, False
            added.append(best)
            one[0] = best
            # Another derivation may now be the shortest, and refute a target that the last one did not.
            for other in change(one, np.bool_(False), price, goals, pattern, watched, graph, scratch):
                if other != target:
                    heapq.heappush(heap, (-goals.need[other] if other < many else 1.0, other))
    return added, True


@kernel
def clean(cells, most, price, goals, pattern, watched, graph, scratch):  # noqa: ANN001, ANN201
    """Publish the given secondaries one after the other where all stays served, at most so many; return how many."""
    one = np.empty(1, np.int64)
    gone = 0
    for c in cells:
        if not pattern.hidden[c] or pattern.base[c]:
            continue
        begin(scratch)
        one[0] = c
        if len(change(one, np.bool_(True), price, goals, pattern, watched, graph, scratch)):
            undo(np.int64(0), np.int64(0), price, goals, pattern, watched, graph, scratch)
        else:
            gone += 1
            if gone >= most:
                break
    begin(scratch)
    return gone


@kernel
def _near(c, most, pattern, graph, scratch):  # noqa: ANN001, ANN202
    """Return secondaries near a cell: breadth first over relations, through suppressed cells."""
    seen = {np.int64(c)}
    rows = {np.int64(-1)}
    order = [np.int64(c)]
    secondaries = [np.int64(0) for _ in range(0)]
    i = 0
    while i < len(order) and i < _NEAR_CELLS and len(secondaries) < most:
        j = order[i]
        i += 1
        for z in range(graph.cell_start[j], graph.cell_start[j + 1]):
            r = graph.cell_rows[z]
            if r in rows or graph.row_start[r + 1] - graph.row_start[r] > _LONG:
                continue
            rows.add(r)
            scratch.counts[WORK] += graph.row_start[r + 1] - graph.row_start[r]
            for y in range(graph.row_start[r], graph.row_start[r + 1]):
                k = graph.row_cells[y]
                if pattern.hidden[k] and k not in seen:
                    seen.add(k)
                    order.append(k)
                    if not pattern.base[k] and len(secondaries) < most:
                        secondaries.append(k)
    near = np.empty(len(secondaries), np.int64)
    for k in range(len(secondaries)):
        near[k] = secondaries[k]
    return near


@kernel
def _dearest_first(cells, cost):  # noqa: ANN001, ANN202
    return cells[np.argsort(-cost[cells], kind="mergesort")]


@kernel
def _cost_of(cells, cost):  # noqa: ANN001, ANN202
    total = 0.0
    for c in cells:
        total += cost[c]
    return total


@kernel
def exchange(c, size, noise, guide, price, goals, pattern, watched, graph, scratch):  # noqa: ANN001, ANN201
    """Publish a secondary and some near it, cover what that opens more cheaply, clean nearby; return what was saved."""
    gone = np.empty(size, np.int64)
    gone[0] = c
    many, worth = 1, pattern.cost[c]
    if size > 1:
        near = _near(c, 3 * size, pattern, graph, scratch)
        for k in range(len(near)):
            # each of the rest with the chance that fills the number wanted
            if many < size and _random(scratch) * (len(near) - k) < size - many and near[k] != c:
                gone[many] = near[k]
                many += 1
                worth += pattern.cost[near[k]]
    begin(scratch)
    open_ = change(gone[:many], np.bool_(False), price, goals, pattern, watched, graph, scratch)
    opened = np.empty(len(open_), np.int64)
    for k in range(len(open_)):
        opened[k] = open_[k]
    added, done = cover(opened, guide, worth * (1 - 1e-9), c, noise, price, goals, pattern, watched, graph, scratch)
    if not done:
        undo(np.int64(0), np.int64(0), price, goals, pattern, watched, graph, scratch)
        return 0.0
    saved = worth
    for d in added:
        saved -= pattern.cost[d]
    begin(scratch)
    for d in added[:10]:
        around = _dearest_first(_near(d, 12, pattern, graph, scratch), pattern.cost)
        before = _cost_of(around, pattern.cost)
        clean(around, len(around), price, goals, pattern, watched, graph, scratch)
        for e in around:
            if pattern.hidden[e]:
                before -= pattern.cost[e]
        saved += before
    return saved


@kernel
def insert(d, price, goals, pattern, watched, graph, scratch):  # noqa: ANN001, ANN201
    """Suppress a cell, and publish what that makes needless nearby; return what was saved, or 0 if it is taken back."""
    around = _near(d, 24, pattern, graph, scratch)
    if len(around) == 0 or _cost_of(around, pattern.cost) < pattern.cost[d]:
        return 0.0
    begin(scratch)
    one = np.empty(1, np.int64)
    one[0] = d
    change(one, np.bool_(False), price, goals, pattern, watched, graph, scratch)
    saved = 0.0
    for c in _dearest_first(around, pattern.cost):
        logged, flipped = scratch.counts[LOGGED], scratch.counts[FLIPPED]
        one[0] = c
        if len(change(one, np.bool_(True), price, goals, pattern, watched, graph, scratch)):
            undo(logged, flipped, price, goals, pattern, watched, graph, scratch)
        else:
            saved += pattern.cost[c]
    if saved <= pattern.cost[d] * (1 + 1e-9):
        undo(np.int64(0), np.int64(0), price, goals, pattern, watched, graph, scratch)
        return 0.0
    return saved - pattern.cost[d]


@kernel
def improve(cells, sizes, noise, guide, price, goals, pattern, watched, graph, scratch):  # noqa: ANN001, ANN201
    """Try to exchange suppressed ones among the cells and to insert the published ones; return what was saved."""
    saved = 0.0
    for c in cells:
        if pattern.base[c] or pattern.barred[c]:
            continue
        if pattern.hidden[c]:
            size = sizes[int(_random(scratch) * len(sizes))]
            jitter = noise if _random(scratch) < 0.8 else 0.0
            saved += exchange(c, size, jitter, guide, price, goals, pattern, watched, graph, scratch)
        else:
            saved += insert(c, price, goals, pattern, watched, graph, scratch)
    return saved


@kernel
def unserved(goals, pattern, graph, scratch):  # noqa: ANN001, ANN201
    """Return the targets that propagation sees not to be served."""
    open_ = np.empty(len(goals.cell), np.int64)
    many = 0
    for target in range(len(goals.cell)):
        if not is_served(target, goals, pattern, graph, scratch):
            open_[many] = target
            many += 1
    return open_[:many]


@kernel
def choose(open_, guide, goals, pattern, watched, graph, scratch):  # noqa: ANN001, ANN201
    """Return cheap cells that satisfy the present cuts of all these targets; suppressing them may leave or show
    others.
    """
    taken = np.zeros(len(pattern.hidden), np.bool_)
    hopeless = 0
    for target in open_:
        cells, shares, lack = _lacks(target, goals, pattern, watched, graph, scratch)
        for k in range(len(cells)):
            if taken[cells[k]]:
                lack -= shares[k]
        while lack > 1e-6:
            best, least, share = -1, np.inf, 0.0
            for k in range(len(cells)):
                if not taken[cells[k]]:
                    cost = guide[cells[k]] / min(shares[k], lack)
                    if cost < least:
                        best, least, share = cells[k], cost, shares[k]
            if best < 0:
                hopeless += 1
                break
            taken[best] = True
            lack -= share
    return np.flatnonzero(taken), hopeless
