"""The compiled core of tabulation: the cells in which rows of one holding meet, and what it contributes there.

See `parts_kernel` for why these are all that have to be looked at.
"""

from __future__ import annotations

import numpy as np

from cellguard.kernels.kernel import kernel
from cellguard.table.kernel_layout import EXTRA, HOLDER, VALUE

_CELL, _ROWS = HOLDER, 3  # of a meeting, whose columns are
_WIDTH = 6  # value, cell, extra, rows, holder, waiver


@kernel(nogil=True)
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


@kernel(nogil=True, inline=True)
def _mark_shared(above, leaf, begin, ahead, marks, stamp):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Mark the codes above a holding's rows: by ``stamp - 1`` those of one row, by ``stamp`` those of several."""
    leaves, first, start, line, _ = above
    for row in range(begin, ahead):
        for d in range(len(first)):
            i = first[d] + leaves[leaf[row], d]
            for edge in range(start[i], start[i + 1]):
                code = first[d] + line[edge]
                marks[code] = stamp if marks[code] >= stamp - 1 else stamp - 1


@kernel(nogil=True)
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
                meetings[found, 4], meetings[found, 5] = holding[begin], waiver[begin]
                found += 1
    return meetings[:found]


@kernel(nogil=True, inline=True)
def _place(lists, cell, begin, end, entry, value, holder):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Put an entry where it belongs among the largest of a cell, one per holding."""
    hole = end - 1
    if hole < begin:
        return
    last = lists[cell, hole]
    if _comes_before(last, entry, value, holder):
        return
    for slot in range(begin, end):
        if holder[lists[cell, slot]] == holder[entry]:
            if value[lists[cell, slot]] > value[entry]:
                return
            hole = slot
            break
    while hole > begin and not _comes_before(lists[cell, hole - 1], entry, value, holder):
        lists[cell, hole] = lists[cell, hole - 1]
        hole -= 1
    lists[cell, hole] = entry


@kernel(nogil=True, inline=True)
def _comes_before(other, entry, value, holder):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Return whether another entry is of somebody, and larger."""
    if holder[other] < 0 or value[other] < value[entry]:
        return False
    return value[other] > value[entry] or holder[other] < holder[entry]


@kernel(nogil=True)
def settle(meetings, first, value, holder, top, lists, count):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Put what holdings contribute in all in the place of their largest rows, and count them once.

    Lists hold places of ``value`` and ``holder``, and those of the meetings come from ``first`` on.
    """
    for i in range(len(meetings)):
        _, cell, _, rows, _, waived = meetings[i]
        count[cell] -= rows - 1
        _place(lists, cell, 0, top, first + i, value, holder)
        if not waived:
            _place(lists, cell, top, lists.shape[1], first + i, value, holder)
