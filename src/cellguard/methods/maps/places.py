"""From points to hexagons, and to larger ones where there are too few records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.arrays import FloatArray, LongArray, Positions
from cellguard.errors import NotProtected
from cellguard.geometry.hexgrid import Grid, distinct
from cellguard.geometry.space import Space
from cellguard.methods.maps.mapping import Plan, can_be_filled


@dataclass(frozen=True, eq=False)
class Points:
    """Records with their places; ``value`` is None where records are only counted. Confidential."""

    x: FloatArray
    y: FloatArray
    value: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True, eq=False)
class Hexagons:
    """The hexagons that have records, in coordinate order; ``of_point`` is the hexagon of each record. Confidential."""

    grid: Grid
    q: LongArray
    r: LongArray
    space: Space
    count: LongArray
    of_point: Positions

    @classmethod
    def of_points(cls, points: Points, grid: Grid) -> Hexagons:
        """Return the hexagons of points.

        >>> made = Hexagons.of_points(Points(np.array([0.1, 0.2, 1.0]), np.zeros(3)), Grid.of_size(1.0))
        >>> made.q.tolist(), made.count.tolist()
        ([0, 1], [2, 1])
        """
        q, r, at = distinct(*grid.hexagons(points.x, points.y))
        return cls(grid, q, r, Space.of_hexagons(q, r), np.bincount(at, minlength=len(q)), at)

    @classmethod
    def ready_made(cls, q: LongArray, r: LongArray, count: LongArray, grid: Grid) -> Hexagons:
        """Return hexagons that came with their counts; those without records are left out."""
        some = count > 0
        new_q, new_r, at = distinct(q[some], r[some])
        counts = np.zeros(len(new_q), np.int64)
        np.add.at(counts, at, count[some])
        return cls(grid, new_q, new_r, Space.of_hexagons(new_q, new_r), counts, np.zeros(0, np.intp))


def large_enough(points: Points, hexagons: Hexagons, plan: Plan) -> Hexagons:
    """Return hexagons a quarter larger, again and again until the records suffice for the threshold in each."""
    while not can_be_filled(hexagons.space, hexagons.count, plan):
        if len(hexagons.count) <= 1:
            raise NotProtected(f"even a single hexagon has fewer than {plan.threshold} records: nothing can be shown")
        hexagons = Hexagons.of_points(points, hexagons.grid.coarser())
    return hexagons
