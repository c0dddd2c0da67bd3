"""The compiled core of tabulation: contributions of holdings, added up within every cell, and their largest.

Everything is in whole numbers and ties go to the holding with the smaller number, so results do not depend on the
order of the work. All that is known of a cell lies side by side in one row of whole numbers, since the cells of a
holding are far apart and each visit costs a trip to memory.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from cellguard.hierarchy.hierarchy import IntArray
from cellguard.table.grid import Wholes
from cellguard.table.lattice import Lattice

THREADS = 2
FEW = 200_000
_COUNT, _POSITIVE, _NEGATIVE, _FIRST = range(4)
_VALUE, _HOLDER, _EXTRA = range(3)


class Rows(NamedTuple):
    """Rows ordered by holding: leaf cell, holding, contribution, a number that goes with it, and the holding's waiver.

    Numbers of several rows of one holding in a cell are added up if ``additive``; else the sum has none, 0.
    """

    leaf: IntArray
    holding: npt.NDArray[np.int64]
    value: Wholes
    extra: Wholes
    waived: npt.NDArray[np.bool_]
    additive: bool = False


@dataclass(frozen=True, eq=False)
class Gathered:
    """What is known of each cell's contributions: how many, signed sums, the largest, and those without a waiver.

    Of the largest there is a row a cell: ``value``, ``holder`` (-1 where there is none) and ``extra``.
    """

    count: Wholes
    positive: Wholes
    negative: Wholes
    value: Wholes
    holder: Wholes
    extra: Wholes
    unwaived: Wholes
    unwaived_holder: Wholes


def gather(lattice: Lattice, rows: Rows, *, top: int, unwaived: int = 0) -> Gathered:
    """Return count, signed sums and the largest contributions of every cell; a holding counts once in each."""
    cuts = _cuts(rows.holding, THREADS if len(rows.leaf) > FEW else 1)
    step = 3 if len(rows.extra) else 2
    width = _FIRST + (top + unwaived) * step

    def work(part: int) -> tuple[Wholes, Wholes]:
        one, several = (np.zeros((lattice.sizes[stage], width), np.int64) for stage in (0, -1))
        span = np.array([cuts[part], cuts[part + 1]])
        # Plain arrays: a tuple of a class of its own would tie the compiled code on disk to the class's name.
        _contribute(
            rows.leaf,
            rows.holding,
            rows.value,
            rows.extra,
            rows.waived,
            rows.additive,
            span,
            lattice.sizes,
            lattice.first,
            lattice.start,
            lattice.up,
            top,
            step,
            one,
            several,
        )
        return one, several

    if len(cuts) == 2:
        one, several = work(0)
    else:
        with ThreadPoolExecutor(len(cuts) - 1) as pool:
            (one, several), *others = pool.map(work, range(len(cuts) - 1))
        for other in others:
            _join(other[0], one, top, step)
            _join(other[1], several, top, step)
    for stage in range(len(lattice.sizes) - 1):
        last = stage == len(lattice.sizes) - 2
        above = several if last else np.zeros((lattice.sizes[stage + 1], width), np.int64)
        _lift(lattice.start, lattice.up, lattice.first[stage], one, above, top, step)
        one = above
    return _named(one, top, step)


def add_up(lattice: Lattice, values: Wholes) -> Wholes:
    """Return the sum of a column over the rows of every cell."""
    sums: Wholes = _sum_rows(lattice.leaf, values, lattice.sizes[0])
    for stage in range(len(lattice.sizes) - 1):
        sums = _sum_up(lattice.start, lattice.up, lattice.first[stage], sums, lattice.sizes[stage + 1])
    return sums


def _cuts(holding: npt.NDArray[np.int64], parts: int) -> list[int]:
    """Cut rows into parts of about equal length, never within a holding."""
    wanted = [len(holding) * part // parts for part in range(1, parts)]
    inner = [int(np.searchsorted(holding, holding[at], side="left")) for at in wanted]
    return sorted({0, *inner, len(holding)}) if len(holding) else [0, 0]


def _named(known: Wholes, top: int, step: int) -> Gathered:
    lists = known[:, _FIRST:].reshape(len(known), (known.shape[1] - _FIRST) // step, step)
    largest, free = lists[:, :top], lists[:, top:]
    return Gathered(
        count=known[:, _COUNT],
        positive=known[:, _POSITIVE],
        negative=known[:, _NEGATIVE],
        value=largest[:, :, _VALUE],
        holder=largest[:, :, _HOLDER] - 1,
        extra=largest[:, :, _EXTRA] if step > _EXTRA else largest[:, :0, _VALUE],
        unwaived=free[:, :, _VALUE],
        unwaived_holder=free[:, :, _HOLDER] - 1,
    )


# The functions below are compiled, and typed by their use. A holder is stored as its number + 1, so that 0 is nobody.


@numba.njit(cache=True, nogil=True, inline="always")
def _insert(known, cell, begin, end, step, value, holder, extra):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Put a contribution where it belongs among the largest of a cell, which lie from ``begin`` to ``end``."""
    at = end
    while at > begin:
        other, rival = known[cell, at - step + _HOLDER], known[cell, at - step + _VALUE]
        if other != 0 and (rival > value or (rival == value and other < holder)):
            break
        at -= step
        if at + step < end:
            for i in range(step):
                known[cell, at + step + i] = known[cell, at + i]
    if at < end:
        known[cell, at + _VALUE] = value
        known[cell, at + _HOLDER] = holder
        if step > _EXTRA:
            known[cell, at + _EXTRA] = extra


