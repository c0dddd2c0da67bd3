"""Elimination of the suppressed system, and the way back for multipliers. Compiled.

Only suppressed cells move. A relation with one of them fixes it at 0; a relation with two ties them, d_i = g d_j, and
they become one class, with the tighter of their rooms. That goes on until every relation left has three classes or
more. Each step is remembered, so that multipliers on the relations left can be completed to all relations: z = e_p + M'
pi with d_p = z d for every move d, where fixed cells have z = 0 in sum, and a class hands its z to its tightest member.
"""

# mypy: ignore-errors
from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.kernels.kernel import kernel

_DUST = 1e-9


class Steps(NamedTuple):
    """What was eliminated, in order: the class ``gone`` by a relation, its members then, and the class it joined."""

    row: LongArray
    gone: LongArray
    joined: LongArray  # -1 if it was fixed
    coefficient: FloatArray  # of the class that went, in the relation
    ratio: FloatArray  # d_gone = ratio d_joined
    tight_up: BoolArray  # whether the class that went has less room than the one it joined, upward
    tight_down: BoolArray
    start: LongArray
    member: LongArray
    member_ratio: FloatArray


@kernel
def eliminate_short(root, up, down, row_start, row_cells, row_values, cell_start, cell_rows):  # noqa: ANN001, ANN201
    """Eliminate relations of one or two classes; return root and ratio of each cell, rooms, rows gone and `Steps`.

    At first the ``root`` of each cell is itself, or -1 if it does not move; it changes.
    """
    n, rows = len(root), len(row_start) - 1
    ratio, size = np.ones(n), np.ones(n, np.int64)
    after, last, seen = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    for c in range(n):
        after[c], last[c], seen[c] = -1, c, -1
    high, low = up.copy(), down.copy()
    queue, waiting = np.empty(rows, np.int64), np.ones(rows, np.bool_)
    for r in range(rows):
        queue[r] = r
    head, tail = 0, rows
    done = np.zeros(rows, np.bool_)
    total, classes = np.zeros(n), np.empty(n, np.int64)
    most = min(rows, n) + 1
    s_row, s_gone, s_joined = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    s_coefficient, s_ratio = np.empty(most), np.empty(most)
    s_up, s_down = np.zeros(most, np.bool_), np.zeros(most, np.bool_)
    s_start = np.zeros(most + 1, np.int64)
    members = [np.int64(0) for _ in range(0)]
    member_ratios = [0.0 for _ in range(0)]
    steps, turn = 0, 0
    while head < tail:
        r = queue[head % rows]
        head += 1
        waiting[r] = False
        if done[r]:
            continue
        turn += 1
        found = 0
        for y in range(row_start[r], row_start[r + 1]):
            t = root[row_cells[y]]
            if t >= 0:
                if seen[t] != turn:
                    seen[t], total[t], classes[found] = turn, 0.0, t
                    found += 1
                total[t] += row_values[y] * ratio[row_cells[y]]
        many, i, j = 0, -1, -1
        for k in range(found):
            if abs(total[classes[k]]) > _DUST:
                many += 1
                if many == 1:
                    i = classes[k]
                elif many == 2:
                    j = classes[k]
                else:
                    break
        if many > 2:
            continue
        done[r] = True
        if many == 0:
            continue
        if many == 2 and size[i] > size[j]:
            i, j = j, i
        s_row[steps], s_gone[steps], s_joined[steps], s_coefficient[steps] = r, i, j, total[i]
        c = i
        while c >= 0:
            members.append(c)
            member_ratios.append(ratio[c])
            for z in range(cell_start[c], cell_start[c + 1]):
                q = cell_rows[z]
                if not waiting[q] and not done[q]:
                    waiting[q] = True
                    queue[tail % rows] = q
                    tail += 1
            c = after[c]
        s_start[steps + 1] = len(members)
        if many == 1:
            c = i
            while c >= 0:
                root[c] = -1
                c = after[c]
        else:
            g = -total[j] / total[i]
            s_ratio[steps] = g
            upward = (high[i] if g > 0 else low[i]) / abs(g)
            downward = (low[i] if g > 0 else high[i]) / abs(g)
            s_up[steps], s_down[steps] = upward < high[j], downward < low[j]
            high[j], low[j] = min(high[j], upward), min(low[j], downward)
            c = i
            while c >= 0:
                root[c] = j
                ratio[c] *= g
                c = after[c]
            after[last[j]] = i
            last[j] = last[i]
            size[j] += size[i]
        steps += 1
    all_members, all_ratios = np.empty(len(members), np.int64), np.empty(len(members))
    for k in range(len(members)):
        all_members[k], all_ratios[k] = members[k], member_ratios[k]
    trail = (
        s_row[:steps], s_gone[:steps], s_joined[:steps], s_coefficient[:steps], s_ratio[:steps], s_up[:steps],
        s_down[:steps], s_start[: steps + 1], all_members, all_ratios,
    )  # fmt: skip
    return root, ratio, high, low, done, trail


