"""Counts that programs move by halves, and whole moves not at all: refuted, and by few programs."""

import numpy as np
import scipy.sparse as sp

from cellguard.attack import counting, integer_moves
from cellguard.attack.deciding import decide
from cellguard.proofs.levels import Levels
from cellguard.proofs.problem import Problem
from cellguard.run_context import UNWATCHED

# a + b = b + c = c + a = t: t moves by 1 if a, b and c move by a half, and by 2 in whole numbers.
ODD = sp.csr_array(np.array([[1, 1, 0, -1], [0, 1, 1, -1], [1, 0, 1, -1]]))


def odd(room):
    """The four counts, of which the last must be uncertain by one, with so much room each."""
    rooms = np.full(4, room)
    none = np.zeros(4, np.int64)
    return Problem(np.arange(4), ODD, rooms, rooms, Levels(none, none, np.array([0, 0, 0, 1])), np.ones(4, bool))


def counted(monkeypatch):
    solved = []

    def furthest(*args, **options):
        solved.append(args[2])
        return original(*args, **options)

    original = integer_moves.furthest
    monkeypatch.setattr(counting, "furthest", furthest)
    monkeypatch.setattr(integer_moves, "furthest", furthest)
    return solved


def test_a_count_that_only_halves_move_is_refuted_by_one_program_each_way(monkeypatch):
    solved = counted(monkeypatch)
    verdict = decide(odd(1), run=UNWATCHED)
    assert verdict.failing.tolist() == [False, False, False, True] and not verdict.undecided.any()
    assert (verdict.least[3], verdict.most[3]) == (0, 0)
    assert sorted(task.sign for task in solved) == [-1, 1]


def test_with_more_room_it_is_proven():
    verdict = decide(odd(2), run=UNWATCHED)
    assert verdict.safe


def test_a_part_that_others_are_tied_to_refutes_nothing():
    reduction = decide(odd(2), run=UNWATCHED).reduction
    whole = integer_moves.around(reduction, 3, 10)
    assert integer_moves.is_closed(reduction, whole)
    part = type(whole)(whole.variables[:2], whole.matrix[:, :2])
    assert not integer_moves.is_closed(reduction, part)