@numba.njit(cache=True, nogil=True, inline="always")
def _add(known, cell, top, step, value, holder, extra, waived):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Take in one holding's contribution to a cell."""
    known[cell, _COUNT] += 1
    known[cell, _POSITIVE if value > 0 else _NEGATIVE] += value
    middle = _FIRST + top * step
    _insert(known, cell, _FIRST, middle, step, value, holder, extra)
    if not waived:
        _insert(known, cell, middle, known.shape[1], step, value, holder, extra)


@numba.njit(cache=True, nogil=True)
def _contribute(  # type: ignore[no-untyped-def] # noqa: ANN202
    leaf,  # noqa: ANN001
    holding,  # noqa: ANN001
    value,  # noqa: ANN001
    beside,  # noqa: ANN001
    waiver,  # noqa: ANN001
    additive,  # noqa: ANN001
    span,  # noqa: ANN001
    sizes,  # noqa: ANN001
    first,  # noqa: ANN001
    start,  # noqa: ANN001
    up,  # noqa: ANN001
    top,  # noqa: ANN001
    width,  # noqa: ANN001
    one,  # noqa: ANN001
    several,  # noqa: ANN001
):
    """Add up each holding's rows: in its leaf cell if it has one only (``one``), else in all cells (``several``)."""
    work = np.zeros((sizes.max(), 3), np.int64)  # of each cell: when it was last seen, amount, extra
    now = 0
    cells = np.empty((1024, 3), np.int64)  # cell, amount, extra
    wide = np.empty(1024, np.int64)
    with_extra = len(beside) > 0
    at, end = span
    while at < end:
        holder, waived = holding[at], waiver[at]
        begin, at = at, at + 1
        while at < end and holding[at] == holder:
            at += 1
        if at - begin > len(cells):
            cells = np.empty((2 * (at - begin), 3), np.int64)
        now += 1
        many = 0
        for row in range(begin, at):
            cell, amount, extra = leaf[row], value[row], beside[row] if with_extra else 0
            if at == begin + 1:
                _add(one, cell, top, width, amount, holder + 1, extra, waived)
            elif work[cell, 0] != now:
                work[cell, 0], work[cell, 1], work[cell, 2] = now, amount, extra
                cells[many, 0] = cell
                many += 1
            else:
                work[cell, 1] += amount
                work[cell, 2] = work[cell, 2] + extra if additive else 0
        if many == 1:
            cell = cells[0, 0]
            _add(one, cell, top, width, work[cell, 1], holder + 1, work[cell, 2], waived)
        elif many > 1:
            for stage in range(len(sizes) - 1):
                room = 0
                for i in range(many):
                    cell = cells[i, 0]
                    cells[i, 1], cells[i, 2] = work[cell, 1], work[cell, 2]
                    room += start[first[stage] + cell + 1] - start[first[stage] + cell]
                if room > len(wide):
                    wide = np.empty(2 * room, np.int64)
                now += 1
                found = 0
                for i in range(many):
                    here = first[stage] + cells[i, 0]
                    for step in range(start[here], start[here + 1]):
                        cell = up[step]
                        if work[cell, 0] != now:
                            work[cell, 0], work[cell, 1], work[cell, 2] = now, cells[i, 1], cells[i, 2]
                            wide[found] = cell
                            found += 1
                        else:
                            work[cell, 1] += cells[i, 1]
                            work[cell, 2] = work[cell, 2] + cells[i, 2] if additive else 0
                if found > len(cells):
                    cells = np.empty((2 * found, 3), np.int64)
                many = found
                for i in range(many):
                    cells[i, 0] = wide[i]
            for i in range(many):
                cell = cells[i, 0]
                _add(several, cell, top, width, work[cell, 1], holder + 1, work[cell, 2], waived)


@numba.njit(cache=True, nogil=True, inline="always")
def _pour(source, here, target, cell, top, step):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Take the contributions of one cell into another that they are not part of yet."""
    for at in range(_FIRST):
        target[cell, at] += source[here, at]
    middle = _FIRST + top * step
    for at in range(_FIRST, source.shape[1], step):
        if source[here, at + _HOLDER] != 0:
            begin, end = (_FIRST, middle) if at < middle else (middle, source.shape[1])
            extra = source[here, at + _EXTRA] if step > _EXTRA else 0
            _insert(target, cell, begin, end, step, source[here, at + _VALUE], source[here, at + _HOLDER], extra)


@numba.njit(cache=True, nogil=True)
def _lift(start, up, first, source, target, top, step):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Take the contributions of each cell of a stage into the cells of the next that it is part of."""
    for here in range(len(source)):
        if source[here, _COUNT]:
            for at in range(start[first + here], start[first + here + 1]):
                _pour(source, here, target, up[at], top, step)


@numba.njit(cache=True, nogil=True)
def _join(source, target, top, step):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Take in the contributions of other holdings to the same cells."""
    for here in range(len(source)):
        if source[here, _COUNT]:
            _pour(source, here, target, here, top, step)


@numba.njit(cache=True, nogil=True)
def _sum_rows(leaf, values, cells):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    sums = np.zeros(cells, np.int64)
    for row in range(len(leaf)):
        sums[leaf[row]] += values[row]
    return sums


@numba.njit(cache=True, nogil=True)
def _sum_up(start, up, first, sums, cells):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    found = np.zeros(cells, np.int64)
    for here in range(len(sums)):
        for step in range(start[first + here], start[first + here + 1]):
            found[up[step]] += sums[here]
    return found
