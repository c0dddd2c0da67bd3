"""The compiled core of tabulation: contributions of holdings, added up within every cell, and their largest.

A holding h contributes x(h, c) = the sum of its rows in cell c, and counts once there: N(c) = #{h in c}, and the
largest are the first k of x(., c). Sums of rows roll up from stage to stage of the lattice, but N and the largest do
not, where h has rows in several parts of c. So holdings are reported apart: one whose rows all lie in one leaf cell has
the same x in every cell above it, so the lists of such cells merge upward (`_lift`: the first k of a union are among
the first k of its parts). The few others climb by themselves, cell by cell, into the last stage (`_contribute`). Where
no contribution is negative there is a shorter way (`parts`).

Everything is in whole numbers and ties go to the holding with the smaller number, so results do not depend on the
order of the work. All that is known of a cell lies side by side in one row of whole numbers, since the cells of a
holding are far apart and each visit costs a trip to memory.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import numpy.typing as npt

from cellguard.hierarchy.hierarchy import IntArray
from cellguard.table.gathered import Gathered, Listed, Rows
from cellguard.table.kernel_layout import COUNT, EXTRA, FIRST, HOLDER, NEGATIVE, POSITIVE, VALUE
from cellguard.table.lattice import Lattice
from cellguard.table.parts import gather_parts
from cellguard.table.unit_grid import Wholes

THREADS = 2
FEW = 200_000
_CELL = HOLDER  # a list of a holding's cells has the cell where a cell's list has the holder


def gather(lattice: Lattice, rows: Rows, *, top: int, unwaived: int = 0, by_size: bool = False) -> Gathered:
    """Return count, signed sums and the largest contributions of every cell; a holding counts once in each.

    With ``by_size`` the largest are those of the largest absolute value.
    """
    cuts = _cuts(rows.holding, THREADS if len(rows.leaf) > FEW else 1)
    if lattice.keyed is not None and rows.value.min(initial=0) >= 0:
        return gather_parts(lattice, lattice.keyed, rows, cuts, top=top, free=unwaived)
    step = 3 if len(rows.extra) else 2
    width = FIRST + (top + unwaived) * step
    stages = lattice.stages

    def work(part: int) -> tuple[Wholes, Wholes]:
        one, several = (np.zeros((stages.sizes[stage], width), np.int64) for stage in (0, -1))
        span = np.array([cuts[part], cuts[part + 1]])
        # Plain tuples: those of a class of its own would tie the compiled code on disk to the class's name.
        _contribute(tuple(rows), tuple(stages), span, top, step, by_size, one, several)
        return one, several

    if len(cuts) == 2:
        one, several = work(0)
    else:
        with ThreadPoolExecutor(len(cuts) - 1) as pool:
            (one, several), *others = pool.map(work, range(len(cuts) - 1))
        for other in others:
            _join(other[0], one, top, step, by_size)
            _join(other[1], several, top, step, by_size)
    for stage in range(len(stages.sizes) - 1):
        last = stage == len(stages.sizes) - 2
        above = several if last else np.zeros((stages.sizes[stage + 1], width), np.int64)
        _lift(stages.start, stages.up, stages.first[stage], one, above, top, step, by_size)
        one = above
    return _named(one, top, step)


def _cuts(holding: npt.NDArray[np.int64], parts: int) -> list[int]:
    """Cut rows into parts of about equal length, never within a holding."""
    wanted = [len(holding) * part // parts for part in range(1, parts)]
    inner = [int(np.searchsorted(holding, holding[row], side="left")) for row in wanted]
    return sorted({0, *inner, len(holding)}) if len(holding) else [0, 0]


def _named(known: Wholes, top: int, step: int) -> Gathered:
    width = (known.shape[1] - FIRST) // step
    lists = known[:, FIRST:].reshape(-1, step)
    entries: IntArray = np.arange(len(lists), dtype=np.int32).reshape(len(known), width)
    value, holder = lists[:, VALUE].copy(), lists[:, HOLDER] - 1
    extra = lists[:, EXTRA].copy() if step > EXTRA else lists[:0, VALUE]
    largest, unwaived = (Listed(entries, begin, end, value, holder, extra) for begin, end in ((0, top), (top, width)))
    positive, negative = known[:, POSITIVE], known[:, NEGATIVE]
    return Gathered(known[:, COUNT], positive, negative, positive + negative, largest, unwaived)


# The functions below are compiled, and typed by their use. A holder is stored as its number + 1, so that 0 is nobody.


@numba.njit(cache=True, nogil=True, inline="always")
def _insert(known, cell, begin, end, step, by_size, value, holder, extra):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Put a contribution where it belongs among the largest of a cell, which lie from ``begin`` to ``end``."""
    slot = end
    size = abs(value) if by_size else value
    while slot > begin:
        other, rival = known[cell, slot - step + HOLDER], known[cell, slot - step + VALUE]
        if by_size:
            rival = abs(rival)
        if other != 0 and (rival > size or (rival == size and other < holder)):
            break
        slot -= step
        if slot + step < end:
            for i in range(step):
                known[cell, slot + step + i] = known[cell, slot + i]
    if slot < end:
        known[cell, slot + VALUE] = value
        known[cell, slot + HOLDER] = holder
        if step > EXTRA:
            known[cell, slot + EXTRA] = extra


