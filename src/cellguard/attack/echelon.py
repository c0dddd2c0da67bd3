"""An echelon form of the relations with pivots of 1 and -1, so that whole free columns give whole pivots.

Sparse elimination, shortest row first; within it the column that the fewest rows have. What it leaves over (rows
without a unit pivot; rare) is left out, and a move that breaks such a row is found out by the exact check.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.attack.problem import Whole


@dataclass(frozen=True, eq=False)
class Echelon:
    """Pivot column k equals minus the sum of coefficient times column over its row, in reverse order of ``pivots``."""

    pivots: Whole
    start: Whole
    columns: Whole
    coefficients: Whole
    free: npt.NDArray[np.bool_]

    def complete(self, free: Whole) -> Whole | None:
        """Return the whole move with these free columns, or None if it would overflow."""
        n = np.where(self.free, free, 0)
        done = _substitute(self.pivots, self.start, self.columns, self.coefficients, n)
        return n if done else None


def echelon(matrix: sp.csr_array) -> Echelon:
    """Eliminate the relations exactly, in whole numbers."""
    matrix = sp.csr_array(matrix)
    rows, columns = matrix.shape
    pivots, start, where, coefficients = _eliminate(
        matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data.astype(np.int64), rows, columns
    )
    free = np.ones(columns, bool)
    free[pivots] = False
    return Echelon(pivots, start, where, coefficients, free)


@numba.njit(cache=True)
def _substitute(pivots, start, columns, coefficients, n):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    limit = 2.0**61
    for k in range(len(pivots) - 1, -1, -1):
        total = 0
        size = 0.0
        for at in range(start[k], start[k + 1]):
            total -= coefficients[at] * n[columns[at]]
            size += abs(float(coefficients[at]) * float(n[columns[at]]))
        if size > limit:
            return False
        n[pivots[k]] = total
    return True


@numba.njit(cache=True)
def _longer(array, needed):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Return the array with room for at least so many entries."""
    longer = np.empty(2 * needed, np.int64)
    longer[: len(array)] = array
    return longer


@numba.njit(cache=True)
def _eliminate(indptr, indices, data, rows, columns):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    pool = max(4 * len(indices), 1024)
    column_of = np.empty(pool, np.int64)
    value_of = np.empty(pool, np.int64)
    used = len(indices)
    column_of[:used] = indices
    value_of[:used] = data
    begin = indptr[:-1].copy()
    length = indptr[1:] - indptr[:-1]
    # For each column a linked list of the rows that have, or once had, it.
    head = np.full(columns, -1, np.int64)
    links = max(4 * len(indices), 1024)
    row_of = np.empty(links, np.int64)
    next_of = np.empty(links, np.int64)
    linked = 0
    many = np.zeros(columns, np.int64)
    for r in range(rows):
        for at in range(begin[r], begin[r] + length[r]):
            c = column_of[at]
            row_of[linked] = r
            next_of[linked] = head[c]
            head[c] = linked
            linked += 1
            many[c] += 1
    # Rows wait in buckets by length; an entry is stale if the row's length has changed since.
    first = np.full(columns + 2, -1, np.int64)
    after = np.empty(max(8 * rows, 1024), np.int64)
    waiting = np.empty(max(8 * rows, 1024), np.int64)
    queued = 0
    for r in range(rows - 1, -1, -1):
        waiting[queued] = r
        after[queued] = first[length[r]]
        first[length[r]] = queued
        queued += 1
    active = np.ones(rows, np.bool_)
    place = np.full(columns, -1, np.int64)
    pivots = np.empty(min(rows, columns) + 1, np.int64)
    found_row = np.empty(min(rows, columns) + 1, np.int64)
    found = 0
    size = 1
    while size <= columns:
        if first[size] < 0:
            size += 1
            continue
        entry = first[size]
        first[size] = after[entry]
        r = waiting[entry]
        if not active[r] or length[r] != size:
            continue
        width = size
        best = -1
        for at in range(begin[r], begin[r] + width):
            if (value_of[at] == 1 or value_of[at] == -1) and (best < 0 or many[column_of[at]] < many[column_of[best]]):
                best = at
        active[r] = False
        if best < 0:
            continue
        c = column_of[best]
        sign = value_of[best]
        pivots[found] = c
        found_row[found] = r
        found += 1
        for at in range(begin[r], begin[r] + width):
            many[column_of[at]] -= 1
        link = head[c]
        head[c] = -1
        while link >= 0:
            s = row_of[link]
            link = next_of[link]
            if not active[s]:
                continue
            factor = 0
            for at in range(begin[s], begin[s] + length[s]):
                place[column_of[at]] = at
                if column_of[at] == c:
                    factor = value_of[at] * sign
            if factor != 0:
                # row s := row s - factor * row r, written to fresh space where it grows
                need = length[s] + width
                if used + need > len(column_of):
                    column_of, value_of = _longer(column_of, used + need), _longer(value_of, used + need)
                for at in range(begin[r], begin[r] + width):
                    j = column_of[at]
                    if place[j] >= 0:
                        value_of[place[j]] -= factor * value_of[at]
                fresh = used
                for at in range(begin[s], begin[s] + length[s]):
                    j = column_of[at]
                    place[j] = -1
                    if value_of[at] != 0:
                        column_of[used] = j
                        value_of[used] = value_of[at]
                        place[j] = -2
                        used += 1
                    else:
                        many[j] -= 1
                        place[j] = -3
                old = used
                for at in range(begin[r], begin[r] + width):
                    j = column_of[at]
                    if place[j] == -1:
                        column_of[used] = j
                        value_of[used] = -factor * value_of[at]
                        used += 1
                        many[j] += 1
                        if linked == len(row_of):
                            row_of, next_of = _longer(row_of, linked + 1), _longer(next_of, linked + 1)
                        row_of[linked] = s
                        next_of[linked] = head[j]
                        head[j] = linked
                        linked += 1
                for at in range(begin[s], begin[s] + length[s]):
                    place[column_of[at]] = -1
                for at in range(old, used):
                    place[column_of[at]] = -1
                begin[s] = fresh
                length[s] = used - fresh
                if length[s] == 0:
                    active[s] = False
                else:
                    if queued == len(waiting):
                        waiting, after = _longer(waiting, queued + 1), _longer(after, queued + 1)
                    waiting[queued] = s
                    after[queued] = first[length[s]]
                    first[length[s]] = queued
                    queued += 1
                    if length[s] < size:
                        size = length[s]
            else:
                for at in range(begin[s], begin[s] + length[s]):
                    place[column_of[at]] = -1
        # what is left of the pivot row, without its pivot and with its sign turned to 1
        for at in range(begin[r], begin[r] + length[r]):
            value_of[at] *= sign
    start = np.zeros(found + 1, np.int64)
    for k in range(found):
        start[k + 1] = start[k] + length[found_row[k]] - 1
    out_columns = np.empty(start[found], np.int64)
    out_values = np.empty(start[found], np.int64)
    for k in range(found):
        r = found_row[k]
        at_out = start[k]
        for at in range(begin[r], begin[r] + length[r]):
            if column_of[at] != pivots[k]:
                out_columns[at_out] = column_of[at]
                out_values[at_out] = value_of[at]
                at_out += 1
    return pivots[:found].copy(), start, out_columns, out_values
