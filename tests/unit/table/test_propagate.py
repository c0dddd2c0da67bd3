"""Interval propagation on relations written out."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.table.propagate import tighten

INF = np.inf
SUM = [1, -1, -1]


def bounds(rows, lower, upper, **options):
    found = tighten(sp.csr_array(np.array(rows, float)), np.array(lower, float), np.array(upper, float), **options)
    return [end.tolist() for end in found]


def test_a_part_is_at_most_its_whole():
    assert bounds([SUM], [5, 0, 0], [5, INF, INF]) == [[5, 0, 0], [5, 5, 5]]


def test_a_part_is_what_the_others_leave():
    assert bounds([SUM], [5, 0, 2], [5, INF, 3]) == [[5, 2, 2], [5, 3, 3]]


def test_a_whole_is_the_sum_of_its_parts():
    assert bounds([SUM], [-INF, 1, 2], [INF, 3, 4]) == [[3, 1, 2], [7, 3, 4]]


def test_bounds_travel_from_relation_to_relation():
    lower, upper = bounds([[1, -1, -1, 0], [0, 0, 1, -1]], [5, 2, 0, 0], [5, 2, INF, INF])
    assert lower == upper == [5, 2, 3, 3]


def test_rounds_limit_the_travel():
    lower, _ = bounds([[1, -1, -1, 0], [0, 0, 1, -1]], [5, 2, 0, 0], [5, 2, INF, INF], rounds=1)
    assert lower == [5, 2, 3, 0]


def test_two_open_ends_say_nothing():
    assert bounds([SUM], [5, -INF, -INF], [5, 9, INF]) == [[5, -INF, -4], [5, 9, INF]]


def test_cells_that_are_open_at_both_ends_stay_so():
    assert bounds([SUM], [5, -INF, -INF], [5, INF, INF]) == [[5, -INF, -INF], [5, INF, INF]]


def test_weights_other_than_one_count():
    assert bounds([[1, -2]], [4, 0], [6, INF]) == [[4, 2], [6, 3]]


def test_no_relations_leave_the_bounds():
    found = tighten(sp.csr_array((0, 2)), np.array([0.0, 1]), np.array([INF, 2]))
    assert [end.tolist() for end in found] == [[0, 1], [INF, 2]]
