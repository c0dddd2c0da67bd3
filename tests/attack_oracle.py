"""What an attacker can work out of tiny tables, by brute force: all vertices, or all whole moves."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

FAR = 10_000


def solved(matrix):
    """Return the pivot columns of M d = 0, the free ones, and the rows that give the pivots by the free (fractions)."""
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
    free = [c for c in range(n) if c not in pivots]
    return pivots, free, [[-row[c] for c in free] for row in rows[: len(pivots)]]


def kernel(matrix):
    """Return whole vectors that span the solutions of M d = 0, one per row."""
    n = matrix.shape[1]
    pivots, free, rows = solved(matrix)
    basis = []
    for i, column in enumerate(free):
        vector = [Fraction(0)] * n
        vector[column] = Fraction(1)
        for pivot, row in zip(pivots, rows, strict=True):
            vector[pivot] = row[i]
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
    """Return the least and the most of every whole move with M d = 0 and -down <= d <= up, by trying all of them.

    The free columns take every whole number; a move fits if the others are whole then, and all within their bounds.
    """
    pivots, free, rows = solved(matrix)
    ranges = [np.arange(-down[c], up[c] + 1) for c in free]
    tried = np.stack([g.ravel() for g in np.meshgrid(*ranges, indexing="ij")]) if free else np.zeros((0, 1), np.int64)
    moves = np.zeros((matrix.shape[1], tried.shape[1]), np.int64)
    moves[free] = tried
    whole = np.ones(tried.shape[1], bool)
    for pivot, row in zip(pivots, rows, strict=True):
        scale = math.lcm(*(x.denominator for x in row))
        scaled = np.array([int(x * scale) for x in row], np.int64) @ tried
        whole &= scaled % scale == 0
        moves[pivot] = scaled // scale
    inside = whole & ((moves >= -down[:, None]) & (moves <= up[:, None])).all(axis=0)
    return moves[:, inside].min(axis=1), moves[:, inside].max(axis=1)
