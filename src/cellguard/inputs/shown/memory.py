"""What is remembered of each output: its tables as they were shown, and the records behind their cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from cellguard.arrays import BoolArray
from cellguard.inputs.earlier_releases import Earlier, Memory
from cellguard.inputs.shown.nearness import Codes, Partition, partitions
from cellguard.inputs.shown.record_sets import Rows
from cellguard.rules.rule import Rule
from cellguard.table.table import Table


@dataclass(frozen=True, eq=False)
class Shown:
    """A table of an output: which cells it shows, of whom, and the records behind them.

    ``columns`` are the codes of all records of the session by dimension (0: none), ``members`` who is in the output.
    """

    name: str
    table: Table
    status: np.ndarray[Any, Any]
    rules: tuple[Rule, ...]
    population: str
    members: BoolArray
    columns: Mapping[str, Codes]
    parts: tuple[Partition, ...]

    def codes(self, cell: int) -> tuple[str, ...]:
        """Return the codes of a cell."""
        return tuple(d.codes[c[cell]] for d, c in zip(self.table.dimensions, self.table.codes, strict=True))

    @property
    def secondary(self) -> dict[tuple[str, ...], str]:
        """What a job says of the cells that are suppressed."""
        hidden = np.flatnonzero(np.isin(self.status, ["primary", "secondary"])).tolist()
        return {self.codes(cell): "secondary" for cell in hidden}


class HasShown(Protocol):
    """An output: its name, and the tables that it shows."""

    @property
    def uid(self) -> str:
        """The name."""

    @property
    def shown(self) -> Sequence[Shown]:
        """The tables."""


def shown_of(
    table: Table,
    status: np.ndarray[Any, Any],
    rules: tuple[Rule, ...],
    population: str,
    places: Mapping[str, Codes],
    rows: Rows,
    size: int,
) -> Shown:
    """Return what a table shows of some records; ``places`` are the positions of their codes by dimension."""
    members, columns = np.zeros(size, bool), {}
    members[rows] = True
    for name, place in places.items():
        columns[name] = np.zeros(size, np.int64)
        columns[name][rows] = place
    parts = tuple(partitions(table, status, places, rows, size))
    return Shown(table.name, table, status, rules, population, members, columns, parts)


def remembered(outputs: Iterable[HasShown], population: str, dimensions: Sequence[str]) -> list[Earlier]:
    """Return the earlier tables that a new one by some dimensions must be protected with, in full where they matter.

    A table matters if it shares a cell with the new one, or with another table that matters, that it does not show.
    Of all others only the margins by the shared dimensions are needed, which are known; one of each is enough.
    """
    same = [shown for output in outputs for shown in output.shown if shown.population == population]
    whole, reach = list[Shown](), [frozenset(dimensions)]
    left = same
    while True:
        tied = [one for one in left if any(_open(one, by).any() for by in reach)]
        if not tied:
            break
        whole += tied
        left = [one for one in left if one not in tied]
        reach += [frozenset(one.columns) for one in tied]
    found = [Memory.of(one.table, np.flatnonzero(one.status == "published"), one.rules, one.name) for one in whole]
    known = set[tuple[str, frozenset[str]]]()
    for one in left:
        for by in reach:
            shared = by & frozenset(one.columns)
            if (one.table.response, shared) not in known:
                known.add((one.table.response, shared))
                found.append(_margin(one, shared, len(known)))
    return found


def _common(shown: Shown, by: frozenset[str]) -> BoolArray:
    """Return the cells of a table that a table by some dimensions may have, too."""
    outside = [c == 0 for d, c in zip(shown.table.dimensions, shown.table.codes, strict=True) if d.name not in by]
    return np.logical_and.reduce([np.ones(len(shown.table), bool), *outside])


def _open(shown: Shown, by: frozenset[str]) -> BoolArray:
    """Return the common cells that a table does not show."""
    return _common(shown, by) & (shown.status != "published")


def _margin(shown: Shown, by: frozenset[str], number: int) -> Earlier:
    """Return the margin of a table by some dimensions, all of whose cells it shows."""
    rows = np.flatnonzero(_common(shown, by))
    table = shown.table
    small = replace(
        table,
        codes=tuple(column[rows] for column in table.codes),
        facts=table.facts.take(rows),
        apriori=table.apriori.take(rows),
        rows=table.rows[rows] if len(table.rows) else table.rows,
    )
    return Memory.of(small, np.arange(len(rows)), shown.rules, f"{shown.name}.m{number}")
