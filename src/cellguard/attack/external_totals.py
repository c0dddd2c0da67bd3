"""What an attacker has from elsewhere: totals that are not in the release, or are suppressed in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, IntArray, Positions
from cellguard.errors import InputError, did_you_mean
from cellguard.table.codes import find_columns, read_codes
from cellguard.table.columns import all_headed
from cellguard.table.relations import effective_parents
from cellguard.table.source import open_source
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet

_FIXED = ("table", "value")


@dataclass(frozen=True, eq=False)
class ExternalTotals:
    """Sums of distinct cells that the attacker knows: one row each, and their values where they are given."""

    sums: sp.csr_array
    value: FloatArray

    def __len__(self) -> int:
        return len(self.value)


NO_TOTALS = ExternalTotals(sp.csr_array((0, 0)), np.zeros(0))


@dataclass(frozen=True, eq=False)
class NamedTotal:
    """A total as a file names it: cells of a table, by its number, that add up to it; ``value`` is NaN if not given."""

    table: int
    cells: Positions
    value: float


def read_named_totals(path: str | Path | object, tables: Sequence[Table]) -> list[NamedTotal]:
    """Read totals that an attacker has: dimension columns, and any of ``table``, ``value``.

    The column of a dimension that is itself called ``table`` or ``value`` is called ``by:table`` or ``by:value``.
    Each row is a cell of a table (the first with these dimensions, unless ``table`` names one). If the table has that
    cell, its value is known; if not, the sum of the table's finest cells below it is.
    """
    source = open_source(path, name="known")
    source = source.settled(["value"] if "value" in source.names else [])
    about = [n for n in source.names if n not in _FIXED]
    value = source.numbers("value", blank_is_nan=True) if "value" in source.names else np.full(len(source), np.nan)
    if "table" in source.names:
        wanted = source.text("table").to_pylist()
    else:
        wanted = [_with_dimensions(tables, about)] * len(source)
    totals = []
    for name in dict.fromkeys(wanted):
        number = _named(str(name), tables)
        table = tables[number]
        by = find_columns(source, {d.name: d for d in table.dimensions}, fixed=_FIXED)
        codes, keep = read_codes(source, by)
        for row in [i for i, n in enumerate(wanted) if n == name and keep[i]]:
            cells = _below(table, [int(c[row]) for c in codes])
            if not len(cells):
                raise InputError(f"{source.place.row(row)}: table {table.name!r} has no cells for this total")
            totals.append((row, NamedTotal(number, cells, float(value[row]))))
    totals.sort(key=lambda item: item[0])
    return [total for _, total in totals]


def read_external_totals(path: str | Path | object, tables: TableSet) -> ExternalTotals:
    """Read totals that an attacker has as sums of the distinct cells of linked tables, see `read_named_totals`."""
    totals = read_named_totals(path, tables.tables)
    sums = [tables.cells_of[total.table][total.cells] for total in totals]
    rows = np.repeat(np.arange(len(sums)), [len(c) for c in sums])
    columns = np.concatenate([np.zeros(0, np.intp), *sums]).astype(np.intp)
    matrix = sp.csr_array((np.ones(len(columns)), (rows, columns)), shape=(len(sums), len(tables)))
    return ExternalTotals(matrix, np.array([total.value for total in totals], float))


def _named(name: str, tables: Sequence[Table]) -> int:
    names = [table.name for table in tables]
    if name not in names:
        raise InputError(f"known: no table {name!r}{did_you_mean(name, names)}")
    return names.index(name)


def _with_dimensions(tables: Sequence[Table], names: list[str]) -> str:
    for table in tables:
        if set(all_headed((d.name for d in table.dimensions), _FIXED)) == set(names):
            return table.name
    known = [", ".join(all_headed((d.name for d in t.dimensions), _FIXED)) for t in tables]
    raise InputError(
        f"known: no table has exactly the dimensions {', '.join(names)}{did_you_mean(', '.join(names), known)}"
    )


def _below(table: Table, codes: list[int]) -> Positions:
    """Return the cell with these codes, or if there is none the table's finest cells below it."""
    exact = np.logical_and.reduce([c == code for c, code in zip(table.codes, codes, strict=True)])
    if exact.any():
        return np.flatnonzero(exact)
    inside = np.ones(len(table), bool)
    for dimension, column, code in zip(table.dimensions, table.codes, codes, strict=True):
        above = effective_parents(dimension, column)[0]
        finest = np.ones(len(above), bool)
        finest[above[above >= 0]] = False
        inside &= (finest & _descends(dimension.parents[0], code))[column]
    return np.flatnonzero(inside)


def _descends(parent: IntArray, code: int) -> BoolArray:
    """Return which codes are the given one or below it."""
    inside = np.arange(len(parent)) == code
    above = parent.copy()
    while (above >= 0).any():
        inside |= above == code
        above = np.where(above >= 0, parent[np.maximum(above, 0)], above)
    return inside
