"""Elimination modulo the prime 2**31 - 1 in an order that keeps rows short. Compiled.

The shortest row left is the next to stay, and its column that the fewest rows have is its pivot: Markowitz's rule in
its cheap form. A row that depends on others modulo the prime but not over the rationals is as good as impossible: some
minor would have to be a multiple of a prime that nobody chose with this matrix in mind.
"""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel
from cellguard.linalg.circuits_kernel import PRIME, inverse


@kernel
def eliminate(indptr, indices, data, columns):  # noqa: ANN001, ANN201
    """Return pivot columns and their rows, in the order of elimination, and all rows; ``data`` are residues.

    A pivot's row begins with the pivot, whose value is 1, and has no earlier pivot.
    """
    rows = len(indptr) - 1
    pool = max(4 * len(indices), 1024)
    column_of, value_of = np.zeros(pool, np.int64), np.zeros(pool, np.int64)
    used = len(indices)
    column_of[:used], value_of[:used] = indices, data
    begin, length = indptr[:-1].copy(), indptr[1:] - indptr[:-1]
    # For each column a linked list of the rows that have, or once had, it, in the order in which they got it.
    head, tail = np.full(columns, -1, np.int64), np.full(columns, -1, np.int64)
    row_of, next_of = np.empty(pool, np.int64), np.empty(pool, np.int64)
    linked = 0
    many = np.zeros(columns, np.int64)
    for r in range(rows):
        for at in range(begin[r], begin[r] + length[r]):
            c = column_of[at]
            row_of[linked], next_of[linked] = r, -1
            if head[c] < 0:
                head[c] = linked
            else:
                next_of[tail[c]] = linked
            tail[c] = linked
            linked += 1
            many[c] += 1
    # Rows wait in stacks by length; an entry is stale if the row's length has changed since.
    first = np.full(columns + 1, -1, np.int64)
    waiting, after = np.empty(max(4 * rows, 1024), np.int64), np.empty(max(4 * rows, 1024), np.int64)
    queued = 0
    for r in range(rows - 1, -1, -1):
        waiting[queued], after[queued] = r, first[length[r]]
        first[length[r]] = queued
        queued += 1
    active = np.ones(rows, np.bool_)
    place = np.full(columns, -1, np.int64)
    pivots, pivot_rows = np.empty(rows, np.int64), np.empty(rows, np.int64)
    done, size = 0, 1
    while size <= columns:
        if first[size] < 0:
            size += 1
            continue
        r = waiting[first[size]]
        first[size] = after[first[size]]
        if not active[r] or length[r] != size:
            continue
        active[r] = False
        top, width = begin[r], size
        best = top
        for at in range(top, top + width):
            many[column_of[at]] -= 1
            if many[column_of[at]] < many[column_of[best]]:
                best = at
        c, value = column_of[best], value_of[best]
        column_of[best], value_of[best] = column_of[top], value_of[top]
        column_of[top], value_of[top] = c, value
        scale = inverse(value, PRIME)
        for at in range(top, top + width):
            value_of[at] = value_of[at] * scale % PRIME
        pivots[done], pivot_rows[done] = c, r
        done += 1
        link = head[c]
        while link >= 0:
            s = row_of[link]
            link = next_of[link]
            if not active[s]:
                continue
            factor = 0
            for at in range(begin[s], begin[s] + length[s]):
                if column_of[at] == c:
                    factor = value_of[at]
            if factor == 0:
                continue
            if used + length[s] + width > len(column_of):
                more = 2 * (used + length[s] + width)
                wider, other = np.zeros(more, np.int64), np.zeros(more, np.int64)
                wider[:used], other[:used] = column_of[:used], value_of[:used]
                column_of, value_of = wider, other
            fresh = used
            for at in range(begin[s], begin[s] + length[s]):
                column_of[used], value_of[used] = column_of[at], value_of[at]
                place[column_of[at]] = used
                used += 1
            if linked + width > len(row_of):
                wider, other = np.empty(2 * (linked + width), np.int64), np.empty(2 * (linked + width), np.int64)
                wider[:linked], other[:linked] = row_of[:linked], next_of[:linked]
                row_of, next_of = wider, other
            for at in range(top, top + width):
                j, term = column_of[at], factor * value_of[at] % PRIME
                if place[j] >= 0:
                    value_of[place[j]] = (value_of[place[j]] - term) % PRIME
                else:
                    column_of[used], value_of[used] = j, (PRIME - term) % PRIME
                    used += 1
                    many[j] += 1
                    row_of[linked], next_of[linked] = s, -1
                    next_of[tail[j]] = linked
                    tail[j] = linked
                    linked += 1
            end = fresh
            for at in range(fresh, used):
                j = column_of[at]
                place[j] = -1
                if value_of[at] != 0:
                    column_of[end], value_of[end] = j, value_of[at]
                    end += 1
                else:
                    many[j] -= 1
            used = end
            begin[s], length[s] = fresh, used - fresh
            if length[s] == 0:
                active[s] = False
                continue
            if queued == len(waiting):
                wider, other = np.empty(2 * queued, np.int64), np.empty(2 * queued, np.int64)
                wider[:queued], other[:queued] = waiting, after
                waiting, after = wider, other
            waiting[queued], after[queued] = s, first[length[s]]
            first[length[s]] = queued
            queued += 1
            size = min(size, length[s])
    return pivots[:done].copy(), pivot_rows[:done].copy(), column_of[:used], value_of[:used], begin, length
