"""What a page about perturbed tables is about, and its grids: true and published values, noise, and marks."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellguard.methods.perturb.checks.finding import Cell
from cellguard.methods.perturb.result import PerturbationResult
from cellguard.methods.perturb.workflow import Perturbed
from cellguard.report.page_grids import MOST, Grid, Positions, coarsest, marked_grid
from cellguard.report.words import number
from cellguard.seam.outcome import Outcome
from cellguard.table.facts import FloatArray

LEGEND = (
    (".", "safe", ""),
    ("o", "sensitive: unsafe without noise, safe with it", "○"),
    ("x", "unsafe: too little noise, or in a finding that forbids the release", "✕"),
    ("a", "accepted: in a finding that the job accepts", "!"),
    ("u", "not in the release", "–"),
)
MARKED = "oxa"


def perturbed_grid(outcome: Outcome[PerturbationResult], at: int) -> Grid:
    """Return a table with the mark of each cell, its published and true value and its noise in percent."""
    here = outcome.protected.check.tables[at]
    table, decimals = here.table.table, outcome.protected.decimals[here.table.name]
    kept = coarsest(table.dimensions, table.codes, MOST)
    marks = outcome.protected.marks(at)[kept]
    grid = marked_grid(table, decimals, kept, marks.tolist())
    total = here.table.total
    percent = np.divide(100 * here.noise, np.abs(total), out=np.full(len(total), np.nan), where=total != 0)
    grid["views"] = [
        ["published value", _column(here.total[kept], decimals)],
        ["true value", _column(total[kept], decimals)],
        ["noise in percent", _column(percent[kept], 2)],
    ]
    grid["notes"] = _notes(here, kept, decimals)
    return grid | {"word": "marked", "marked": MARKED}


def _column(values: FloatArray, decimals: int) -> str:
    """Write numbers with a space between them, nothing for one that is not there."""
    return " ".join("" if np.isnan(x) else f"{x + 0.0:.{decimals}f}" for x in values.tolist())


def _notes(here: Perturbed, kept: Positions, decimals: int) -> dict[str, Any]:
    """Return for the sensitive cells of a grid what a click on them tells: need, noise and what is left as S_N."""
    at = np.flatnonzero(here.needs.sensitive[kept])
    cells = kept[at]
    figures = (here.needs.need[cells].tolist(), here.noise[cells].tolist(), here.s_n[cells].tolist())
    texts = [
        f"needs noise of {number(need, decimals)}, got {number(noise, decimals)}, S_N {number(left, decimals)}"
        for need, noise, left in zip(*figures, strict=True)
    ]
    return {"at": at.tolist(), "reason": list(range(len(at))), "texts": texts}


def cell_list(cells: tuple[Cell, ...], most: int = 8) -> str:
    """Name cells, as many as can be read.

    >>> cell_list((Cell("t", "A"), Cell("t", "B"), Cell("s", "*")), most=2)
    't: A, t: B and 1 more'
    """
    shown = ", ".join("table " + c.table if c.cell == "*" else str(c) for c in cells[:most])
    return shown + (f" and {len(cells) - most:,} more" if len(cells) > most else "")
