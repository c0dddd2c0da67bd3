"""Algorithm 1: each sensitive cell is filled up to the threshold t from the nearest cells that have more than t.

`group` first grows a group of cells around the sensitive one, nearest first (ties: larger count, then order), until the
group's counts reach t per cell, and then fills all its sensitive cells from its own surplus. Within a ring of equal
distance only cells with a surplus can make the sum reach t per cell, so only these are put in order. A cell that is
full has exactly t and never gives, so counts below t change only when their cell is filled.
"""

# ruff: noqa: ANN001, ANN201, ANN202 - numba infers the types
from __future__ import annotations

import numpy as np

from cellguard.geometry.rings_kernel import next_ring
from cellguard.kernels.kernel import kernel


@kernel
def fill_up(  # type: ignore[no-untyped-def]
    start,
    neighbours,
    nodes,
    cell_of,
    counts,
    order,
    threshold,
    grouped,
):
    """Fill the cells in ``order``; return source, target, units and steps of each transfer.

    The rows are cut short if a cell cannot be filled.
    """
    count = counts.copy()
    rank = np.full(len(count), len(count), np.int64)
    for place in range(len(order)):
        rank[order[place]] = place
    most = np.int64(0)
    for cell in order:
        most += threshold - count[cell]
    rows = np.empty((4, most), np.int64)
    written = 0
    seen, group = np.zeros(len(cell_of), np.int32), np.zeros(len(count), np.int32)
    queue, members = np.empty(len(cell_of), np.int32), np.empty(len(count), np.int32)
    stamp = 0
    for place in range(len(order)):
        first = order[place]
        if count[first] >= threshold:
            continue
        size, mark = 1, 0
        members[0] = first
        if grouped:
            mark = place + 1
            stamp += 1
            size = _gather(
                start, neighbours, nodes, cell_of, count, first, threshold, queue, seen, stamp, group, mark, members
            )
        needy = 0
        for i in range(size):
            if count[members[i]] < threshold:
                members[needy] = members[i]
                needy += 1
        _sort(members, needy, rank)
        for i in range(needy):
            cell = members[i]
            stamp += 1
            written = _fill(
                start,
                neighbours,
                nodes,
                cell_of,
                count,
                cell,
                threshold,
                queue,
                seen,
                stamp,
                group,
                mark,
                rows,
                written,
            )
            if count[cell] < threshold:
                return rows[:, :written]
    return rows[:, :written]


@kernel
def _gather(start, neighbours, nodes, cell_of, count, first, threshold, queue, seen, stamp, group, mark, members):  # type: ignore[no-untyped-def]
    """Mark the smallest group around a cell whose counts reach the threshold per cell; return its size."""
    queue[0] = nodes[first]
    seen[nodes[first]] = stamp
    group[first] = mark
    size, balance = 1, count[first] - threshold
    begin, end = 0, 1
    while begin < end and balance < 0:
        begin, end = end, next_ring(start, neighbours, queue, begin, end, seen, stamp)
        surplus = np.int64(0)
        for i in range(begin, end):
            cell = cell_of[queue[i]]
            if cell >= 0 and count[cell] > threshold:
                surplus += count[cell] - threshold
        enough = balance + surplus >= 0
        while enough and balance < 0:
            best = -1
            for i in range(begin, end):
                cell = cell_of[queue[i]]
                if cell >= 0 and count[cell] > threshold and group[cell] != mark and _before(count, cell, best):
                    best = cell
            group[best] = mark
            members[size] = best
            size += 1
            balance += count[best] - threshold
        for i in range(begin, end):
            cell = cell_of[queue[i]]
            if not enough and cell >= 0 and count[cell] > 0:
                group[cell] = mark
                members[size] = cell
                size += 1
                balance += count[cell] - threshold
    return size


@kernel
def _fill(start, neighbours, nodes, cell_of, count, target, threshold, queue, seen, stamp, group, mark, rows, written):  # type: ignore[no-untyped-def]
    """Fill a cell from the nearest cells of its group (of all, if mark is 0) that have a surplus."""
    queue[0] = nodes[target]
    seen[nodes[target]] = stamp
    begin, end, steps = 0, 1, 0
    while begin < end:
        begin, end = end, next_ring(start, neighbours, queue, begin, end, seen, stamp)
        steps += 1
        while True:
            best = -1
            for i in range(begin, end):
                cell = cell_of[queue[i]]
                giving = cell >= 0 and count[cell] > threshold and (mark == 0 or group[cell] == mark)
                if giving and _before(count, cell, best):
                    best = cell
            if best < 0:
                break
            units = min(threshold - count[target], count[best] - threshold)
            count[best] -= units
            count[target] += units
            rows[0, written], rows[1, written], rows[2, written], rows[3, written] = best, target, units, steps
            written += 1
            if count[target] == threshold:
                return written
    return written


@kernel
def _sort(cells, size, rank):  # type: ignore[no-untyped-def]
    """Sort the first cells by rank (Shell's method; numba's own sorting takes seconds to compile)."""
    gap = 1
    while gap < size:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, size):
            cell = cells[i]
            j = i
            while j >= gap and rank[cells[j - gap]] > rank[cell]:
                cells[j] = cells[j - gap]
                j -= gap
            cells[j] = cell
        gap //= 3


@kernel
def _before(count, cell, best):  # type: ignore[no-untyped-def]
    """Return whether a cell goes before the best so far: a larger count, then the order of coordinates."""
    return best < 0 or count[cell] > count[best] or (count[cell] == count[best] and cell < best)
