"""Outliers: sensitive cells, alone or in pairs, with no other data near them.

A cluster of at most ``largest`` cells, all of them sensitive, is an outlier if every other cell with data is more than
``apart`` steps from it. It is removed (its records are lost to the map), or its records go to the closest cells with
data: the j-th of a cell's records to the j-th closest cell (ties: larger count, then order).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from cellguard.arrays import BoolArray, LongArray
from cellguard.geometry.space import Space
from cellguard.methods.maps.outlying_kernel import alone, closest
from cellguard.methods.maps.transfers import Transfers

Treatment = Literal["remove", "redistribute", "keep"]


@dataclass(frozen=True, eq=False)
class Treated:
    """The counts after outliers were treated: which cells were outliers, how many records are lost, what moved."""

    count: LongArray
    outliers: BoolArray
    lost: int
    transfers: Transfers


def find_outliers(space: Space, count: LongArray, threshold: int, apart: int, largest: int = 2) -> BoolArray:
    """Return which cells are outliers.

    >>> line = Space.of_pairs(6, [(i, i + 1) for i in range(5)])
    >>> find_outliers(line, np.array([9, 9, 0, 0, 0, 1]), 3, 3).tolist()
    [False, False, False, False, False, True]
    """
    occupied = count > 0
    cluster = space.clusters(occupied)
    size = np.bincount(cluster[occupied], minlength=1)
    safe = np.zeros(len(size), bool)
    safe[cluster[occupied & (count >= threshold)]] = True
    candidates = np.flatnonzero(occupied & ((size <= largest) & ~safe)[cluster])
    lonely = alone(space.start, space.neighbours, space.cells, space.cell_of, cluster, candidates, apart)
    near = np.zeros(len(size), bool)
    near[cluster[candidates[~lonely]]] = True
    outliers = np.zeros(len(count), bool)
    outliers[candidates] = ~near[cluster[candidates]]
    return outliers


def treat_outliers(
    space: Space, count: LongArray, threshold: int, *, treatment: Treatment, apart: int, largest: int = 2
) -> Treated:
    """Remove or re-distribute outliers, again and again until there are none."""
    every, lost, transfers = np.zeros(len(count), bool), 0, Transfers.none()
    while treatment != "keep":
        outliers = find_outliers(space, count, threshold, apart, largest)
        if not outliers.any():
            break
        every |= outliers
        stay = np.where(outliers, 0, count)
        if treatment == "remove" or not stay.any():
            lost += int(count[outliers].sum())
            count = stay
            continue
        cells = np.flatnonzero(outliers)
        rows = closest(space.start, space.neighbours, space.cells, space.cell_of, stay, cells, count[cells])
        moved = Transfers.of(rows[0], rows[1], np.ones(rows.shape[1]), rows[2])
        transfers, count = transfers.then(moved), count + moved.change(len(count))
    return Treated(count, every, lost, transfers)
