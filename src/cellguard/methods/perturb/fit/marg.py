"""MARG: noise inside tables whose margins hardly move, by raking (Cuppen 2000, sections 4.2 and 7.2.1).

1. The margins of one dimension move by 1 +- p S, S being the share of the n largest in them; all other margins follow
   from that table, so that they fit together.
2. Cells start from z a, with z = 0.85 + 0.3 S: applied once, before raking (in every sweep it drives tables into a
   corner). Cells with many contributors that are not sensitive stay as they are.
3. Raking to the margins gives each cell its factor, which all its contributors get.

z always lets cells with a large S grow and others shrink. The ``unbiased`` variant is z = 1 +- 0.3 (S - mean of S) with
random signs. After ZES the start is z times the perturbed table, and the margins are the true ones. ``top_down`` goes
from the total to the margins and on to the interior instead, each level raked to all that is above it. Several tables
are raked as one, on the movers of their supertable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.errors import InputError, did_you_mean
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.fit.raking import Margins, Raked, disjoint, rake
from cellguard.methods.perturb.fit.supertable import Supertable
from cellguard.randomness import Stream
from cellguard.run_context import UNWATCHED, Run
from cellguard.table.lattice import ancestors

Variant = Literal["document", "unbiased"]
Order = Literal["margins", "top_down"]
Hold = Literal["one_way", "two_way", "all"]


@dataclass(frozen=True, slots=True)
class Marg:
    """``margin`` is p, ``low`` and ``spread`` make z, cells with more than ``most`` contributors stay.

    ``keep`` are cells that stay as well, as 'table: cell'. ``hold`` says which margins are raked to their targets:
    those of one dimension, also those of two, or all margins and subtotals.
    """

    margin: float = 0.01
    low: float = 0.85
    spread: float = 0.3
    most: int = 1000
    variant: Variant = "document"
    order: Order = "margins"
    keep: tuple[str, ...] = ()
    hold: Hold = "one_way"

    def __post_init__(self) -> None:
        if not (0 <= self.margin < 1 and self.low > 0 and 0 <= self.spread < 1):
            raise InputError("MARG: `margin` and `spread` must be at least 0 and below 1, `low` above 0")
        for name, value, known in (
            ("variant", self.variant, get_args(Variant)),
            ("order", self.order, get_args(Order)),
            ("hold", self.hold, get_args(Hold)),
        ):
            if value not in known:
                raise InputError(f"MARG: no {name} {value!r}{did_you_mean(value, known)}")

    def weights(self, share: FloatArray, source: Stream) -> FloatArray:
        """Return z for cells with these shares of the n largest.

        >>> from cellguard.randomness import stream
        >>> Marg().weights(np.array([0.0, 0.5, 1.0]), stream(1, "z")).tolist()
        [0.85, 1.0, 1.15]
        """
        if self.variant == "document":
            return self.low + self.spread * share
        return 1 + source.signs(len(share)) * self.spread * (share - (share.mean() if len(share) else 0.0))


def marg(
    whole: Supertable,
    how: Marg,
    source: Stream,
    *,
    start: FloatArray | None = None,
    run: Run = UNWATCHED,
) -> tuple[FloatArray, Raked]:
    """Return the factor of each mover, and how raking ended.

    ``start`` are the movers' perturbed amounts (ZES): the margins are then the true ones, and the factors apply to what
    was perturbed already.
    """
    amount = whole.amount
    if (whole.matrix.data < 0).any():
        raise InputError(
            "MARG rakes, and that needs contributions that are 0 or more, and no differences; use zes or opt"
        )
    keep = _kept_rows(whole, how)
    stays = np.asarray((abs(whole.matrix[np.flatnonzero(keep)]) > 0).sum(axis=0)).ravel() > 0
    if start is None and how.order == "top_down":
        return _top_down(whole, how, keep, stays, source, run)
    moved = amount if start is not None else amount * np.where(stays, 1.0, _margin_factors(whole, how, source))
    z, free = _by_mover(whole, how, source), np.flatnonzero(~stays)
    labels = disjoint(sp.csr_array(abs(_margins_of(whole, how.hold))[:, free]))
    margins = [Margins(label, _summed(label, moved[free])) for label, _ in labels]
    before = amount if start is None else start
    raked = rake(z[free] * before[free], margins, run=run)
    factor = np.divide(amount, before, out=np.ones(len(amount)), where=before > 0)
    factor[free] = np.divide(raked.value, before[free], out=np.ones(len(free)), where=before[free] > 0)
    return factor, raked


def _kept_rows(whole: Supertable, how: Marg) -> BoolArray:
    """Return which interior cells stay as they are: safe ones with many contributors, and those that are named."""
    keep = whole.interior & (whole.count > how.most) & ~whole.sensitive
    for table, row in zip(whole.tables, whole.rows, strict=True):
        for text in how.keep:
            name, _, cell = (part.strip() for part in text.partition(":"))
            if name == table.name and row[table.table.find(cell)] >= 0:
                keep[row[table.table.find(cell)]] = True
    return keep


def _summed(label: LongArray, values: FloatArray) -> FloatArray:
    inside = label >= 0
    return np.asarray(np.bincount(label[inside], values[inside]), float)


def _by_mover(whole: Supertable, how: Marg, source: Stream) -> FloatArray:
    """Return z of each mover: that of the interior cell with the largest share that it is in."""
    inside = np.flatnonzero(whole.interior)
    z = how.weights(whole.share[inside], source)
    order = np.argsort(whole.share[inside], kind="stable")
    cells = whole.matrix[inside[order]]
    by_mover = np.ones(whole.matrix.shape[1])
    by_mover[cells.indices] = np.repeat(z[order], np.diff(cells.indptr))  # the last, that of the largest share, stays
    return by_mover


def _margins_of(whole: Supertable, hold: Hold) -> sp.csr_array:
    """Return the margins of all tables that are held, by movers, each once; the total where there are none."""
    rows = [row[cells] for t, row in zip(whole.tables, whole.rows, strict=True) for cells in one_way(t)]
    if hold != "one_way":
        more = [np.ones(len(t), bool) if hold == "all" else _two_way(t) for t in whole.tables]
        chosen = np.concatenate([row[two] for row, two in zip(whole.rows, more, strict=True)])
        rows.append(chosen[(chosen >= 0) & whole.margin[chosen]])
    distinct = np.unique(np.concatenate([*rows, np.zeros(0, np.int64)]))
    if not (distinct >= 0).any():
        return sp.csr_array(np.ones((1, whole.matrix.shape[1])))
    return sp.csr_array(whole.matrix[distinct[distinct >= 0]])


def _two_way(table: CalibrationTable) -> BoolArray:
    """Return which cells are at the totals of all dimensions but two."""
    cells = table.table
    own = [c != d.position[d.total] for d, c in zip(cells.dimensions, cells.codes, strict=True)]
    return np.asarray(np.sum(own, axis=0) == 2, bool)


def one_way(table: CalibrationTable) -> list[LongArray]:
    """Return for each dimension the cells that have its finest codes and the totals of all others.

    Of a table of one dimension that is its total.
    """
    about = table.table
    at_total = [c == d.position[d.total] for d, c in zip(about.dimensions, about.codes, strict=True)]
    if len(at_total) == 1:
        return [np.flatnonzero(at_total[0])]
    sides = []
    for d, dimension in enumerate(about.dimensions):
        others = np.logical_and.reduce([at for i, at in enumerate(at_total) if i != d])
        start, above = ancestors(dimension, (about.levels or {}).get(dimension.name))
        code = np.repeat(np.arange(len(dimension.codes)), np.diff(start))
        inner = above[np.isin(code, about.codes[d]) & (code != above)]
        sides.append(np.flatnonzero(others & ~np.isin(about.codes[d], inner)))
    return sides


def _margin_factors(whole: Supertable, how: Marg, source: Stream) -> FloatArray:
    """Return for each mover the factor 1 +- p S of its margin in the first dimension of the first table."""
    rows = whole.rows[0][one_way(whole.tables[0])[0]]
    rows = rows[rows >= 0]
    factor = np.ones(whole.matrix.shape[1])
    cells = whole.matrix[rows]
    moved = 1 + source.signs(len(rows)) * how.margin * whole.share[rows]
    factor[cells.indices] = np.repeat(moved, np.diff(cells.indptr))
    return factor


def _top_down(
    whole: Supertable, how: Marg, keep: BoolArray, stays: BoolArray, source: Stream, run: Run
) -> tuple[FloatArray, Raked]:
    """Rake level by level: the total first, then what is below it, each cell from z a to all cells above it."""
    relations = _relations(whole)
    value = np.full(len(whole.total), np.nan)
    fixed = keep | ((whole.count > how.most) & ~whole.sensitive)
    value[fixed] = whole.movable[fixed]
    z = how.weights(whole.share, source)
    sweeps, residual = 0, 0.0
    for level in _levels(relations):
        here = np.flatnonzero((level) & np.isnan(value))
        if not len(here):
            continue
        parents = np.flatnonzero(np.asarray((relations[:, here] < 0).sum(axis=1)).ravel() > 0)
        if not len(parents):
            moved = 1 + source.signs(len(here)) * how.margin * whole.share[here]
            value[here] = whole.movable[here] * moved
            continue
        known = np.where(np.isnan(value), 0.0, value)
        target = np.maximum(relations[parents] @ known, 0.0)
        raked = rake(z[here] * whole.movable[here], _all_margins(relations[parents][:, here] < 0, target), run=run)
        value[here] = raked.value
        sweeps, residual = sweeps + raked.sweeps, max(residual, raked.residual)
    inside, free = np.flatnonzero(whole.interior), np.flatnonzero(~stays)
    still = np.asarray(whole.matrix[inside] @ stays.astype(float)).ravel()
    target = np.maximum(value[inside] - still, 0.0)
    last = rake(whole.amount[free], _all_margins(whole.matrix[inside][:, free], target), run=run)
    factor = np.ones(len(stays))
    factor[free] = last.value / whole.amount[free]
    return factor, Raked(factor, sweeps + last.sweeps, max(residual, last.residual))


def _all_margins(members: sp.csr_array, target: FloatArray) -> list[Margins]:
    """Return the rows that have members, with their targets, as disjoint sets."""
    there = np.flatnonzero(np.diff(sp.csr_array(members).indptr) > 0)
    return [Margins(label, target[there[rows]]) for label, rows in disjoint(sp.csr_array(members)[there])]


def _relations(whole: Supertable) -> sp.csr_array:
    """Return the relations of all tables over the rows of the supertable, each parent 1 and its parts -1."""
    blocks = []
    for table, row in zip(whole.tables, whole.rows, strict=True):
        there = np.flatnonzero(row >= 0)
        place = sp.csr_array((np.ones(len(there)), (there, row[there])), shape=(len(row), len(whole.total)))
        blocks.append(table.table.relations @ place)
    relations = sp.csr_array(sp.vstack(blocks, format="csr"))
    relations.eliminate_zeros()
    whole_ones = np.asarray((relations > 0).sum(axis=1)).ravel() == 1
    return sp.csr_array(relations[np.flatnonzero(whole_ones & (np.diff(relations.indptr) > 1))])


def _levels(relations: sp.csr_array) -> Sequence[BoolArray]:
    """Return the cells level by level: first those above which there is nothing, then those right below known ones."""
    depth = np.zeros(relations.shape[1], np.int64)
    coo = relations.tocoo()
    parent = np.zeros(relations.shape[0], np.int64)
    up = coo.data > 0
    parent[coo.row[up]] = coo.col[up]
    child, above = coo.col[~up], parent[coo.row[~up]]
    for _ in range(len(depth)):
        deeper = depth.copy()
        np.maximum.at(deeper, child, depth[above] + 1)
        if (deeper == depth).all():
            break
        depth = deeper
    return [depth == level for level in range(int(depth.max(initial=0)) + 1)]
