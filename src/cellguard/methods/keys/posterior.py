"""What an attacker who knows the method and its table concludes of every true count, given all published ones.

The attacker knows the perturbation table, that a cell's key is uniform, and which cells add up to which; not the keys.
Of an inner cell every count is as likely beforehand as any other, or as the true table's counts are distributed.
Message passing is exact where relations do not go in circles; small circles are enumerated; for others it estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.methods.keys.enumeration import Tied, marginals
from cellguard.methods.keys.perturbation_table import PerturbationTable
from cellguard.methods.keys.posterior_kernel import beliefs, sweep
from cellguard.run_context import UNWATCHED, Run

_MOST_PARTS = 2_500  # of a relation; longer ones are left out
_MOST_WORK = (
    10_000_000_000.0  # steps of one sweep, by the parts to the power of 1.5; the longest relations are left out
)
_DEEP = 500.0  # steps per part and count: the states, and how wide sums of noise are
_SETTLED = 1e-12
_SWEEPS = 200
_NEARLY, _FEWER = 1e-4, 25  # ... where circles make it an estimate
_MOST_ENUMERATED = 40  # cells of a circle that enumeration is tried for


@dataclass(frozen=True, eq=False)
class Published:
    """What is published of distinct cells that add up, and what is known of how.

    ``counts`` are the published ones, ``relations`` have a row per sum: 1 for the whole, -1 for its parts. ``filled``
    cells are known to have a record; ``fixed`` ones to be published as they are. ``prior`` has a weight for each count
    of an inner cell from 0 on, the last one for all larger ones. ``left_out`` is how many relations are not among them
    that tell something, too.
    """

    counts: LongArray
    relations: sp.csr_array
    table: PerturbationTable
    chances: FloatArray
    filled: BoolArray
    fixed: BoolArray
    prior: FloatArray
    left_out: int = field(default=0, kw_only=True)

    @property
    def base(self) -> LongArray:
        """The least count that each cell may have, as far as its own published one tells; it may be negative."""
        return self.counts - self.table.deviation

    def weights(self) -> FloatArray:
        """Return for each cell the weight of the counts base, base + 1, ... by itself: a column per count."""
        d = self.table.deviation
        true = self.base[:, None] + np.arange(2 * d + 1)[None, :]
        able = true >= np.where(self.filled, 1, 0)[:, None]
        rows = self.table.rows(np.maximum(true, 0))
        weights = np.where(able, self.chances[rows, np.arange(2 * d, -1, -1)[None, :]], 0.0)
        weights[self.fixed] = np.arange(2 * d + 1) == d
        inner = np.ones(len(self.counts), bool)
        inner[np.unique(self.relations.indices[self.relations.data > 0])] = False
        prior = self.prior[np.clip(true, 0, len(self.prior) - 1)]
        return np.where(inner[:, None], weights * prior, weights)


@dataclass(frozen=True, eq=False)
class Posterior:
    """The probability of every count base + k of each cell; ``exact`` where nothing was left out or estimated.

    A row of zeros is a cell that no count was found for: nothing is known of it, so it is taken to be disclosed.
    ``long`` relations were not used: they have too many parts, or some that are not published.
    """

    base: LongArray
    chances: FloatArray
    exact: BoolArray
    long: int = 0

    def of(self, count: int) -> FloatArray:
        """Return for each cell the probability that it is a count."""
        k = count - self.base
        able = (k >= 0) & (k < self.chances.shape[1])
        found = self.chances[np.arange(len(k)), np.clip(k, 0, self.chances.shape[1] - 1)]
        return np.where(able, found, 0.0)

    def largest(self, threshold: LongArray) -> FloatArray:
        """Return for each cell the largest probability of a positive count below its threshold."""
        largest = np.zeros(len(self.base))
        for count in range(1, int(threshold.max(initial=0))):
            largest = np.where(count < threshold, np.maximum(largest, self.of(count)), largest)
        return np.where((threshold > 1) & ~self.chances.any(axis=1), 1.0, largest)


def infer(published: Published, *, run: Run = UNWATCHED) -> Posterior:
    """Return what follows from everything that is published."""
    own = published.weights()
    width = own.shape[1]
    relations, long = _usable(published.relations, width)
    long += published.left_out
    if not relations.shape[0]:
        return Posterior(published.base, _normalised(own), np.full(len(own), long == 0), long)
    start, cell, whole, shift = _edges(relations, published.base)
    singleton = _lone(published, start, cell, whole)
    message = np.full((len(cell), width), 1.0 / width)
    alone = np.zeros((len(cell), width))
    edge_start, edges = _edges_of(cell, len(own))
    group, trees = _components(relations)
    most, settled = (_SWEEPS, _SETTLED) if trees.all() else (_FEWER, _NEARLY)
    for _ in range(most):
        run.heed()
        moved = sweep(start, cell, whole, shift, singleton, published.base, own, edge_start, edges, message, alone)
        if moved <= settled:
            break
    belief = beliefs(own, singleton, edge_start, edges, message, alone)
    exact = trees[group] & (long == 0)
    for number in np.flatnonzero(~trees).tolist():
        cells = np.flatnonzero(group == number)
        found = _enumerated(published, own, relations, cells)
        if found is not None:
            belief[cells] = found
            exact[cells] = long == 0
    exact &= belief.sum(axis=1) > 0
    return Posterior(published.base, _normalised(belief), exact, long)


def _normalised(weights: FloatArray) -> FloatArray:
    sums = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)


def _usable(relations: sp.csr_array, width: int) -> tuple[sp.csr_array, int]:
    """Return the relations that are not too long, and how many are; of many the shortest, which tell most."""
    parts = np.diff(relations.indptr).astype(float)
    order = np.argsort(parts, kind="stable")
    usable = np.zeros(len(parts), bool)
    usable[order] = np.cumsum(parts[order] ** 1.5 * width * _DEEP) <= _MOST_WORK
    usable &= parts <= _MOST_PARTS
    return (relations, 0) if usable.all() else (relations[usable], int((~usable).sum()))


def _edges(relations: sp.csr_array, base: LongArray) -> tuple[LongArray, LongArray, LongArray, LongArray]:
    """Return where each relation's cells begin, the cells with the whole first, whether there is one, and the shift."""
    rows = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    order = np.lexsort((relations.indices, -relations.data, rows))
    cell = relations.indices[order].astype(np.int64)
    start = relations.indptr.astype(np.int64)
    whole = np.bincount(rows, relations.data > 0, relations.shape[0]).astype(np.int64)
    shift = np.bincount(rows, relations.data * base[relations.indices], relations.shape[0])
    return start, cell, whole, np.rint(shift).astype(np.int64)


