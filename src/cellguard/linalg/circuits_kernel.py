"""Elimination for the circuits of a system, on flat arrays and modulo the prime 2**31 - 1. Compiled.

A row is a sorted run of (column, value) in a pool; a row that changes is written anew at the pool's end, and the pool
is packed when it is full. Products of two residues are below 2**62, so nothing overflows and nothing is rounded.
"""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel

PRIME = 2**31 - 1
UNCOVERED, ALONE = -1, -2


@kernel
def inverse(a, prime):  # noqa: ANN001, ANN201
    """Return 1 / a, which is a ** (prime - 2) by Fermat's little theorem, modulo a prime below 2**31."""
    result, base, exponent = np.int64(1), np.int64(a) % prime, prime - 2
    while exponent > 0:
        if exponent & 1:
            result = result * base % prime
        base = base * base % prime
        exponent >>= 1
    return result


@kernel
def packed(columns, values, begin, length, extra):  # noqa: ANN001, ANN201
    """Return the pool without the space of rows that were written anew, and with room for so much more."""
    used = np.int64(0)
    for r in range(len(begin)):
        used += length[r]
    size = max(np.int64(len(columns)), 2 * (used + extra) + 1024)
    new_columns, new_values = np.empty(size, np.int32), np.empty(size, np.int64)
    used = np.int64(0)
    for r in range(len(begin)):
        first, many = begin[r], length[r]
        new_columns[used : used + many] = columns[first : first + many]
        new_values[used : used + many] = values[first : first + many]
        begin[r] = used
        used += many
    return new_columns, new_values, used


@kernel
def subtract(columns, values, used, begin, length, row, other, factor):  # noqa: ANN001, ANN201
    """Write row - factor * other at the pool's end as the new row; return the new end."""
    i, j = begin[row], begin[other]
    i_end, j_end = i + length[row], j + length[other]
    end = used
    while i < i_end or j < j_end:
        if j >= j_end or (i < i_end and columns[i] < columns[j]):
            columns[end], values[end] = columns[i], values[i]
            end += 1
            i += 1
        elif i >= i_end or columns[j] < columns[i]:
            columns[end], values[end] = columns[j], (PRIME - factor * values[j] % PRIME) % PRIME
            end += 1
            j += 1
        else:
            value = (values[i] - factor * values[j]) % PRIME
            if value != 0:
                columns[end], values[end] = columns[i], value
                end += 1
            i += 1
            j += 1
    begin[row], length[row] = used, end - used
    return end


@kernel
def value_at(columns, values, first, many, column):  # noqa: ANN001, ANN201
    """Return the value of a row in a column, 0 if it has none."""
    low, high = first, first + many
    while low < high:
        middle = (low + high) >> 1
        if columns[middle] < column:
            low = middle + 1
        else:
            high = middle
    return values[low] if low < first + many and columns[low] == column else np.int64(0)


@kernel
def _wait(row, columns, begin, length, waiting, waiting_next, cover):  # noqa: ANN001, ANN202
    """Have a target's row wait for its second column; one without is ALONE, and counts as covered: return 1 then."""
    if length[row] > 1:
        second = columns[begin[row] + 1]
        waiting_next[row] = waiting[second]
        waiting[second] = row
        return 0
    cover[columns[begin[row]]] = ALONE
    return 1


@kernel
def sweep(indptr, indices, data, n, targets):  # noqa: ANN001, ANN201
    """Eliminate column by column until every target, one of the first columns, lies on a circuit.

    A column with a row that begins there is a pivot: the shortest such row stays, the others lose the column. A column
    without one is free, and closes a circuit with pivots to its left. The rows of targets that are not covered are kept
    free of all pivots: so when their next column turns out to be free, its circuit has the target.

    Returns for each column the row in which it is the pivot, or -1; for each target the column that closes its circuit,
    or ALONE if no move changes it; and the rows.
    """
    rows = len(indptr) - 1
    used = np.int64(len(indices))
    columns, values = np.empty(6 * used + 1024, np.int32), np.empty(6 * used + 1024, np.int64)
    columns[:used] = indices
    for k in range(used):
        values[k] = data[k] % PRIME
    begin, length = indptr[:-1].copy(), indptr[1:] - indptr[:-1]
    # Lists of rows: those that begin with a column, and target rows whose second column is that one.
    leading, leading_next = np.full(n, -1, np.int32), np.full(rows, -1, np.int32)
    waiting, waiting_next = np.full(n, -1, np.int32), np.full(rows, -1, np.int32)
    for r in range(rows):
        if length[r] > 0:
            first = columns[begin[r]]
            leading_next[r] = leading[first]
            leading[first] = r
    pivot = np.full(n, -1, np.int32)
    cover = np.full(targets, UNCOVERED, np.int32)
    covered = 0
    for c in range(n):
        if covered >= targets <= c:
            break
        if leading[c] < 0:
            if c < targets:
                covered += cover[c] == UNCOVERED
                cover[c] = c
            w = waiting[c]
            while w >= 0:
                target = columns[begin[w]]
                covered += cover[target] == UNCOVERED
                cover[target] = c
                w = waiting_next[w]
            continue
        best = leading[c]
        r = leading_next[best]
        while r >= 0:
            if length[r] < length[best]:
                best = r
            r = leading_next[r]
        pivot[c] = best
        scale = inverse(values[begin[best]], PRIME)
        if scale != 1:
            for k in range(begin[best], begin[best] + length[best]):
                values[k] = values[k] * scale % PRIME
        r = leading[c]
        while r >= 0:
            after = leading_next[r]
            if r != best:
                need = length[r] + length[best]
                if used + need > len(columns):
                    columns, values, used = packed(columns, values, begin, length, need)
                used = subtract(columns, values, used, begin, length, r, best, values[begin[r]])
                if length[r] > 0:
                    first = columns[begin[r]]
                    leading_next[r] = leading[first]
                    leading[first] = r
            r = after
        w = waiting[c]
        while w >= 0:
            after = waiting_next[w]
            target = columns[begin[w]]
            if cover[target] == UNCOVERED:
                need = length[w] + length[best]
                if used + need > len(columns):
                    columns, values, used = packed(columns, values, begin, length, need)
                factor = value_at(columns, values, begin[w], length[w], c)
                used = subtract(columns, values, used, begin, length, w, best, factor)
                covered += _wait(w, columns, begin, length, waiting, waiting_next, cover)
            w = after
        if c < targets:
            covered += _wait(best, columns, begin, length, waiting, waiting_next, cover)
    return pivot, cover, columns, values, begin, length


