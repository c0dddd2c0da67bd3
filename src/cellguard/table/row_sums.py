"""Sums: a column of the rows added up in every cell."""

from __future__ import annotations

import numpy as np

from cellguard.hierarchy.hierarchy import IntArray
from cellguard.table.lattice import Lattice
from cellguard.table.sums_kernel import sum_rows, sum_step, sum_up
from cellguard.table.unit_grid import Wholes


def add_up(lattice: Lattice, leaf: IntArray, values: Wholes) -> Wholes:
    """Return the sum of a column over the rows of every cell; ``leaf`` tells for each row its leaf cell."""
    sums: Wholes = sum_rows(leaf, values, lattice.combinations)
    keyed = lattice.keyed
    if keyed is not None:
        own, sums = sums, np.zeros(len(lattice), np.int64)
        sums[keyed.leaves] = own
        for step in keyed.steps:
            sum_step(step.child, step.parent, sums)
        return sums
    stages = lattice.stages
    for stage, first in enumerate(stages.first):
        sums = sum_up(stages.start, stages.up, first, sums, stages.sizes[stage + 1])
    return sums
