"""Merging of cells that move together or against each other, on systems written out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import null_space

from cellguard.proofs.merging import merge_equal, merge_moves


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


def merge(*rows):
    return merge_moves(sp.csr_array(np.array(rows, float)))


def test_cells_that_sum_to_a_constant_move_against_each_other():
    merged = merge([1, 1, 0, 0], [0, 1, -1, -1])
    assert merged.merged.tolist() == [0, 0, 1, 2] and merged.sign.tolist() == [1, -1, 1, 1]
    assert merged.relations.toarray().tolist() == [[-1, -1, -1]]


def test_a_cell_alone_in_a_relation_cannot_move():
    merged = merge([1, 0, 0, 0], [1, 1, -1, 0], [0, 1, 1, -1])
    assert merged.sign[0] == 0 and merged.merged[1] == merged.merged[2]
    assert merged.relations.toarray().tolist() == [[0, 2, -1]]


def test_a_cell_that_equals_its_opposite_cannot_move():
    """a = b and a = -b."""
    assert merge([1, -1], [1, 1]).sign.tolist() == [0, 0]


@pytest.mark.parametrize("seed", range(20))
def test_what_moves_before_merging_moves_after_it_and_the_other_way_round(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.choice([-1, 0, 1], (4, 7), p=[0.2, 0.6, 0.2])
    merged = merge(*matrix)
    back = np.zeros((7, merged.n))
    back[np.arange(7), merged.merged] = merged.sign
    dead = np.bincount(merged.merged, merged.sign != 0, merged.n) == 0
    small = null_space(np.vstack([merged.relations.toarray(), np.eye(merged.n)[dead]]))
    assert np.allclose(matrix @ back @ small, 0)
    assert np.linalg.matrix_rank(back @ small) == 7 - np.linalg.matrix_rank(matrix)
