"""Linear systems modulo a prime: exact, dense, and as fast as floating point, which holds whole numbers up to 2^53."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.errors import InternalError
from cellguard.types import BoolArray, FloatArray

Residues = npt.NDArray[np.int64]

# With blocks of 64, sums of products of residues stay below 64 p^2 < 2^52, so that a matrix product is exact.
PRIMES = (8388593, 8388587, 8388581, 8388571, 8388547, 8388539, 8388473, 8388461)
_BLOCK = 64
_ATTEMPTS = 20


@dataclass(frozen=True, eq=False)
class Factors:
    """A symmetric matrix as L U modulo ``prime``; rows that depend on earlier ones are not in ``independent``."""

    lower_upper: FloatArray
    independent: BoolArray
    prime: int

    def solve(self, right: Residues) -> Residues:
        """Return the solutions, one a column, that are 0 on dependent rows; the system must have solutions."""
        x = np.array(right, np.float64, order="C")
        n, p, both = len(x), float(self.prime), self.lower_upper
        for start in range(0, n, _BLOCK):
            stop = min(start + _BLOCK, n)
            _forward(both[start:stop, start:stop], x[start:stop], p)
            x[stop:] -= both[stop:, start:stop] @ x[start:stop]
            _reduce(x[stop:], p)
        for start in range((n - 1) // _BLOCK * _BLOCK if n else -1, -1, -_BLOCK):
            stop = min(start + _BLOCK, n)
            _backward(both[start:stop, start:stop], x[start:stop], self.independent[start:stop], self.prime)
            x[:start] -= both[:start, start:stop] @ x[start:stop]
            _reduce(x[:start], p)
        return x.astype(np.int64)


def factor(matrix: FloatArray, prime: int) -> Factors | None:
    """Factor a symmetric matrix of residues in place, in the order of its rows.

    Returns None where a leading minor happens to be 0 modulo the prime although its rows are independent.
    """
    n, p = len(matrix), float(prime)
    independent = np.zeros(n, bool)
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        if not _panel(matrix[start:, start:stop], independent[start:stop], prime):
            return None
        if stop < n:
            _forward(matrix[start:stop, start:stop], matrix[start:stop, stop:], p)
            matrix[stop:, stop:] -= matrix[stop:, start:stop] @ matrix[start:stop, stop:]
            _reduce(matrix[stop:, stop:], p)
    return Factors(matrix, independent, prime)


def factor_gram(matrix: sp.csr_array, prime: int, random: np.random.Generator) -> tuple[Residues, Factors]:
    """Return a random diagonal D and A D A' factored: modulo the prime, its columns span what those of A span."""
    for _ in range(_ATTEMPTS):
        scale = random.integers(1, prime, matrix.shape[1])
        spread = sp.csr_array((matrix.data * scale[matrix.indices], matrix.indices, matrix.indptr), matrix.shape)
        factors = factor(((spread @ matrix.T).toarray() % prime).astype(np.float64), prime)
        if factors:
            return scale, factors
    raise InternalError("a random elimination failed many times in a row")


@numba.njit(cache=True)
def inverse(a, prime):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Return 1 / a modulo the prime (Fermat): a^(p - 2)."""
    result = 1
    base = int(a) % prime
    power = prime - 2
    while power > 0:
        if power & 1:
            result = result * base % prime
        base = base * base % prime
        power >>= 1
    return result


@numba.njit(cache=True)
def _reduce(x, p):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] -= p * np.floor(x[i, j] / p)


@numba.njit(cache=True)
def _panel(a, independent, prime):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Factor the columns of a tall panel; False if a pivot is 0 but its column is not."""
    p = float(prime)
    rows, columns = a.shape
    for k in range(columns):
        if a[k, k] == 0.0:
            for i in range(k + 1, rows):
                if a[i, k] != 0.0:
                    return False
            continue
        independent[k] = True
        scale = float(inverse(int(a[k, k]), prime))
        for i in range(k + 1, rows):
            if a[i, k] != 0.0:
                f = a[i, k] * scale
                f -= p * np.floor(f / p)
                a[i, k] = f
                for j in range(k + 1, columns):
                    x = a[i, j] - f * a[k, j]
                    a[i, j] = x - p * np.floor(x / p)
    return True


@numba.njit(cache=True)
def _forward(lower, x, p):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Solve L y = x in place; L has ones on its diagonal."""
    n, columns = x.shape
    for i in range(n):
        for k in range(i):
            f = lower[i, k]
            if f != 0.0:
                for j in range(columns):
                    y = x[i, j] - f * x[k, j]
                    x[i, j] = y - p * np.floor(y / p)


@numba.njit(cache=True)
def _backward(upper, x, independent, prime):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Solve U z = x in place, with z = 0 where a row depends on earlier ones."""
    p = float(prime)
    n, columns = x.shape
    for i in range(n - 1, -1, -1):
        if not independent[i]:
            for j in range(columns):
                x[i, j] = 0.0
            continue
        for k in range(i + 1, n):
            f = upper[i, k]
            if f != 0.0:
                for j in range(columns):
                    y = x[i, j] - f * x[k, j]
                    x[i, j] = y - p * np.floor(y / p)
        scale = float(inverse(int(upper[i, i]), prime))
        for j in range(columns):
            y = x[i, j] * scale
            x[i, j] = y - p * np.floor(y / p)
