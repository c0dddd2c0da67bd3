"""Propagation in the search for patterns: from how far every cell can move to cuts. Compiled.

How far that is, at most, when some cells are suppressed, is in `cellguard.proofs.extent_kernel`. Following a derivation
back with exact coefficients adds up relations to  d_p = sum q_c d_c , which every move satisfies; so the sum of |q_c|
room_c x_c must reach p's need: a cut. How that is kept up to date is in `incremental_kernel`. Work is counted in
terms looked at.
"""

# mypy: ignore-errors
from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, IntArray, LongArray
from cellguard.kernels.kernel import kernel
from cellguard.proofs.extent_kernel import STEP, WORK
from cellguard.proofs.extent_kernel import Graph as Graph  # compiled code that is cached knows it by this place too

TINY = 1e-9
SERVED = 1.0 - 1e-6
DEPTH = 400  # relations that one derivation may add up

# what ``Scratch.counts`` holds, besides WORK
STAMP, LOGGED, LOST, SEED, FLIPPED = 0, 1, 2, 4, 5

# the kinds of targets
UP, DOWN, WIDTH = 0, 1, 2


class Goals(NamedTuple):
    """Targets, their scale (a size of need that several share), and where to find them from nodes and cells."""

    cell: LongArray
    kind: LongArray
    need: FloatArray
    scale: LongArray
    size: FloatArray  # of each scale
    of_node: LongArray  # the target up or down of each node, or -1
    of_cell: LongArray  # the target of width of each cell, or -1


class Watched(NamedTuple):
    """Cuts that propagation does not see, by cut and by cell, and the left side of each at the pattern."""

    cut_start: LongArray
    cut_cells: LongArray
    cut_weights: FloatArray
    cell_start: LongArray
    cell_cuts: LongArray
    cell_weights: FloatArray
    left: FloatArray


class Pattern(NamedTuple):
    """What is suppressed, with reach and via of every node at every scale."""

    hidden: BoolArray
    barred: BoolArray  # must not be suppressed
    base: BoolArray  # suppressed anyway
    cost: FloatArray
    reach: FloatArray
    via: IntArray


class Scratch(NamedTuple):
    """Room to work in: sums and shares by cell, stamps that say whose they are, the log, and counts."""

    sum: FloatArray
    share: FloatArray
    touched: LongArray
    cell_stamp: LongArray
    row_stamp: LongArray
    log_node: LongArray
    log_reach: FloatArray
    log_via: IntArray
    flips: LongArray
    counts: LongArray


@kernel
def _derive(node, reach, via, graph, scratch):  # noqa: ANN001, ANN202
    """Add up the relations of a node's derivation; return how many cells are touched. Sums are in ``scratch.sum``.

    Cells are resolved in falling order of reach, so that all that a cell owes is known when its turn comes.
    """
    counts = scratch.counts
    counts[STAMP] += 1
    stamp = counts[STAMP]
    p, way = node // 2, node % 2
    touched, steps = 0, 0
    heap = [(-2.0, np.int64(node))]
    while len(heap) and steps < DEPTH:
        _, v = heapq.heappop(heap)
        j, r = v // 2, via[v]
        if r < 0 or scratch.row_stamp[r] == stamp:
            continue
        if steps > 0:
            if j == p or abs(scratch.sum[j]) < TINY:
                continue
            if (1 - way if scratch.sum[j] > 0 else way) != v % 2:
                continue  # the sum changed its sign since
        coefficient = 1.0
        begin, end = graph.row_start[r], graph.row_start[r + 1]
        for y in range(begin, end):
            if graph.row_cells[y] == j:
                coefficient = graph.row_values[y]
        factor = 1.0 / coefficient if steps == 0 else -scratch.sum[j] / coefficient
        scratch.row_stamp[r] = stamp
        steps += 1
        counts[WORK] += end - begin
        for y in range(begin, end):
            c = graph.row_cells[y]
            if scratch.cell_stamp[c] != stamp:
                scratch.cell_stamp[c] = stamp
                scratch.sum[c] = 0.0
                scratch.touched[touched] = c
                touched += 1
            scratch.sum[c] += graph.row_values[y] * factor
            if c != p and abs(scratch.sum[c]) > TINY:
                other = 2 * c + (1 - way if scratch.sum[c] > 0 else way)
                if via[other] >= 0:
                    heapq.heappush(heap, (-reach[other], np.int64(other)))
    return touched


@kernel
def _add_shares(p, way, need, touched, graph, scratch, cells, shares, many):  # noqa: ANN001, ANN202
    """Append what each touched cell can add to p's move that way, as a share of the protection level; False if p
    cancels out.
    """
    own = scratch.sum[p]
    if abs(own) < 1e-6:
        return -1
    for k in range(touched):
        c = scratch.touched[k]
        if c == p or abs(scratch.sum[c]) < TINY:
            continue
        q = -scratch.sum[c] / own if way == 0 else scratch.sum[c] / own
        room = graph.up[c] if q > 0 else graph.down[c]
        if room > 0:
            cells[many] = c
            shares[many] = min(abs(q) * room / need, 1.0)
            many += 1
    return many


