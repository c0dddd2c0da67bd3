"""Who contributes how much to a cell: the records of one holding add up."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, eq=False)
class Filing:
    """The records in the order of their combinations of finest codes, and the combinations below each cell.

    The records of combination c are ``first[c]`` to ``first[c + 1]``; ``units`` is the number of units.
    """

    below: sp.csr_array
    first: Positions
    unit: Positions
    value: FloatArray
    units: int


def file_by_leaf(below: sp.csr_array, leaf: IntArray, unit: Positions, value: FloatArray) -> Filing:
    """Put the records in the order of their combinations."""
    first, order = _counting_sort(leaf, below.shape[1])
    return Filing(below, first, unit[order], value[order], int(unit.max(initial=-1)) + 1)


def gather(filing: Filing, cells: Positions) -> Contributors:
    """Return the units of the given cells with their contributions added up, largest first."""
    chosen = filing.below[cells]
    start, who, amount = _add_up(chosen.indptr, chosen.indices, filing.first, filing.unit, filing.value, filing.units)
    cell = np.repeat(np.arange(len(cells)), np.diff(start))
    rank = np.lexsort((who, -np.abs(amount), cell))
    return Contributors(start, who[rank], amount[rank])


def largest(filing: Filing, n: int) -> Largest:
    """Return the n largest contributions of every cell; the records of one unit add up.

    A unit with one record is looked at once, in its combination; only units with several are added up cell by cell.
    """
    alone = np.bincount(filing.unit, minlength=filing.units)[filing.unit] == 1
    top, owner, count, squares = _largest_alone(filing.first, filing.unit, filing.value, alone, n)
    shared = np.concatenate([[0], np.cumsum(~alone)])[filing.first]
    unit, value = filing.unit[~alone], filing.value[~alone]
    below = filing.below
    found = _largest_in_cells(
        below.indptr, below.indices, top, owner, count, squares, shared, unit, value, filing.units
    )
    return Largest(*found)


@numba.njit(cache=True)
def _counting_sort(leaf, many):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Return where each combination begins, and the records in the order of their combinations."""
    first = np.zeros(many + 1, np.int64)
    for record in range(len(leaf)):
        first[leaf[record] + 1] += 1
    for c in range(many):
        first[c + 1] += first[c]
    place = first[:-1].copy()
    order = np.empty(len(leaf), np.int64)
    for record in range(len(leaf)):
        order[place[leaf[record]]] = record
        place[leaf[record]] += 1
    return first, order


@numba.njit(cache=True)
def _add_up(indptr, indices, first, unit, value, units):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Add up the records of each unit, cell by cell, in the order of the records."""
    cells = len(indptr) - 1
    room = 0
    for at in range(len(indices)):
        room += first[indices[at] + 1] - first[indices[at]]
    start = np.zeros(cells + 1, np.int64)
    who = np.empty(room, np.int64)
    amount = np.empty(room, np.float64)
    seen = np.full(units, -1, np.int64)
    used = 0
    for cell in range(cells):
        for at in range(indptr[cell], indptr[cell + 1]):
            for record in range(first[indices[at]], first[indices[at] + 1]):
                mine = unit[record]
                if seen[mine] < start[cell]:
                    seen[mine] = used
                    who[used] = mine
                    amount[used] = 0.0
                    used += 1
                amount[seen[mine]] += value[record]
        start[cell + 1] = used
    return start, who[:used].copy(), amount[:used].copy()


@numba.njit(cache=True)
def _largest_alone(first, unit, value, alone, n):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Return the largest of each combination, their units, count and sum of squares, of units with one record."""
    many = len(first) - 1
    top = np.zeros((many, n))
    owner = np.full((many, n), -1, np.int64)
    count = np.zeros(many, np.int64)
    squares = np.zeros(many)
    for c in range(many):
        for record in range(first[c], first[c + 1]):
            if alone[record]:
                count[c] += 1
                squares[c] += value[record] * value[record]
                _insert(top[c], owner[c], value[record], unit[record])
    return top, owner, count, squares


@numba.njit(cache=True)
def _largest_in_cells(indptr, indices, tops, owners, counts, sums, first, unit, value, units):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Merge the combinations' largest into each cell, and add up the units with several records there."""
    cells, n = len(indptr) - 1, tops.shape[1]
    top = np.zeros((cells, n))
    owner = np.full((cells, n), -1, np.int64)
    count = np.zeros(cells, np.int64)
    squares = np.zeros(cells)
    who = np.empty(len(unit), np.int64)
    amount = np.empty(len(unit))
    seen = np.full(units, -1, np.int64)
    place = np.empty(units, np.int64)
    for cell in range(cells):
        used = 0
        for c in indices[indptr[cell] : indptr[cell + 1]]:
            count[cell] += counts[c]
            squares[cell] += sums[c]
            for rank in range(min(n, counts[c])):
                _insert(top[cell], owner[cell], tops[c, rank], owners[c, rank])
            for record in range(first[c], first[c + 1]):
                mine = unit[record]
                if seen[mine] != cell:
                    seen[mine] = cell
                    place[mine] = used
                    who[used] = mine
                    amount[used] = 0.0
                    used += 1
                amount[place[mine]] += value[record]
        count[cell] += used
        for i in range(used):
            squares[cell] += amount[i] * amount[i]
            _insert(top[cell], owner[cell], amount[i], who[i])
    return top, owner, count, squares


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
