"""What an attacker can work out of tiny tables, by brute force: all vertices, or all whole moves."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

FAR = 10_000


def kernel(matrix):
    """Return whole vectors that span the solutions of M d = 0, one a row, by elimination in fractions."""
    rows = [[Fraction(int(x)) for x in row] for row in matrix]
    n = matrix.shape[1]
    pivots = []
    for column in range(n):
        pivot = next((r for r in range(len(pivots), len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[len(pivots)], rows[pivot] = rows[pivot], rows[len(pivots)]
        row = rows[len(pivots)]
        row[:] = [x / row[column] for x in row]
        for other in rows:
            if other is not row and other[column]:
                factor = other[column]
                other[:] = [a - factor * b for a, b in zip(other, row, strict=True)]
        pivots.append(column)
    basis = []
    for free in (c for c in range(n) if c not in pivots):
        vector = [Fraction(0)] * n
        vector[free] = Fraction(1)
        for r, column in enumerate(pivots):
            vector[column] = -rows[r][free]
        scale = math.lcm(*(x.denominator for x in vector))
        basis.append([int(x * scale) for x in vector])
    return np.array(basis, np.int64).reshape(-1, n)


def ends_by_vertices(matrix, down, up):
    """Return the least and the most of every move with M d = 0 and -down <= d <= up, by enumerating all vertices.

    A move is a point in the coordinates of the kernel; a vertex lies on as many bounds as the kernel has dimensions.
    All numbers are whole and small, so that determinants are exact.
    """
    basis = kernel(matrix).T
    n, f = basis.shape
    zero = np.zeros((1, n))
    if f == 0:
        return zero[0], zero[0]
    sides = np.concatenate([basis, -basis])
    limits = np.concatenate([up, down])
    chosen = np.array(list(itertools.combinations(range(2 * n), f)))
    squares = sides[chosen].astype(float)
    determinants = np.rint(np.linalg.det(squares)).astype(np.int64)
    squares, right, determinants = (x[determinants != 0] for x in (squares, limits[chosen], determinants))
    z = np.empty((len(squares), f), np.int64)
    for i in range(f):
        changed = squares.copy()
        changed[:, :, i] = right
        z[:, i] = np.rint(np.linalg.det(changed)).astype(np.int64)
    moves = z @ basis.T * np.sign(determinants)[:, None]
    size = np.abs(determinants)[:, None]
    feasible = ((moves <= size * up) & (-moves <= size * down)).all(axis=1)
    vertices = np.concatenate([zero, moves[feasible] / size[feasible]])
    return vertices.min(axis=0), vertices.max(axis=0)


def ends_by_enumeration(matrix, down, up):
    """Return the least and the most of every whole move with M d = 0 and -down <= d <= up, by trying all of them."""
    ranges = [np.arange(-a, b + 1) for a, b in zip(down, up, strict=True)]
    grid = np.stack([g.ravel() for g in np.meshgrid(*ranges, indexing="ij")])
    fitting = grid[:, (matrix @ grid == 0).all(axis=0)]
    return fitting.min(axis=1), fitting.max(axis=1)
