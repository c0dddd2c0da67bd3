"""Totals of ready-made cells that come without any: each is the sum of the inner cells below it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cellguard.arrays import FloatArray
from cellguard.errors import InputError
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.fact import Count, Total
from cellguard.table.keys import combine
from cellguard.table.table import Table, rounding_of


def add_totals(table: Table) -> Table:
    """Return a table of inner cells with all its totals; a cell that is a total already is an error.

    What becomes of each fact, the fact says, as where a recoding merges cells: values add up; one respondent may sit in
    several inner cells, so counts and largest contributions are taken at their worst. In a frequency table the counts
    are the values and add up too.

    >>> from cellguard.table.read import About, cells
    >>> table = cells({"r": ["N", "S"], "n": [2, 3]}, by=["r"], value="n", count="n", about=About(totals="compute"))
    >>> [(table.cell_name(i), float(v)) for i, v in enumerate(table.value)]
    [('Total', 5.0), ('N', 2.0), ('S', 3.0)]
    """
    _refuse_totals(table)
    codes, row = list(table.codes), np.arange(len(table))
    for axis, dimension in enumerate(table.dimensions):
        above = _ancestors(dimension)
        parts = [(codes, row)]
        for step in range(above.shape[1]):
            up = above[codes[axis], step]
            keep = up >= 0
            parts.append(([up[keep] if a == axis else c[keep] for a, c in enumerate(codes)], row[keep]))
        codes = [np.concatenate([part[a] for part, _ in parts]) for a in range(len(codes))]
        row = np.concatenate([rows for _, rows in parts])
    sizes = [len(d.codes) for d in table.dimensions]
    _, first, group = np.unique(combine(codes, sizes), return_index=True, return_inverse=True)
    facts = table.facts.take(row).merge(group, len(first))
    total = _rounded(facts.total, table.value)
    own = np.where(first < len(table), row[first], -1)  # inner cells come first, before any of their totals
    return replace(
        table,
        codes=tuple(column[first].astype(np.int32) for column in codes),
        facts=facts.plus({Total(): total, **({Count(): total} if table.is_count else {})}),
        apriori=table.apriori.take(own),
        rows=np.where(own >= 0, table.rows[own], -1),
        origin="merged",
    )


def _ancestors(dimension: Dimension) -> npt.NDArray[np.int64]:
    """Return for each code all codes above it in any hierarchy, once each; -1 where there are no more."""
    above: list[list[int]] = []
    for code in range(len(dimension.codes)):
        chain: dict[int, None] = {}
        for parents in dimension.parents:
            up = int(parents[code])
            while up >= 0:
                chain[up] = None
                up = int(parents[up])
        above.append(list(chain))
    width = max(map(len, above))
    return np.array([chain + [-1] * (width - len(chain)) for chain in above], np.int64).reshape(len(above), width)


def _refuse_totals(table: Table) -> None:
    for dimension, column in zip(table.dimensions, table.codes, strict=True):
        inner = np.isin(np.arange(len(dimension.codes)), [dimension.position[code] for code in dimension.main.leaves])
        totals = np.flatnonzero(~inner[column])
        if len(totals):
            cell = int(totals[0])
            raise InputError(
                f"{table.where(cell)}: the cell {table.message_name(cell)} is a total, and `totals: compute` is for "
                "inner cells only; delete the rows of totals, or leave `totals` out if all are there"
            )


def _rounded(sums: FloatArray, values: FloatArray) -> FloatArray:
    """Return sums with the decimals that their terms have, without the dust of floating point."""
    half = rounding_of(values)
    if np.isnan(half):
        return sums
    return np.round(sums, 0 if half == 0 else round(-np.log10(2 * half)))
