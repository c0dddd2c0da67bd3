"""Exact arithmetic behind witnesses: the echelon form, and whole moves next to a solver's."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from cellguard.linalg.echelon import echelon
from cellguard.proofs.exact import exact_among, exact_move, excess, fits, tight_move
from cellguard.proofs.levels import Levels
from cellguard.proofs.moves import Move
from cellguard.proofs.problem import Problem
from cellguard.proofs.reduction import Reduction, reduce_problem
from cellguard.proofs.scale import UNLIMITED


def cube(seed):
    """The relations of a two-way table with margins; row and column 0 are the totals."""
    size = np.random.default_rng(seed).integers(3, 6)
    cell = np.arange(size * size).reshape(size, size)
    matrix = np.zeros((2 * size, size * size), np.int64)
    for i in range(size):
        matrix[i, cell[i, 0]], matrix[i, cell[i, 1:]] = 1, -1
        matrix[size + i, cell[0, i]], matrix[size + i, cell[1:, i]] = 1, -1
    return sp.csr_array(matrix)


def problem(matrix, down, up, whole=False):
    n = matrix.shape[1]
    down, up = (np.broadcast_to(np.asarray(b, np.int64), n).copy() for b in (down, up))
    return Problem(np.arange(n), sp.csr_array(matrix), down, up, Levels.none(n), np.full(n, whole))


@pytest.mark.parametrize("seed", range(6))
def test_whole_free_columns_give_whole_moves(seed):
    matrix = cube(seed)
    form = echelon(matrix)
    rank = int(np.linalg.matrix_rank(matrix.toarray()))
    assert len(form.pivots) == rank and form.free.sum() == matrix.shape[1] - rank
    free = np.random.default_rng(seed).integers(-9, 10, matrix.shape[1])
    n = form.complete(free)
    assert not (matrix @ n).any() and (n[form.free] == free[form.free]).all()


def test_a_row_without_a_unit_pivot_is_left_out():
    form = echelon(sp.csr_array(np.array([[2, 3, 5], [0, 0, 0]])))
    assert len(form.pivots) == 0 and form.free.all()


def test_numbers_that_would_overflow_give_no_move():
    form = echelon(sp.csr_array(np.array([[1, -1, -1]])))
    assert form.complete(np.full(3, 2**61)) is None


@pytest.mark.parametrize("shift", [0.0, 1e-9, -1e-9])
def test_a_move_next_to_a_vertex_with_thirds_is_that_vertex(shift):
    matrix = np.array([[1, 1, 1, -1]])
    reduction = reduce_problem(problem(matrix, 9, 9))
    third = 1 / 3 + shift
    move = exact_move(reduction, echelon(reduction.matrix), np.array([third, third, third, 1 + 3 * shift]))
    assert [Fraction(int(n), move.denominator) for n in move.n] == [Fraction(1, 3)] * 3 + [1]


def test_an_odd_move_is_shortened_by_a_hair_to_stay_within_bounds():
    reduction = reduce_problem(problem(np.array([[1, -1, -1]]), 10, [10, 7, 9]))
    d = np.array([10.0, np.pi, 10 - np.pi]) * (1 + 1e-10)
    move = exact_move(reduction, echelon(reduction.matrix), d)
    n = np.zeros(3, object)
    n[move.variables] = [int(x) for x in move.n]
    assert n[0] == n[1] + n[2] and all(abs(n) <= np.array([10, 7, 9], object) * move.denominator)
    assert n[0] / move.denominator == pytest.approx(10, rel=1e-8)


def test_what_has_no_room_stands_still_among_those_that_move():
    """Rounded by themselves, a and b differ by a hair, which c must not move by; as one relation they do not."""
    matrix = sp.csr_array(np.array([[1, -1, 0, -1], [0, 0, 1, -1]]))
    room, one = np.array([9, 9, 9, 0]), np.ones(4, np.int64)
    reduction = Reduction(matrix, np.arange(4), one, room, room, Levels.none(4), np.zeros(4, bool))
    moves = np.array([np.pi, np.pi * (1 - 1e-12), 0.0, 0.0])
    move = exact_among(reduction, moves, 1e-9)
    assert move.variables.tolist() == [0, 1] and move.n[0] == move.n[1] and excess(move, reduction) <= 1
    assert move.n[0] / move.denominator == pytest.approx(np.pi, rel=1e-8)


def test_a_tight_move_takes_all_the_room_there_is():
    reduction = reduce_problem(problem(np.array([[1, -1, -1]]), 10, [10, 7, 9]))
    move = tight_move(reduction, np.array([10.0, np.pi, 10 - np.pi]), 0)
    assert move.amount(0) == 10 * move.denominator and excess(move, reduction) <= 1


def test_counts_get_whole_moves_or_none():
    reduction = reduce_problem(problem(np.array([[1, 1, 1, -1]]), 9, 9, whole=True))
    move = exact_move(reduction, echelon(reduction.matrix), np.array([1.0, 2.0, 0.0, 3.0]))
    assert move.denominator == 1 and move.amount(3) == 3 and move.amount(2) == 0


def test_room_is_compared_to_the_last_digit():
    size, room = np.array([2**60 + 1]), np.array([2**58])
    assert fits(np.array([2**60]), room, 4) and not fits(size, room, 4)
    assert excess(Move(np.array([0]), size, 4), reduce_problem(problem(np.zeros((0, 1)), 2**58, 2**58))) > 1


def test_a_variable_has_the_least_room_and_the_largest_need_of_its_cells():
    """a = -b, c = a and d = 0: one variable, and one that cannot move."""
    matrix = np.array([[1, 1, 0, 0], [1, 0, -1, 0], [0, 0, 0, 1]])
    posed = problem(matrix, [5, 6, 7, 8], [1, 2, UNLIMITED, 4])
    reduction = reduce_problem(posed)
    assert reduction.variable.tolist() == [0, 0, 0, 1] and reduction.sign.tolist() == [1, -1, 1, 0]
    assert (reduction.down.tolist(), reduction.up.tolist()) == ([2, 0], [1, 0])  # b may go down 6 and up 2
    low, high = reduction.cell_ends(np.array([-2.0, 0]), np.array([1.0, 0]))
    assert low.tolist() == [-2, -1, -2, 0] and high.tolist() == [1, 2, 1, 0]
