"""Series classes: columns of a system that are proportional in all its moves: one cannot move without the other.

Take random moves modulo a prime. Two columns of one class have the same ratio in all of them; two of different classes
have it in one by a chance of one in two thousand million, and hardly in two.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import LongArray
from cellguard.linalg import circuits_kernel, series_kernel

_MOVES = 3


def series_classes(matrix: sp.csr_array, seed: int = 1) -> LongArray:
    """Return the class of each column, -1 for columns that no move changes.

    >>> square = sp.csr_array(np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [1, 0, 1, 0, 0], [0, 1, 0, 1, 1]]))
    >>> series_classes(square).tolist()
    [0, 0, 0, 0, -1]
    """
    part = sp.csr_array(matrix)
    part.sort_indices()
    n = part.shape[1]
    pivot, _, *rows = circuits_kernel.sweep(
        part.indptr.astype(np.int64), part.indices.astype(np.int32), part.data.astype(np.int64), n, n
    )
    rng, free, moves = np.random.default_rng(seed), pivot < 0, list[LongArray]()
    for _ in range(_MOVES):
        x = np.where(free, rng.integers(1, circuits_kernel.PRIME, n), 0).astype(np.int64)
        series_kernel.substitute(pivot, *rows, x)
        moves.append(x)
    ratios = np.zeros((_MOVES - 1, n), np.int64)
    for number, move in enumerate(moves[1:]):
        series_kernel.quotients(move, moves[0], ratios[number])
    moving = moves[0] != 0
    label = np.full(n, -1, np.int64)
    label[moving] = np.unique(ratios[:, moving], axis=1, return_inverse=True)[1].ravel()
    return label