@kernel
def _above(pivot, columns, begin, length):  # noqa: ANN001, ANN202
    """Return where the pivots that depend on each column begin, if they are listed by column."""
    n = len(pivot)
    start = np.zeros(n + 1, np.int64)
    for c in range(n):
        r = pivot[c]
        if r >= 0:
            for k in range(begin[r] + 1, begin[r] + length[r]):
                start[columns[k] + 1] += 1
    for c in range(n):
        start[c + 1] += start[c]
    return start


@kernel
def circuits(closing, pivot, columns, values, begin, length):  # noqa: ANN001, ANN201
    """Return for each closing column the move with 1 there and 0 on all other free columns, as rows of a sparse array.

    Pivots follow from right to left, so the columns still to be done wait in a heap, the rightmost on top.
    """
    n = len(pivot)
    start = _above(pivot, columns, begin, length)
    place = start.copy()
    above, factor = np.empty(start[n], np.int32), np.empty(start[n], np.int64)
    for c in range(n):
        r = pivot[c]
        if r >= 0:
            for k in range(begin[r] + 1, begin[r] + length[r]):
                at = place[columns[k]]
                above[at], factor[at] = c, values[k]
                place[columns[k]] += 1
    move, queued = np.zeros(n, np.int64), np.zeros(n, np.bool_)
    out_start = np.zeros(len(closing) + 1, np.int64)
    out_columns, out_values = np.empty(1024, np.int32), np.empty(1024, np.int64)
    used = np.int64(0)
    heap = np.empty(n + 1, np.int32)
    for t in range(len(closing)):
        heap[0], size = closing[t], 1
        move[closing[t]] = 1
        queued[closing[t]] = True
        while size > 0:
            c = heap[0]
            size -= 1
            last, i = heap[size], 0
            while 2 * i + 1 < size:
                child = 2 * i + 1
                if child + 1 < size and heap[child + 1] > heap[child]:
                    child += 1
                if heap[child] <= last:
                    break
                heap[i] = heap[child]
                i = child
            heap[i] = last
            amount = move[c]
            move[c] = 0
            queued[c] = False
            if amount == 0:
                continue
            if used == len(out_columns):
                more_columns, more_values = np.empty(2 * used, np.int32), np.empty(2 * used, np.int64)
                more_columns[:used], more_values[:used] = out_columns, out_values
                out_columns, out_values = more_columns, more_values
            out_columns[used], out_values[used] = c, amount
            used += 1
            for k in range(start[c], start[c + 1]):
                b = above[k]
                move[b] = (move[b] - amount * factor[k]) % PRIME
                if not queued[b]:
                    queued[b] = True
                    i = size
                    size += 1
                    while i > 0 and heap[(i - 1) >> 1] < b:
                        heap[i] = heap[(i - 1) >> 1]
                        i = (i - 1) >> 1
                    heap[i] = b
        out_start[t + 1] = used
    return out_start, out_columns[:used].copy(), out_values[:used].copy()


@kernel
def join(start, columns, moves, wanted, down, up):  # noqa: ANN001, ANN201
    """Put circuits into as few joint moves as it takes, first come first served; each is within bounds by itself.

    A circuit, forwards or backwards, joins a move if the sum stays within bounds and leaves no wanted variable where it
    was. It is needless once all wanted variables on it move somewhere. Returns for each circuit the number of its joint
    move, or -1, and its sign; and how many joint moves there are.
    """
    size = len(start) - 1
    number, sign = np.full(size, -1, np.int64), np.zeros(size, np.int64)
    total, done, settled = np.zeros(len(down), np.int64), np.zeros(len(down), np.bool_), np.zeros(size, np.bool_)
    joint = 0
    while True:
        joined = False
        for t in range(size):
            if settled[t]:
                continue
            needless = True
            for k in range(start[t], start[t + 1]):
                needless &= done[columns[k]] or not wanted[columns[k]]
            if needless:
                settled[t] = True
                continue
            for way in (1, -1):
                fits = True
                for k in range(start[t], start[t + 1]):
                    v = columns[k]
                    after = total[v] + way * moves[k]
                    fits &= -down[v] <= after <= up[v] and (after != 0 or not wanted[v])
                if fits:
                    for k in range(start[t], start[t + 1]):
                        total[columns[k]] += way * moves[k]
                        done[columns[k]] = True
                    number[t], sign[t] = joint, way
                    settled[t] = joined = True
                    break
        if not joined:
            return number, sign, joint
        total[:] = 0
        joint += 1