@numba.njit(cache=True, nogil=True, inline="always")
def _add(known, cell, top, step, by_size, value, holder, extra, waived):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Take in one holding's contribution to a cell."""
    known[cell, COUNT] += 1
    known[cell, POSITIVE if value > 0 else NEGATIVE] += value
    middle = FIRST + top * step
    _insert(known, cell, FIRST, middle, step, by_size, value, holder, extra)
    if not waived:
        _insert(known, cell, middle, known.shape[1], step, by_size, value, holder, extra)


@numba.njit(cache=True, nogil=True, inline="always")
def _next_holding(holding, begin, end):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Return the row at which the next holding begins."""
    row = begin + 1
    while row < end and holding[row] == holding[begin]:
        row += 1
    return row


@numba.njit(cache=True, nogil=True, inline="always")
def _meet(seen, since, amounts, filled, cell, value, extra, additive):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Add a holding's amount in a cell to those met so far, and return how many cells it now has.

    The row of the list ``amounts`` that a cell has is ``seen[cell] - since``; below 0, the cell is new to the holding.
    """
    place = seen[cell] - since
    if place < 0:
        seen[cell] = since + filled
        amounts[filled, VALUE], amounts[filled, _CELL], amounts[filled, EXTRA] = value, cell, extra
        filled += 1
    else:
        amounts[place, VALUE] += value
        amounts[place, EXTRA] = amounts[place, EXTRA] + extra if additive else 0
    return filled


@numba.njit(cache=True, nogil=True)
def _climb(seen, since, cells, count, above, start, up, first, additive):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """List a holding's cells of the next stage, with its amounts there, in ``above``; return how many they are."""
    filled = 0
    for i in range(count):
        here = first + cells[i, _CELL]
        for edge in range(start[here], start[here + 1]):
            filled = _meet(seen, since, above, filled, up[edge], cells[i, VALUE], cells[i, EXTRA], additive)
    return filled


@numba.njit(cache=True, nogil=True)
def _contribute(rows, stages, span, top, step, by_size, one, several):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Add up each holding's rows: in its leaf cell if it has one only (``one``), else in all cells (``several``)."""
    leaf, holding, value, beside, waiver, additive = rows
    sizes, first, start, up = stages
    seen, since = np.zeros(sizes.max(), np.int64), 1
    cells, above = np.empty((sizes.max(), 3), np.int64), np.empty((sizes.max(), 3), np.int64)
    ahead, end = span
    while ahead < end:
        begin, ahead = ahead, _next_holding(holding, ahead, end)
        holder, waived = holding[begin] + 1, waiver[begin]
        if ahead == begin + 1:
            extra = beside[begin] if len(beside) else 0
            _add(one, leaf[begin], top, step, by_size, value[begin], holder, extra, waived)
            continue
        count = 0
        for row in range(begin, ahead):
            count = _meet(seen, since, cells, count, leaf[row], value[row], beside[row] if len(beside) else 0, additive)
        since += count
        known = one if count == 1 else several
        for stage in range(0 if count == 1 else len(first)):
            count = _climb(seen, since, cells, count, above, start, up, first[stage], additive)
            since += count
            cells, above = above, cells
        for i in range(count):
            _add(known, cells[i, _CELL], top, step, by_size, cells[i, VALUE], holder, cells[i, EXTRA], waived)


@numba.njit(cache=True, nogil=True, inline="always")
def _pour(source, here, target, cell, top, step, by_size):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Take the contributions of one cell into another that they are not part of yet."""
    for slot in range(FIRST):
        target[cell, slot] += source[here, slot]
    middle = FIRST + top * step
    for slot in range(FIRST, source.shape[1], step):
        if source[here, slot + HOLDER] != 0:
            begin, end = (FIRST, middle) if slot < middle else (middle, source.shape[1])
            extra = source[here, slot + EXTRA] if step > EXTRA else 0
            value, holder = source[here, slot + VALUE], source[here, slot + HOLDER]
            _insert(target, cell, begin, end, step, by_size, value, holder, extra)


@numba.njit(cache=True, nogil=True)
def _lift(start, up, first, source, target, top, step, by_size):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Take the contributions of each cell of a stage into the cells of the next that it is part of."""
    for here in range(len(source)):
        if source[here, COUNT]:
            for edge in range(start[first + here], start[first + here + 1]):
                _pour(source, here, target, up[edge], top, step, by_size)


@numba.njit(cache=True, nogil=True)
def _join(source, target, top, step, by_size):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Take in the contributions of other holdings to the same cells."""
    for here in range(len(source)):
        if source[here, COUNT]:
            _pour(source, here, target, here, top, step, by_size)
