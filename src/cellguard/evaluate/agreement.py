"""How far two rules agree: the two by two table of their verdicts, Cohen's kappa, and what the disagreements look like.

Kappa is (po - pe) / (1 - pe), with po the share of equal verdicts and pe that expected of independent rules with the
same margins; its labels are those of Viera and Garrett (2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.arrays import BoolArray, FloatArray

_LABELS = ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))


@dataclass(frozen=True)
class Agreement:
    """How many cells both rules call unsafe, only the first, only the second, and neither.

    >>> Agreement(177, 22, 19, 782).kappa.__round__(4), Agreement(177, 22, 19, 782).label
    (0.8707, 'almost perfect')
    """

    both: int
    first_only: int
    second_only: int
    neither: int

    @classmethod
    def of(cls, first: BoolArray, second: BoolArray) -> Agreement:
        """Compare the verdicts of two rules on the same cells."""
        parts = (first & second, first & ~second, ~first & second, ~first & ~second)
        return cls(*(int(part.sum()) for part in parts))

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def kappa(self) -> float:
        """Cohen's kappa; NaN where both rules say the same of every cell."""
        whole = float(self.cells)
        first, second = (self.both + self.first_only) / whole, (self.both + self.second_only) / whole
        expected = first * second + (1 - first) * (1 - second)
        return ((self.both + self.neither) / whole - expected) / (1 - expected) if expected < 1 else float("nan")

    @property
    def label(self) -> str:
        """Kappa in a word."""
        if np.isnan(self.kappa):
            return "not defined"
        return next((label for limit, label in _LABELS if self.kappa <= limit), "almost perfect")


@dataclass(frozen=True, eq=False)
class Group:
    """Cells on which two rules disagree, seen together.

    ``typical`` is the median share of each position, ``spread`` the mean of the sample standard deviations of the
    contributions, ``gap`` the mean of x1 - x2.
    """

    shares: FloatArray
    typical: FloatArray
    spread: float
    gap: float

    def __len__(self) -> int:
        return len(self.shares)

    @classmethod
    def of(cls, contributions: FloatArray, total: FloatArray) -> Group:
        """Describe cells by their largest contributions, one row per cell, largest first, and their totals.

        >>> Group.of(np.array([[6.0, 3.0], [8.0, 1.0]]), np.array([10.0, 10.0])).typical.round(2).tolist()
        [0.7, 0.2]
        """
        n = contributions.shape[1]
        shares = np.divide(contributions, total[:, None], out=np.zeros_like(contributions), where=total[:, None] != 0)
        if not len(contributions):
            return cls(shares, np.full(n, np.nan), float("nan"), float("nan"))
        spread = float(contributions.std(axis=1, ddof=1).mean()) if n > 1 else float("nan")
        gap = float((contributions[:, 0] - contributions[:, 1]).mean()) if n > 1 else float("nan")
        return cls(shares, np.median(shares, axis=0), spread, gap)