@kernel
def cut_of(target, goals, reach, via, graph, scratch):  # noqa: ANN001, ANN201
    """Return the cells of a target's cut, their shares of the protection level, and the share that no other cell must
    make up for.

    No cells and a share of 1 mean that its derivation says nothing.
    """
    p, kind, need = goals.cell[target], goals.kind[target], goals.need[target]
    nothing = np.empty(0, np.int64), np.empty(0), 1.0
    if kind != WIDTH:
        node = 2 * p + kind
        if via[node] < 0 or reach[node] >= 1.0:
            return nothing
        touched = _derive(node, reach, via, graph, scratch)
        cells, shares = np.empty(touched, np.int64), np.empty(touched)
        many = _add_shares(p, kind, need, touched, graph, scratch, cells, shares, 0)
        if many < 0:
            return nothing
        return cells[:many], shares[:many], 0.0
    # The width is what the cell can move up and down together: add the cuts of both directions.
    if reach[2 * p] + reach[2 * p + 1] >= 1.0 + 4 * STEP:
        return nothing
    given = 0.0
    scratch.counts[STAMP] += 1
    cells, shares, many = np.empty(0, np.int64), np.empty(0), 0
    for way in range(2):
        node = 2 * p + way
        if via[node] < 0:
            given += min((graph.up[p] if way == 0 else graph.down[p]) / need, 1.0)
            continue
        touched = _derive(node, reach, via, graph, scratch)
        more_cells, more_shares = np.empty(touched, np.int64), np.empty(touched)
        added = _add_shares(p, way, need, touched, graph, scratch, more_cells, more_shares, 0)
        if added < 0:
            return nothing
        if many == 0:
            cells, shares, many = more_cells, more_shares, added
            continue
        scratch.counts[STAMP] += 1
        stamp = scratch.counts[STAMP]
        for k in range(many):
            scratch.cell_stamp[cells[k]] = stamp
            scratch.touched[cells[k]] = k
        both_cells, both_shares = np.empty(many + added, np.int64), np.empty(many + added)
        both_cells[:many], both_shares[:many] = cells[:many], shares[:many]
        for k in range(added):
            c = more_cells[k]
            if scratch.cell_stamp[c] == stamp:
                at = scratch.touched[c]
                both_shares[at] = min(both_shares[at] + more_shares[k], 1.0)
            else:
                both_cells[many], both_shares[many] = c, more_shares[k]
                many += 1
        cells, shares = both_cells, both_shares
    return cells[:many], shares[:many], given


@kernel
def cuts_of(targets, x, least, goals, reach, via, graph, barred, base, scratch):  # noqa: ANN001, ANN201
    """Return the violated cuts of some targets, flat: start, cells, weights; cells suppressed anyway are on the
    right.
    """
    start = [0]
    all_cells = [np.int64(0) for _ in range(0)]
    all_weights = [0.0 for _ in range(0)]
    for target in targets:
        cells, shares, given = cut_of(target, goals, reach, via, graph, scratch)
        right = 1.0 - given
        for k in range(len(cells)):
            if base[cells[k]]:
                right -= shares[k]
        if right <= 1e-6:
            continue
        left = 0.0
        begin = len(all_cells)
        for k in range(len(cells)):
            c = cells[k]
            if base[c] or barred[c] or shares[k] < 1e-7:
                continue
            weight = min(shares[k] / right, 1.0)
            left += weight * x[c]
            all_cells.append(c)
            all_weights.append(weight)
        if left < 1.0 - least:
            start.append(len(all_cells))
        else:
            while len(all_cells) > begin:
                all_cells.pop()
                all_weights.pop()
    out_start, out_cells, out_weights = (
        np.empty(len(start), np.int64),
        np.empty(len(all_cells), np.int64),
        np.empty(len(all_cells)),
    )
    for k in range(len(start)):
        out_start[k] = start[k]
    for k in range(len(all_cells)):
        out_cells[k], out_weights[k] = all_cells[k], all_weights[k]
    return out_start, out_cells, out_weights


@kernel
def is_served(target, goals, pattern, graph, scratch):  # noqa: ANN001, ANN201
    """Return whether the target's derivation leaves it its protection level; what it does not see may still
    refute it.
    """
    n = len(pattern.hidden)
    at = goals.scale[target] * 2 * n
    reach, via = pattern.reach[at : at + 2 * n], pattern.via[at : at + 2 * n]
    cells, shares, left = cut_of(target, goals, reach, via, graph, scratch)
    for k in range(len(cells)):
        if pattern.hidden[cells[k]]:
            left += shares[k]
    return left >= SERVED
