"""Merging of equal cells: a smaller system for computing, with the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from cellguard.table.relations import Relations, distinct_rows


@dataclass(frozen=True, eq=False)
class Reduced:
    """The system after merging: ``relations`` over merged cells, and for each old cell the merged one it is part of."""

    relations: Relations
    merged: npt.NDArray[np.intp]

    @property
    def n(self) -> int:
        """The number of merged cells."""
        return int(self.relations.shape[1])

    @property
    def first(self) -> npt.NDArray[np.intp]:
        """For each merged cell the first old cell in it: what is true of one is true of all."""
        return np.unique(self.merged, return_index=True)[1]


def merge_equal(relations: Relations) -> Reduced:
    """Merge cells that a relation with two terms makes equal, until no such relation is left.

    A total with one part that is not empty equals that part, at whatever level of the hierarchy; and after merging,
    further relations may have two terms only. Relations that say the same are kept once.
    """
    current = distinct_rows(relations)
    n = current.shape[1]
    merged: npt.NDArray[np.intp] = np.arange(n)
    while True:
        pairs = _equal_pairs(current)
        if not len(pairs):
            return Reduced(current, merged)
        size = current.shape[1]
        graph = sp.csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(size, size))
        count, component = connected_components(graph, directed=False)
        label = _in_first_order(component)
        contract = sp.csr_array((np.ones(size), (np.arange(size), label)), shape=(size, count))
        current = distinct_rows(sp.csr_array(current @ contract))
        merged = label[merged]


def _equal_pairs(relations: Relations) -> npt.NDArray[np.int64]:
    two = np.flatnonzero(np.diff(relations.indptr) == 2)
    start = relations.indptr[two]
    opposite = relations.data[start] + relations.data[start + 1] == 0
    start = start[opposite]
    return np.stack([relations.indices[start], relations.indices[start + 1]], axis=1).astype(np.int64)


def _in_first_order(label: npt.NDArray[np.integer]) -> npt.NDArray[np.intp]:
    """Number the groups by their first member, whatever order the graph library chose."""
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
