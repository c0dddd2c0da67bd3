"""The compiled core of tabulation where no contribution is negative: rows first, then the few cells where they meet.

A holding h contributes x(h, c) to cell c, the sum of its rows there. Take each row for a contribution of its own, and
of each holding in a cell only its largest row m(h, c) <= x(h, c). Lists of the k holdings with the largest m merge
upward, as those of contributions would. The k largest by x are among these k and the holdings that have several rows in
c: if z has one row there, and k others have a larger m, these have a larger x too, so z is none of the k largest. So it
is enough to visit the cells where rows of one holding meet, few of those above its rows, and to put x in the place of m
there; N(c) is the number of rows less those that meet another.
"""

from __future__ import annotations

import numba
import numpy as np

from cellguard.table.kernel_layout import COUNT, EXTRA, FIRST, HOLDER, POSITIVE, VALUE

_CELL, _ROWS = HOLDER, 3  # of a meeting, whose columns are
_WIDTH = 6  # value, cell, extra, rows, holder, waiver


@numba.njit(cache=True, nogil=True, inline="always")
def _place(known, cell, begin, end, step, value, holder, extra):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Put a holding where it belongs among the largest of a cell, once, with the larger of its amounts.

    Tell whether there is room for it, and so perhaps for smaller ones.
    """
    last, rival = known[cell, end - step + HOLDER], known[cell, end - step + VALUE]
    if last != 0 and (rival > value or (rival == value and last < holder)):
        return False
    hole = end - step
    for slot in range(begin, end, step):
        if known[cell, slot + HOLDER] == holder:
            if known[cell, slot + VALUE] > value:
                return True
            hole = slot
            break
    while hole > begin:
        other, rival = known[cell, hole - step + HOLDER], known[cell, hole - step + VALUE]
        if other != 0 and (rival > value or (rival == value and other < holder)):
            break
        for i in range(step):
            known[cell, hole + i] = known[cell, hole - step + i]
        hole -= step
    known[cell, hole + VALUE] = value
    known[cell, hole + HOLDER] = holder
    if step > EXTRA:
        known[cell, hole + EXTRA] = extra
    return True


@numba.njit(cache=True, nogil=True)
def take_rows(rows, span, top, step, known):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Take in rows, each as a contribution to its leaf cell."""
    leaf, holding, value, beside, waiver, _ = rows
    middle, end = FIRST + top * step, known.shape[1]
    for row in range(span[0], span[1]):
        cell, extra = leaf[row], beside[row] if len(beside) else 0
        known[cell, COUNT] += 1
        known[cell, POSITIVE] += value[row]
        if middle > FIRST:
            _place(known, cell, FIRST, middle, step, value[row], holding[row] + 1, extra)
        if end > middle and not waiver[row]:
            _place(known, cell, middle, end, step, value[row], holding[row] + 1, extra)


@numba.njit(cache=True, nogil=True, inline="always")
def _pour(source, here, target, cell, middle, step):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    target[cell, COUNT] += source[here, COUNT]
    target[cell, POSITIVE] += source[here, POSITIVE]
    for part in range(2):
        begin, end = (FIRST, middle) if part == 0 else (middle, source.shape[1])
        for slot in range(begin, end, step):
            value, holder = source[here, slot + VALUE], source[here, slot + HOLDER]
            extra = source[here, slot + EXTRA] if step > EXTRA else 0
            if holder == 0 or not _place(target, cell, begin, end, step, value, holder, extra):
                break


@numba.njit(cache=True, nogil=True)
def lift(start, up, first, span, source, target, top, step):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Take the rows of some cells of a stage into the cells of the next that they are part of."""
    middle = FIRST + top * step
    for here in range(span[0], span[1]):
        for edge in range(start[first + here], start[first + here + 1]):
            _pour(source, here, target, up[edge], middle, step)


@numba.njit(cache=True, nogil=True)
def join(source, target, top, step):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Take in other rows of the same cells."""
    for here in range(len(source)):
        if source[here, COUNT]:
            _pour(source, here, target, here, FIRST + top * step, step)


