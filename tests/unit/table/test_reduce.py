"""Merging of equal cells on systems written out."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.table.reduce import merge_equal


def reduce(*rows):
    return merge_equal(sp.csr_array(np.array(rows, float)))


def test_a_total_with_one_part_is_that_part():
    reduced = reduce([1, -1, 0, 0], [0, 1, -1, -1])
    assert reduced.merged.tolist() == [0, 0, 1, 2]
    assert reduced.relations.toarray().tolist() == [[1, -1, -1]]


def test_chains_merge_into_one():
    assert reduce([1, -1, 0], [0, 1, -1]).n == 1


def test_terms_that_cancel_may_make_further_cells_equal():
    """a + d = b + c with c = d leaves a = b."""
    reduced = reduce([1, -1, -1, 1], [0, 0, 1, -1])
    assert reduced.merged.tolist() == [0, 0, 1, 1]
    assert reduced.relations.shape == (0, 2)


def test_two_cells_that_sum_to_zero_are_not_equal():
    assert reduce([1, 1]).n == 2


def test_a_double_is_not_equal_to_its_half():
    """a = b + c and b = c: a is twice b."""
    reduced = reduce([1, -1, -1], [0, 1, -1])
    assert reduced.merged.tolist() == [0, 1, 1]
    assert reduced.relations.toarray().tolist() == [[1, -2]]


def test_nothing_to_merge_changes_nothing():
    reduced = reduce([1, -1, -1])
    assert reduced.merged.tolist() == reduced.first.tolist() == [0, 1, 2]
    assert np.array([5, 2, 3])[reduced.merged].tolist() == [5, 2, 3]


def test_no_relations_at_all():
    assert merge_equal(sp.csr_array((0, 3))).n == 3


def test_the_input_is_left_alone():
    matrix = sp.csr_array((np.array([-1.0, 1, 1, -1]), np.array([1, 0, 0, 1]), np.array([0, 2, 4])), shape=(2, 2))
    before = matrix.toarray().tolist()
    merge_equal(matrix)
    assert matrix.toarray().tolist() == before
