"""Propagation kept up to date while cells are suppressed and published, and undone. Compiled.

Publishing a cell lowers reaches (Dijkstra from there); suppressing one raises them (forget what was derived through it,
look at that again, Dijkstra). Changes are logged, so that a trial can be undone.
"""

# mypy: ignore-errors
from __future__ import annotations

import heapq

import numpy as np

from cellguard.kernels.kernel import kernel
from cellguard.methods.suppress.engines.propagation_kernel import FLIPPED, LOGGED, LOST, SERVED, TINY, is_served
from cellguard.proofs.extent_kernel import STEP, WORK, leaf, propagate


@kernel
def _log(v, reach, via, shift, scratch):  # noqa: ANN001, ANN202
    counts = scratch.counts
    k = counts[LOGGED]
    if k >= len(scratch.log_node):
        counts[LOST] = 1
        return
    scratch.log_node[k], scratch.log_reach[k], scratch.log_via[k] = shift + v, reach[v], via[v]
    counts[LOGGED] += 1


@kernel
def _update(shift, size, changed, price, pattern, graph, scratch):  # noqa: ANN001, ANN202
    """Bring reach and via of one scale up to date after some cells changed."""
    n = len(pattern.hidden)
    reach, via = pattern.reach[shift : shift + 2 * n], pattern.via[shift : shift + 2 * n]
    counts = scratch.counts
    bad = [np.int64(0) for _ in range(0)]
    heap = [(0.0, np.int64(-1))]
    for c in changed:
        for v in range(2 * c, 2 * c + 2):
            own = leaf(v, size, 1.0 if pattern.hidden[c] else 0.0, price, graph)
            if own > reach[v] and via[v] == -1:
                _log(v, reach, via, shift, scratch)
                via[v] = -2
                bad.append(v)
            elif own < reach[v]:
                _log(v, reach, via, shift, scratch)
                reach[v], via[v] = own, -1
                heapq.heappush(heap, (own, np.int64(v)))
    k = 0
    while k < len(bad):
        v = bad[k]
        k += 1
        i = v // 2
        for z in range(graph.cell_start[i], graph.cell_start[i + 1]):
            r = graph.cell_rows[z]
            side = v % 2 if graph.cell_values[z] > 0 else 1 - v % 2
            counts[WORK] += graph.row_start[r + 1] - graph.row_start[r]
            for y in range(graph.row_start[r], graph.row_start[r + 1]):
                j = graph.row_cells[y]
                head = (2 * j + (side if graph.row_values[y] > 0 else 1 - side)) ^ 1
                if j != i and via[head] == r:
                    _log(head, reach, via, shift, scratch)
                    via[head] = -2
                    bad.append(head)
    for v in bad:
        reach[v], via[v] = leaf(v, size, 1.0 if pattern.hidden[v // 2] else 0.0, price, graph), -1
    for v in bad:
        i = v // 2
        for z in range(graph.cell_start[i], graph.cell_start[i + 1]):
            r, own = graph.cell_rows[z], abs(graph.cell_values[z])
            side = 1 - v % 2 if graph.cell_values[z] > 0 else v % 2
            total = 0.0
            for y in range(graph.row_start[r], graph.row_start[r + 1]):
                j = graph.row_cells[y]
                if j != i:
                    total += abs(graph.row_values[y]) * reach[2 * j + (side if graph.row_values[y] > 0 else 1 - side)]
                    if total > own:
                        break
            if total / own + STEP < reach[v]:
                reach[v], via[v] = total / own + STEP, r
        if reach[v] < 1.0:
            heapq.heappush(heap, (reach[v], np.int64(v)))
    while len(heap):
        w, v = heapq.heappop(heap)
        if v < 0 or w > reach[v]:
            continue
        i = v // 2
        for z in range(graph.cell_start[i], graph.cell_start[i + 1]):
            r = graph.cell_rows[z]
            side = v % 2 if graph.cell_values[z] > 0 else 1 - v % 2
            total, largest = 0.0, 0.0
            begin, end = graph.row_start[r], graph.row_start[r + 1]
            counts[WORK] += end - begin
            for y in range(begin, end):
                term = (
                    abs(graph.row_values[y])
                    * reach[2 * graph.row_cells[y] + (side if graph.row_values[y] > 0 else 1 - side)]
                )
                total += term
                largest = max(largest, term)
            if total - largest >= 1.0:
                continue
            for y in range(begin, end):
                j = graph.row_cells[y]
                own = 2 * j + (side if graph.row_values[y] > 0 else 1 - side)
                size_y = abs(graph.row_values[y])
                candidate = (total - size_y * reach[own]) / size_y + STEP
                head = own ^ 1
                if j != i and candidate < reach[head] - TINY and candidate < 1.0:
                    _log(head, reach, via, shift, scratch)
                    reach[head], via[head] = candidate, r
                    heapq.heappush(heap, (candidate, np.int64(head)))


@kernel
def rebuild(price, goals, pattern, graph, scratch):  # noqa: ANN001, ANN201
    """Propagate every scale from scratch."""
    n = len(pattern.hidden)
    x = np.empty(n)
    for c in range(n):
        x[c] = 1.0 if pattern.hidden[c] else 0.0
    for b in range(len(goals.size)):
        at = b * 2 * n
        reach, via = pattern.reach[at : at + 2 * n], pattern.via[at : at + 2 * n]
        propagate(goals.size[b], x, price, graph, reach, via, scratch.counts, -1)
    scratch.counts[LOGGED] = scratch.counts[LOST] = scratch.counts[FLIPPED] = 0


@kernel
def _flip(c, pattern, watched, scratch):  # noqa: ANN001, ANN202
    """Suppress or publish one cell; return the first watched cut that it breaks, or -1."""
    hide = not pattern.hidden[c]
    pattern.hidden[c] = hide
    broken = -1
    for k in range(watched.cell_start[c], watched.cell_start[c + 1]):
        cut = watched.cell_cuts[k]
        watched.left[cut] += watched.cell_weights[k] if hide else -watched.cell_weights[k]
        if not hide and watched.left[cut] < SERVED:
            broken = cut
    return broken


@kernel
def begin(scratch):  # noqa: ANN001, ANN201
    """Start a trial: what was changed before can no longer be undone."""
    scratch.counts[LOGGED] = scratch.counts[FLIPPED] = scratch.counts[LOST] = 0


@kernel
def undo(to, flips, price, goals, pattern, watched, graph, scratch):  # noqa: ANN001, ANN201
    """Take back the changes of a trial down to a place in its logs; 0 and 0 take back all."""
    counts = scratch.counts
    for k in range(counts[FLIPPED] - 1, flips - 1, -1):
        _flip(scratch.flips[k], pattern, watched, scratch)
    counts[FLIPPED] = flips
    if counts[LOST]:
        rebuild(price, goals, pattern, graph, scratch)
        counts[FLIPPED], counts[LOST] = flips, flips > 0
        return
    for k in range(counts[LOGGED] - 1, to - 1, -1):
        pattern.reach[scratch.log_node[k]] = scratch.log_reach[k]
        pattern.via[scratch.log_node[k]] = scratch.log_via[k]
    counts[LOGGED] = to


@kernel
def change(cells, first_only, price, goals, pattern, watched, graph, scratch):  # noqa: ANN001, ANN201
    """Flip cells; return what is not served after that: targets, and numbers of targets + cut for watched cuts."""
    n, counts = len(pattern.hidden), scratch.counts
    open_ = [np.int64(0) for _ in range(0)]
    for c in cells:
        broken = _flip(c, pattern, watched, scratch)
        scratch.flips[counts[FLIPPED]] = c
        counts[FLIPPED] += 1
        if broken >= 0:
            open_.append(len(goals.cell) + broken)
    if first_only and len(open_):
        return open_
    for b in range(len(goals.size)):
        before = counts[LOGGED]
        _update(b * 2 * n, goals.size[b], cells, price, pattern, graph, scratch)
        for k in range(before, counts[LOGGED]):
            v = scratch.log_node[k] - b * 2 * n
            for target in (goals.of_node[v], goals.of_cell[v // 2]):
                if target < 0 or goals.scale[target] != b:
                    continue
                if not is_served(target, goals, pattern, graph, scratch):
                    open_.append(target)
                    if first_only:
                        return open_
        if counts[LOST]:
            # The log ran over: look at every target of this scale, and begin afresh.
            for target in range(len(goals.cell)):
                if goals.scale[target] == b and not is_served(target, goals, pattern, graph, scratch):
                    open_.append(target)
            if first_only and len(open_):
                return open_
    return open_
