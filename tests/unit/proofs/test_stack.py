"""Many moves at once: which of them change no relation, against plain arithmetic."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.proofs.moves import Move
from cellguard.proofs.stack import Stack

SQUARE = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]])


def still(moves, matrix=SQUARE):
    return Stack.of(moves).still(sp.csr_array(matrix.T.astype(np.int64))).tolist()


def test_moves_that_change_no_relation():
    around = Move(np.arange(4), np.array([1, -1, -1, 1]), 1)
    assert still([around, Move(np.array([0, 1]), np.array([1, -1]), 1), around.reversed()]) == [True, False, True]
    assert still([]) == []


def test_numbers_beyond_64_bits_prove_nothing():
    far = 2**62
    wrapped = Move(np.arange(4), np.array([far, far, far, far]), 1)  # 4 * 2**62 is 0 in 64 bits
    assert still([wrapped], np.array([[1, 1, 1, 1]])) == [False]


def test_against_plain_arithmetic():
    rng = np.random.default_rng(1)
    for _ in range(50):
        matrix = rng.integers(-1, 2, (int(rng.integers(1, 4)), 6))
        moves = [Move.of(rng.integers(-2, 3, 6), 1) for _ in range(20)]
        moves = [move for move in moves if len(move.variables)]
        expected = [not (matrix[:, move.variables] @ move.n).any() for move in moves]
        assert still(moves, matrix) == expected
