"""Elimination modulo a prime on floats: x - p floor(x / p) keeps every entry a whole number from 0 to p - 1.

A float64 holds whole numbers up to 2^53 exactly. With p < 2^23 a sum of 64 products of residues, the width of a block,
stays below that, so that nothing is rounded and blocks are multiplied by BLAS. A panel L U is factored column by
column; a column without a pivot depends on those before it, and is marked as such.
"""

from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel
from cellguard.linalg.circuits_kernel import inverse


@kernel
def to_residues(x, p):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Take every entry modulo p, in place."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] -= p * np.floor(x[i, j] / p)


@kernel
def panel(a, independent, prime):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Factor the columns of a tall panel; False if a pivot is 0 but its column is not."""
    p = float(prime)
    rows, columns = a.shape
    for k in range(columns):
        if a[k, k] == 0.0:
            # The matrix has a random diagonal factor: a zero pivot over entries is bad luck, and another one is tried.
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


@kernel
def forward(lower, x, p):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Solve L y = x in place; L has ones on its diagonal."""
    n, columns = x.shape
    for i in range(n):
        for k in range(i):
            f = lower[i, k]
            if f != 0.0:
                for j in range(columns):
                    y = x[i, j] - f * x[k, j]
                    x[i, j] = y - p * np.floor(y / p)


@kernel
def backward(upper, x, independent, prime):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
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
