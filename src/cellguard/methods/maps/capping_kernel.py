"""Who receives what a cell passes on, and who gives contributors to cells with too few."""

# ruff: noqa: ANN001, ANN201, ANN202 - numba infers the types
from __future__ import annotations

import numpy as np

from cellguard.geometry.rings_kernel import next_ring
from cellguard.kernels.kernel import kernel


@kernel
def receivers(start, neighbours, nodes, cell_of, smallest, cells):  # type: ignore[no-untyped-def]
    """Return for each cell the one of the smallest contributor among the nearest; a negative one cannot receive."""
    seen, queue = np.zeros(len(cell_of), np.int32), np.empty(len(cell_of), np.int32)
    chosen = np.full(len(cells), -1, np.int64)
    for number in range(len(cells)):
        queue[0] = nodes[cells[number]]
        seen[nodes[cells[number]]] = number + 1
        begin, end = 0, 1
        while begin < end and chosen[number] < 0:
            begin, end = end, next_ring(start, neighbours, queue, begin, end, seen, number + 1)
            best = -1
            for i in range(begin, end):
                cell = cell_of[queue[i]]
                if cell >= 0 and smallest[cell] >= 0 and _smaller(smallest, cell, best):
                    best = cell
            chosen[number] = best
    return chosen


@kernel
def hand_over(start, neighbours, nodes, cell_of, first, value, counts, order, threshold):  # type: ignore[no-untyped-def]
    """Give cells with too few contributors the smallest ones of the nearest cells that have more than enough.

    The contributors of cell c are ``value[first[c] :]``, largest first. Return for each that moves its position, its
    new cell and the steps; the rows are cut short if a cell cannot be filled.
    """
    count = counts.copy()
    seen, queue = np.zeros(len(cell_of), np.int32), np.empty(len(cell_of), np.int32)
    smallest = np.full(len(count), np.inf)
    most = np.int64(0)
    for cell in order:
        most += threshold - count[cell]
    for cell in range(len(count)):
        if count[cell] > threshold:
            smallest[cell] = value[first[cell] + count[cell] - 1]
    rows = np.empty((3, most), np.int64)
    written = 0
    for number in range(len(order)):
        target = order[number]
        queue[0] = nodes[target]
        seen[nodes[target]] = number + 1
        begin, end, steps = 0, 1, 0
        while begin < end and count[target] < threshold:
            begin, end = end, next_ring(start, neighbours, queue, begin, end, seen, number + 1)
            steps += 1
            while count[target] < threshold:
                best = -1
                for i in range(begin, end):
                    cell = cell_of[queue[i]]
                    if cell >= 0 and count[cell] > threshold and _smaller(smallest, cell, best):
                        best = cell
                if best < 0:
                    break
                count[best] -= 1
                rows[0, written], rows[1, written], rows[2, written] = first[best] + count[best], target, steps
                smallest[best] = value[first[best] + count[best] - 1]
                count[target] += 1
                written += 1
        if count[target] < threshold:
            break
    return rows[:, :written]


@kernel
def _smaller(smallest, cell, best):  # type: ignore[no-untyped-def]
    """Return whether a cell's smallest contributor is below that of the best so far; ties go by order."""
    return best < 0 or smallest[cell] < smallest[best] or (smallest[cell] == smallest[best] and cell < best)
