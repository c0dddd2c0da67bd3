"""The grids of a page about rounded tables: published and true values, intervals, and marks."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.methods.rounding.result import RoundingResult
from cellguard.report.page_grids import MOST, Grid, Positions, coarsest, marked_grid

LEGEND = (
    (".", "rounded", ""),
    ("o", "protected: unsafe by a rule, safe as it is published", "○"),
    ("x", "unsafe: an attacker comes too close to it", "✕"),
    ("h", "suppressed: no value is published", "c"),
    ("k", "kept: published as it is", "="),
    ("u", "not in the release", "–"),
)
_MARKS = {"rounded": ".", "protected": "o", "unsafe": "x", "suppressed": "h", "kept": "k", "unpublished": "u"}


def rounded_grid(done: RoundingResult, number: int) -> Grid:
    """Return a table with the mark of each cell, its published and true value, and what an attacker concludes."""
    table, cells = done.tables[number], done.assessed.tables.cells_of[number]
    kept = coarsest(table.dimensions, table.codes, MOST)
    status = done.status(number)
    grid = marked_grid(table, table.decimals, kept, [_MARKS[status[row]] for row in kept.tolist()])
    size = done.rounded.plan.grains.size()
    at = cells[kept]
    shown = np.where(done.rounded.seen, done.rounded.value * size, np.nan)
    true = done.rounded.plan.value * size
    grid["views"] = [
        ["published value", _column(shown[at], table.decimals)],
        ["true value", _column(true[at], table.decimals)],
        ["least possible", _column(done.attacked.lower[at], table.decimals)],
        ["most possible", _column(done.attacked.upper[at], table.decimals)],
    ]
    grid["notes"] = _notes(done, number, kept)
    return grid | {"word": "marked", "marked": "oxh"}


def _column(values: FloatArray, decimals: int) -> str:
    return " ".join(f"{x + 0.0:.{decimals}f}" if np.isfinite(x) else "" for x in values.tolist())


def _notes(done: RoundingResult, number: int, kept: Positions) -> dict[str, Any]:
    """Return for the unsafe cells of a grid what a click on them tells."""
    reasons = done.assessed.findings.by_table[number].reasons()
    at = [place for place, row in enumerate(kept.tolist()) if reasons[row]]
    texts = [f"unsafe by {reasons[row]}" for row in kept[at].tolist()] if at else []
    return {"at": at, "reason": list(range(len(at))), "texts": texts}
