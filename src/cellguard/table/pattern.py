"""`Pattern`: which cells are hidden; `Release`: what leaves the building, without any hidden value."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cellguard.errors import InputError, did_you_mean
from cellguard.table.arrow import Streams, of_all, of_cells
from cellguard.table.tableset import TableSet
from cellguard.types import BoolArray

if TYPE_CHECKING:
    import pyarrow as pa

STATUS = ("published", "primary", "secondary", "unpublished")


@dataclass(frozen=True, eq=False)
class Pattern:
    """The hidden ones among the distinct cells of a set: primary because unsafe, secondary to protect these.

    ``primary`` and ``secondary`` have one entry per distinct cell of ``tables``. `suppress` finds such a pattern, and
    `audit` judges any.

    >>> import cellguard as cg, numpy as np
    >>> t = cg.cells({"r": ["Total", "N", "S"], "x": [5, 2, 3]}, by=["r"], value="x")
    >>> cg.Pattern(cg.link(t), np.array([False, True, False]), np.array([False, False, True]))
    <Pattern: 1 primary and 1 secondary of 3 distinct cells>
    """

    tables: TableSet
    primary: BoolArray
    secondary: BoolArray

    def __repr__(self) -> str:
        hidden = f"{int(self.primary.sum())} primary and {int(self.secondary.sum())} secondary"
        return f"<Pattern: {hidden} of {len(self.tables)} distinct cells>"

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
class ReleasedTable(Streams):
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

    def __repr__(self) -> str:
        return f"<ReleasedTable {self.name!r}: {len(self)} cells by {', '.join(self.by)}, {self.hidden} suppressed>"

    @property
    def hidden(self) -> int:
        """How many cells are suppressed."""
        return int(self.suppressed.sum())

    def to_arrow(self) -> pa.Table:
        """Return dimension columns, ``value`` (null where suppressed) and ``flag`` (``c`` there, else empty)."""
        value = [float(text) if text else None for text in self.value]
        flag = np.where(self.suppressed, "c", "").tolist()
        return of_cells(self.by, self.codes, {"value": value, "flag": flag})


@dataclass(frozen=True, eq=False)
class Release(Streams):
    """All tables as published. Holds no hidden value, so that writers of published files can take nothing else.

    It speaks Arrow, as a whole (with a column ``table``; all tables must have the same dimensions) or table by table:
    dimension columns, ``value`` (null where suppressed) and ``flag`` (``c`` where suppressed, else empty). An `Audit`
    that found a pattern safe gives it.

    >>> import cellguard as cg, pyarrow as pa
    >>> t = cg.cells({"r": ["Total", "N", "S", "W"], "x": [100, 20, 50, 30], "n": [19, 1, 9, 9]},
    ...              by=["r"], value="x", count="n")
    >>> needs = cg.require(cg.assess(t, cg.MinFrequency(3)))
    >>> release = cg.audit(needs, cg.suppress(needs).pattern).release()
    >>> pa.table(release["table"]).to_pydict()
    {'r': ['Total', 'N', 'S', 'W'], 'value': [100.0, None, 50.0, None], 'flag': ['', 'c', '', 'c']}
    """

    tables: tuple[ReleasedTable, ...]

    def __repr__(self) -> str:
        return f"<Release {', '.join(table.name for table in self.tables)}>"

    def __getitem__(self, name: str) -> ReleasedTable:
        for table in self.tables:
            if table.name == name:
                return table
        raise InputError(f"no table {name!r}{did_you_mean(name, [table.name for table in self.tables])}")

    def to_arrow(self) -> pa.Table:
        """Return the rows of all tables, with a column ``table`` in front."""
        return of_all({table.name: table.to_arrow() for table in self.tables})


def release(pattern: Pattern, values: list[Decimal]) -> Release:
    """Return what may be published; ``values`` are the exact values of the distinct cells."""
    linked = pattern.tables
    released = []
    for table, cells in zip(linked.tables, linked.cells_of, strict=True):
        if table.release != "here":
            continue
        rows = np.flatnonzero(~table.unpublished)
        hidden = pattern.hidden[cells[rows]]
        place = Decimal(1).scaleb(-table.decimals)
        text = [
            "" if gone else _plain(values[cell].quantize(place, ROUND_HALF_EVEN))
            for cell, gone in zip(cells[rows].tolist(), hidden.tolist(), strict=True)
        ]
        codes = tuple(np.array(d.codes, object)[c[rows]] for d, c in zip(table.dimensions, table.codes, strict=True))
        names = tuple(d.name for d in table.dimensions)
        released.append(
            ReleasedTable(table.name, names, codes, text, hidden, table.response, table.population, table.decimals)
        )
    return Release(tuple(released))


def _plain(number: Decimal) -> str:
    """Return a number as text; a 0 without a sign, which would tell on which side of it the value was."""
    return f"{number if number else abs(number):f}"
