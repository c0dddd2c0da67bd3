"""What of a sparse system A v = 0 is solved by looking: rows with one unknown left, and unknowns with one row left.

A row with one unknown left makes it 0 (``alone``). An unknown with one row left can be whatever the others make of it:
the row says nothing of them, and gives the unknown in the end. Both go, until neither is left; the rest is the core.
"""

from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel
from cellguard.linalg.circuits_kernel import inverse


@kernel
def peel_off(indptr, indices, starts, rows_of):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Take away rows with one unknown left, and unknowns with one row left, until there are none."""
    rows, columns = len(indptr) - 1, len(starts) - 1
    in_row = indptr[1:] - indptr[:-1]
    in_column = starts[1:] - starts[:-1]
    row_left = in_row > 0
    column_left = in_column > 0
    singleton_rows = np.empty(rows + columns, np.int64)
    singleton_columns = np.empty(rows + columns, np.int64)
    many_rows = 0
    many_columns = 0
    for r in range(rows - 1, -1, -1):
        if in_row[r] == 1:
            singleton_rows[many_rows] = r
            many_rows += 1
    for c in range(columns):
        if in_column[c] == 1:
            singleton_columns[many_columns] = c
            many_columns += 1
    row = np.empty(min(rows, columns), np.int64)
    column = np.empty(min(rows, columns), np.int64)
    alone = np.empty(min(rows, columns), np.bool_)
    done = 0
    while many_rows or many_columns:
        if many_rows:
            many_rows -= 1
            r = singleton_rows[many_rows]
            if not row_left[r] or in_row[r] != 1:
                continue
            c = -1
            for at in range(indptr[r], indptr[r + 1]):
                if column_left[indices[at]]:
                    c = indices[at]
            row_left[r] = False
            column_left[c] = False
            for at in range(starts[c], starts[c + 1]):
                s = rows_of[at]
                in_row[s] -= 1
                if row_left[s]:
                    if in_row[s] == 1:
                        singleton_rows[many_rows] = s
                        many_rows += 1
                    elif in_row[s] == 0:
                        row_left[s] = False
            alone[done] = True
        else:
            many_columns -= 1
            c = singleton_columns[many_columns]
            if not column_left[c] or in_column[c] != 1:
                continue
            r = -1
            for at in range(starts[c], starts[c + 1]):
                if row_left[rows_of[at]]:
                    r = rows_of[at]
            column_left[c] = False
            row_left[r] = False
            for at in range(indptr[r], indptr[r + 1]):
                d = indices[at]
                in_column[d] -= 1
                if column_left[d] and in_column[d] == 1:
                    singleton_columns[many_columns] = d
                    many_columns += 1
            alone[done] = False
        row[done] = r
        column[done] = c
        done += 1
    # Unknowns that no row is left for are free; they keep random values and are not part of the core.
    for c in range(columns):
        if column_left[c]:
            used = False
            for at in range(starts[c], starts[c + 1]):
                if row_left[rows_of[at]]:
                    used = True
            column_left[c] = used
    return row[:done].copy(), column[:done].copy(), alone[:done].copy(), row_left, column_left


@kernel
def complete(indptr, indices, data, row, column, alone, v, prime):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Fill in the unknowns that were taken away: 0 where they are alone, else what their row leaves for them."""
    for event in range(len(row)):
        if alone[event]:
            v[column[event], :] = 0
    for event in range(len(row) - 1, -1, -1):
        if alone[event]:
            continue
        r, c = row[event], column[event]
        own = 0
        for k in range(v.shape[1]):
            v[c, k] = 0
        for at in range(indptr[r], indptr[r + 1]):
            if indices[at] == c:
                own = data[at]
            else:
                for k in range(v.shape[1]):
                    v[c, k] = (v[c, k] - data[at] * v[indices[at], k]) % prime
        scale = inverse(own % prime, prime)
        for k in range(v.shape[1]):
            v[c, k] = v[c, k] * scale % prime


@kernel
def use(indptr, indices, data, row, column, wanted, backward, target, y, prime):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Take rows off the targets so that their own unknowns vanish, in the order of the events or backward."""
    events = len(row)
    for number in range(events):
        event = events - 1 - number if backward else number
        if not wanted[event]:
            continue
        r, c = row[event], column[event]
        own = 1
        for at in range(indptr[r], indptr[r + 1]):
            if indices[at] == c:
                own = data[at]
        scale = inverse(own % prime, prime)
        for k in range(target.shape[1]):
            factor_ = target[c, k] * scale % prime
            if factor_:
                y[r, k] = (y[r, k] + factor_) % prime
                for at in range(indptr[r], indptr[r + 1]):
                    target[indices[at], k] = (target[indices[at], k] - factor_ * data[at]) % prime
