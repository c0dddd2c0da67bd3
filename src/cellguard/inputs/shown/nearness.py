"""Outputs that differ by a few respondents: whoever has both subtracts one from the other.

Each shown cell is a set of records. Of two outputs every cell B of one is compared with the union U of cells of the
other that comes nearest to it: U has each shown cell A most of whose records are in B. So the number of records in
which B and U differ is as small as any union of shown cells can make it. If they differ by some, but by fewer
respondents than a safe cell needs, B less U tells about these few. The rest of a row or column whose margin is shown,
all its suppressed cells together, counts as a shown cell too, since its sum is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from cellguard.arrays import BoolArray
from cellguard.inputs.shown.record_sets import Rows, digest
from cellguard.table.keys import combine, find
from cellguard.table.table import Table

Codes = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Partition:
    """Disjoint sets of records whose sum is shown: of each record its set, -1 if it is in none.

    ``cell`` is the row of the table that each set comes from: to keep it secret, that cell must be suppressed.
    """

    label: Codes
    shown: BoolArray
    cell: Codes
    size: Codes
    by: frozenset[str]
    key: str


def partitions(
    table: Table, status: npt.NDArray[np.str_], codes: Mapping[str, Codes], rows: Rows, size: int
) -> list[Partition]:
    """Return the sets of records behind a table's cells, level by level; ``codes`` are those of the ``rows``."""
    names = [d.name for d in table.dimensions if d.name in codes]
    columns = {d.name: c for d, c in zip(table.dimensions, table.codes, strict=True)}
    sizes = {d.name: len(d.codes) for d in table.dimensions}
    shown = status == "published"
    margins: dict[frozenset[str], tuple[Codes, Codes]] = {}
    found = list[Partition]()
    for number in range(len(names) + 1):
        for fine in combinations(names, number):
            cells = np.flatnonzero(np.logical_and.reduce([(columns[n] > 0) == (n in fine) for n in names]))
            if not len(cells):
                continue
            keys = (
                combine([columns[n][cells] for n in fine], [sizes[n] for n in fine]) if fine else np.zeros(1, np.int64)
            )
            there = np.logical_and.reduce([np.ones(len(rows), bool), *(codes[n] > 0 for n in names)])
            mine = (
                combine([codes[n] for n in fine], [sizes[n] for n in fine]) if fine else np.zeros(len(rows), np.int64)
            )
            label = np.full(size, -1, np.int64)
            label[rows] = np.where(there, find(mine, keys), -1)
            margins[frozenset(fine)] = cells, keys
            whole = _partition(label, shown[cells], cells, frozenset(fine))
            found.append(whole)
            found += _rests(whole, fine, cells, columns, sizes, margins, shown)
    return found


def _rests(
    whole: Partition,
    fine: Sequence[str],
    cells: Codes,
    columns: Mapping[str, Codes],
    sizes: Mapping[str, int],
    margins: Mapping[frozenset[str], tuple[Codes, Codes]],
    shown: BoolArray,
) -> Iterator[Partition]:
    """Return the suppressed cells of each row together, where the row's margin is shown; so along every dimension."""
    if whole.shown.all():
        return
    for name in fine:
        coarse = [n for n in fine if n != name]
        if frozenset(coarse) not in margins:
            continue
        above, keys = margins[frozenset(coarse)]
        own = (
            combine([columns[n][cells] for n in coarse], [sizes[n] for n in coarse])
            if coarse
            else np.zeros(len(cells), np.int64)
        )
        margin = above[find(own, np.asarray(keys, np.int64))]
        hidden = ~whole.shown
        rest = np.where(hidden & shown[margin], margin, -1)
        labels = np.full(len(cells), -1, np.int64)
        named, inverse = np.unique(rest[rest >= 0], return_inverse=True)
        labels[rest >= 0] = inverse
        if len(named):
            label = np.where(whole.label >= 0, labels[np.maximum(whole.label, 0)], -1)
            yield _partition(label, np.ones(len(named), bool), named, whole.by)


def _partition(label: Codes, shown: BoolArray, cell: Codes, by: frozenset[str]) -> Partition:
    size = np.bincount(label[label >= 0], minlength=len(cell))
    return Partition(label, shown, cell, size, by, digest(label, shown.astype(np.int64)))


@dataclass(frozen=True)
class Near:
    """A cell and the cells of another output whose union it nearly is: rows of their tables."""

    cell: int
    others: tuple[int, ...]
    smallest: int
    few: int


def near_cells(one: Partition, other: Partition, least: int, who: Codes | None, most: int) -> list[Near]:
    """Return the shown cells of ``one`` that differ from a union of shown cells of ``other`` by too few respondents.

    ``who`` says which respondent each record is of (None: of its own), ``most`` is the most records that one has.
    """
    both = (one.label >= 0) & (other.label >= 0)
    if not both.any():
        return []
    pair = one.label[both] * len(other.cell) + other.label[both]
    keys, count = np.unique(pair, return_counts=True)
    b, a = np.divmod(keys, len(other.cell))
    keep = one.shown[b] & other.shown[a] & (2 * count > other.size[a])
    b, a, count = b[keep], a[keep], count[keep]
    inside, outside = np.zeros(len(one.cell), np.int64), np.zeros(len(one.cell), np.int64)
    np.add.at(inside, b, count)
    np.add.at(outside, b, other.size[a] - count)
    differ = one.size - inside + outside
    suspected = np.flatnonzero((inside > 0) & (differ > 0) & (differ < least * most)).tolist()
    found = []
    for cell in suspected:
        union = a[b == cell]
        few = int(differ[cell])
        if who is not None:
            apart = (one.label == cell) != np.isin(other.label, union)
            few = len(np.unique(who[apart]))
        if few < least:
            smallest = union[np.argmin(other.size[union])]
            found.append(Near(int(one.cell[cell]), tuple(other.cell[union].tolist()), int(other.cell[smallest]), few))
    return found


def related(one: Codes, other: Codes, least: int) -> bool:
    """Return whether two columns of codes may be recodings of each other: a code of one holds, or nearly, one of the
    other.
    """
    both = (one > 0) & (other > 0)
    if not both.any():
        return False
    width = int(other.max()) + 1
    keys, count = np.unique(one[both] * width + other[both], return_counts=True)
    a, b = np.divmod(keys, width)
    sizes = np.bincount(one[one > 0]), np.bincount(other[other > 0])
    apart = np.minimum(sizes[0][a] - count, sizes[1][b] - count)
    return bool((apart < least).any())
