"""Linear systems modulo a prime: exact, dense, and as fast as floating point, which holds whole numbers up to 2^53.

A symmetric matrix is factored as L U without exchanging rows, in blocks: with A = (B C'; C E) and B = L U, what is left
is E - (C U^-1) (L^-1 C'), one product of matrices per block. A row whose pivot is 0 together with all below it depends
on earlier rows and is skipped; a pivot that is 0 by chance is cured by another random diagonal, see `factor_gram`.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InternalError
from cellguard.linalg.residues_kernel import backward, forward, panel, to_residues

T = TypeVar("T")
Residues = npt.NDArray[np.int64]

# With blocks of 64, sums of products of residues stay below 64 p^2 < 2^52, so that a matrix product is exact.
PRIMES = (8388593, 8388587, 8388581, 8388571, 8388547, 8388539, 8388473, 8388461)
_BLOCK = 64
_ATTEMPTS = 20
_LARGEST = 2**23  # above all PRIMES


def secret_prime() -> int:
    """Return a prime that nobody can guess, of the size of ``PRIMES``.

    Somebody who chooses the rows of a system can make a known prime divide what they tell, so that it is not seen.

    >>> 2**22 < secret_prime() < 2**23
    True
    """
    while True:
        some = _LARGEST // 2 + 1 + 2 * secrets.randbelow(_LARGEST // 4)
        if all(some % divisor for divisor in range(3, math.isqrt(some) + 1, 2)):
            return some


@dataclass(frozen=True, eq=False)
class Factors:
    """A symmetric matrix as L U modulo ``prime``; rows that depend on earlier ones are not in ``independent``."""

    lower_upper: FloatArray
    independent: BoolArray
    prime: int

    def solve(self, right: Residues) -> Residues:
        """Return the solutions, one per column, that are 0 on dependent rows; the system must have solutions."""
        x = np.array(right, np.float64, order="C")
        n, p, both = len(x), float(self.prime), self.lower_upper
        for start in range(0, n, _BLOCK):
            stop = min(start + _BLOCK, n)
            forward(both[start:stop, start:stop], x[start:stop], p)
            x[stop:] -= both[stop:, start:stop] @ x[start:stop]
            to_residues(x[stop:], p)
        for start in range((n - 1) // _BLOCK * _BLOCK if n else -1, -1, -_BLOCK):
            stop = min(start + _BLOCK, n)
            backward(both[start:stop, start:stop], x[start:stop], self.independent[start:stop], self.prime)
            x[:start] -= both[:start, start:stop] @ x[start:stop]
            to_residues(x[:start], p)
        return x.astype(np.int64)


def factor(matrix: FloatArray, prime: int) -> Factors | None:
    """Factor a symmetric matrix of residues in place, in the order of its rows.

    Returns None where a leading minor happens to be 0 modulo the prime although its rows are independent.
    """
    n, p = len(matrix), float(prime)
    independent = np.zeros(n, bool)
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        if not panel(matrix[start:, start:stop], independent[start:stop], prime):
            return None
        if stop < n:
            forward(matrix[start:stop, start:stop], matrix[start:stop, stop:], p)
            matrix[stop:, stop:] -= matrix[stop:, start:stop] @ matrix[start:stop, stop:]
            to_residues(matrix[stop:, stop:], p)
    return Factors(matrix, independent, prime)


def with_random_diagonal(
    matrix: sp.csr_array,
    prime: int,
    random: np.random.Generator,
    attempt: Callable[[Residues, sp.csr_array], T | None],
) -> T:
    """Return what comes of a random diagonal D and A D, each tried in turn: chance makes a pivot 0 now and then."""
    for _ in range(_ATTEMPTS):
        scale = random.integers(1, prime, matrix.shape[1])
        spread = sp.csr_array((matrix.data * scale[matrix.indices], matrix.indices, matrix.indptr), matrix.shape)
        if (done := attempt(scale, spread)) is not None:
            return done
    raise InternalError("a random elimination failed many times in a row")


def factor_gram(matrix: sp.csr_array, prime: int, random: np.random.Generator) -> tuple[Residues, Factors]:
    """Return a random diagonal D and A D A' factored: modulo the prime, its columns span what those of A span."""

    def attempt(scale: Residues, spread: sp.csr_array) -> tuple[Residues, Factors] | None:
        factors = factor(((spread @ matrix.T).toarray() % prime).astype(np.float64), prime)
        return (scale, factors) if factors else None

    return with_random_diagonal(matrix, prime, random, attempt)
