"""Which columns are combinations of others, judged by ranks in fractions."""

import numpy as np
import pytest
import scipy.sparse as sp

from cellguard.linalg.span import rows_apart, spanned

from .linear_oracle import rank


def tied_system(rng, groups):
    """Cells of two responses in rows and columns of a grid, and in each group a tie of both to a third."""
    cells = np.zeros((2 * groups, 3 * groups), int)
    for g in range(groups):
        for response in (0, 1):
            cells[rng.integers(0, groups) + response * groups, 3 * g + response] = 1
    constraints = np.kron(np.eye(groups, dtype=int), [[-1, 1, 1]])
    return np.vstack([cells, constraints])


@pytest.mark.parametrize("seed", range(30))
def test_spanned_columns_are_those_that_leave_the_rank_as_it_is(seed):
    rng = np.random.default_rng(seed)
    matrix = tied_system(rng, 5) if seed % 2 else rng.integers(-1, 2, (6, 9)) * (rng.random((6, 9)) < 0.5)
    inside = rng.random(matrix.shape[1]) < 0.6
    columns, wanted = matrix[:, inside], matrix[:, ~inside]
    found = spanned(sp.csr_array(columns), wanted, np.random.default_rng(0))
    before = rank(columns.tolist())
    assert found.tolist() == [rank(np.c_[columns, b].tolist()) == before for b in wanted.T]


def test_every_tie_is_eliminated_before_the_rest():
    matrix = sp.csr_array(tied_system(np.random.default_rng(1), 40))
    apart = rows_apart(matrix)
    assert apart.sum() >= 40 and (abs(matrix[np.flatnonzero(apart)]).sum(axis=0) <= 1).all()
