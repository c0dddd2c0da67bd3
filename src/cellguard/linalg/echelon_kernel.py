"""The elimination behind `echelon`, on flat arrays.

With a pivot a_rc = 1 or -1 in row r, every other active row s with column c becomes row s - (a_sc a_rc) row r, which is
0 in column c and whole. So after k steps the active rows have none of the first k pivots, and the rows of the
pivots, read backwards, give each pivot from columns that are known by then. Fill-in is kept small by Markowitz's rule
in its cheap form: take the shortest active row, and in it the unit column that the fewest active rows have.
"""

from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel


@kernel
def substitute(pivots, start, columns, coefficients, n):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Fill in the pivots of n from its free columns, the last pivot first; return whether no number overflows."""
    limit = 2.0**61
    for k in range(len(pivots) - 1, -1, -1):
        total = 0
        size = 0.0
        for term in range(start[k], start[k + 1]):
            total -= coefficients[term] * n[columns[term]]
            size += abs(float(coefficients[term]) * float(n[columns[term]]))
        if size > limit:
            return False
        n[pivots[k]] = total
    return True


@kernel
def _longer(array, needed):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Return the array with room for term least so holders entries."""
    longer = np.empty(2 * needed, np.int64)
    longer[: len(array)] = array
    return longer


@kernel
def eliminate(indptr, indices, data, rows, columns):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Return the pivot columns in order and, for each, the other terms of its row, the pivot's own being 1."""
    pool = max(4 * len(indices), 1024)
    column_of = np.empty(pool, np.int64)
    value_of = np.empty(pool, np.int64)
    used = len(indices)
    column_of[:used] = indices
    value_of[:used] = data
    begin = indptr[:-1].copy()
    length = indptr[1:] - indptr[:-1]
    # For each column a linked list of the rows that have, or once had, it; `holders` counts the active ones that do.
    head = np.full(columns, -1, np.int64)
    links = max(4 * len(indices), 1024)
    row_of = np.empty(links, np.int64)
    next_of = np.empty(links, np.int64)
    linked = 0
    holders = np.zeros(columns, np.int64)
    for r in range(rows):
        for term in range(begin[r], begin[r] + length[r]):
            c = column_of[term]
            row_of[linked] = r
            next_of[linked] = head[c]
            head[c] = linked
            linked += 1
            holders[c] += 1
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
    pivot_row = np.empty(min(rows, columns) + 1, np.int64)
    done = 0
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
        for term in range(begin[r], begin[r] + width):
            if (value_of[term] == 1 or value_of[term] == -1) and (
                best < 0 or holders[column_of[term]] < holders[column_of[best]]
            ):
                best = term
        active[r] = False
        if best < 0:
            continue
        c = column_of[best]
        sign = value_of[best]
        pivots[done] = c
        pivot_row[done] = r
        done += 1
        for term in range(begin[r], begin[r] + width):
            holders[column_of[term]] -= 1
        link = head[c]
        head[c] = -1
        while link >= 0:
            s = row_of[link]
            link = next_of[link]
            if not active[s]:
                continue
            factor = 0
            for term in range(begin[s], begin[s] + length[s]):
                place[column_of[term]] = term
                if column_of[term] == c:
                    factor = value_of[term] * sign
            if factor != 0:
                # row s := row s - factor * row r, written to fresh space: terms that both have, then those of r alone.
                # `place` says of each column where row s has it, and then: -1 not yet, -2 kept, -3 cancelled.
                need = length[s] + width
                if used + need > len(column_of):
                    column_of, value_of = _longer(column_of, used + need), _longer(value_of, used + need)
                for term in range(begin[r], begin[r] + width):
                    j = column_of[term]
                    if place[j] >= 0:
                        value_of[place[j]] -= factor * value_of[term]
                fresh = used
                for term in range(begin[s], begin[s] + length[s]):
                    j = column_of[term]
                    place[j] = -1
                    if value_of[term] != 0:
                        column_of[used] = j
                        value_of[used] = value_of[term]
                        place[j] = -2
                        used += 1
                    else:
                        holders[j] -= 1
                        place[j] = -3
                old = used
                for term in range(begin[r], begin[r] + width):
                    j = column_of[term]
                    if place[j] == -1:
                        column_of[used] = j
                        value_of[used] = -factor * value_of[term]
                        used += 1
                        holders[j] += 1
                        if linked == len(row_of):
                            row_of, next_of = _longer(row_of, linked + 1), _longer(next_of, linked + 1)
                        row_of[linked] = s
                        next_of[linked] = head[j]
                        head[j] = linked
                        linked += 1
                for term in range(begin[s], begin[s] + length[s]):
                    place[column_of[term]] = -1
                for term in range(old, used):
                    place[column_of[term]] = -1
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
                for term in range(begin[s], begin[s] + length[s]):
                    place[column_of[term]] = -1
        # Turn the pivot to 1; its row is never touched again, since only active rows change.
        for term in range(begin[r], begin[r] + length[r]):
            value_of[term] *= sign
    start = np.zeros(done + 1, np.int64)
    for k in range(done):
        start[k + 1] = start[k] + length[pivot_row[k]] - 1
    out_columns = np.empty(start[done], np.int64)
    out_values = np.empty(start[done], np.int64)
    for k in range(done):
        r = pivot_row[k]
        place_out = start[k]
        for term in range(begin[r], begin[r] + length[r]):
            if column_of[term] != pivots[k]:
                out_columns[place_out] = column_of[term]
                out_values[place_out] = value_of[term]
                place_out += 1
    return pivots[:done].copy(), start, out_columns, out_values
