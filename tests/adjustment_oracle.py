"""The least adjustment of small tables by trying all moves of all inner cells; no solver, and no sides."""

import itertools

import numpy as np


def least(value, need_below, need_above, primary, weight, shape, reach, kept=(), squares=False):
    """The least cost of moves of up to `reach` of each inner cell; `value` is an array with totals first in each axis.

    `need_below` and `need_above` are levels, infinite where a cell may not go to that side.
    """
    inner = int(np.prod(shape))
    moves = np.array(list(itertools.product(range(-reach, reach + 1), repeat=inner)), np.int64)
    moves = moves.reshape(-1, *shape)
    for axis in range(len(shape)):
        moves = np.concatenate([moves.sum(axis + 1, keepdims=True), moves], axis + 1)
    after = value + moves
    good = (after >= 0) & ((value != 0) | (after == 0))
    good &= ~primary | (moves <= -need_below) | (moves >= need_above)
    for cell in kept:
        good[(slice(None), *cell)] &= moves[(slice(None), *cell)] == 0
    fine = good.reshape(len(moves), -1).all(1)
    cost = (weight * (moves**2 if squares else np.abs(moves))).reshape(len(moves), -1).sum(1)
    return cost[fine].min(initial=np.inf)
