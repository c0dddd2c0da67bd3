"""Cells from all their contributions, of either sign: facts to try rules on, without records."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.table.fact import Count, NonZero, Signs, Top, Total
from cellguard.table.facts import Facts, contributions
from cellguard.table.signed_facts import Entropy, Extremes, Middle, Sizes, Squares
from cellguard.table.spread import spread_of
from cellguard.table.unit_grid import grid_of


def signed_contributions(*cells: Iterable[float], extremes: int = 5) -> Facts:
    """Return the facts of cells from all their contributions, as rules see their sizes.

    >>> facts = signed_contributions([5, -8, 1])
    >>> facts.total.tolist(), facts.basis.tolist(), facts.tops.tolist(), facts[Extremes(1)].tolist()
    ([-2.0], [14.0], [[8.0, 5.0, 1.0]], [[-8.0]])
    """
    rows = [np.asarray(list(cell), float) for cell in cells]
    sizes = contributions(*(np.abs(row) for row in rows))
    there = np.array([len(row) > 0 for row in rows], bool)
    values = np.concatenate([np.zeros(0), *rows])
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows if len(row)])]).astype(np.int64)
    grid = grid_of(values)
    spread = spread_of(start, grid.wholes(values), extremes=extremes, grid=grid)

    def spaced(column: FloatArray) -> FloatArray:
        whole = np.zeros((len(rows), *column.shape[1:]))
        whole[there] = column
        return whole

    signs = [[row[row > 0].sum(), row[row < 0].sum()] for row in rows]
    return Facts(
        {
            Total(): np.array([row.sum() for row in rows], float),
            Count(): np.array([len(row) for row in rows], float),
            NonZero(): np.array([np.count_nonzero(row) for row in rows], float),
            Top(sizes.known_tops): np.zeros((len(rows), 0)) if sizes.tops is None else sizes.tops,
            Sizes(): sizes.total,
            Signs(): np.array(signs, float).reshape(len(rows), 2),
            Extremes(extremes): spaced(spread.extremes),
            Squares(extremes): spaced(spread.squares),
            Middle(): spaced(spread.middle),
            Entropy(): spaced(spread.entropy),
        },
        complete=True,
    )
