"""Propagation: how far can every cell move, at most, when these cells are suppressed? Compiled.

A cell is two nodes, 2 c for moving up and 2 c + 1 for moving down. In units of one size of protection level, ``reach``
of a node is

    the least of  x times the cell's room, cut off at 1                       (a leaf: the cell itself)
             and  the sum of the reaches of the other cells of a relation     (they must make up for it),

the shortest derivation in a hypergraph: Knuth's generalisation of Dijkstra (1977) finds all of them in O(nnz log n).
``via`` is the relation of the last step, or -1 for a leaf. Work is counted in terms looked at.
"""

# mypy: ignore-errors
from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from cellguard.arrays import FloatArray, LongArray
from cellguard.kernels.kernel import kernel

SURELY = 1 - 1e-6  # of the protection level: what reaches less falls short of it by more than rounding
STEP = 1e-6  # every step costs a hair, so that derivations are short and never run in circles
WORK = 3  # where ``counts`` holds the work


class Graph(NamedTuple):
    """The relations by row and by cell, and the room of each cell upward and downward."""

    row_start: LongArray
    row_cells: LongArray
    row_values: FloatArray
    cell_start: LongArray
    cell_rows: LongArray
    cell_values: FloatArray
    up: FloatArray
    down: FloatArray


@kernel
def leaf(node, size, x, price, graph):  # noqa: ANN001, ANN201
    """Return how far a node reaches by itself."""
    c = node // 2
    room = graph.up[c] if node % 2 == 0 else graph.down[c]
    return min(x + price, 1.0) * min(room / size, 1.0) + STEP


@kernel
def propagate(size, x, price, graph, reach, via, counts, goal):  # noqa: ANN001, ANN201
    """Fill reach and via of all nodes for needs of one size, at x between 0 and 1; ``price`` is a little a leaf.

    With a node as ``goal`` (else -1) it ends as soon as that surely falls short of its protection level.
    """
    n, rows = len(x), len(graph.row_start) - 1
    known = np.zeros(2 * rows, np.int64)
    total = np.zeros(2 * rows)
    done = np.zeros(2 * n, np.bool_)
    heap = [(0.0, np.int64(-1))]
    for v in range(2 * n):
        reach[v] = leaf(v, size, x[v // 2], price, graph)
        via[v] = -1
        if reach[v] < 1.0:
            heap.append((reach[v], np.int64(v)))
    heapq.heapify(heap)
    while len(heap):
        w, v = heapq.heappop(heap)
        if v < 0 or done[v] or w > reach[v]:
            continue
        done[v] = True
        i = v // 2
        for z in range(graph.cell_start[i], graph.cell_start[i + 1]):
            r = graph.cell_rows[z]
            side = v % 2 if graph.cell_values[z] > 0 else 1 - v % 2
            q = 2 * r + side
            known[q] += 1
            total[q] += abs(graph.cell_values[z]) * w
            begin, end = graph.row_start[r], graph.row_start[r + 1]
            if known[q] < end - begin - 1 or total[q] >= 2.0:
                continue
            counts[WORK] += end - begin
            for y in range(begin, end):
                own = 2 * graph.row_cells[y] + (side if graph.row_values[y] > 0 else 1 - side)
                if known[q] == end - begin - 1 and done[own]:
                    continue
                head = own ^ 1
                if done[head]:
                    continue
                size_y = abs(graph.row_values[y])
                others = total[q] - (size_y * reach[own] if known[q] == end - begin else 0.0)
                candidate = others / size_y + STEP
                if candidate < reach[head] and candidate < 1.0:
                    reach[head] = candidate
                    via[head] = r
                    if head == goal and candidate < SURELY:
                        return
                    heapq.heappush(heap, (candidate, np.int64(head)))
