"""Small-count rounding: only inner counts below the base are rounded, and all other cells are their sums.

An inner cell is one that is the sum of no others. Let b be the base: an inner count x with 0 < x < b becomes 0 or b,
any other stays. Every published cell is then summed up anew, so tables add up and agree, and are near the true ones.
Which counts go up is chosen so that the sums stay near: with y the rounded counts and Z what sums them up,

    make |Z (y - x)|^2 small.

The start goes through the inner cells in the order of the hierarchies and carries the error on, so that the sums of the
first dimension are off by less than b. Then counts that bring sums nearer change sides, many at a time, as long as the
squares fall, and at last pairs of counts that do so together.

References
----------
Langsrud, Ø. and Heldal, J. (2018). An algorithm for small count rounding of tabular data. *Privacy in Statistical
Databases*, Valencia.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.errors import NotProtected
from cellguard.methods.rounding.plan import Plan
from cellguard.randomness import stream
from cellguard.run_context import Run
from cellguard.table.tableset import TableSet

_DEEPEST = 60  # levels of sums of sums
_ROUNDS = 400  # of changing sides
_TRIES = 12  # halvings of how many change at a time


@dataclass(frozen=True, eq=False)
class InnerCells:
    """The inner cells of a set, and a row per distinct cell with the inner cells that it sums up."""

    cells: Positions
    sums: sp.csr_array

    def spread(self, inner: LongArray) -> LongArray:
        """Return the value of every distinct cell from those of the inner ones."""
        return np.asarray(self.sums @ inner, np.int64)


def inner_cells(tables: TableSet) -> InnerCells:
    """Return the inner cells; every other cell must be one and the same sum of them, whichever relation one takes.

    >>> import cellguard as cg
    >>> t = cg.cells({"r": ["Total", "N", "S"], "n": [3, 1, 2]}, by=["r"], value="n", about=cg.About(is_count=True))
    >>> inner_cells(cg.link(t)).sums.toarray().astype(int).tolist()
    [[1, 1], [1, 0], [0, 1]]
    """
    relations, n = tables.relations, len(tables)
    owner = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    whole = np.full(relations.shape[0], -1)
    whole[owner[relations.data > 0]] = relations.indices[relations.data > 0]
    _, first = np.unique(whole, return_index=True)
    first = first[whole[first] >= 0]
    inner = np.setdiff1d(np.arange(n), whole)
    one = sp.csr_array((np.ones(len(inner), np.int64), (inner, np.arange(len(inner)))), shape=(n, len(inner)))
    chosen = relations[first]
    parts = sp.coo_array(chosen)
    below = parts.data < 0
    step = sp.csr_array(
        (np.ones(int(below.sum()), np.int64), (whole[first][parts.coords[0][below]], parts.coords[1][below])),
        shape=(n, n),
    )
    sums = layer = one
    for _ in range(_DEEPEST):
        layer = sp.csr_array(step @ layer)
        if not layer.nnz:
            break
        sums = sp.csr_array(sums + layer)
    wrong = sp.csr_array(relations.astype(np.int64) @ sums)
    if wrong.count_nonzero():
        cell = tables.message_name(int(whole[np.flatnonzero(np.diff(wrong.indptr))[0]]))
        raise NotProtected(
            f"small counts cannot be rounded: {cell} is the sum of different inner cells in different tables. Add one "
            "table that spans the dimensions of all"
        )
    return InnerCells(inner, sums)


def small_count_box(plan: Plan, rounded: LongArray) -> tuple[LongArray, LongArray]:
    """Return both ends of what each cell may be: an inner 0 was below the base, an inner base not above it."""
    made = inner_cells(plan.tables)
    shown, base = rounded[made.cells], plan.base[made.cells]
    lower = np.where(shown == base, 1, shown)
    upper = np.where(shown == 0, base - 1, shown)
    return made.spread(lower), made.spread(upper)


def round_small_counts(plan: Plan, seed: int, run: Run) -> LongArray:
    """Return the values of all distinct cells after rounding the small inner counts."""
    made = inner_cells(plan.tables)
    if not plan.shown[made.cells].all():
        cell = plan.tables.message_name(int(made.cells[np.argmin(plan.shown[made.cells])]))
        raise NotProtected(
            f"small counts cannot be rounded: {cell} is an inner cell, and not published; one table must span the "
            "dimensions of all, and be published with all its levels"
        )
    base = int(plan.base[plan.shown].max(initial=1))
    true = plan.value[made.cells]
    small = np.flatnonzero((true > 0) & (true < base))
    margins = np.flatnonzero(np.diff(made.sums.indptr) != 1)
    total = sp.csr_array(made.sums[margins][:, small]).astype(float)
    up = _chosen(total, true[small], base, seed, run)
    rounded = true.copy()
    rounded[small] = np.where(up, base, 0)
    return made.spread(rounded)


def _chosen(total: sp.csr_array, true: LongArray, base: int, seed: int, run: Run) -> BoolArray:
    """Return which small counts go up; ``total`` has a row per sum."""
    if not len(true):
        return np.zeros(0, bool)
    start = stream(seed, "small counts").uniform(1)[0]
    steps = np.floor(np.cumsum(true) / base + start)
    up = np.diff(steps, prepend=np.floor(start)) > 0
    back, many = sp.csr_array(total.T), np.bincount(total.indices, minlength=len(true)).astype(float)
    off = np.asarray(total @ (base * up - true), float)
    share = 0.25
    for _ in range(_ROUNDS):
        run.check()
        turn = base * (1.0 - 2.0 * up)
        gain = 2 * turn * np.asarray(back @ off) + turn**2 * many
        better = _by_gain(gain, up, base)
        found = _best_share(total, off, turn, better, share)
        if found is None:
            break
        changed, off, share = found
        up[changed] = ~up[changed]
        share = min(2 * share, 1.0)
    return up


def _by_gain(gain: FloatArray, up: BoolArray, base: int) -> Positions:
    """Return what may change sides together, the best first, a row each: single counts or, if none gains, pairs."""
    alone = np.flatnonzero(gain < 0)
    if len(alone):
        return alone[np.argsort(gain[alone], kind="stable")][:, None]
    ups, downs = np.flatnonzero(up), np.flatnonzero(~up)
    ups, downs = ups[np.argsort(gain[ups], kind="stable")], downs[np.argsort(gain[downs], kind="stable")]
    n = min(len(ups), len(downs))
    # Both share at least the grand total, where they cancel out.
    least = gain[ups[:n]] + gain[downs[:n]] - 2.0 * base**2
    return np.column_stack([ups[:n][least < 0], downs[:n][least < 0]])


def _best_share(
    total: sp.csr_array, off: FloatArray, turn: FloatArray, better: Positions, share: float
) -> tuple[Positions, FloatArray, float] | None:
    """Return as many of the best changes as make the squares fall together, what is off then, and their share."""
    now = float(np.square(off).sum())
    for _ in range(_TRIES):
        most = max(int(len(better) * share), 1)
        if not len(better):
            return None
        changed = better[:most].ravel()
        move = np.zeros(len(turn))
        move[changed] = turn[changed]
        after = off + np.asarray(total @ move)
        if float(np.square(after).sum()) < now - 1e-9:
            return changed, after, share
        if most == 1:
            better = better[1:]
        share /= 2
    return None
