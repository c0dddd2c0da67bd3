"""Who is alone, and which cells are closest, by rings around single cells."""

# ruff: noqa: ANN001, ANN201 - numba infers the types
from __future__ import annotations

import numpy as np

from cellguard.geometry.rings_kernel import next_ring
from cellguard.kernels.kernel import kernel


@kernel
def alone(start, neighbours, nodes, cell_of, cluster, candidates, apart):  # type: ignore[no-untyped-def]
    """Return for each candidate whether all cells within ``apart`` steps are empty or of its own cluster."""
    seen, queue = np.zeros(len(cell_of), np.int32), np.empty(len(cell_of), np.int32)
    lonely = np.ones(len(candidates), np.bool_)
    for number in range(len(candidates)):
        own = candidates[number]
        queue[0] = nodes[own]
        seen[nodes[own]] = number + 1
        begin, end, steps = 0, 1, 0
        while begin < end and steps < apart and lonely[number]:
            begin, end = end, next_ring(start, neighbours, queue, begin, end, seen, number + 1)
            steps += 1
            for i in range(begin, end):
                cell = cell_of[queue[i]]
                if cell >= 0 and cluster[cell] >= 0 and cluster[cell] != cluster[own]:
                    lonely[number] = False
    return lonely


@kernel
def closest(start, neighbours, nodes, cell_of, count, cells, wanted):  # type: ignore[no-untyped-def]
    """Return for each cell the ``wanted`` closest cells with a count: source, target and steps of each.

    Ties go to the larger count, then to the order; where there are fewer cells than wanted, they come again.
    """
    seen, queue = np.zeros(len(cell_of), np.int32), np.empty(len(cell_of), np.int32)
    taken = np.zeros(len(count), np.int32)
    rows = np.empty((3, wanted.sum()), np.int64)
    written = 0
    for number in range(len(cells)):
        first = written
        queue[0] = nodes[cells[number]]
        seen[nodes[cells[number]]] = number + 1
        begin, end, steps = 0, 1, 0
        while begin < end and written - first < wanted[number]:
            begin, end = end, next_ring(start, neighbours, queue, begin, end, seen, number + 1)
            steps += 1
            while written - first < wanted[number]:
                best = -1
                for i in range(begin, end):
                    cell = cell_of[queue[i]]
                    free = cell >= 0 and count[cell] > 0 and taken[cell] != number + 1
                    if free and (best < 0 or (count[cell], -cell) > (count[best], -best)):
                        best = cell
                if best < 0:
                    break
                taken[best] = number + 1
                rows[0, written], rows[1, written], rows[2, written] = cells[number], best, steps
                written += 1
        there = written - first
        if there == 0:
            return rows[:, :0]
        while written - first < wanted[number]:
            rows[:, written] = rows[:, written - there]
            written += 1
    return rows[:, :written]
