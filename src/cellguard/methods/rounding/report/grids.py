"""The grids of a page about rounded tables: published and true values, intervals, and marks."""

from __future__ import annotations

import numpy as np

from cellguard.methods.rounding.result import RoundingResult
from cellguard.report.changed_grids import changed_grid, shown_rows
from cellguard.report.page_grids import Grid

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
    kept = shown_rows(table)
    size = done.rounded.plan.grains.size()
    named = (
        ("published value", np.where(done.rounded.seen, done.rounded.value * size, np.nan)),
        ("true value", done.rounded.plan.value * size),
        ("least possible", done.attacked.lower),
        ("most possible", done.attacked.upper),
    )
    views = [(name, figures[cells[kept]]) for name, figures in named]
    letters, reasons = [_MARKS[word] for word in done.status(number)], done.assessed.findings.by_table[number].reasons()
    return changed_grid(table, kept, letters, views, reasons, "oxh")
