"""`Supertable`: all tables of one family as sums of the same movers, of which only those that occur are stored.

A mover is what one factor can be chosen for: all units whose contributions to a leaf response lie in the same published
cells. With f the movers' factors and M the cells by movers (what a mover's units contribute to a cell, unweighted), the
noise of all cells is

    e = M (f - 1),

margins and shared cells included, for census and survey alike: what a sampled unit stands for besides itself does not
move. A holding with records in several groups has one multiplier all the same. It is a mover of its own where it is
among the largest of a sensitive cell, and otherwise stays as it is (Cuppen 2000, sections 4.2.3 and 5.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.methods.perturb.cells.alike import Parts, alike
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.cells.sensitivity import needs_of


@dataclass(frozen=True, eq=False)
class Supertable:
    """The distinct published cells of a family of tables, by movers.

    ``rows`` says for each table which row each of its cells is, -1 if it is not published or nobody in it can move. Of
    each row ``total``, ``need``, ``share`` (of the n largest), ``count`` (units), ``sensitive``, and whether it is
    ``interior`` or a ``margin`` of some table (it may be both). ``mover`` gives for each leaf response the mover of
    each unit, -1 where it stays; ``units`` is the number of units of each mover, ``stays`` that of holdings that stay.
    """

    tables: tuple[CalibrationTable, ...]
    matrix: sp.csr_array
    rows: tuple[LongArray, ...]
    total: FloatArray
    need: FloatArray
    share: FloatArray
    count: LongArray
    sensitive: BoolArray
    interior: BoolArray
    margin: BoolArray
    mover: Mapping[str, LongArray]
    units: LongArray
    stays: int

    @cached_property
    def amount(self) -> FloatArray:
        """What each mover contributes to the cells it is in: the largest entry of its column, by size."""
        return np.asarray(abs(self.matrix).max(axis=0).toarray(), float).ravel()

    @cached_property
    def movable(self) -> FloatArray:
        """The part of each cell that movers contribute."""
        return np.asarray(self.matrix.sum(axis=1), float).ravel()

    def noise(self, factor: FloatArray) -> FloatArray:
        """Return the noise of each row with these factors."""
        return np.asarray(self.matrix @ (factor - 1), float)


def supertable(
    tables: Sequence[CalibrationTable],
    definitions: Parts | None = None,
    *,
    held: Mapping[str, BoolArray] | None = None,
    wide: bool = True,
) -> Supertable:
    """Put the tables of one family together; ``held`` units of a leaf response stay as they are.

    With ``wide`` False no holding in several groups moves.

    >>> from cellguard.hierarchy.build import flat
    >>> from cellguard.hierarchy.hierarchy import Dimension
    >>> from cellguard.methods.perturb.cells.calibration import calibration_table
    >>> from cellguard.methods.perturb.cells.respondents import respondents
    >>> firms = respondents({"region": ["N", "S", "N"]}, {"x": [5, 7, 1]})
    >>> whole = supertable([calibration_table(firms, [Dimension("region", flat(["N", "S"]))], "x")])
    >>> whole.matrix.toarray().tolist(), whole.mover["x"].tolist()
    ([[6.0, 7.0], [6.0, 0.0], [0.0, 7.0]], [0, 1, 0])
    """
    definitions, held = definitions or {}, held or {}
    parts = [definitions.get(t.response, {t.response: 1}) for t in tables]
    start, stays, mover, units = 0, 0, {}, []
    important = _important(tables)
    for leaf in dict.fromkeys(leaf for part in parts for leaf in part):
        showing = [t for t, part in zip(tables, parts, strict=True) if leaf in part]
        of_unit, many, still = _movers(showing, leaf, important if wide else None, held.get(leaf))
        mover[leaf] = np.where(of_unit >= 0, of_unit + start, -1)
        units.append(np.bincount(of_unit[of_unit >= 0], minlength=many))
        start, stays = start + many, stays + still
    blocks = [_cells_by_movers(t, part, mover, start) for t, part in zip(tables, parts, strict=True)]
    shown = [~t.table.unpublished & (np.diff(b.indptr) > 0) for t, b in zip(tables, blocks, strict=True)]
    kept = sp.csr_array(sp.vstack([b[np.flatnonzero(s)] for b, s in zip(blocks, shown, strict=True)], format="csr"))
    shown_movers = np.diff(sp.csc_array(kept).indptr) > 0
    number = np.append(np.where(shown_movers, np.cumsum(shown_movers) - 1, -1), -1)
    mover = {leaf: number[of_unit] for leaf, of_unit in mover.items()}
    kept = sp.csr_array(kept[:, np.flatnonzero(shown_movers)])
    first, row = _distinct_rows(kept)
    ends = np.cumsum([0, *(int(s.sum()) for s in shown)])
    rows = tuple(_spread(s, row[a:b]) for s, a, b in zip(shown, ends[:-1], ends[1:], strict=True))
    counted = np.concatenate(units)[shown_movers]
    return _described(tuple(tables), sp.csr_array(kept[first]), rows, mover, counted, stays)


def _important(tables: Sequence[CalibrationTable]) -> BoolArray:
    """Return which units are among the n largest of a sensitive cell."""
    marked = np.zeros(tables[0].records.units, bool)
    for table in tables:
        units = table.largest.unit[needs_of(table).sensitive, : table.n]
        marked[units[units >= 0]] = True
    return marked


def _movers(
    tables: Sequence[CalibrationTable], leaf: str, important: BoolArray | None, held: BoolArray | None
) -> tuple[LongArray, int, int]:
    """Return the mover of each unit (-1: it stays), the number of movers, and how many holdings stay."""
    records = tables[0].records
    group, _ = alike(tables)
    there = np.flatnonzero(records.plain(leaf) != 0)
    pairs = np.unique(records.unit[there] * (int(group.max(initial=0)) + 1) + group[there])
    unit, home = np.divmod(pairs, int(group.max(initial=0)) + 1)
    groups = np.bincount(unit, minlength=records.units)
    of_unit = np.full(records.units, -1, np.int64)
    of_unit[unit] = home
    several = groups > 1
    own = np.flatnonzero(several & (False if important is None else important))
    of_unit[several] = -1
    of_unit[own] = int(group.max(initial=0)) + 1 + np.arange(len(own))
    if held is not None:
        of_unit[held] = -1
    moving = of_unit >= 0
    different, at = np.unique(of_unit[moving], return_inverse=True)
    of_unit[moving] = at
    return of_unit, len(different), int((several & ~moving).sum())


def _cells_by_movers(
    table: CalibrationTable, part: Mapping[str, int], mover: Mapping[str, LongArray], movers: int
) -> sp.csr_array:
    """Return what each mover contributes to each cell of a table."""
    records, members = table.records, table.membership
    by_leaf = sp.csr_array((members.below.shape[1], movers))
    for leaf, sign in part.items():
        at = mover[leaf][records.unit]
        there = np.flatnonzero((at >= 0) & (records.plain(leaf) != 0))
        entries = (sign * records.plain(leaf)[there], (members.leaf[there], at[there]))
        by_leaf = by_leaf + sp.csr_array(entries, shape=by_leaf.shape)
    cells = sp.csr_array(members.below @ by_leaf)
    cells.eliminate_zeros()
    cells.sort_indices()
    return cells


def _distinct_rows(matrix: sp.csr_array) -> tuple[LongArray, LongArray]:
    """Return one of each kind of equal rows, and the kind of each row. Sums are exact, so equal cells are equal."""
    known: dict[tuple[bytes, bytes], int] = {}
    first, kinds = list[int](), list[int]()
    for row, (a, b) in enumerate(zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True)):
        key = (matrix.indices[a:b].tobytes(), matrix.data[a:b].tobytes())
        kind = known.setdefault(key, len(known))
        if kind == len(first):
            first.append(row)
        kinds.append(kind)
    return np.array(first, np.int64), np.array(kinds, np.int64)


def _spread(shown: BoolArray, row: LongArray) -> LongArray:
    rows = np.full(len(shown), -1, np.int64)
    rows[shown] = row
    return rows


def _described(
    tables: tuple[CalibrationTable, ...],
    matrix: sp.csr_array,
    rows: tuple[LongArray, ...],
    mover: Mapping[str, LongArray],
    units: LongArray,
    stays: int,
) -> Supertable:
    n = matrix.shape[0]
    total, need, share = np.zeros(n), np.full(n, -np.inf), np.zeros(n)
    count = np.zeros(n, np.int64)
    sensitive, interior, margin = np.zeros(n, bool), np.zeros(n, bool), np.zeros(n, bool)
    for table, row in zip(tables, rows, strict=True):
        there, needs = row >= 0, needs_of(table)
        at = row[there]
        total[at] = table.total[there]
        np.maximum.at(need, at, needs.need[there])
        np.maximum.at(share, at, largest_share(table)[there])
        np.maximum.at(count, at, table.largest.count[there])
        np.logical_or.at(sensitive, at, needs.sensitive[there])
        np.logical_or.at(interior, at, table.interior[there])
        np.logical_or.at(margin, at, ~table.interior[there])
    return Supertable(tables, matrix, rows, total, need, share, count, sensitive, interior, margin, mover, units, stays)


def largest_share(table: CalibrationTable) -> FloatArray:
    """Return the share of the n largest contributions of each cell, from 0 to 1, in its (weighted) total."""
    size = needs_of(table).size
    top = np.abs(table.largest.value)[:, : table.n].sum(axis=1)
    return np.minimum(np.divide(top, size, out=np.zeros(len(size)), where=size > 0), 1.0)