class Trail(NamedTuple):
    """Which steps each cell went with, and which classes joined each; and room for one way back, 0 between two."""

    member_start: LongArray
    member_steps: LongArray
    joined_start: LongArray
    joined_steps: LongArray
    z: FloatArray
    total: FloatArray
    touched: BoolArray
    queued: BoolArray


@kernel
def _queue(start, steps, item, before, trail, heap):  # noqa: ANN001, ANN202
    """Queue the steps of a cell or class that come before one, the last first."""
    for q in range(start[item], start[item + 1]):
        if steps[q] < before and not trail.queued[steps[q]]:
            trail.queued[steps[q]] = True
            heapq.heappush(heap, -steps[q])


@kernel
def _add(row, factor, row_start, row_cells, row_values, trail, cells):  # noqa: ANN001, ANN202
    """Add a relation to z, and note the cells that it touches first."""
    for y in range(row_start[row], row_start[row + 1]):
        c = row_cells[y]
        trail.z[c] += row_values[y] * factor
        if not trail.touched[c]:
            trail.touched[c] = True
            cells.append(c)


@kernel
def lift(p, upward, rows, multipliers, root, ratio, steps, trail, row_start, row_cells, row_values):  # noqa: ANN001, ANN201
    """Return the cells in rising order, and the values, of z = e_p + M' pi from the multipliers on the relations left.

    Steps are gone through from the last to the first, but only those whose cells or classes have something to hand on.
    """
    z, total = trail.z, trail.total
    cells, heap, done = [np.int64(p)], [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    z[p], trail.touched[p] = 1.0, True
    for k in range(len(rows)):
        if abs(multipliers[k]) > 1e-11:
            _add(rows[k], multipliers[k], row_start, row_cells, row_values, trail, cells)
    first = np.sort(np.array(cells))
    for c in first:
        _queue(trail.member_start, trail.member_steps, c, len(steps.row), trail, heap)
        if root[c] >= 0 and z[c] != 0.0:
            total[root[c]] += ratio[c] * z[c]
            _queue(trail.joined_start, trail.joined_steps, root[c], len(steps.row), trail, heap)
    while len(heap):
        k = -heapq.heappop(heap)
        done.append(k)
        j, have, want = steps.joined[k], 0.0, 0.0
        for q in range(steps.start[k], steps.start[k + 1]):
            have += steps.member_ratio[q] * z[steps.member[q]]
        if j >= 0 and (steps.tight_up[k] if (total[j] > 0) == upward else steps.tight_down[k]):
            want = total[j] / steps.ratio[k]
            total[j] = 0.0
        total[steps.gone[k]] = want
        if want != 0.0:
            _queue(trail.joined_start, trail.joined_steps, steps.gone[k], k, trail, heap)
        factor = (want - have) / steps.coefficient[k]
        if abs(factor) > 1e-12:
            known = len(cells)
            _add(steps.row[k], factor, row_start, row_cells, row_values, trail, cells)
            for c in cells[known:]:
                _queue(trail.member_start, trail.member_steps, c, k, trail, heap)
    for c in first:
        if root[c] >= 0:
            total[root[c]] = 0.0
    for k in done:
        total[steps.gone[k]], trail.queued[k] = 0.0, False
        if steps.joined[k] >= 0:
            total[steps.joined[k]] = 0.0
    order = np.sort(np.array(cells))
    values = z[order]
    for c in order:
        z[c], trail.touched[c] = 0.0, False
    some = np.flatnonzero((values != 0.0) | (order == p))
    return order[some], values[some]