def _edges_of(cell: LongArray, cells: int) -> tuple[LongArray, LongArray]:
    edges = np.argsort(cell, kind="stable").astype(np.int64)
    return np.append(0, np.cumsum(np.bincount(cell, minlength=cells))).astype(np.int64), edges


def _components(relations: sp.csr_array) -> tuple[LongArray, BoolArray]:
    """Return the group of each cell that relations tie together, and which groups have no circle."""
    rows, cells = (int(size) for size in relations.shape)
    row = np.repeat(np.arange(rows), np.diff(relations.indptr))
    both = sp.coo_array((np.ones(len(row)), (row, rows + relations.indices)), shape=(rows + cells, rows + cells))
    many, group = connected_components(both, directed=False)
    edges = np.bincount(group[:rows], np.diff(relations.indptr), many)
    nodes = np.bincount(group, minlength=many)
    return group[rows:].astype(np.int64), edges == nodes - 1


def _lone(published: Published, start: LongArray, cell: LongArray, whole: LongArray) -> LongArray:
    """Return for each part the state of a sum in which it alone has records, see the kernel; -1 for wholes."""
    relation = np.repeat(np.arange(len(whole)), np.diff(start))
    above = cell[start[:-1]][relation]
    same = published.counts[cell] == published.counts[above]
    free = published.fixed[cell] | published.fixed[above] | (whole[relation] == 0)
    singleton = np.where(free, 2, np.where(same, 1, 3))
    singleton[start[:-1][whole == 1]] = -1
    return singleton.astype(np.int64)


def _enumerated(published: Published, own: FloatArray, relations: sp.csr_array, cells: LongArray) -> FloatArray | None:
    if len(cells) > _MOST_ENUMERATED:
        return None
    place = {int(cell): number for number, cell in enumerate(cells)}
    tied = []
    for row in np.unique(relations[:, cells].nonzero()[0]).tolist():
        span = slice(relations.indptr[row], relations.indptr[row + 1])
        here, sign = [place[int(c)] for c in relations.indices[span]], relations.data[span]
        whole = next((c for c, s in zip(here, sign, strict=True) if s > 0), -1)
        tied.append((whole, [c for c, s in zip(here, sign, strict=True) if s < 0]))
    return marginals(Tied(published.base[cells], own[cells], published.counts[cells], published.fixed[cells], tied))
