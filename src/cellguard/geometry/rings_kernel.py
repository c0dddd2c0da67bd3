"""Steps on a graph, ring by ring."""

# ruff: noqa: ANN201 - numba infers the types
from __future__ import annotations

import numpy as np

from cellguard.arrays import IntArray
from cellguard.kernels.kernel import kernel


@kernel
def next_ring(  # type: ignore[no-untyped-def]
    start: IntArray, neighbours: IntArray, queue: IntArray, first: int, last: int, seen: IntArray, stamp: int
):
    """Append to the queue all nodes that neighbour ``queue[first:last]`` and were not seen; return the new end."""
    end = last
    for i in range(first, last):
        node = queue[i]
        for arc in range(start[node], start[node + 1]):
            other = neighbours[arc]
            if seen[other] != stamp:
                seen[other] = stamp
                queue[end] = other
                end += 1
    return end


@kernel
def steps_from(start: IntArray, neighbours: IntArray, sources: IntArray) -> IntArray:
    """Return how many steps each node is from the nearest source, -1 if none can be reached."""
    nodes = len(start) - 1
    seen, queue = np.zeros(nodes, np.int32), np.empty(nodes, np.int32)
    steps = np.full(nodes, -1, np.int32)
    last = 0
    for node in sources:
        if seen[node] == 0:
            seen[node], queue[last] = 1, node
            last += 1
    first, step = 0, 0
    while first < last:
        for i in range(first, last):
            steps[queue[i]] = step
        first, last = last, next_ring(start, neighbours, queue, first, last, seen, 1)
        step += 1
    return steps
