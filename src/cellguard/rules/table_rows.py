"""The rows of a table along one of its dimensions, as rules see them that judge whole rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, IntArray, Positions
from cellguard.errors import InputError, did_you_mean
from cellguard.hierarchy.groups import Leaves
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.keys import combine, find

if TYPE_CHECKING:
    from cellguard.table.table import Table


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table along one of its dimensions: cells whose other codes agree, under a total that is there.

    ``totals`` are the cells of the rows' totals; ``row`` is the row of each cell, -1 where there is no total.
    """

    table: Table
    axis: int
    totals: Positions
    row: Positions

    @property
    def dimension(self) -> Dimension:
        """The dimension along which the rows go."""
        return self.table.dimensions[self.axis]

    @property
    def codes(self) -> IntArray:
        """The cells' codes in that dimension."""
        return self.table.codes[self.axis]

    @cached_property
    def leaves(self) -> Leaves:
        """The leaves of the dimension's codes."""
        return Leaves(self.dimension)

    def others_code(self, codes: Sequence[str]) -> str | None:
        """Return the code of the table that holds all leaves but those of some codes, if there is one."""
        same = self.leaves.codes.get(self.leaves.others(codes), ())
        return next((code for code in same if self.dimension.position[code] in self._there), None)

    @cached_property
    def _there(self) -> set[int]:
        return set(np.unique(self.codes).tolist())

    def having(self, codes: Sequence[str]) -> BoolArray:
        """Tell which cells of the rows have one of some codes."""
        places = [self.dimension.position[code] for code in codes]
        return np.asarray(np.isin(self.codes, places) & (self.row >= 0), bool)

    def sums(self, codes: Sequence[str]) -> FloatArray:
        """Return for each row how many respondents have one of some codes."""
        cells = self.having(codes)
        return self.add_up(self.table.value, cells)

    def add_up(self, column: FloatArray, cells: BoolArray) -> FloatArray:
        """Return for each row the sum of a column over some of its cells."""
        return np.asarray(np.bincount(self.row[cells], column[cells], len(self.totals)), float)

    def occurring(self) -> list[str]:
        """Return the codes of the dimension's main hierarchy that occur in the table, without the total."""
        main = set(self.dimension.main.codes[1:])
        return [code for place in sorted(self._there) if (code := self.dimension.codes[place]) in main]

    def others(self, codes: Sequence[str]) -> FloatArray:
        """Return for each row how many respondents have none of some codes."""
        whole = self.table.value[self.totals]
        rest = whole - self.sums(codes)
        return np.where(np.abs(rest) <= 1e-9 * np.maximum(whole, 1), 0.0, rest)


def rows_of(table: Table, by: str) -> Rows:
    """Return the rows of a table along the dimension ``by``."""
    names = [d.name for d in table.dimensions]
    if by not in names:
        raise InputError(f"table {table.name!r} has no dimension {by!r}{did_you_mean(by, names)}")
    axis = names.index(by)
    others = [c for i, c in enumerate(table.codes) if i != axis]
    sizes = [len(d.codes) for i, d in enumerate(table.dimensions) if i != axis]
    keys = combine(others, sizes) if others else np.zeros(len(table), np.int64)
    totals = np.flatnonzero(table.codes[axis] == 0)
    if not len(totals):
        raise InputError(
            f"table {table.name!r} has no cells of the total {table.dimensions[axis].total!r} of {by!r}; without it "
            "a rule about rows cannot tell who else is in them; add these cells, unpublished if need be"
        )
    return Rows(table, axis, totals, find(keys, keys[totals]))
