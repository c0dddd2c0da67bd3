"""How far variables move: one program asked again and again, and bounds that are cut off far out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cellguard import solver
from cellguard.errors import Stopped
from cellguard.proofs.pool import pooled_moves
from cellguard.proofs.probe import Probe, ScaledProbe
from cellguard.run_context import UNWATCHED, Run

TOTAL = sp.csr_array(np.array([[1.0, -1.0, -1.0]]))


def test_each_variable_goes_as_far_as_the_others_let_it():
    probe = Probe(TOTAL, -np.array([9.0, 2, 3]), np.array([9.0, 4, 1]), run=UNWATCHED)
    ends = [probe.furthest(column, sign).x[column] for column in range(3) for sign in (1, -1)]
    assert ends == [5, -5, 4, -2, 1, -3]


def test_bounds_may_change_between_two_questions():
    probe = Probe(TOTAL, np.zeros(3), np.zeros(3), run=UNWATCHED)
    assert probe.furthest(0, 1).x[0] == 0
    probe.limit(-np.ones(3), np.array([9.0, 2, 3]))
    assert probe.furthest(0, 1).x[0] == 5


def test_the_duals_tell_what_holds_a_variable_back():
    probe = Probe(TOTAL, -np.ones(3), np.ones(3) * [9, 1, 1], run=UNWATCHED)
    assert abs(probe.furthest(0, 1).duals[0]) == 1


def test_a_move_beyond_the_first_cut_is_still_exact():
    """The program starts with bounds cut off at 2**22 times the scale, and moves them out as long as that helps."""
    far = 3.0 * 2**40
    limits = -np.array([np.inf, far, 0.0]), np.array([np.inf, far, 0.0])
    assert ScaledProbe(np.arange(3), TOTAL, limits, 1.0, run=UNWATCHED).extreme(0, 1)[0] == far
    enough = ScaledProbe(np.arange(3), TOTAL, limits, 1.0, run=UNWATCHED, enough=True).extreme(0, 1)[0]
    assert 2**20 <= enough < far


def test_a_variable_that_does_not_move_is_asked_once(monkeypatch):
    """The others stand at the cut, as they may stand anywhere; further out the solver fails on its numbers."""
    matrix = sp.csr_array(np.array([[1.0, 1, -1, 0], [0, 1, -1, 0], [0, 1, 0, -1]]))
    asked, furthest = [], Probe.furthest

    def counted(probe, column, sign):
        asked.append(column)
        found = furthest(probe, column, sign)
        found.x[1:] = 2.0**22  # a vertex in which all that may move has done so
        return found

    monkeypatch.setattr(Probe, "furthest", counted)
    limits = -np.full(4, np.inf), np.full(4, np.inf)
    assert ScaledProbe(np.arange(4), matrix, limits, 1.0, run=UNWATCHED).extreme(0, 1)[0] == 0
    assert asked == [0]


def test_a_point_inside_has_the_amount_that_is_asked_for():
    limits = -np.ones(3) * 9, np.ones(3) * 9
    moves = ScaledProbe(np.arange(3), TOTAL, limits, 1.0, run=UNWATCHED).inside(0, 4)
    assert moves[0] == 4 == moves[1] + moves[2]
    assert ScaledProbe(np.arange(3), TOTAL, (-np.ones(3), np.ones(3)), 1.0, run=UNWATCHED).inside(0, 4) is None


def test_pooled_moves_serve_several_targets_at_once():
    moves = pooled_moves(
        TOTAL, np.full(3, 9.0), np.full(3, 9.0), np.array([1, 2]), np.array([3.0, -2.0]), run=UNWATCHED
    )
    assert moves[1] >= 3 and moves[2] <= -2 and moves[0] == moves[1] + moves[2]


def test_pooled_moves_serve_what_they_can():
    """The total may not move: the two parts cannot both go up."""
    moves = pooled_moves(
        TOTAL, np.array([0.0, 9, 9]), np.array([0.0, 9, 9]), np.array([1, 2]), np.ones(2), run=UNWATCHED
    )
    assert sorted(np.sign(moves).tolist()) == [-1, 0, 1]


def test_what_hangs_together_with_no_target_is_not_in_the_program(monkeypatch):
    programs, solve = [], solver.solve
    monkeypatch.setattr(solver, "solve", lambda program, **how: programs.append(program) or solve(program, **how))
    apart = sp.csr_array(sp.block_diag([TOTAL] * 50, format="csr"))
    moves = pooled_moves(apart, np.full(150, 9.0), np.full(150, 9.0), np.array([31]), np.array([2.0]), run=UNWATCHED)
    assert programs[0].matrix.shape == (1, 4)
    assert moves[31] >= 2 and moves[30] == moves[31] + moves[32] and set(np.flatnonzero(moves)) <= {30, 31, 32}


def test_large_programs_end_with_the_run(monkeypatch):
    monkeypatch.setattr("cellguard.solver.highs._OFTEN", 1e-4)
    monkeypatch.setattr("cellguard.solver.highs._LARGE", 1)
    rng = np.random.default_rng(1)
    matrix = sp.csr_array(np.round(rng.uniform(-1.2, 1.2, (150, 900))))
    with pytest.raises(Stopped, match="time allowed"):
        pooled_moves(matrix, np.ones(900), np.ones(900), np.arange(900), np.ones(900), run=Run.within(0))
