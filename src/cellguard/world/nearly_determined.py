"""Which sums of unknown cells relations nearly tell: those that they would tell if narrow cells stood still.

A sum that is known but for a cell whose own interval is narrow is as good as known. So cells that single relations
bound closely are taken as known, the narrowest first, and the sums are taken that the relations then tell (see
`determined_sums`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray
from cellguard.table.propagate import tighten
from cellguard.table.sums import Sum
from cellguard.world.determined_sums import determined_sums

_APART = 30  # how many times as wide as the last ones the cells are that are taken as known next


def nearly_determined(
    relations: sp.csr_array,
    unknown: BoolArray,
    room: tuple[FloatArray, FloatArray],
    level: float,
    own: int | None = None,
    *,
    first: int | None = None,
) -> list[Sum]:
    """Return the sums that relations tell but for unknown cells that move by at most ``level``.

    ``room`` is how far below and above its value each cell may be, as far as is known beforehand; ``own`` and ``first``
    are those of `determined_sums`.

    >>> rows = sp.csr_array(np.array([[1.0, -1, -1, -1, 0], [0, 0, 0, 1, 1]]))
    >>> room = np.array([0.0, 80, 70, 2, 3]), np.full(5, np.inf)
    >>> nearly_determined(rows, np.array([False, True, True, True, True]), room, 10.0, first=3)
    [(1, 2)]
    """
    below, above = tighten(relations, -np.where(unknown, room[0], 0.0), np.where(unknown, room[1], 0.0))
    width = np.where(unknown, above - below, 0.0)
    found = dict[Sum, None]()
    for narrow in _steps(width, level):
        found |= dict.fromkeys(determined_sums(relations, unknown & (width > narrow), own, first=first).sums)
    return list(found)


def _steps(width: FloatArray, level: float) -> Iterator[float]:
    """Go through widths up to a level, each of which is some times as wide as the last and has more cells below it."""
    some = np.unique(width[(width > 0) & (width <= level)])
    while some.size:
        near = some[some <= _APART * some[0]]
        yield float(near[-1])
        some = some[near.size :]
