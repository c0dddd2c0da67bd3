"""Circuits, what they join to, and short whole moves: always moves, always within bounds."""

import numpy as np
import pytest
import scipy.sparse as sp

from cellguard.linalg.circuits import circuits
from cellguard.proofs.pool import whole_moves
from cellguard.proofs.short import short_moves
from cellguard.run_context import UNWATCHED


def cube(rng, shape):
    """The relations of a random part of a cube's leaves, all sums published; and how far each may go."""
    places = np.array(np.nonzero(rng.random(shape) < 0.6)).T
    rows = []
    for axis in range(len(shape)):
        line = np.delete(places, axis, axis=1)
        _, name = np.unique(line, axis=0, return_inverse=True)
        rows.append(sp.csr_array((np.ones(len(places), np.int64), (name.ravel(), np.arange(len(places))))))
    n = len(places)
    return sp.csr_array(sp.vstack(rows, format="csr")), rng.integers(0, 3, n), rng.integers(1, 4, n)


@pytest.mark.parametrize("seed", range(20))
def test_circuits_are_moves_and_join_to_moves_of_all_that_they_cover(seed):
    rng = np.random.default_rng(seed)
    matrix, down, up = cube(rng, (5, 4, 4) if seed % 2 else (8, 8))
    targets = 20
    every = circuits(matrix, targets)
    moves = sp.csr_array((every.moves, every.columns, every.start), shape=(len(every), matrix.shape[1]))
    assert not (matrix @ moves.T).count_nonzero()
    kept = every.some(every.within(down, up))
    joined = kept.joined(np.arange(matrix.shape[1]) < targets, down, up).toarray()
    assert not (matrix @ joined.T).any()
    assert ((joined <= up) & (-joined <= down)).all()
    covered = np.unique(kept.columns[kept.columns < targets])
    assert (joined[:, covered] != 0).any(axis=0).all()


def test_short_moves_are_whole_and_within_bounds():
    serving = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        matrix, down, up = cube(rng, (6, 5, 4))
        targets = np.arange(0, matrix.shape[1], 5)
        limits, weights = (down.astype(float), up.astype(float)), 1 + rng.random(matrix.shape[1])
        amounts = np.ones(len(targets), np.int64)
        move = short_moves(matrix.astype(float), limits, targets, amounts, weights, run=UNWATCHED)
        assert not (matrix @ move).any()
        assert ((move <= up) & (-move <= down)).all() and (move[targets] >= 0).all()
        serving += (move[targets] > 0).any()
    assert serving > 10


def test_pooled_whole_moves_are_whole_within_bounds_and_serve_many():
    served = asked = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        matrix, down, up = cube(rng, (6, 5, 4))
        targets = np.arange(0, matrix.shape[1], 5)
        amounts = np.where(rng.random(len(targets)) < 0.5, 1.0, -1.0)
        move = whole_moves(matrix.astype(float), down * 1.0, up * 1.0, targets, amounts, run=UNWATCHED)
        assert move.dtype.kind == "i" and not (matrix @ move).any()
        assert ((move <= up) & (-move <= down)).all() and (amounts * move[targets] >= 0).all()
        served += (amounts * move[targets] >= 1).sum()
        asked += (np.where(amounts > 0, up[targets], down[targets]) >= 1).sum()
    assert asked > served > 10
