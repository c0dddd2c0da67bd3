"""Which nodes of a tree are shown: the smallest that are safe, as in multi-resolution grids (Skøien et al. 2024).

A node is shown as one wherever one of the nodes right below it is unsafe, and so on upward; else what is below it is
shown. So no shown node holds another one, and differences of shown nodes tell nothing. An attacker who knows the tree,
the rules and the total cannot tell any count below the least one either: in a merged node one record may be in any of
its leaves.

A root that is unsafe is left out. If the total is known, so is the sum of all that is left out: the smallest shown
nodes are left out too, until that sum is safe. Which these are depends on counts, so it may tell more.

Skøien, J. O., Lampach, N., Ramos, H., Seljak, R., Koeble, R., See, L. and van der Velde, M. (2024): Flexible approach
for statistical disclosure control in geospatial data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellguard.arrays import BoolArray, LongArray
from cellguard.errors import NotProtected
from cellguard.methods.maps.merging.known import Known, by_height
from cellguard.methods.maps.merging.tree import Tree
from cellguard.rules.rule import Rule

# Two records in two places, of which each is unsafe by itself, are one each.
_LEAST_MERGED = 3


@dataclass(frozen=True, eq=False)
class Merged:
    """The nodes that are shown, and those left out: ``unsafe`` roots, and others ``beside`` them. Confidential."""

    tree: Tree
    known: Known
    shown: LongArray
    unsafe: LongArray
    beside: LongArray

    @property
    def left_out(self) -> LongArray:
        """All nodes that are left out."""
        return np.concatenate([self.unsafe, self.beside])


def merge(tree: Tree, leaves: Known, rules: Sequence[Rule]) -> Merged:
    """Return the smallest safe nodes of a tree, and what must be left out.

    >>> from cellguard.methods.maps.merging.tree import quadtree
    >>> from cellguard.rules.simple import MinFrequency
    >>> tree = quadtree(np.array([0, 1, 5]), np.array([0, 0, 0]), 1)
    >>> done = merge(tree, Known.of_counts(np.array([2, 9, 4])), [MinFrequency(3)])
    >>> done.shown.tolist(), done.known.count[done.shown].tolist()
    ([2, 3], [4, 11])
    """
    known = leaves.up(tree)
    unsafe = known.unsafe(rules)
    unsafe[tree.leaves :] |= (known.count[tree.leaves :] > 0) & (known.count[tree.leaves :] < _LEAST_MERGED)
    whole = np.zeros(len(tree), bool)  # shown as one, or left out
    whole[: tree.leaves] = True
    for children in by_height(tree):
        whole[tree.parent[children][whole[children] & unsafe[children]]] = True
    highest = _highest(tree, whole) & (known.count > 0)
    shown, out = np.flatnonzero(highest & ~unsafe), np.flatnonzero(highest & unsafe)
    shown, beside = _with_company(known, shown, out, rules)
    return Merged(tree, known, shown, out, beside)


def _highest(tree: Tree, whole: BoolArray) -> BoolArray:
    """Return which nodes are whole while none above them is."""
    covered = np.zeros(len(tree), bool)
    for node in range(len(tree) - 1, -1, -1):
        above = tree.parent[node]
        covered[node] = above >= 0 and (covered[above] or whole[above])
    return whole & ~covered


def _with_company(known: Known, shown: LongArray, out: LongArray, rules: Sequence[Rule]) -> tuple[LongArray, LongArray]:
    """Leave out the smallest shown nodes until all that is left out is safe together."""
    if not len(out):
        return shown, out
    order = shown[np.lexsort((shown, known.count[shown], known.total[shown]))]
    for many in range(len(order) + 1):
        together = known.together(np.concatenate([out, order[:many]]))
        if not together.unsafe(rules)[0] and together.count[0] >= _LEAST_MERGED:
            return np.sort(order[many:]), order[:many]
    raise NotProtected(
        "nothing is left of the map: even all records together are unsafe; choose a lower min_frequency or other rules"
    )
