"""`Pattern`: which cells are hidden; `Release`: what leaves the building, without any hidden value."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cellguard.table.facts import BoolArray
from cellguard.table.tableset import TableSet

STATUS = ("published", "primary", "secondary", "unpublished")


@dataclass(frozen=True, eq=False)
class Pattern:
    """The hidden ones among the distinct cells of a set: primary because unsafe, secondary to protect these."""

    tables: TableSet
    primary: BoolArray
    secondary: BoolArray

    def __repr__(self) -> str:
        many = f"{int(self.primary.sum())} primary and {int(self.secondary.sum())} secondary"
        return f"<Pattern: {many} of {len(self.tables)} distinct cells>"

    @cached_property
    def unpublished(self) -> BoolArray:
        """The distinct cells that no table shows."""
        shown = np.zeros(len(self.tables), bool)
        for table, cells in zip(self.tables.tables, self.tables.cells_of, strict=True):
            shown[cells[~table.unpublished]] = True
        return ~shown

    @property
    def hidden(self) -> BoolArray:
        """The cells that are suppressed wherever they would be shown."""
        return self.primary | self.secondary

    @property
    def unknown(self) -> BoolArray:
        """The cells that an attacker does not see."""
        return self.hidden | self.unpublished

    def status(self, number: int) -> npt.NDArray[np.str_]:
        """Return the status of each cell of one table, by its position in the set."""
        table, cells = self.tables.tables[number], self.tables.cells_of[number]
        status = np.full(len(table), STATUS[0], "U11")
        status[self.secondary[cells]] = STATUS[2]
        status[self.primary[cells]] = STATUS[1]
        status[table.unpublished] = STATUS[3]
        return status


@dataclass(frozen=True, eq=False)
class ReleasedTable:
    """One table as published: codes and values as text; a suppressed cell has no value."""

    name: str
    by: tuple[str, ...]
    codes: tuple[npt.NDArray[np.object_], ...]
    value: list[str]
    suppressed: BoolArray
    response: str
    population: str
    decimals: int

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True, eq=False)
class Release:
    """All tables as published. Holds no hidden value, so that writers of published files can take nothing else."""

    tables: tuple[ReleasedTable, ...]


def release(pattern: Pattern, values: list[Decimal]) -> Release:
    """Return what may be published; ``values`` are the exact values of the distinct cells."""
    linked = pattern.tables
    found = []
    for table, cells in zip(linked.tables, linked.cells_of, strict=True):
        rows = np.flatnonzero(~table.unpublished)
        hidden = pattern.hidden[cells[rows]]
        place = Decimal(1).scaleb(-table.decimals)
        text = [
            "" if gone else f"{values[cell].quantize(place, ROUND_HALF_EVEN):f}"
            for cell, gone in zip(cells[rows].tolist(), hidden.tolist(), strict=True)
        ]
        codes = tuple(np.array(d.codes, object)[c[rows]] for d, c in zip(table.dimensions, table.codes, strict=True))
        names = tuple(d.name for d in table.dimensions)
        found.append(
            ReleasedTable(table.name, names, codes, text, hidden, table.response, table.population, table.decimals)
        )
    return Release(tuple(found))
