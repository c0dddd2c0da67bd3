"""Merging of cells that always move together, or against each other: a smaller system, with the way back.

A relation with two terms of equal size says d_i = d_j or d_i = -d_j, one with a single term says d_i = 0. Give every
cell two nodes, for d and for -d, and connect what is equal: d_i = d_j connects i with j and -i with -j, d_i = -d_j
connects i with -j and -i with j, d_i = 0 connects i with -i. Then each component is one variable, its mirror image is
the same variable with the other sign, and a component that is its own mirror image is 0. Substituting may leave
further relations with one or two terms, so this is repeated until there are none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from cellguard.arrays import LongArray, Positions
from cellguard.table.relations import Relations, distinct_rows


@dataclass(frozen=True, eq=False)
class Merged:
    """The system after merging: old cell c moves by ``sign[c]`` times merged cell ``merged[c]``; sign 0 cannot move."""

    relations: Relations
    merged: Positions
    sign: LongArray

    @property
    def n(self) -> int:
        """The number of merged cells."""
        return int(self.relations.shape[1])

    @property
    def first(self) -> Positions:
        """For each merged cell the first old cell in it: what is true of one is true of all."""
        return np.unique(self.merged, return_index=True)[1]


def merge_equal(relations: Relations) -> Merged:
    """Merge cells that a relation with two terms makes equal, until no such relation is left.

    A total with one part that is not empty equals that part, at whatever level of the hierarchy; and after merging,
    further relations may have two terms only. Relations that say the same are kept once.
    """
    return _merge(relations, signed=False)


def merge_moves(relations: Relations) -> Merged:
    """Merge cells that move together or against each other, and fix those that cannot move at all."""
    return _merge(relations, signed=True)


def _merge(relations: Relations, *, signed: bool) -> Merged:
    matrix = distinct_rows(relations)
    merged: Positions = np.arange(matrix.shape[1])
    sign = np.ones(matrix.shape[1], np.int64)
    while True:
        single, pair = _short_rows(matrix, signed)
        if not len(single) and not len(pair):
            return Merged(matrix, merged, sign)
        group, side = _tie(matrix, single, pair)
        place = (np.arange(len(group)), group)
        contract = sp.csr_array((side.astype(float), place), shape=(len(group), int(group.max(initial=-1)) + 1))
        matrix = distinct_rows(sp.csr_array(matrix @ contract))
        sign = sign * side[merged]
        merged = group[merged]


def _short_rows(matrix: Relations, signed: bool) -> tuple[Positions, Positions]:
    """Return the rows with one term, and those with two of equal size; unsigned, only pairs that are equal count."""
    terms = np.diff(matrix.indptr)
    two = np.flatnonzero(terms == 2)
    first, second = matrix.data[matrix.indptr[two]], matrix.data[matrix.indptr[two] + 1]
    if not signed:
        return np.zeros(0, np.intp), two[first == -second]
    return np.flatnonzero(terms == 1), two[np.abs(first) == np.abs(second)]


def _tie(matrix: Relations, single: Positions, pair: Positions) -> tuple[Positions, LongArray]:
    """Return the group of each column and its sign in it, 0 if it cannot move."""
    n = matrix.shape[1]
    start = matrix.indptr[pair]
    i, j = matrix.indices[start], matrix.indices[start + 1]
    same = matrix.data[start] * matrix.data[start + 1] < 0
    alone = matrix.indices[matrix.indptr[single]]
    left = np.concatenate([i, i + n, alone])
    right = np.concatenate([np.where(same, j, j + n), np.where(same, j + n, j), alone + n])
    graph = sp.csr_array((np.ones(len(left)), (left, right)), shape=(2 * n, 2 * n))
    label = _in_first_order(connected_components(graph, directed=False)[1])
    plus, minus = label[:n], label[n:]
    side = np.where(plus == minus, 0, np.where(plus < minus, 1, -1)).astype(np.int64)
    # Mirrored components come in pairs; the one with the smaller label stands for both.
    return _in_first_order(np.minimum(plus, minus)), side


def _in_first_order(label: npt.NDArray[np.integer]) -> Positions:
    """Number the groups by their first member, whatever order the graph library chose."""
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
