"""A lower triangle that grows by rows, in blocks of rows: half the room of a square, and growing moves nothing."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.linalg import solve_triangular

from cellguard.arrays import FloatArray

_BLOCK = 256  # rows up to which a block takes in further ones


class Triangle:
    """A lower triangle L. Each block has some rows, from the first column to its own last one."""

    def __init__(self) -> None:
        self._blocks: list[FloatArray] = []
        self._starts = [0]

    @property
    def rank(self) -> int:
        """How many rows there are."""
        return self._starts[-1]

    def add(self, before: FloatArray, own: FloatArray) -> None:
        """Take in rows: what they have in the columns so far (columns by rows), and a lower triangle of their own."""
        more, rank = len(own), self.rank
        if not more:
            return
        joined = np.zeros((0, rank))
        if self._blocks and len(self._blocks[-1]) + more <= _BLOCK:
            joined = self._blocks.pop()
            self._starts.pop()
        block = np.zeros((len(joined) + more, rank + more))
        block[: len(joined), :rank] = joined
        block[len(joined) :, :rank] = before.T
        block[len(joined) :, rank:] = own
        self._blocks.append(block)
        self._starts.append(rank + more)

    def solve(self, right: FloatArray, *, transposed: bool = False) -> FloatArray:
        """Return L^-1 times a matrix, or L'^-1.

        >>> triangle = Triangle()
        >>> triangle.add(np.zeros((0, 1)), np.array([[2.0]]))
        >>> triangle.add(np.array([[1.0]]), np.array([[4.0]]))
        >>> triangle.solve(np.array([[2.0], [9.0]])).tolist(), triangle.solve(np.eye(2), transposed=True).tolist()
        ([[1.0], [2.0]], [[0.5, -0.125], [0.0, 0.25]])
        """
        found = np.array(right, float, order="C")
        places = list(zip(self._blocks, pairwise(self._starts), strict=True))
        for block, (start, end) in reversed(places) if transposed else places:
            if not transposed and start:
                found[start:end] -= block[:, :start] @ found[:start]
            found[start:end] = solve_triangular(
                block[:, start:], found[start:end], lower=True, trans=1 if transposed else 0, check_finite=False
            )
            if transposed and start:
                found[:start] -= block[:, :start].T @ found[start:end]
        return found
