"""Contributions of holdings to every cell, their counts and the largest, see `tabulate_kernel`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from cellguard.hierarchy.hierarchy import IntArray
from cellguard.table.gathered import Gathered, Listed, Rows
from cellguard.table.kernel_layout import COUNT, EXTRA, FIRST, HOLDER, NEGATIVE, POSITIVE, VALUE
from cellguard.table.lattice import Lattice
from cellguard.table.parts import gather_parts
from cellguard.table.tabulate_kernel import contribute, join, lift
from cellguard.table.unit_grid import Wholes

THREADS = 2
FEW = 200_000


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
        contribute(tuple(rows), tuple(stages), span, top, step, by_size, one, several)
        return one, several

    if len(cuts) == 2:
        one, several = work(0)
    else:
        with ThreadPoolExecutor(len(cuts) - 1) as pool:
            (one, several), *others = pool.map(work, range(len(cuts) - 1))
        for other in others:
            join(other[0], one, top, step, by_size)
            join(other[1], several, top, step, by_size)
    for stage in range(len(stages.sizes) - 1):
        last = stage == len(stages.sizes) - 2
        above = several if last else np.zeros((stages.sizes[stage + 1], width), np.int64)
        lift(stages.start, stages.up, stages.first[stage], one, above, top, step, by_size)
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
