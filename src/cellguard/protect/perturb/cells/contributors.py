"""Who contributes how much to a cell: the records of one holding add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.hierarchy.hierarchy import IntArray
from cellguard.table.facts import FloatArray

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Contributors:
    """The units of some cells, one cell after the other: those of the i-th are ``start[i]`` to ``start[i + 1]``.

    ``value`` holds their unweighted contributions, the largest (by size) first; ties go by the number of the unit.
    """

    start: Positions
    unit: Positions
    value: FloatArray

    def of(self, i: int) -> tuple[Positions, FloatArray]:
        """Return the units of the i-th cell and their contributions."""
        part = slice(self.start[i], self.start[i + 1])
        return self.unit[part], self.value[part]


@dataclass(frozen=True, eq=False)
class Largest:
    """The largest contributions of every cell, one column a rank, with their units (-1 where there are fewer).

    ``count`` is the number of units of each cell, ``squares`` the sum of all their squared contributions.
    """

    value: FloatArray
    unit: Positions
    count: Positions
    squares: FloatArray


def members_of(cells: sp.csr_array, leaf: IntArray) -> sp.csr_array:
    """Return the 0/1 matrix of cells by records from that of cells by leaves and the leaf of each record."""
    n = len(leaf)
    here = sp.csr_array((np.ones(n, np.int8), (leaf, np.arange(n))), shape=(cells.shape[1], n))
    return sp.csr_array(cells.astype(np.int8) @ here)


def gather(members: sp.csr_array, unit: Positions, value: FloatArray) -> Contributors:
    """Return the units of cells, given with their records, and their contributions added up, largest first."""
    found = _added_up(members, unit, value)
    cell = np.repeat(np.arange(found.shape[0]), np.diff(found.indptr))
    rank = np.lexsort((found.indices, -np.abs(found.data), cell))
    return Contributors(found.indptr.astype(np.int64), found.indices[rank].astype(np.int64), found.data[rank])


def largest(below: sp.csr_array, leaf: IntArray, unit: Positions, value: FloatArray, n: int) -> Largest:
    """Return the n largest contributions of every cell; the records of one unit add up.

    A unit with one record is looked at once, in its leaf; only units with several are added up cell by cell.
    """
    alone = np.bincount(unit)[unit] == 1 if len(unit) else np.zeros(0, bool)
    several = _added_up(members_of(below, leaf[~alone]), unit[~alone], value[~alone])
    cells, leaves = below.shape
    in_leaf, in_cell = (_Ranked(np.zeros((many, n)), np.full((many, n), -1, np.int64)) for many in (leaves, cells))
    rows = np.repeat(np.arange(cells), np.diff(several.indptr))
    _rank(leaf[alone], unit[alone], value[alone], *in_leaf)
    _rank(rows, several.indices, several.data, *in_cell)
    _lift(below.indptr, below.indices, *in_leaf, *in_cell)
    count = below @ np.bincount(leaf[alone], minlength=leaves) + np.diff(several.indptr)
    squares = below @ np.bincount(leaf[alone], value[alone] ** 2, leaves) + np.bincount(rows, several.data**2, cells)
    return Largest(in_cell.value, in_cell.unit, count.astype(np.int64), np.asarray(squares, float))


class _Ranked(NamedTuple):
    """The largest contributions found so far, a row each cell or leaf, and their units (-1: none)."""

    value: FloatArray
    unit: Positions


def _added_up(members: sp.csr_array, unit: Positions, value: FloatArray) -> sp.csr_array:
    """Return the matrix of cells by units: the sum of a unit's records in a cell, also where that is 0."""
    record = members.indices
    shape = (members.shape[0], int(unit.max(initial=-1)) + 1)
    found = sp.csr_array((value[record], unit[record], members.indptr), shape=shape)
    found.sum_duplicates()
    return found


@numba.njit(cache=True)
def _rank(row, unit, value, tops, owners):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Put each contribution into its place among the largest of its row."""
    for i in range(len(row)):
        _insert(tops[row[i]], owners[row[i]], value[i], unit[i])


@numba.njit(cache=True)
def _lift(indptr, indices, tops, owners, top, owner):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Take the largest of each leaf into the cells that it is in."""
    for cell in range(len(indptr) - 1):
        for leaf in indices[indptr[cell] : indptr[cell + 1]]:
            for rank in range(tops.shape[1]):
                if owners[leaf, rank] >= 0:
                    _insert(top[cell], owner[cell], tops[leaf, rank], owners[leaf, rank])


@numba.njit(cache=True)
def _insert(top, owner, amount, who):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Put an amount into its place among the largest; equal ones go by the number of the unit."""
    at = len(top)
    size = abs(amount)
    while at and (owner[at - 1] < 0 or size > abs(top[at - 1]) or (size == abs(top[at - 1]) and who < owner[at - 1])):
        at -= 1
    if at == len(top):
        return
    for i in range(len(top) - 1, at, -1):
        top[i], owner[i] = top[i - 1], owner[i - 1]
    top[at], owner[at] = amount, who
