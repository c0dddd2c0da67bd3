"""Relations: parent - sum of children = 0, built for all cells at once from the hierarchies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.hierarchy.hierarchy import Dimension, IntArray
from cellguard.table.keys import combine

Relations = sp.csr_array


@dataclass(frozen=True, eq=False)
class Block:
    """The relations of one dimension and hierarchy: rows ``start`` to ``stop``; ``above`` holds each code's parent."""

    dimension: int
    above: IntArray
    start: int
    stop: int


def build_relations(dimensions: Sequence[Dimension], codes: Sequence[IntArray]) -> tuple[Relations, list[Block]]:
    """Return the matrix M with M @ value = 0, one row per relation, and its blocks, one per dimension and hierarchy.

    The table's own tree is each hierarchy restricted to the codes that occur in the table: where no row has a code of
    an intermediate level, its children hang on the next code above that does occur. Within that tree a missing cell is
    empty, so it has no term; a relation without its parent's term says that the sum of the children is 0.
    """
    n = len(codes[0])
    blocks: list[Block] = []
    rows, columns, signs = [], [], []
    height = 0
    for d, dimension in enumerate(dimensions):
        for above in effective_parents(dimension, codes[d]):
            parents, children, number, relations = _terms(codes, d, above)
            rows.append(number + height)
            columns.append(np.concatenate([parents, children]))
            signs.append(np.repeat([1.0, -1.0], [len(parents), len(children)]))
            blocks.append(Block(d, above, height, height + relations))
            height += relations
    place = (np.concatenate(rows), np.concatenate(columns))
    return sp.csr_array((np.concatenate(signs), place), shape=(height, n)), blocks


def effective_parents(dimension: Dimension, column: IntArray) -> list[IntArray]:
    """Return for each hierarchy the nearest code above each code that occurs in the column, -1 where there is none.

    A second grouping of which no own code occurs adds nothing and is left out.
    """
    occurs = np.zeros(len(dimension.codes), bool)
    occurs[column] = True
    parents = []
    main = dimension.parents[0] > -2
    for number, parent in enumerate(dimension.parents):
        has = parent > -2
        if number and not (occurs & has & ~main).any():
            continue
        above = np.where(has, parent, -1).astype(np.int32)
        while (skip := (above >= 0) & ~occurs[above]).any():
            above[skip] = parent[above[skip]]
        above[~occurs] = -1
        parents.append(above)
    return parents


def _terms(
    codes: Sequence[IntArray], d: int, above: IntArray
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp], int]:
    """Return the cells that are parents, those that are children, the relation of each of both, and how many."""
    column, size = codes[d], len(above)
    others = [c for i, c in enumerate(codes) if i != d]
    extents = [int(c.max(initial=0)) + 1 for c in others]
    rest = combine(others, extents, room=size) if others else np.zeros(len(column), np.int64)
    is_parent = np.zeros(size, bool)
    is_parent[above[above >= 0]] = True
    parents = np.flatnonzero(is_parent[column])
    children = np.flatnonzero(above[column] >= 0)
    keys = [rest[parents] * size + column[parents], rest[children] * size + above[column[children]]]
    relations, number = np.unique(np.concatenate(keys), return_inverse=True)
    return parents, children, number, len(relations)


def distinct_rows(matrix: Relations) -> Relations:
    """Return the matrix with equal rows kept once and empty rows dropped, in the old order."""
    matrix = sp.csr_array(matrix)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    length = np.diff(matrix.indptr)
    keep = np.flatnonzero(length)
    matrix = matrix[keep]
    length = length[keep]
    if not len(keep):
        return matrix
    digest = _digests(matrix)
    order = np.lexsort((np.arange(len(keep)), digest, length))
    same = (length[order][1:] == length[order][:-1]) & (digest[order][1:] == digest[order][:-1])
    repeated = np.zeros(len(keep), bool)
    # Rows with equal digests lie side by side; compare each with the one before it, term by term.
    later, earlier = order[1:][same], order[:-1][same]
    repeated[later[_equal_rows(matrix, later, earlier)]] = True
    return matrix[np.flatnonzero(~repeated)]


def _digests(matrix: Relations) -> npt.NDArray[np.uint64]:
    with np.errstate(over="ignore"):
        mixed = (matrix.indices.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        terms = mixed * matrix.data.astype(np.int64).view(np.uint64)
        return np.add.reduceat(terms, matrix.indptr[:-1])


def _equal_rows(matrix: Relations, a: npt.NDArray[np.intp], b: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    length = np.diff(matrix.indptr)[a]
    if not len(a):
        return np.zeros(0, bool)
    start = np.cumsum(length) - length
    step = np.arange(length.sum()) - np.repeat(start, length)
    left = np.repeat(matrix.indptr[a], length) + step
    right = np.repeat(matrix.indptr[b], length) + step
    equal = (matrix.indices[left] == matrix.indices[right]) & (matrix.data[left] == matrix.data[right])
    return np.logical_and.reduceat(equal, start)
