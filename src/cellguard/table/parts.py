"""Contributions of holdings where none is negative: rows first, then the cells where they meet, see `parts_kernel`."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from cellguard.hierarchy.hierarchy import IntArray
from cellguard.microdata.grouped import has_several
from cellguard.table.gathered import Gathered, Listed, Rows
from cellguard.table.kernel_layout import EXTRA, VALUE
from cellguard.table.keyed_cells import Above, Keyed
from cellguard.table.lattice import Lattice
from cellguard.table.meetings_kernel import find_meetings, settle
from cellguard.table.parts_kernel import lift, renumber, take_rows
from cellguard.table.row_sums import add_up
from cellguard.table.unit_grid import Wholes

_CELL, _HOLDING = 1, 4  # columns of a meeting
_SHORT = 2**29  # rows whose places fit into 32 bits
_AT_ONCE = 2**20


def gather_parts(lattice: Lattice, keyed: Keyed, rows: Rows, cuts: list[int], *, top: int, free: int) -> Gathered:
    """Return what is known of every cell's contributions; ``cuts`` are where rows may be cut for several threads."""
    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(_meet, keyed, rows, span) for span in pairwise(cuts)]
        steps = pool.submit(lambda: keyed.steps)
        lists, named = _listed_leaves(lattice, keyed, rows, top, free)
        holder = rows.holding[named]
        steps.result()
        ones = np.broadcast_to(np.int64(1), rows.value.shape)
        sums = [pool.submit(add_up, lattice, rows.leaf, column) for column in (ones, rows.value)]
        for step in keyed.steps:
            ends = (0, step.middle, len(step.child)) if len(cuts) > 2 else (0, len(step.child))
            spans = [np.array(span) for span in pairwise(ends)]
            for part in [pool.submit(lift, step.child, step.parent, span, holder, top, lists) for span in spans]:
                part.result()
        meetings: Wholes = np.concatenate([part.result() for part in found])
        count, positive = (part.result() for part in sums)
    # Whom the lists name: rows by their ranks, nobody, and the meetings.
    value = np.concatenate([rows.value[named], [0], meetings[:, VALUE]])
    holder = np.concatenate([holder, [-1], meetings[:, _HOLDING]])
    extra = np.concatenate([rows.extra[named], [0], meetings[:, EXTRA]]) if len(rows.extra) else rows.extra
    lists >>= 1
    settle(meetings, len(named) + 1, value, holder, top, lists, count)
    largest, unwaived = (
        Listed(lists, begin, end, value, holder, extra) for begin, end in ((0, top), (top, top + free))
    )
    return Gathered(count, positive, np.broadcast_to(np.int64(0), positive.shape), positive, largest, unwaived)


def _meet(keyed: Keyed, rows: Rows, span: tuple[int, int]) -> Wholes:
    """Return the cells in which rows of one holding meet."""
    above: Above = keyed.above
    most = math.prod(int(np.diff(part).max()) for part in np.split(above.start, above.first[1:]))
    meetings: Wholes = find_meetings(tuple(rows), tuple(above), np.array(span), most, len(keyed.keys))
    meetings[:, _CELL] = keyed.cells(meetings[:, _CELL])
    return meetings


def _listed_leaves(
    lattice: Lattice, keyed: Keyed, rows: Rows, top: int, free: int
) -> tuple[IntArray, npt.NDArray[np.signedinteger]]:
    """Return the lists of all cells, so far of the leaf cells alone, and the rows that they name, by rank."""
    kind: type[np.signedinteger] = np.int32 if len(rows.leaf) < _SHORT else np.int64
    order = _by_size(rows.value).astype(kind)
    places = rows.leaf.astype(kind)
    places *= 4
    places += 2 * has_several(rows.holding).astype(np.int8)
    places += rows.waived
    nobody = 2 * len(order)
    lists = np.full((lattice.combinations, top + free), nobody, kind)
    used = np.zeros(len(order), bool)
    take_rows(order, places, rows.holding, top, nobody, lists, used)
    del places  # of many records; what follows needs as much
    named = order[used]
    rank = np.cumsum(used, dtype=kind, out=order)
    rank -= 1
    wider = np.full((len(lattice), top + free), 2 * len(named), kind)
    renumber(lists, rank, keyed.leaves, nobody, wider)
    return wider, named


def _by_size(values: Wholes) -> Wholes:
    """Return the rows, the largest first, and those of one size in order."""
    bits, largest = len(values).bit_length(), int(values.max(initial=0))
    if largest.bit_length() + bits > 63:
        return np.argsort(-values, kind="stable")
    # A row and its size in one number are sorted faster than rows by their sizes.
    keys = largest - values
    keys <<= bits
    for start in range(0, len(keys), _AT_ONCE):  # the numbers of all rows at once would take half as much memory again
        part = keys[start : start + _AT_ONCE]
        part |= np.arange(start, start + len(part))
    keys.sort()
    keys &= (1 << bits) - 1
    return keys
