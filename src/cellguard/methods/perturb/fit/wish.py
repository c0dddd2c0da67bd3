"""`Wish`: what the noise of the cells is to be like, and how far movers may go; the programs of OPT are about it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Wish:
    """Noise e = M d, near ``target`` in all rows and, as far as it can be, from ``lower`` to ``upper``; |d| <= ``cap``.

    ``weight`` says how much a row counts; 0 for one that only has bounds. ``hard`` is what a unit outside them costs.
    """

    matrix: sp.csr_array
    target: FloatArray
    weight: FloatArray
    lower: FloatArray
    upper: FloatArray
    hard: FloatArray
    cap: FloatArray

    @cached_property
    def amount(self) -> FloatArray:
        """The largest part, by size, that each mover has in a row."""
        return np.asarray(abs(self.matrix).max(axis=0).toarray(), float).ravel()

    @cached_property
    def reach(self) -> FloatArray:
        """How far each row can move at most."""
        return np.asarray(abs(self.matrix) @ self.cap, float)

    @cached_property
    def scale(self) -> float:
        """A typical size of what is wanted, so that solvers see numbers around 1."""
        firm = self.hard >= self.hard.max(initial=0.0)
        sides = (np.abs(b[np.isfinite(b) & firm]) for b in (self.lower, self.upper))
        wanted = np.concatenate([np.abs(self.target), *sides])
        wanted = wanted[wanted > 0]
        return float(np.median(wanted)) if len(wanted) else 1.0

    @property
    def bounded(self) -> bool:
        """Whether some row has bounds."""
        return bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())

    def violation(self, noise: FloatArray) -> FloatArray:
        """Return by how much noise is outside the bounds."""
        return np.maximum(np.maximum(self.lower - noise, noise - self.upper), 0.0)
