"""The compiled core of sums: a column of the rows added up in every cell."""

from __future__ import annotations

import numba
import numpy as np

from cellguard.hierarchy.hierarchy import IntArray
from cellguard.table.lattice import Lattice
from cellguard.table.unit_grid import Wholes


def add_up(lattice: Lattice, leaf: IntArray, values: Wholes) -> Wholes:
    """Return the sum of a column over the rows of every cell; ``leaf`` tells for each row its leaf cell."""
    sums: Wholes = _sum_rows(leaf, values, lattice.combinations)
    keyed = lattice.keyed
    if keyed is not None:
        own, sums = sums, np.zeros(len(lattice), np.int64)
        sums[keyed.leaves] = own
        for step in keyed.steps:
            _sum_step(step.child, step.parent, sums)
        return sums
    stages = lattice.stages
    for stage, first in enumerate(stages.first):
        sums = _sum_up(stages.start, stages.up, first, sums, stages.sizes[stage + 1])
    return sums


# The functions below are compiled, and typed by their use.


@numba.njit(cache=True, nogil=True)
def _sum_rows(leaf, values, cells):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    sums = np.zeros(cells, np.int64)
    for row in range(len(leaf)):
        sums[leaf[row]] += values[row]
    return sums


@numba.njit(cache=True, nogil=True)
def _sum_up(start, up, first, sums, cells):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    above = np.zeros(cells, np.int64)
    for here in range(len(sums)):
        for edge in range(start[first + here], start[first + here + 1]):
            above[up[edge]] += sums[here]
    return above


@numba.njit(cache=True, nogil=True)
def _sum_step(child, parent, sums):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for edge in range(len(child)):
        sums[parent[edge]] += sums[child[edge]]
