"""A store of moves gives back what was put in, however often it grew, and a copy does not change with it."""

import numpy as np
import pytest

from cellguard.proofs.moves import Move, MoveStore


def moves_of(seed, many=60):
    rng = np.random.default_rng(seed)
    for _ in range(many):
        variables = np.sort(rng.choice(10_000, rng.integers(0, 40), replace=False))
        yield Move(variables, rng.integers(-(2**60), 2**60, len(variables)), int(rng.integers(1, 2**40)))


def same(one, other):
    return (
        np.array_equal(one.variables, other.variables)
        and np.array_equal(one.n, other.n)
        and one.denominator == other.denominator
    )


@pytest.mark.parametrize("seed", range(3))
def test_what_is_put_in_comes_out(seed):
    moves, store = list(moves_of(seed)), MoveStore()
    for move in moves:
        store.append(move)
    assert len(store) == len(moves) and all(map(same, store, moves))
    assert all(map(same, store[5:9], moves[5:9]))
    with pytest.raises(IndexError):
        store[len(moves)]


def test_a_copy_goes_its_own_way():
    moves = list(moves_of(9))
    store = MoveStore(moves[:30])
    other = store.copy()
    store.append(moves[30])
    other.append(moves[31])
    assert same(store[30], moves[30]) and same(other[30], moves[31])
    assert all(map(same, other, moves[:30]))
