"""Sides for the unsafe cells of large sets, chosen one after the other: no program of thousands of sides ends soon.

Moves of leaf cells, which are the sum of no others, say all moves: S = L d, where L has a row per cell with its leaves.
An unsafe leaf moves by exactly its level, to the side that leaves the least in the cells above it, the largest levels
first. An unsafe cell that is a sum goes to the side that its leaves lead to; what it lacks is added to one of them,
chosen so that cells that are far enough stay so. Sides for which that comes out are possible by construction, and a
linear program then finds the least moves with them. Where it does not, all cells go up, which only kept cells forbid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.methods.adjust.plan import Plan
from cellguard.run_context import Run

_DEPTH = 60  # of sums of sums
_TRIED = 40  # leaves that what a sum lacks may be added to
_PASSES = 6  # over sums that are not far enough


@dataclass(frozen=True, eq=False)
class _Leaves:
    """Which leaves each cell is the sum of, and which cells each leaf is in."""

    of: sp.csr_array
    above: sp.csr_array
    is_leaf: BoolArray


def sides_one_by_one(plan: Plan, run: Run, *, seed: int = 0) -> BoolArray | None:
    """Return a side for each unsafe cell (True: up); None if some of them cannot be brought far enough.

    ``seed`` shuffles cells of like levels, for another result.
    """
    leaves = _leaves(plan)
    if leaves is None:
        return None
    up, down = plan.above - plan.start, plan.start - plan.below
    move, total = np.zeros(len(up), np.int64), np.zeros(len(up), np.int64)
    level = np.where(plan.may_rise, up, down).astype(float)
    if seed:
        level = level * np.exp(np.random.default_rng(seed).normal(0, 0.3, len(level)))
    first = np.flatnonzero(plan.primary & leaves.is_leaf)
    for leaf in first[np.argsort(-level[first], kind="stable")].tolist():
        run.heed()
        above = _row(leaves.above, leaf)
        choices = [s for s, may in ((up[leaf], plan.may_rise[leaf]), (-down[leaf], plan.may_fall[leaf])) if may]
        if not choices:
            return None
        best = min(choices, key=lambda s: (_left(plan, above, total[above] + s), s))
        move[leaf] = best
        total[above] += best
    return _settled(plan, leaves, move, total, run)


def whole_moves(plan: Plan, moves: FloatArray, run: Run) -> LongArray | None:
    """Return published values near some moves, in whole units: leaves are rounded, and sums are summed up.

    Unsafe sums that this leaves closer than their levels are moved again. None if something else is broken.
    """
    leaves = _leaves(plan)
    if leaves is None:
        return None
    wanted = np.clip(plan.start + np.rint(moves).astype(np.int64), plan.low, plan.high) - plan.start
    move = np.where(leaves.is_leaf, wanted, 0)
    total = np.rint(leaves.of @ move.astype(float)).astype(np.int64)
    first = np.flatnonzero(plan.primary & leaves.is_leaf)
    if not all(_far(plan, cell, int(total[cell])) for cell in first.tolist()):
        return None
    if _settled(plan, leaves, move, total, run) is None:
        return None
    value = np.asarray(plan.start + total, np.int64)
    return None if plan.faults(value) else value


def _left(plan: Plan, cells: LongArray, moved: LongArray) -> float:
    """Return the weight of moves of cells; unsafe ones that are not far enough count what they would have to move."""
    needs = np.where(moved >= 0, plan.above[cells] - plan.start[cells], plan.start[cells] - plan.below[cells])
    far = np.maximum(np.abs(moved), np.where(plan.primary[cells], needs, 0))
    return float((plan.weight[cells] * far).sum())


def _settled(plan: Plan, leaves: _Leaves, move: LongArray, total: LongArray, run: Run) -> BoolArray | None:
    """Return the sides once every unsafe sum is far enough; the smallest sums go first."""
    sums = np.flatnonzero(plan.primary & ~leaves.is_leaf)
    order = sums[np.argsort(np.diff(leaves.of.indptr)[sums], kind="stable")]
    for _ in range(_PASSES):
        late = [cell for cell in order.tolist() if not _far(plan, cell, int(total[cell]))]
        if not late:
            at = np.flatnonzero(plan.primary)
            return np.asarray(total[at] > 0)
        for cell in late:
            run.heed()
            if not _far(plan, cell, int(total[cell])):
                _push(plan, leaves, cell, move, total)
    return None


def _far(plan: Plan, cell: int, moved: int) -> bool:
    value = int(plan.start[cell]) + moved
    return bool(
        (plan.may_fall[cell] and value <= plan.below[cell]) or (plan.may_rise[cell] and value >= plan.above[cell])
    )


def _push(plan: Plan, leaves: _Leaves, cell: int, move: LongArray, total: LongArray) -> None:
    """Add what a sum lacks to the leaf of it that this costs least, by how many cells it takes from their side."""
    lacks = []
    if plan.may_rise[cell]:
        lacks.append(int(plan.above[cell] - plan.start[cell] - total[cell]))
    if plan.may_fall[cell]:
        lacks.append(-int(plan.start[cell] - plan.below[cell] + total[cell]))
    best: tuple[int, float, int, int] | None = None
    free = [leaf for leaf in _row(leaves.of, cell).tolist() if plan.low[leaf] < plan.high[leaf]]
    for leaf in sorted(free, key=lambda leaf: -int(plan.start[leaf]))[:_TRIED]:
        for more in lacks:
            to = int(plan.start[leaf] + move[leaf]) + more
            if not plan.low[leaf] <= to <= plan.high[leaf]:
                continue
            above = _row(leaves.above, leaf)
            broken = sum(
                not _far(plan, one, int(total[one]) + more)
                for one in above[plan.primary[above]].tolist()
                if one == leaf or _far(plan, one, int(total[one]))
            )
            cost = _left(plan, above, total[above] + more) - _left(plan, above, total[above])
            if best is None or (broken, cost) < best[:2]:
                best = broken, cost, leaf, more
    if best is not None:
        _, _, leaf, more = best
        move[leaf] += more
        total[_row(leaves.above, leaf)] += more


def _leaves(plan: Plan) -> _Leaves | None:
    """Return the leaves of all cells, by one relation of each sum; None if sums go in circles."""
    relations = sp.csr_array(plan.tables.relations)
    n = relations.shape[1]
    row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    whole = np.full(relations.shape[0], -1)
    whole[row[relations.data > 0]] = relations.indices[relations.data > 0]
    known, used = np.unique(whole, return_index=True)
    used = used[known >= 0]
    below = sp.csr_array(sp.coo_array((np.ones(len(used)), (whole[used], used)), shape=(n, len(whole))) @ relations)
    below = sp.csr_array(below.multiply(below < 0)) * -1
    is_leaf = np.ones(n, bool)
    is_leaf[whole[used]] = False
    own = sp.csr_array(sp.diags_array(is_leaf.astype(float)))
    found = own
    for _ in range(_DEPTH):
        after = sp.csr_array(below @ found + own)
        if after.nnz == found.nnz and not abs(after - found).sum():
            found.sort_indices()
            above = sp.csr_array(found.T)
            above.sort_indices()
            return _Leaves(found, above, is_leaf)
        found = after
    return None


def _row(matrix: sp.csr_array, row: int) -> LongArray:
    return np.asarray(matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]], np.int64)
