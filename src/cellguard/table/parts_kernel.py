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

_CELL, _ROWS = HOLDER, 3  # of a holding's cells
_WIDTH = 6  # of a meeting: value, cell, extra, rows, holder, waiver


@numba.njit(cache=True, nogil=True, inline="always")
def _place(known, cell, begin, end, step, value, holder, extra):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Put a holding where it belongs among the largest of a cell, once, with the larger of its amounts."""
    last, rival = known[cell, end - step + HOLDER], known[cell, end - step + VALUE]
    if last != 0 and (rival > value or (rival == value and last < holder)):
        return
    hole = end - step
    for slot in range(begin, end, step):
        if known[cell, slot + HOLDER] == holder:
            if known[cell, slot + VALUE] > value:
                return
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
    for slot in range(FIRST, source.shape[1], step):
        if source[here, slot + HOLDER] != 0:
            begin, end = (FIRST, middle) if slot < middle else (middle, source.shape[1])
            extra = source[here, slot + EXTRA] if step > EXTRA else 0
            _place(target, cell, begin, end, step, source[here, slot + VALUE], source[here, slot + HOLDER], extra)


@numba.njit(cache=True, nogil=True)
def lift(start, up, first, source, target, top, step):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Take the rows of each cell of a stage into the cells of the next that it is part of."""
    middle = FIRST + top * step
    for here in range(len(source)):
        for edge in range(start[first + here], start[first + here + 1]):
            _pour(source, here, target, up[edge], middle, step)


@numba.njit(cache=True, nogil=True)
def join(source, target, top, step):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Take in other rows of the same cells."""
    for here in range(len(source)):
        if source[here, COUNT]:
            _pour(source, here, target, here, FIRST + top * step, step)


@numba.njit(cache=True, nogil=True, inline="always")
def _meet(seen, since, cells, filled, cell, value, extra, rows, additive):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Add a holding's rows in a cell to those met so far, and return how many cells it now has.

    The row of the list ``cells`` that a cell has is ``seen[cell] - since``; below 0, the cell is new to the holding.
    """
    place = seen[cell] - since
    if place < 0:
        seen[cell] = since + filled
        cells[filled, VALUE], cells[filled, _CELL], cells[filled, EXTRA], cells[filled, _ROWS] = (
            value,
            cell,
            extra,
            rows,
        )
        return filled + 1
    cells[place, VALUE] += value
    cells[place, EXTRA] = cells[place, EXTRA] + extra if additive else 0
    cells[place, _ROWS] += rows
    return filled


@numba.njit(cache=True, nogil=True)
def find_meetings(rows, stages, span):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Return the cells of the last stage in which rows of one holding meet, see `_WIDTH`."""
    leaf, holding, value, beside, waiver, additive = rows
    sizes, first, start, up = stages
    seen, since = np.zeros(sizes.max(), np.int64), 1
    cells, above = np.empty((sizes.max(), 4), np.int64), np.empty((sizes.max(), 4), np.int64)
    meetings, found = np.empty((1024, _WIDTH), np.int64), 0
    ahead, end = span
    while ahead < end:
        begin = ahead
        ahead += 1
        while ahead < end and holding[ahead] == holding[begin]:
            ahead += 1
        if ahead == begin + 1:
            continue
        count = 0
        for row in range(begin, ahead):
            extra = beside[row] if len(beside) else 0
            count = _meet(seen, since, cells, count, leaf[row], value[row], extra, 1, additive)
        since += count
        for stage in range(len(first)):
            filled = 0
            for i in range(count):
                here = first[stage] + cells[i, _CELL]
                amount, extra, many = cells[i, VALUE], cells[i, EXTRA], cells[i, _ROWS]
                for edge in range(start[here], start[here + 1]):
                    filled = _meet(seen, since, above, filled, up[edge], amount, extra, many, additive)
            count, since = filled, since + filled
            cells, above = above, cells
        for i in range(count):
            if cells[i, _ROWS] > 1:
                if found == len(meetings):
                    meetings = np.concatenate((meetings, np.empty_like(meetings)))
                meetings[found, :4] = cells[i]
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
