"""What a table says of the leaves of a dimension: under which of its codes each lies.

In a tree the nearest occurring code at or above a leaf determines all occurring codes above it. So the leaves that a
table cannot distinguish, its *parts*, are those with the same nearest code in every grouping that the table uses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellguard.arrays import BoolArray, IntArray, LongArray
from cellguard.hierarchy.hierarchy import Dimension

Labels = LongArray
OUTSIDE = -1


@dataclass(frozen=True, eq=False)
class View:
    """A dimension as one table shows it.

    ``near`` has a row for each grouping that the table uses and a column for each leaf: the position of the nearest
    occurring code at or above the leaf, `OUTSIDE` if there is none. ``rest`` marks leaves below a code some other parts
    of which have codes of their own: within a table a code is the sum of the codes below it, so nothing lies there.
    """

    dimension: Dimension
    occurs: BoolArray
    near: IntArray
    rest: BoolArray
    finest: tuple[BoolArray, ...]

    @cached_property
    def labels(self) -> Labels:
        """The part in which each leaf lies, numbered from 0."""
        return np.unique(self.near, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)

    @property
    def outside(self) -> BoolArray:
        """The leaves that lie below none of the table's codes, in any of the groupings that it uses."""
        return np.asarray((self.near == OUTSIDE).all(axis=0), bool)


def view(dimension: Dimension, column: IntArray) -> View:
    """Return how a code column of a table shows its dimension.

    >>> from cellguard.hierarchy.build import from_parents
    >>> region = Dimension("region", from_parents([("T", ""), ("N", "T"), ("S", "T"), ("n1", "N"), ("n2", "N")]))
    >>> view(region, np.array([0, 1, 4], np.int32)).labels.tolist()
    [0, 0, 1]
    """
    occurs = np.zeros(len(dimension.codes), bool)
    occurs[column] = True
    leaves = leaf_codes(dimension)
    near, rest, finest = [], np.zeros(len(leaves), bool), []
    main = dimension.parents[0] > -2
    for number, parent in enumerate(dimension.parents):
        if number and not (occurs & (parent > -2) & ~main).any():
            continue  # a grouping of which no own code occurs says nothing more
        nearest = _nearest(parent, occurs, leaves)
        above = np.where(parent >= 0, parent, OUTSIDE)
        while (skip := (above >= 0) & ~occurs[above]).any():
            above[skip] = np.where(parent[above[skip]] >= 0, parent[above[skip]], OUTSIDE)
        divided = np.zeros(len(occurs), bool)
        divided[above[(above >= 0) & occurs]] = True
        near.append(nearest)
        finest.append(occurs & (parent > -2) & ~divided)
        rest |= (nearest >= 0) & divided[nearest]
    return View(dimension, occurs, np.array(near, np.int32), rest, tuple(finest))


def leaf_codes(dimension: Dimension) -> IntArray:
    """Return the positions of the leaves among a dimension's codes."""
    return np.array([dimension.position[leaf] for leaf in dimension.main.leaves], np.int32)


def _nearest(parent: IntArray, occurs: BoolArray, leaves: IntArray) -> IntArray:
    near = leaves.copy()
    while (climb := (near >= 0) & ~occurs[near]).any():
        near[climb] = np.where(parent[near[climb]] >= 0, parent[near[climb]], OUTSIDE)
    return near


def codes_of_parts(shown: View, labels: Labels) -> IntArray:
    """Return for each part of a dimension a code that the table has with exactly its leaves, `OUTSIDE` if none.

    >>> from cellguard.hierarchy.build import from_parents
    >>> region = Dimension("region", from_parents([("T", ""), ("N", "T"), ("S", "T"), ("n1", "N"), ("n2", "N")]))
    >>> codes_of_parts(view(region, np.array([0, 1, 4], np.int32)), np.array([0, 0, 1])).tolist()
    [1, 4]
    """
    dimension = shown.dimension
    leaves = leaf_codes(dimension)
    size = np.bincount(labels)
    codes = np.full(len(size), OUTSIDE, np.int32)
    for parent in dimension.parents:
        low = np.full(len(parent), len(size), np.int64)
        high = np.full(len(parent), -1, np.int64)
        below = np.zeros(len(parent), np.int64)
        code, part = leaves, labels
        while len(code):  # from all leaves upward, a level at a time
            np.minimum.at(low, code, part)
            np.maximum.at(high, code, part)
            np.add.at(below, code, 1)
            code = parent[code]
            code, part = code[code >= 0], part[code >= 0]
        same = np.flatnonzero((low == high) & shown.occurs)
        same = same[below[same] == size[low[same]]]
        codes[low[same]] = same
    return codes


def coarsest(labels: Labels, other: Labels) -> Labels | None:
    """Return the coarser of two partitions of the same leaves, None if neither refines the other."""
    pairs = len(np.unique(labels * (int(other.max(initial=0)) + 1) + other))
    if pairs == int(labels.max(initial=-1)) + 1:
        return other
    return labels if pairs == int(other.max(initial=-1)) + 1 else None
