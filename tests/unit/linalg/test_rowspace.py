"""Exact sparse elimination, judged by plain elimination in fractions."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cellguard.linalg.fractions_of_residues import short_fraction
from cellguard.linalg.residues import PRIMES, factor
from cellguard.linalg.rowspace import RowSpace

from .linear_oracle import determined

small = st.tuples(st.integers(1, 9), st.integers(1, 9))
matrices = small.flatmap(lambda shape: arrays(np.int64, shape, elements=st.sampled_from([0, 0, 1, 1, -1])))


@given(matrices)
@settings(max_examples=150, deadline=None)
def test_determined_unknowns_and_their_combinations(matrix):
    space, wanted = RowSpace(sp.csr_array(matrix)), determined(matrix, matrix.shape[1])
    assert space.determined().tolist() == wanted
    for unknown, found in enumerate(space.combinations(list(range(matrix.shape[1])))):
        assert (found is not None) == wanted[unknown]
        if found:
            total = [
                sum(c * int(matrix[r, j]) for r, c in zip(found.rows, found.coefficients, strict=True))
                for j in range(matrix.shape[1])
            ]
            assert total == [Fraction(int(j == unknown)) for j in range(matrix.shape[1])]


def test_random_solutions_solve_the_system_modulo_each_prime():
    matrix = sp.csr_array(np.random.default_rng(5).integers(0, 2, (12, 30)))
    for prime in PRIMES[:2]:
        v = RowSpace(matrix).kernel(prime)
        assert not (matrix @ v % prime).any()
        assert v.any()


def test_the_dense_core_is_used_when_nothing_can_be_peeled_off():
    rng = np.random.default_rng(1)
    matrix = (rng.random((150, 300)) < 0.2).astype(int)
    space = RowSpace(sp.csr_array(matrix))
    assert space.core == (150, 300)
    assert not space.determined().any()
    tall = RowSpace(sp.csr_array(matrix.T))
    assert tall.determined().all()
    # The coefficients have hundreds of digits: the rows are named without them.
    assert all(found.rows and not found.coefficients for found in tall.combinations([0, 70]))


def test_dependent_rows_are_told_from_independent_ones():
    rows = np.random.default_rng(2).integers(0, 50, (80, 200))
    rows[70:] = rows[:10] + rows[10:20]
    gram = (rows @ rows.T % PRIMES[0]).astype(float)
    found = factor(gram, PRIMES[0])
    assert found.independent.tolist() == [True] * 70 + [False] * 10


@pytest.mark.parametrize("wanted", [Fraction(1, 2), Fraction(-7, 3), Fraction(0), Fraction(2000, 1999)])
def test_fractions_come_back_from_their_residues(wanted):
    p = PRIMES[0] * PRIMES[1]
    assert short_fraction(wanted.numerator * pow(wanted.denominator, -1, p) % p, p) == wanted


def test_combinations_that_need_more_than_two_primes():
    # Each row doubles what the last one says, so the last unknown is found with a coefficient of 2^40.
    n = 41
    matrix = np.eye(n, dtype=int)
    matrix[np.arange(1, n), np.arange(n - 1)] = -2
    found = RowSpace(sp.csr_array(matrix)).combinations([n - 1])[0]
    assert found.coefficients[0] == 2 ** (n - 1)
