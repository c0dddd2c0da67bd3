"""A table as compact plain data for the grid of a page: trees of codes, and one entry per cell.

The page draws rows from it only when somebody opens them, so that a hundred thousand cells stay light.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from cellguard.hierarchy.hierarchy import IntArray
from cellguard.table.pattern import STATUS, ReleasedTable
from cellguard.table.public_codes import PublicDimension
from cellguard.table.table import Table
from cellguard.views import grid as views
from cellguard.views.grid import AnyDimension

MOST = 250_000  # cells that a page holds of one table; of larger ones the coarser levels
MARKS = dict(zip(STATUS, ".psu", strict=True))
SHOWN, SUPPRESSED = ".", "c"
Positions = npt.NDArray[np.intp]
Grid = dict[str, Any]


def internal_grid(table: Table, status: npt.NDArray[np.str_], values: Sequence[Decimal]) -> tuple[Grid, Positions]:
    """Return a confidential table with the status of each cell, and which cells are in it.

    ``values`` are the exact values of the table's cells; they are written with the decimals that are published.
    """
    kept = coarsest(table.dimensions, table.codes, MOST)
    grid = marked_grid(table, table.decimals, kept, list(map(MARKS.__getitem__, status[kept].tolist())))
    grid["value"] = " ".join(f"{values[i]:.{table.decimals}f}" for i in kept.tolist())
    return grid, kept


def marked_grid(table: Table, decimals: int, kept: Positions, marks: Sequence[str]) -> Grid:
    """Return some cells of a confidential table with a mark each, a letter; their values are still to come."""
    grid = _grid(table.name, table.response, decimals, table.dimensions, [c[kept] for c in table.codes])
    grid["status"] = "".join(marks)
    if table.facts.count is not None:
        grid["count"] = table.facts.count[kept].astype(np.int64).tolist()
    grid["left_out"] = len(table) - len(kept)
    return grid


def public_grid(table: ReleasedTable, dimensions: Sequence[PublicDimension]) -> Grid:
    """Return a table as published. A suppressed cell has no value, and nothing tells why it is suppressed."""
    codes = views.released_codes(table, dimensions)
    kept = coarsest(dimensions, codes, MOST)
    grid = _grid(table.name, table.response, table.decimals, dimensions, [c[kept] for c in codes])
    # A space separates values, so that a suppressed cell is nothing between two spaces.
    grid["value"] = " ".join(table.value[i] for i in kept.tolist())
    grid["status"] = "".join(SUPPRESSED if s else SHOWN for s in table.suppressed[kept].tolist())
    grid["left_out"] = len(table) - len(kept)
    return grid


def coarsest(dimensions: Sequence[AnyDimension], codes: Sequence[IntArray], most: int) -> Positions:
    """Return the cells of the coarsest levels, as many whole levels as fit, in their own order."""
    depth = np.sum([d.level[c] for d, c in zip(dimensions, codes, strict=True)], axis=0)
    if len(depth) <= most:
        return np.arange(len(depth))
    total = np.cumsum(np.bincount(depth))
    return np.flatnonzero(depth < max(int(np.searchsorted(total, most, side="right")), 1))


def _grid(
    name: str, response: str, decimals: int, dimensions: Sequence[AnyDimension], codes: Sequence[IntArray]
) -> Grid:
    model = views.Grid.of(name, dimensions, codes)
    axes, columns = [axis.plain() for axis in model.axes], [column.tolist() for column in model.codes]
    return {"name": name, "response": response, "decimals": decimals, "axes": axes, "codes": columns}
