"""Ranks of rows, and the rungs that sums climb."""

import numpy as np
import pytest

from cellguard.hierarchy.build import from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.parts import _by_size
from cellguard.table.rungs import rungs

from .tabulate_oracle import lines


@pytest.mark.parametrize("largest", [9, 2**61])
def test_rows_are_ranked_by_size_and_then_by_place(largest):
    values = np.array([3, 5, 5, 0, largest, 3])
    assert _by_size(values).tolist() == [4, 1, 2, 0, 5, 3]


def test_each_code_is_the_sum_of_its_parts_once():
    region = from_levels([("N", "n", "n1"), ("N", "n", "n2"), ("N", "n3", ""), ("S", "s1", ""), ("S", "s2", "")])
    coast = from_levels(
        [("sea", "n", "n1"), ("sea", "n", "n2"), ("land", "n3", ""), ("sea", "s1", ""), ("land", "s2", "")]
    )
    dimension = Dimension("region", region, coast)
    codes = len(dimension.codes)
    below = np.zeros((codes, codes), int)
    for leaf in region.leaves:
        below[dimension.position[leaf], dimension.position[leaf]] = 1
    for rung in rungs(dimension):
        for child, parent in zip(*rung, strict=True):
            below[parent] += below[child]
    pairs = {(dimension.codes[leaf], dimension.codes[code]) for code, leaf in zip(*np.nonzero(below), strict=True)}
    assert pairs == set(lines(dimension)) and below.max() == 1
