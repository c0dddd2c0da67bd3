"""`ShownMap`: a map as published. It holds nothing else, so writers of published files can take nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.arrays import LongArray
from cellguard.geometry.tiling import Tiling
from cellguard.table.pattern import ReleasedTable


@dataclass(frozen=True, eq=False)
class ShownMap:
    """The cells that are shown, in coordinate order, with their values in units of the last decimal.

    ``crs`` is the coordinate system of the grid, None if nobody said it.

    >>> from cellguard.geometry.hexgrid import Grid
    >>> one = ShownMap("shops", "hexagon", Grid.of_size(1.0), np.array([0]), np.array([-2]), [7], "count", "all", 0)
    >>> one.table().codes[0].tolist(), one.table().value
    (['h0:-2'], ['7'])
    """

    name: str
    by: str
    grid: Tiling
    q: LongArray
    r: LongArray
    units: list[int]
    response: str
    population: str
    decimals: int
    crs: str | None = None

    def __len__(self) -> int:
        return len(self.units)

    @property
    def codes(self) -> list[str]:
        """What each cell is called."""
        return self.grid.codes(self.q, self.r)

    def table(self) -> ReleasedTable:
        """Return the map as a table with one row per cell, of which none is suppressed."""
        codes = (np.array(self.codes, object),)
        none = np.zeros(len(self), bool)
        return ReleasedTable(
            self.name, (self.by,), codes, self.units, none, self.response, self.population, self.decimals
        )
