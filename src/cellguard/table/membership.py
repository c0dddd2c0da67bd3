"""Who is in which cell: the records behind the cells of a table, as sparse matrices, margins included."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, IntArray, LongArray
from cellguard.table.gather import gather
from cellguard.table.gathered import Gathered, Rows
from cellguard.table.lattice import Lattice, cells_by_leaves
from cellguard.table.unit_grid import binary_grid

_BITS = 61


@dataclass(frozen=True, eq=False)
class Contributors:
    """The units of some cells, one cell after the other: those of the i-th are ``start[i]`` to ``start[i + 1]``.

    ``value`` holds their contributions, the largest (by size) first; ties go by the number of the unit.
    """

    start: LongArray
    unit: LongArray
    value: FloatArray

    def of(self, i: int) -> tuple[LongArray, FloatArray]:
        """Return the units of the i-th cell and their contributions."""
        part = slice(self.start[i], self.start[i + 1])
        return self.unit[part], self.value[part]


@dataclass(frozen=True, eq=False)
class Membership:
    """The records of every cell. Confidential.

    ``leaf`` is the combination of finest codes that each record has, and ``below`` the 0/1 matrix of cells by such
    combinations; together they say all of `matrix`, in much less room. The last combination is that of records that
    contribute nothing; it is in no cell.
    """

    leaf: IntArray
    below: sp.csr_array

    @cached_property
    def matrix(self) -> sp.csr_array:
        """The 0/1 matrix of cells by records."""
        members = self._of(self.below)
        members.sort_indices()
        return members

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the cell totals of a column of the records."""
        by_leaf = np.bincount(self.leaf, values, minlength=self.below.shape[1])
        return np.asarray(self.below @ by_leaf, float)

    def contributors(self, cells: LongArray, unit: LongArray, value: FloatArray) -> Contributors:
        """Return who contributes how much to some cells; ``unit`` and ``value`` are those of the records."""
        members = self._of(self.below[cells])
        record, shape = members.indices, (len(cells), int(unit.max(initial=-1)) + 1)
        # Entries of one unit in a cell add up, and stay where the sum is 0: it contributes all the same.
        amounts = sp.csr_array((value[record], unit[record], members.indptr), shape=shape)
        amounts.sum_duplicates()
        cell = np.repeat(np.arange(len(cells)), np.diff(amounts.indptr))
        rank = np.lexsort((amounts.indices, -np.abs(amounts.data), cell))
        return Contributors(amounts.indptr.astype(np.int64), amounts.indices[rank].astype(np.int64), amounts.data[rank])

    def _of(self, below: sp.csr_array) -> sp.csr_array:
        """Return the 0/1 matrix of cells by records from that of the cells by combinations."""
        n = len(self.leaf)
        here = sp.csr_array((np.ones(n, np.int8), (self.leaf, np.arange(n))), shape=(below.shape[1], n))
        return sp.csr_array(below.astype(np.int8) @ here)


@dataclass(frozen=True, eq=False)
class Largest:
    """The largest contributions (by size) of every cell, one column per rank, and their units (-1: there are fewer).

    ``count`` is the number of units of each cell.
    """

    value: FloatArray
    unit: LongArray
    count: LongArray


def membership(lattice: Lattice, present: BoolArray) -> Membership:
    """Return who is in the cells of a lattice, which is that of the records that are ``present``."""
    leaf = np.full(len(present), lattice.combinations, np.int32)
    leaf[present] = lattice.leaf
    nobody = sp.csr_array((len(lattice), 1))
    return Membership(leaf, sp.csr_array(sp.hstack([cells_by_leaves(lattice), nobody])))


def largest(lattice: Lattice, unit: LongArray, value: FloatArray, n: int) -> Largest:
    """Return the n largest contributions of every cell by size; the records of one unit add up.

    Values must be so coarse that all their sums are exact; units and values are those of the lattice's records.
    """
    order = np.argsort(unit, kind="stable")
    grid = binary_grid(value, _BITS)
    nothing = np.zeros(0, np.int64)
    rows = Rows(lattice.leaf[order], unit[order], grid.wholes(value[order]), nothing, np.zeros(len(unit), bool))
    gathered: Gathered = gather(lattice, rows, top=n, by_size=True)
    own = gathered.largest
    unit = own.look_up(own.holder.astype(float)).astype(np.int64)
    return Largest(own.look_up(grid.floats(own.value)), unit, gathered.count)
