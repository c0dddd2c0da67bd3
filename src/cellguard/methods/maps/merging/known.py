"""`Known`: what rules look at, of every node of a tree at once, summed from the leaves up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.methods.maps.contributors import Contributors
from cellguard.methods.maps.merging.tree import Tree
from cellguard.rules.rule import Rule
from cellguard.table.fact import Count, Top, Total
from cellguard.table.facts import Facts


@dataclass(frozen=True, eq=False)
class Known:
    """Totals, counts and largest contributions by node. Confidential."""

    total: FloatArray
    count: LongArray
    tops: FloatArray

    @classmethod
    def of_leaves(cls, leaves: Contributors, ranks: int) -> Known:
        """Return what is known of leaves."""
        tops = np.stack([leaves.top(rank) for rank in range(1, ranks + 1)], axis=1)
        return cls(leaves.total, leaves.count, tops)

    @classmethod
    def of_counts(cls, count: LongArray) -> Known:
        """Return what is known where records are only counted: each contributes 1."""
        return cls(count.astype(float), count, (count > 0).astype(float)[:, None])

    def up(self, tree: Tree) -> Known:
        """Return the same of all nodes of a tree, of whose leaves this is."""
        nodes, ranks = len(tree), self.tops.shape[1]
        total, count = np.zeros(nodes), np.zeros(nodes, np.int64)
        tops = np.zeros((nodes, ranks))
        total[: tree.leaves], count[: tree.leaves], tops[: tree.leaves] = self.total, self.count, self.tops
        for children in by_height(tree):
            above = tree.parent[children]
            np.add.at(total, above, total[children])
            np.add.at(count, above, count[children])
            tops[above] = _largest(above, tops, children)[above]
        return Known(total, count, tops)

    def together(self, chosen: LongArray) -> Known:
        """Return what is known of some nodes taken as one."""
        tops = np.sort(self.tops[chosen].ravel())[::-1][: self.tops.shape[1]]
        return Known(np.array([self.total[chosen].sum()]), np.array([self.count[chosen].sum()]), tops[None, :])

    def unsafe(self, rules: Sequence[Rule]) -> BoolArray:
        """Return which nodes some rule finds unsafe; empty ones are none."""
        facts = Facts({Total(): self.total, Count(): self.count.astype(float), Top(self.tops.shape[1]): self.tops})
        return np.logical_or.reduce([np.zeros(len(self.total), bool), *(rule.unsafe(facts) for rule in rules)])


def by_height(tree: Tree) -> list[LongArray]:
    """Return the nodes that have parents, in groups: all that are below a group come before it."""
    height = np.zeros(len(tree), np.int64)
    for node in range(len(tree)):
        if tree.parent[node] >= 0:
            height[tree.parent[node]] = max(height[tree.parent[node]], height[node] + 1)
    linked = np.flatnonzero(tree.parent >= 0)
    order = linked[np.argsort(height[tree.parent[linked]], kind="stable")]
    ends = np.flatnonzero(np.diff(height[tree.parent[order]])) + 1
    return [group for group in np.split(order, ends) if len(group)]


def _largest(above: LongArray, tops: FloatArray, children: LongArray) -> FloatArray:
    """Return the largest contributions of parents, from those of their children."""
    nodes, ranks = tops.shape
    parents = np.repeat(above, ranks)
    values = tops[children].ravel()
    order = np.lexsort((-values, parents))
    parents, values = parents[order], values[order]
    first = np.flatnonzero(np.concatenate([[True], np.diff(parents) > 0]))
    rank = np.arange(len(parents)) - np.repeat(first, np.diff(np.append(first, len(parents))))
    kept = rank < ranks
    found = np.zeros((nodes, ranks))
    found[parents[kept], rank[kept]] = values[kept]
    return found
