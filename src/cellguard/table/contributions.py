"""`Contributions`: which respondents stand behind the cells of a set, and what each knows of them by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.table.fact import Holdings
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet

NOBODY = -1


@dataclass(frozen=True, eq=False)
class Contributions:
    """Who contributes what to each distinct cell, in published units. Confidential.

    Contributor i of cell c is ``insider[k]`` and contributes ``amount[k]``, for k from ``start[c]`` to ``start[c +
    1]``, the largest first. Nobody who is not listed there contributes more than ``rest[c]``. ``owner`` is the one
    respondent of a cell that has only one, -1 elsewhere. ``told`` marks the cells whose contributors are known at all.
    Insiders are numbers: those of the holdings in the records, and then one for each cell of a ready-made table with a
    single respondent (two, where there are two and the larger contribution is known), since such tables do not tell who
    has more than one cell. ``linked`` says that there are none of these: whoever is in several cells has one number.
    """

    start: LongArray
    insider: LongArray
    amount: FloatArray
    rest: FloatArray
    owner: LongArray
    told: BoolArray
    linked: bool

    @property
    def cell(self) -> Positions:
        """The distinct cell of each listed contribution."""
        return np.repeat(np.arange(len(self.owner)), np.diff(self.start))


def contributions_of(tables: TableSet) -> Contributions:
    """Return who contributes to the distinct cells of a set, as far as its tables tell."""
    n = len(tables)
    told, owner, rest = np.zeros(n, bool), np.full(n, NOBODY, np.int64), np.zeros(n)
    cells, insiders, amounts = [], [], []
    for table, of in zip(tables.tables, tables.cells_of, strict=True):
        column = table.facts.get(Holdings())
        if column is None:
            continue
        new = np.flatnonzero(~told[of])
        listed = column[new]
        place, rank = np.nonzero(listed[:, :-1, 0])
        cells.append(of[new[place]])
        insiders.append(listed[place, rank, 0].astype(np.int64) - 1)
        amounts.append(listed[place, rank, 1])
        rest[of[new]], told[of[new]] = listed[:, -1, 1], True
        single = (listed[:, 1, 0] == 0) & (listed[:, 0, 0] > 0)
        owner[of[new[single]]] = listed[single, 0, 0].astype(np.int64) - 1
    first = 1 + max((int(ids.max(initial=-1)) for ids in insiders), default=-1)
    for part in _of_single_cells(tables, told, first):
        cells.append(part[0])
        insiders.append(part[1])
        amounts.append(part[2])
        alone = part[3]
        told[part[0]] = True
        owner[part[0][alone]] = part[1][alone]
    linked = all(Holdings() in table.facts for table in tables.tables)
    return _sorted(cells, insiders, amounts, rest, owner, told, linked)


def holdings_of_sums(listed: FloatArray, into: Positions, many: int) -> FloatArray:
    """Return who contributes to sums of cells, as `Holdings` list it: the cell of ``listed[i]`` goes into ``into[i]``.

    Nobody is listed with less than it contributes: whoever is not listed in a cell is taken to have its rest there.
    """
    place, rank = np.nonzero(listed[:, :-1, 0])
    rest = listed[:, -1, 1]
    beyond = np.bincount(into, rest, many)
    keys = np.stack([into[place], listed[place, rank, 0].astype(np.int64)])
    (of, who), entry = np.unique(keys, axis=1, return_inverse=True)
    amount = np.bincount(entry.ravel(), listed[place, rank, 1] - rest[place], len(of)) + beyond[of]
    order = np.lexsort((who, -amount, of))
    of, who, amount = of[order], who[order], amount[order]
    rank = np.arange(len(of)) - np.searchsorted(of, of)
    kept = rank < listed.shape[1] - 1
    sums = np.zeros((many, *listed.shape[1:]))
    sums[of[kept], rank[kept]] = np.stack([who[kept], amount[kept]], axis=1)
    np.maximum.at(beyond, of[~kept], amount[~kept])
    sums[:, -1, 1] = beyond
    return sums


def _sorted(
    cells: list[Positions],
    insiders: list[LongArray],
    amounts: list[FloatArray],
    rest: FloatArray,
    owner: LongArray,
    told: BoolArray,
    linked: bool,
) -> Contributions:
    cell = np.concatenate([*cells, np.zeros(0, np.intp)]).astype(np.intp)
    insider = np.concatenate([*insiders, np.zeros(0, np.int64)]).astype(np.int64)
    amount = np.concatenate([*amounts, np.zeros(0)]).astype(float)
    order = np.lexsort((insider, -amount, cell))
    start = np.searchsorted(cell[order], np.arange(len(owner) + 1)).astype(np.int64)
    return Contributions(start, insider[order], amount[order], rest, owner, told, linked)


def _of_single_cells(
    tables: TableSet, told: BoolArray, first: int
) -> list[tuple[Positions, LongArray, FloatArray, BoolArray]]:
    """Return the contributors of ready-made cells with one respondent, or two of whom the larger amount is known."""
    count, larger = np.full(len(tables), np.nan), np.full(len(tables), np.nan)
    for table, of in zip(tables.tables, tables.cells_of, strict=True):
        known = _respondents(table)
        if known is not None and table.release != "fitted" and Holdings() not in table.facts:
            count[of] = np.where(np.isnan(count[of]), known, count[of])
            if table.facts.tops is not None:
                larger[of] = np.where(np.isnan(larger[of]), table.facts.top(1), larger[of])
    single = np.flatnonzero(~told & (count == 1))
    owners = _same_owner(tables, count, single)
    alone = np.ones(len(single), bool)
    parts = [(single, first + owners, tables.value[single], alone)]
    two = np.flatnonzero(~told & (count == 2) & ~np.isnan(larger))
    next_one = first + int(owners.max(initial=-1)) + 1
    for rank, amount in enumerate((larger[two], tables.value[two] - larger[two])):
        ids = next_one + 2 * np.arange(len(two)) + rank
        parts.append((two, ids, amount, np.zeros(len(two), bool)))
    return parts


def _respondents(table: Table) -> npt.NDArray[np.float64] | None:
    return table.facts.count


def _same_owner(tables: TableSet, count: FloatArray, single: Positions) -> LongArray:
    """Number the owners of single-respondent cells: a sum of one respondent and its parts are one and the same's."""
    n = len(tables)
    relations = sp.csr_array(tables.relations)
    rows = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    most = np.zeros(relations.shape[0])
    np.maximum.at(most, rows, np.nan_to_num(count[relations.indices], nan=np.inf))
    inside = (most[rows] == 1) & (count[relations.indices] == 1)
    cells, names = relations.indices[inside], rows[inside] + n
    size = n + relations.shape[0]
    graph = sp.csr_array((np.ones(len(cells)), (cells, names)), shape=(size, size))
    label = connected_components(graph, directed=False)[1][single]
    return np.unique(label, return_inverse=True)[1].astype(np.int64)
