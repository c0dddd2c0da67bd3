"""`Contributors`: the values of a map one by one, each in its cell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellguard.arrays import FloatArray, LongArray, Positions
from cellguard.errors import InputError
from cellguard.table.fact import Count, Top, Total
from cellguard.table.facts import Facts


@dataclass(frozen=True, eq=False)
class Contributors:
    """Contributors sorted by cell, in each cell the largest value first; there are ``cells`` of these. Confidential.

    >>> two = Contributors.of([0, 1, 0], [2.0, 7.0, 5.0], 2)
    >>> two.value.tolist(), two.total.tolist(), two.count.tolist(), two.rank.tolist()
    ([5.0, 2.0, 7.0], [7.0, 7.0], [2, 1], [0, 1, 0])
    """

    cell: Positions
    value: FloatArray
    cells: int

    @classmethod
    def of(cls, cell: object, value: object, cells: int) -> Contributors:
        """Return contributors in any order, sorted; values must not be negative."""
        place, amount = np.asarray(cell, np.intp), np.asarray(value, float)
        if not np.isfinite(amount).all():
            raise InputError("a value is missing or infinite; leave the point out, or give its value")
        if (amount < 0).any():
            raise InputError("a value is negative; redistribution of values is defined for values from 0 on only")
        order = np.lexsort((-amount, place))
        return cls(place[order], amount[order], cells)

    @cached_property
    def count(self) -> LongArray:
        """How many contributors each cell has."""
        return np.bincount(self.cell, minlength=self.cells)

    @cached_property
    def start(self) -> LongArray:
        """Where the contributors of each cell begin."""
        return np.concatenate([[0], np.cumsum(self.count)[:-1]])

    @cached_property
    def total(self) -> FloatArray:
        """The sum of the values of each cell."""
        return np.bincount(self.cell, self.value, self.cells).astype(float)

    @cached_property
    def rank(self) -> LongArray:
        """The place of each contributor in its cell, from 0 for the largest."""
        return np.arange(len(self.cell)) - self.start[self.cell]

    @property
    def smallest(self) -> FloatArray:
        """The smallest value of each cell, infinite where there is none."""
        least = np.full(self.cells, np.inf)
        some = self.count > 0
        least[some] = self.value[(self.start + self.count - 1)[some]]
        return least

    def top(self, rank: int) -> FloatArray:
        """Return the value of the given rank (1 = the largest) in each cell, 0 where there is none."""
        values = np.zeros(self.cells)
        some = self.count >= rank
        values[some] = self.value[self.start[some] + rank - 1]
        return values

    def facts(self, ranks: int) -> Facts:
        """Return what rules look at: totals, counts and the largest contributions."""
        tops = np.stack([self.top(rank) for rank in range(1, ranks + 1)], axis=1)
        return Facts({Total(): self.total, Count(): self.count.astype(float), Top(ranks): tops})
