"""The exact posterior of a few tied cells, by looking at every count that each of their inner cells may have.

Every other cell is a sum of inner cells. A cell with the records of another has its key, hence its noise; so the
probability of what is published is a product over different sets of records. Two cells of the set have the same records
if they have the same inner cells with any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray

_MOST = 200_000  # assignments that are kept at a time
_MOST_ENTRIES = 20_000_000  # ... times cells


@dataclass(frozen=True, eq=False)
class Tied:
    """Cells that relations tie: weights of the counts base + k, and for each relation its whole (-1: 0) and parts.

    ``published`` are the published counts; ``fixed`` cells have no noise.
    """

    base: LongArray
    own: FloatArray
    published: LongArray
    fixed: BoolArray
    relations: Sequence[tuple[int, Sequence[int]]]


def marginals(tied: Tied) -> FloatArray | None:
    """Return the exact weights of all cells given everything, or None if there are too many assignments."""
    members = _members(tied)
    if members is None:
        return None
    inner = np.flatnonzero(members.sum(axis=1) == 1)
    inner = inner[members[inner, inner]] if len(inner) else inner
    assigned = _assignments(tied, members, inner)
    if assigned is None or len(assigned) * len(tied.base) > _MOST_ENTRIES:
        return None
    counts = assigned @ members[:, inner].T.astype(np.int64)
    weight = _weights(tied, members[:, inner], assigned, counts)
    found = np.zeros_like(tied.own)
    for cell in range(len(tied.base)):
        found[cell] = np.bincount(counts[:, cell] - tied.base[cell], weight, tied.own.shape[1])
    sums = found.sum(axis=1, keepdims=True)
    return np.divide(found, sums, out=np.zeros_like(found), where=sums > 0)


def _members(tied: Tied) -> BoolArray | None:
    """Return which inner cells each cell is the sum of; None if relations say different things of a cell."""
    n = len(tied.base)
    parts: dict[int, list[Sequence[int]]] = {}
    for whole, some in tied.relations:
        if whole < 0:
            return None
        parts.setdefault(whole, []).append(some)
    members = np.zeros((n, n), bool)
    state = dict.fromkeys(range(n), 0)

    def settle(cell: int) -> bool:
        if state[cell]:
            return state[cell] == 2
        state[cell] = 1
        for some in parts.get(cell, ()):
            if not all(settle(part) for part in some):
                return False
            sums = members[list(some)].sum(axis=0)
            if (sums > 1).any() or (members[cell].any() and not np.array_equal(members[cell], sums > 0)):
                return False
            members[cell] = sums > 0
        members[cell, cell] |= cell not in parts
        state[cell] = 2
        return True

    return members if all(settle(cell) for cell in range(n)) else None


def _assignments(tied: Tied, members: BoolArray, inner: LongArray) -> LongArray | None:
    """Return the counts of the inner cells with which every cell has a positive weight, a row per assignment."""
    width = tied.own.shape[1]
    low = np.array([tied.base[c] + np.flatnonzero(tied.own[c] > 0)[0] for c in inner], np.int64)
    high = np.array([tied.base[c] + np.flatnonzero(tied.own[c] > 0)[-1] for c in inner], np.int64)
    assigned = np.zeros((1, 0), np.int64)
    wholes = np.setdiff1d(np.arange(len(tied.base)), inner)
    for number, cell in enumerate(inner.tolist()):
        options = tied.base[cell] + np.flatnonzero(tied.own[cell] > 0)
        if len(assigned) * len(options) > _MOST:
            return None
        assigned = np.column_stack([np.repeat(assigned, len(options), axis=0), np.tile(options, len(assigned))])
        done, rest = inner[: number + 1], slice(number + 1, None)
        sums = assigned @ members[np.ix_(wholes, done)].T.astype(np.int64)
        ahead = members[np.ix_(wholes, inner)][:, rest]
        least, most = sums + ahead @ low[rest], sums + ahead @ high[rest]
        base = tied.base[wholes]
        assigned = assigned[((most >= base) & (least < base + width)).all(axis=1)]
    return assigned


def _weights(tied: Tied, members: BoolArray, assigned: LongArray, counts: LongArray) -> FloatArray:
    """Return the probability of all that is published for each assignment: each set of records counts once."""
    weight = np.ones(len(assigned))
    some = assigned > 0
    order = np.argsort(members.sum(axis=1), kind="stable")
    for place, cell in enumerate(order.tolist()):
        own = tied.own[cell][counts[:, cell] - tied.base[cell]]
        same = np.zeros(len(assigned), bool)
        if not tied.fixed[cell]:
            for other in order[:place].tolist():
                if tied.fixed[other] or not (members[other] <= members[cell]).all():
                    continue
                more = members[cell] & ~members[other]
                here = (counts[:, cell] > 0) & ~(some[:, more].any(axis=1))
                weight[here] *= tied.published[other] == tied.published[cell]
                same |= here
        weight *= np.where(same, 1.0, own)
    return weight
