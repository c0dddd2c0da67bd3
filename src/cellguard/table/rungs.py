"""Codes and the codes right above them, bottom up, so that sums go from rung to rung instead of along whole lines.

An inner code is the sum of its parts in any hierarchy that has it, so one of them is enough. Its height is one more
than that of its highest part. Rungs are in the order of heights: parts are whole before they are taken into a code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cellguard.hierarchy.hierarchy import Dimension, IntArray


class Rung(NamedTuple):
    """Codes and the one above each, whose height is the same for all."""

    child: IntArray
    parent: IntArray

    @property
    def neat(self) -> bool:
        """Whether parents follow one another as their children do."""
        return bool((self.parent[1:] >= self.parent[:-1]).all())


def rungs(dimension: Dimension) -> list[Rung]:
    """Return the rungs of a dimension; children are in order, and each comes once in a rung.

    >>> from cellguard.hierarchy.build import from_parents
    >>> tree = from_parents([("T", ""), ("A", "T"), ("a1", "A"), ("b", "T")])
    >>> [(rung.child.tolist(), rung.parent.tolist()) for rung in rungs(Dimension("x", tree))]
    [([2], [1]), ([1, 3], [0, 0])]
    """
    summed = np.zeros(len(dimension.codes), bool)
    parts = []
    for parents in dimension.parents:
        child = np.flatnonzero(parents >= 0).astype(np.int32)
        child = child[~summed[parents[child]]]
        parts.append(Rung(child, parents[child]))
        summed[parts[-1].parent] = True
    height = _heights(len(dimension.codes), parts)
    steps = []
    for level in range(1, int(height.max(initial=0)) + 1):
        for child, parent in parts:
            here = height[parent] == level
            if here.any():
                steps.append(Rung(child[here], parent[here]))
    return steps


def _heights(codes: int, parts: list[Rung]) -> IntArray:
    height = np.zeros(codes, np.int32)
    while True:
        higher = height.copy()
        for child, parent in parts:
            np.maximum.at(higher, parent, height[child] + 1)
        if np.array_equal(higher, height):
            return height
        height = higher
