"""`Tree`: which cells may be merged into which, decided by places alone, so that it tells nothing of the records.

Squares are merged by four into one of twice the size (a quadtree). Areas are merged in pairs: the cluster of fewest
areas with the neighbour of fewest, again and again, ties by order.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from cellguard.arrays import LongArray
from cellguard.geometry.areas import Areas
from cellguard.geometry.hexgrid import distinct


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes of a forest, the ``leaves`` first and parents after their children; ``parent`` is -1 at a root.

    ``level`` is how often squares were doubled, and ``q`` and ``r`` are their column and row at that level; of areas
    they are 0 and the node's number.
    """

    parent: LongArray
    leaves: int
    level: LongArray
    q: LongArray
    r: LongArray

    def __len__(self) -> int:
        return len(self.parent)

    def roots_of(self, chosen: LongArray) -> LongArray:
        """Return for each leaf the chosen node that it is in, -1 if none is; no chosen node is in another.

        >>> quadtree(np.array([0, 1, 5]), np.array([0, 0, 0]), 1).roots_of(np.array([2, 3])).tolist()
        [3, 3, 2]
        """
        found = np.full(len(self), -1, np.int64)
        found[chosen] = chosen
        for node in range(len(self) - 1, -1, -1):
            if found[node] < 0 and self.parent[node] >= 0:
                found[node] = found[self.parent[node]]
        return found[: self.leaves]


def quadtree(q: LongArray, r: LongArray, levels: int) -> Tree:
    """Return the tree of distinct squares, doubled so many times.

    >>> quadtree(np.array([0, 1, 5]), np.array([0, 0, 0]), 1).parent.tolist()
    [3, 3, 4, -1, -1]
    """
    parents, all_level = [], [np.zeros(len(q), np.int64)]
    all_q, all_r = [q], [r]
    start = 0
    for level in range(1, levels + 1):
        up_q, up_r, at = distinct(all_q[-1] >> 1, all_r[-1] >> 1)
        start += len(all_q[-1])
        parents.append(start + at.astype(np.int64))
        all_q.append(up_q)
        all_r.append(up_r)
        all_level.append(np.full(len(up_q), level, np.int64))
    parents.append(np.full(len(all_q[-1]), -1, np.int64))
    return Tree(
        *(np.concatenate(parents),), len(q), np.concatenate(all_level), np.concatenate(all_q), np.concatenate(all_r)
    )


def levels_to_one(q: LongArray, r: LongArray) -> int:
    """Return how often squares are doubled until one holds them all, or one on each side of an axis.

    >>> levels_to_one(np.array([0, 5]), np.array([0, 3])), levels_to_one(np.array([-1, 0]), np.array([0, 0]))
    (3, 0)
    """
    levels = 0
    while any((axis >> levels).min() != (axis >> levels).max() and not _at_axis(axis >> levels) for axis in (q, r)):
        levels += 1
    return levels


def _at_axis(axis: LongArray) -> bool:
    return bool(axis.min() >= -1 and axis.max() <= 0)


def pairing(areas: Areas, most: int | None = None) -> Tree:
    """Return the tree of all areas, merged in pairs, up to so many together if that is limited.

    >>> pairing(Areas(("A", "B", "C"), ((0, 1), (1, 2))), 3).parent.tolist()
    [3, 3, 4, 4, -1]
    """
    size = dict.fromkeys(range(len(areas.names)), 1)
    beside: dict[int, set[int]] = {area: set() for area in size}
    for one, other in areas.pairs:
        beside[one].add(other)
        beside[other].add(one)
    parent = [-1] * len(size)
    queue = [(1, area) for area in size]
    while queue:
        many, node = heapq.heappop(queue)
        able = [other for other in beside.get(node, ()) if most is None or size[other] + many <= most]
        if node not in beside or not able:
            continue
        other = min(able, key=lambda area: (size[area], area))
        new = len(parent)
        parent[node] = parent[other] = new
        parent.append(-1)
        size[new] = many + size[other]
        beside[new] = (beside.pop(node) | beside.pop(other)) - {node, other}
        for area in beside[new]:
            beside[area] = beside[area] - {node, other} | {new}
        heapq.heappush(queue, (size[new], new))
    nodes = np.arange(len(parent))
    none = np.zeros(len(parent), np.int64)
    return Tree(np.array(parent, np.int64), len(areas.names), none, none, nodes)
