"""Which columns of a sparse whole-numbered matrix are combinations of certain others, modulo a prime.

With S the columns that may be used and D a random diagonal, the columns of G = S D S' span, modulo the prime, what
those of S span. So b is a combination of them if G z = b has a solution. Rows that have no column of S in common give
G a diagonal block: with rows (i, r), i being such rows,

    z_i = G_ii^-1 (b_i - G_ir z_r),    (G_rr - G_ri G_ii^-1 G_ir) z_r = b_r - G_ri G_ii^-1 b_i,

and only what is left is eliminated densely. Constraints such as net = gross - cost, one row per group
of records, all vanish so. Whatever z is, a column counts only if G z is that column.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, LongArray
from cellguard.linalg.residues import PRIMES, Residues, factor, with_random_diagonal


def spanned(columns: sp.csr_array, wanted: Residues, random: np.random.Generator, prime: int = PRIMES[0]) -> BoolArray:
    """Return which of the wanted columns are combinations of the given ones.

    >>> columns = sp.csr_array(np.array([[1, 0], [1, 1], [0, 1]]))
    >>> spanned(columns, np.array([[1, 1], [2, 0], [1, 0]]), np.random.default_rng(0)).tolist()
    [True, False]
    """
    right = wanted % prime
    if not columns.shape[1]:
        return np.asarray(~right.any(axis=0), bool)
    apart = rows_apart(columns)

    def attempt(_: Residues, spread: sp.csr_array) -> BoolArray | None:
        solution = _solved(_modulo(sp.csr_array(spread @ columns.T), prime), right, apart, prime)
        if solution is None:
            return None
        back = spread @ (columns.T @ solution % prime) % prime
        return np.asarray((back == right).all(axis=0), bool)

    return with_random_diagonal(columns, prime, random, attempt)


def rows_apart(columns: sp.csr_array) -> BoolArray:
    """Return rows of which no two have a column in common, the shortest first; a row without columns is none of them.

    >>> rows_apart(sp.csr_array(np.array([[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 0]]))).tolist()
    [False, True, True, False]
    """
    start, width = columns.indptr, np.diff(columns.indptr)
    taken, apart = np.zeros(columns.shape[1], bool), np.zeros(columns.shape[0], bool)
    for row in np.argsort(width, kind="stable").tolist():
        here = columns.indices[start[row] : start[row + 1]]
        if len(here) and not taken[here].any():
            taken[here] = apart[row] = True
    return apart


def _solved(gram: sp.csr_array, right: Residues, apart: BoolArray, prime: int) -> Residues | None:
    """Return z with G z = b wherever there is one, or None if chance made a pivot 0."""
    diagonal = gram.diagonal()[apart]
    if not diagonal.all():
        return None
    own, rest = np.flatnonzero(apart), np.flatnonzero(~apart & (np.diff(gram.indptr) > 0))
    across = sp.csr_array(gram[rest][:, own])
    inverses = _inverses(diagonal, prime)
    shares = sp.csr_array((across.data * inverses[across.indices] % prime, across.indices, across.indptr), across.shape)
    solution = np.zeros_like(right)
    if len(rest):
        core = (gram[rest][:, rest].toarray() - (shares @ across.T).toarray()) % prime
        factors = factor(core.astype(np.float64), prime)
        if factors is None:
            return None
        solution[rest] = factors.solve((right[rest] - shares @ right[own]) % prime)
    left = (right[own] - across.T @ solution[rest]) % prime
    solution[own] = left * inverses[:, None] % prime
    return solution


def _inverses(values: LongArray, prime: int) -> LongArray:
    return np.array([pow(int(value), -1, prime) for value in values], np.int64)


def _modulo(matrix: sp.csr_array, prime: int) -> sp.csr_array:
    return sp.csr_array((matrix.data % prime, matrix.indices, matrix.indptr), matrix.shape)
