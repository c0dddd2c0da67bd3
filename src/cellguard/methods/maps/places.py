"""From points to the cells of a map, and to larger ones where there are too few records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.arrays import FloatArray, LongArray, Positions
from cellguard.errors import NotProtected
from cellguard.geometry.hexgrid import distinct
from cellguard.geometry.space import Space
from cellguard.geometry.tiling import Tiling
from cellguard.methods.maps.mapping import Plan, can_be_filled


@dataclass(frozen=True, eq=False)
class Points:
    """The places of records. Confidential."""

    x: FloatArray
    y: FloatArray

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, eq=False)
class Tiles:
    """The cells that have records, in coordinate order; ``of_point`` is the cell of each record. Confidential."""

    grid: Tiling
    q: LongArray
    r: LongArray
    space: Space
    count: LongArray
    of_point: Positions

    @classmethod
    def of_points(cls, points: Points, grid: Tiling) -> Tiles:
        """Return the cells of points.

        >>> from cellguard.geometry.hexgrid import Grid
        >>> made = Tiles.of_points(Points(np.array([0.1, 0.2, 1.0]), np.zeros(3)), Grid.of_size(1.0))
        >>> made.q.tolist(), made.count.tolist()
        ([0, 1], [2, 1])
        """
        return cls.of_places(*grid.places(points.x, points.y), grid)

    @classmethod
    def of_places(cls, of_q: LongArray, of_r: LongArray, grid: Tiling) -> Tiles:
        """Return the cells of records whose cells are known already."""
        q, r, at = distinct(of_q, of_r)
        return cls(grid, q, r, grid.space(q, r), np.bincount(at, minlength=len(q)), at)

    @classmethod
    def ready_made(cls, q: LongArray, r: LongArray, count: LongArray, grid: Tiling) -> Tiles:
        """Return cells that came with their counts; those without records are left out."""
        some = count > 0
        new_q, new_r, at = distinct(q[some], r[some])
        counts = np.zeros(len(new_q), np.int64)
        np.add.at(counts, at, count[some])
        return cls(grid, new_q, new_r, grid.space(new_q, new_r), counts, np.zeros(0, np.intp))

    @property
    def codes(self) -> list[str]:
        """What the cells are called."""
        return self.grid.codes(self.q, self.r)


def large_enough(points: Points, tiles: Tiles, plan: Plan) -> Tiles:
    """Return larger and larger cells, until the records suffice for the threshold in each."""
    while not can_be_filled(tiles.space, tiles.count, plan):
        if len(tiles.count) <= 1:
            raise NotProtected(
                f"even a single {tiles.grid.word} has fewer than {plan.threshold} records: nothing can be shown"
            )
        tiles = Tiles.of_points(points, tiles.grid.coarser())
    return tiles
