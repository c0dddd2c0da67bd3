"""The grids of pages about changed figures: cells with marks, several figures each, and why they are unsafe."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.report.page_grids import MOST, Grid, Positions, coarsest, marked_grid
from cellguard.table.table import Table


def shown_rows(table: Table) -> Positions:
    """Return the rows of a table that a page has room for."""
    return coarsest(table.dimensions, table.codes, MOST)


def changed_grid(
    table: Table,
    kept: Positions,
    letters: Sequence[str],
    views: Sequence[tuple[str, FloatArray]],
    reasons: Sequence[str],
    marked: str,
) -> Grid:
    """Return rows of a table with a letter each, and named figures; a click on an unsafe cell tells its reason.

    ``letters`` and ``reasons`` are those of all rows, ``views`` those of rows that are kept. ``marked`` are the letters
    that a page counts as marked.
    """
    grid = marked_grid(table, table.decimals, kept, [letters[row] for row in kept.tolist()])
    grid["views"] = [[name, column(values, table.decimals)] for name, values in views]
    places = [place for place, row in enumerate(kept.tolist()) if reasons[row]]
    texts = [f"unsafe by {reasons[row]}" for row in kept[places].tolist()] if places else []
    grid["notes"] = {"at": places, "reason": list(range(len(places))), "texts": texts}
    return grid | {"word": "marked", "marked": marked}


def column(values: FloatArray, decimals: int) -> str:
    """Return figures with a space between them; what is no number is nothing between two spaces."""
    return " ".join(f"{x + 0.0:.{decimals}f}" if np.isfinite(x) else "" for x in values.tolist())
