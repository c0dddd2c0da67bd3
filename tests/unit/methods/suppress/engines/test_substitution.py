"""Substitution: the smaller system has the same ends, the same moves, and multipliers that prove them."""

import numpy as np
import pytest
import scipy.sparse as sp

from cellguard.methods.suppress.engines.policy import USUAL
from cellguard.methods.suppress.engines.substitution import Substitution
from cellguard.solver import solve
from cellguard.solver.program import Program


def system(seed):
    """The relations of a small table of two dimensions with totals, some cells of which are hidden."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(3, 6, 2)
    value = rng.integers(0, 50, (rows, columns)).astype(float)
    full = np.pad(value, ((0, 1), (0, 1)))
    full[-1] = full.sum(axis=0)
    full[:, -1] = full.sum(axis=1)
    number = np.arange(full.size).reshape(full.shape)
    relations = [*number, *number.T]
    matrix = np.zeros((len(relations), full.size))
    for r, cells in enumerate(relations):
        matrix[r, cells] = 1.0
        matrix[r, cells[-1]] = -1.0
    hidden = rng.random(full.size) < 0.7
    return sp.csr_array(matrix[:, hidden]), full.ravel()[hidden]


def furthest(matrix, down, up, column, sign):
    cost = np.zeros(len(down))
    cost[column] = -sign
    zero = np.zeros(matrix.shape[0])
    return solve(Program(sp.csr_array(matrix), zero, zero, -down, up, cost))


@pytest.mark.parametrize("seed", range(40))
def test_ends_moves_and_multipliers_survive(seed):
    matrix, value = system(seed)
    n = matrix.shape[1]
    up = np.full(n, 1e4) if seed % 2 else np.random.default_rng(seed).integers(0, 60, n).astype(float)
    keep = np.zeros(n, bool)
    keep[seed % n] = True
    less = Substitution(matrix, value, up, keep, USUAL)
    place = int(np.searchsorted(less.columns, seed % n))
    for sign in (1.0, -1.0):
        whole = furthest(matrix, value, up, seed % n, sign)
        part = furthest(less.matrix, value[less.columns], up[less.columns], place, sign)
        assert part.objective == pytest.approx(whole.objective, abs=1e-6)
        moves = less.moves(part.x)
        assert np.abs(matrix @ moves).max(initial=0) < 1e-6
        assert (moves >= -value - 1e-6).all()
        assert (moves <= up + 1e-6).all()
        # By the multipliers d_p = z d for every move, so that no move within the rooms goes further than z allows.
        z = matrix.T @ less.multipliers(part.duals) * sign
        z[seed % n] += 1.0
        gone = np.setdiff1d(np.arange(n), less.columns)
        assert np.abs(z[gone]).max(initial=0) < 1e-9
        bound = np.where(z * sign > 0, z * sign * up, -z * sign * value).sum()
        assert bound == pytest.approx(-whole.objective, abs=1e-6)


def test_totals_go():
    nothing = [np.zeros(len(value), bool) for _, value in map(system, range(10))]
    for (matrix, value), keep in zip(map(system, range(10)), nothing, strict=True):
        assert len(Substitution(matrix, value, np.full(len(value), np.inf), keep, USUAL).columns) < len(value)
