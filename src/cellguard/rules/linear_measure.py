"""A linear sensitivity measure, from which linear rules derive.

S = sum of lambda_i x_i over the contributions in decreasing order, with the weights of a finite prefix and a constant
tail; a cell is unsafe iff S > 0. Non-increasing weights make S sub-additive, so that a union of safe cells is safe.
Adding u to the tail lowers S by -tail * u, which gives the upper protection level S / -tail of all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from itertools import pairwise

import numpy as np

from cellguard.arrays import BoolArray, FloatArray
from cellguard.rules.rule import Rule, above, unsafe_zeros
from cellguard.table.fact import Fact, Top, Total
from cellguard.table.facts import Facts


class LinearMeasure(Rule):
    """What rules with linear weights share."""

    __slots__ = ()
    zero_unsafe: bool
    nonnegative = True

    @property
    @abstractmethod
    def prefix(self) -> tuple[float, ...]:
        """The weights of the largest contributions."""

    @property
    @abstractmethod
    def tail(self) -> float:
        """The weight of every further contribution."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The total and as many of the largest contributions as have weights of their own."""
        return (Total(), Top(len(self.prefix)))

    @property
    def subadditive(self) -> bool:
        """Whether the weights never rise, so that a union of safe cells is safe."""
        return all(a >= b for a, b in pairwise([*self.prefix, self.tail]))

    def sensitivity(self, cells: Facts) -> FloatArray:
        """Return S = sum of lambda_i x_i."""
        score = self.tail * cells.whole(len(self.prefix))
        for rank, weight in enumerate(self.prefix, 1):
            score = score + (weight - self.tail) * cells.top(rank)
        return np.asarray(score, float)

    def unsafe(self, cells: Facts) -> BoolArray:
        """Return where S > 0; a total of 0 discloses no share, so it is unsafe only if ``zero_unsafe``."""
        concentrated = above(self.sensitivity(cells), cells, self.inclusive) & (cells.basis != 0)
        return concentrated | unsafe_zeros(cells) if self.zero_unsafe else concentrated

    def upper(self, cells: Facts) -> FloatArray:
        """Return the upper protection level S / -tail (Handbook, table 4.6); NaN if the tail weighs nothing.

        If the rule looks at an unweighted sample, the level is raised to the scale of the weighted total.
        """
        if self.tail >= 0:
            return np.full(len(cells.total), np.nan)
        return self.sensitivity(cells) / -self.tail * cells.scale
