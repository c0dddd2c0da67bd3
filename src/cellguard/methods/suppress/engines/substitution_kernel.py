"""Elimination of columns whose bounds follow from one of their rows. Compiled.

A total may not fall below 0, but neither may its parts, so that its own bound says nothing: it is *implied free*, and
d_k = -(sum of a_j d_j) / a_k from that row replaces it wherever it stands. What is left has the same moves, in half as
many rows. Rows are runs (column, value) in a pool; one that changes is written anew at the pool's end. A step
keeps its row, for the way back of moves, and by what multiple it was taken from which others, for that of multipliers.
"""

# mypy: ignore-errors
from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cellguard.arrays import FloatArray, LongArray
from cellguard.kernels.kernel import kernel

_DUST = 1e-9


class Substitutions(NamedTuple):
    """The steps in order: column ``gone`` by ``row``, that row's other terms, and the rows it was taken from."""

    gone: LongArray
    row: LongArray
    own: FloatArray  # the column's coefficient in the row
    start: LongArray
    column: LongArray
    value: FloatArray
    taken: LongArray
    other: LongArray
    factor: FloatArray


@kernel
def _implied(k, first, last, columns, values, down, up):  # noqa: ANN001, ANN202
    """Return whether the bounds of column k follow from a row."""
    own = 0.0
    for y in range(first, last):
        if columns[y] == k:
            own = values[y]
    least, most = 0.0, 0.0
    for y in range(first, last):
        j = columns[y]
        if j != k:
            q = -values[y] / own
            least -= q * down[j] if q > 0 else -q * up[j]
            most += q * up[j] if q > 0 else -q * down[j]
    return least >= -down[k] * (1 + _DUST) and most <= up[k] * (1 + _DUST)


@kernel
def _rows_of(k, head, after, node_row, begin, length, columns, found, seen, turn):  # noqa: ANN001, ANN202
    """Write the rows that hold column k now to ``found``; return how many. Notes of rows that lost it are passed by."""
    many, node = 0, head[k]
    while node >= 0:
        r = node_row[node]
        if seen[r] != turn:
            seen[r] = turn
            for y in range(begin[r], begin[r] + length[r]):
                if columns[y] == k:
                    found[many] = r
                    many += 1
                    break
        node = after[node]
    return many