@numba.njit(cache=True, nogil=True)
def _shared_keys(above, leaf, marks, stamp, keys, wide):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """List the keys of the cells above a leaf cell whose codes are each shared by several rows of the holding."""
    leaves, first, start, line, radix = above
    count = 1
    keys[0] = 0
    for d in range(len(first)):
        filled = 0
        i = first[d] + leaves[leaf, d]
        for edge in range(start[i], start[i + 1]):
            if marks[first[d] + line[edge]] == stamp:
                for j in range(count):
                    wide[filled] = keys[j] + radix[d] * line[edge]
                    filled += 1
        count = filled
        keys, wide = wide, keys
    if len(first) % 2:
        wide[:count] = keys[:count]
    return count


@numba.njit(cache=True, nogil=True, inline="always")
def _mark_shared(above, leaf, begin, ahead, marks, stamp):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Mark the codes above a holding's rows: by ``stamp - 1`` those of one row, by ``stamp`` those of several."""
    leaves, first, start, line, _ = above
    for row in range(begin, ahead):
        for d in range(len(first)):
            i = first[d] + leaves[leaf[row], d]
            for edge in range(start[i], start[i + 1]):
                code = first[d] + line[edge]
                marks[code] = stamp if marks[code] >= stamp - 1 else stamp - 1


@numba.njit(cache=True, nogil=True)
def find_meetings(rows, above, span, most, cells):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Return the cells in which rows of one holding meet, by their keys, see `_WIDTH`.

    Where rows meet, they share a code in every dimension, which few of the codes above them are. Their amounts are
    added up in a small table with open addressing. ``most`` is the largest number of cells above a leaf cell, ``cells``
    that of all.
    """
    leaf, holding, value, beside, waiver, additive = rows
    marks, stamp = np.zeros(len(above[2]), np.int64), 0
    keys, wide = np.empty(most, np.int64), np.empty(most, np.int64)
    table, taken = np.empty((1024, 4), np.int64), np.zeros(1024, np.int64)
    meetings, found = np.empty((1024, _WIDTH), np.int64), 0
    ahead, end = span
    while ahead < end:
        begin = ahead
        ahead += 1
        while ahead < end and holding[ahead] == holding[begin]:
            ahead += 1
        if ahead == begin + 1:
            continue
        stamp += 2
        _mark_shared(above, leaf, begin, ahead, marks, stamp)
        room = 64
        while room < 2 * min((ahead - begin) * most, cells):
            room *= 2
        if room > len(table):
            table, taken = np.empty((room, 4), np.int64), np.zeros(room, np.int64)
        for row in range(begin, ahead):
            extra = beside[row] if len(beside) else 0
            for i in range(_shared_keys(above, leaf[row], marks, stamp, keys, wide)):
                slot = (keys[i] * 0x9E3779B97F4A7C1 >> 20) & (room - 1)
                while taken[slot] == stamp and table[slot, _CELL] != keys[i]:
                    slot = (slot + 1) & (room - 1)
                if taken[slot] != stamp:
                    taken[slot] = stamp
                    table[slot, VALUE], table[slot, _CELL] = value[row], keys[i]
                    table[slot, EXTRA], table[slot, _ROWS] = extra, 1
                    continue
                table[slot, VALUE] += value[row]
                table[slot, EXTRA] = table[slot, EXTRA] + extra if additive else 0
                table[slot, _ROWS] += 1
        for slot in range(room):
            if taken[slot] == stamp and table[slot, _ROWS] > 1:
                if found == len(meetings):
                    meetings = np.concatenate((meetings, np.empty_like(meetings)))
                meetings[found, :4] = table[slot]
                meetings[found, 4], meetings[found, 5] = holding[begin] + 1, waiver[begin]
                found += 1
    return meetings[:found]


@numba.njit(cache=True, nogil=True)
def settle(meetings, known, top, step):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Put what holdings contribute in all in the place of their largest rows, and count them once."""
    middle, end = FIRST + top * step, known.shape[1]
    for i in range(len(meetings)):
        value, cell, extra, rows, holder, waived = meetings[i]
        known[cell, COUNT] -= rows - 1
        if middle > FIRST:
            _place(known, cell, FIRST, middle, step, value, holder, extra)
        if end > middle and not waived:
            _place(known, cell, middle, end, step, value, holder, extra)