@kernel
def substitute(row_start, row_columns, row_values, down, up, keep, most_rows, most_terms, most_fill):  # noqa: ANN001, ANN201
    """Eliminate columns that are not to be kept; return the rows left as start, column, value; and `Substitutions`."""
    rows, n = len(row_start) - 1, len(down)
    size = 4 * len(row_columns) + 1024
    columns, values = np.empty(size, np.int64), np.empty(size)
    used = len(row_columns)
    columns[:used], values[:used] = row_columns, row_values
    begin, length = row_start[:-1].copy(), np.diff(row_start)
    head, count = np.full(n, -1, np.int64), np.zeros(n, np.int64)
    node_row, after = np.empty(size, np.int64), np.empty(size, np.int64)
    nodes = 0
    for r in range(rows):
        for y in range(begin[r], begin[r] + length[r]):
            j = columns[y]
            node_row[nodes], after[nodes] = r, head[j]
            head[j] = nodes
            nodes += 1
            count[j] += 1
    gone, alive = np.zeros(n, np.bool_), np.ones(rows, np.bool_)
    found, seen, turn = np.empty(rows, np.int64), np.full(rows, -1, np.int64), 0
    place = np.full(n, -1, np.int64)
    s_gone, s_row, s_own = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    s_start, s_taken = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    s_column, s_value = [np.int64(0) for _ in range(0)], [0.0 for _ in range(0)]
    s_other, s_factor = [np.int64(0) for _ in range(0)], [0.0 for _ in range(0)]
    steps, full = 0, False
    for limit in range(1, most_rows + 2):
        for k in range(n):
            if full or gone[k] or keep[k] or count[k] == 0 or count[k] > min(limit, most_rows):
                continue
            turn += 1
            many = _rows_of(k, head, after, node_row, begin, length, columns, found, seen, turn)
            best, least = -1, most_fill + 1
            for i in range(many):
                r = found[i]
                fill = (length[r] - 1) * (many - 1) - (length[r] + many - 1)
                if (
                    length[r] <= most_terms
                    and fill < least
                    and _implied(k, begin[r], begin[r] + length[r], columns, values, down, up)
                ):
                    best, least = r, fill
            if best < 0:
                continue
            own, room = 0.0, 0
            for y in range(begin[best], begin[best] + length[best]):
                if columns[y] == k:
                    own = values[y]
            for i in range(many):
                room += length[found[i]] + length[best]
            if used + room > size or nodes + many * length[best] > size:
                full = True  # more fill than was expected: what is done by now will do
                continue
            s_gone[steps], s_row[steps], s_own[steps] = k, best, own
            for y in range(begin[best], begin[best] + length[best]):
                if columns[y] != k:
                    s_column.append(columns[y])
                    s_value.append(values[y])
                count[columns[y]] -= 1
            for i in range(many):
                r = found[i]
                if r == best:
                    continue
                first, factor = used, 0.0
                for y in range(begin[r], begin[r] + length[r]):
                    if columns[y] == k:
                        factor = values[y] / own
                    else:
                        place[columns[y]] = used
                        columns[used], values[used] = columns[y], values[y]
                        used += 1
                s_other.append(r)
                s_factor.append(factor)
                for y in range(begin[best], begin[best] + length[best]):
                    j = columns[y]
                    if j == k:
                        continue
                    if place[j] < 0:
                        place[j] = used
                        columns[used], values[used] = j, -factor * values[y]
                        used += 1
                        node_row[nodes], after[nodes] = r, head[j]
                        head[j] = nodes
                        nodes += 1
                        count[j] += 1
                    else:
                        values[place[j]] -= factor * values[y]
                end = first
                for y in range(first, used):
                    j = columns[y]
                    place[j] = -1
                    if abs(values[y]) > _DUST:
                        columns[end], values[end] = j, values[y]
                        end += 1
                    else:
                        count[j] -= 1
                used = end
                begin[r], length[r] = first, end - first
            gone[k], alive[best], length[best] = True, False, 0
            count[k] = 0
            steps += 1
            s_start[steps], s_taken[steps] = len(s_column), len(s_other)
    total = 0
    for r in range(rows):
        total += length[r]
    left_start, left_column, left_value = np.zeros(rows + 1, np.int64), np.empty(total, np.int64), np.empty(total)
    for r in range(rows):
        left_start[r + 1] = left_start[r] + length[r]
        left_column[left_start[r] : left_start[r + 1]] = columns[begin[r] : begin[r] + length[r]]
        left_value[left_start[r] : left_start[r + 1]] = values[begin[r] : begin[r] + length[r]]
    way_back = (
        s_gone[:steps], s_row[:steps], s_own[:steps],
        s_start[: steps + 1], np.array(s_column, np.int64), np.array(s_value, np.float64),
        s_taken[: steps + 1], np.array(s_other, np.int64), np.array(s_factor, np.float64),
    )  # fmt: skip
    return left_start, left_column, left_value, way_back


@kernel
def restore_moves(moves, steps):  # noqa: ANN001, ANN201
    """Write the moves of the columns that went, from those of the others."""
    for s in range(len(steps.gone) - 1, -1, -1):
        total = 0.0
        for y in range(steps.start[s], steps.start[s + 1]):
            total += steps.value[y] * moves[steps.column[y]]
        moves[steps.gone[s]] = -total / steps.own[s]


@kernel
def restore_multipliers(multipliers, steps):  # noqa: ANN001, ANN201
    """Write the multipliers of the rows that went, from those of the others: columns that went keep a sum of 0."""
    for s in range(len(steps.gone) - 1, -1, -1):
        total = 0.0
        for y in range(steps.taken[s], steps.taken[s + 1]):
            total += steps.factor[y] * multipliers[steps.other[y]]
        multipliers[steps.row[s]] = -total
