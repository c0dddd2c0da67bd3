"""What a page about perturbed tables is about, and its grids: true and published values, noise, and marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cellguard.protect.perturb.checks.finding import Cell, Finding
from cellguard.protect.perturb.draw.replicate import Replication
from cellguard.protect.perturb.workflow import Check, Perturbed
from cellguard.report.case import name_cell
from cellguard.report.grid import MOST, Grid, Positions, coarsest, marked_grid
from cellguard.report.words import number
from cellguard.table.facts import FloatArray

LEGEND = (
    (".", "safe", ""),
    ("o", "sensitive: unsafe without noise, safe with it", "○"),
    ("x", "unsafe: too little noise, or in a finding that forbids the release", "✕"),
    ("a", "accepted: in a finding that the job accepts", "!"),
    ("u", "not in the release", "–"),
)
MARKED = "oxa"


@dataclass(frozen=True, eq=False)
class PerturbedCase:
    """What a page is about: the check of a perturbed set and the summary of its run. Confidential.

    ``flags`` and ``decimals`` say of each table whether it is in the calibration set, and how it is published;
    ``study`` is a replication study, ``folders`` how many releases it was compared with, ``made`` when the run was.
    """

    check: Check
    summary: Mapping[str, Any]
    flags: Mapping[str, str]
    decimals: Mapping[str, int]
    study: Replication | None = None
    folders: int = 0
    made: str = ""

    @cached_property
    def accepted(self) -> tuple[Finding, ...]:
        """The findings that would forbid the release, had the job not accepted their cells."""
        return tuple(f for f in self.check.findings if f.blocks and self.check.is_accepted(f))

    @cached_property
    def marked(self) -> Mapping[str, Mapping[str, str]]:
        """For each table the cells of findings that forbid the release, and of accepted ones: x or a, by name."""
        found: dict[str, dict[str, str]] = {here.table.name: {} for here in self.check.tables}
        for letter, findings in (("a", self.accepted), ("x", self.check.open)):
            for cell in (cell for f in findings for cell in f.cells if cell.table in found):
                found[cell.table][cell.cell] = letter
        return found

    def marks(self, at: int) -> npt.NDArray[np.str_]:
        """Return the mark of each cell of a table, a letter of the legend."""
        here = self.check.tables[at]
        table = here.table.table
        found = np.where(here.needs.sensitive, "o", ".")
        told = self.marked[here.table.name]
        if not self.check.checked:
            found[here.unsafe] = "x"
        elif told:
            names = [table.cell_name(i) for i in range(len(table))]
            found = np.array([told.get(name, mark) for name, mark in zip(names, found.tolist(), strict=True)])
        return np.where(table.unpublished, "u", found)

    def name(self, at: int, cell: int) -> dict[str, str]:
        """Return a cell's table, codes and labels."""
        return name_cell(self.check.tables[at].table.table, cell)


def perturbed_grid(case: PerturbedCase, at: int) -> Grid:
    """Return a table with the mark of each cell, its published and true value and its noise in percent."""
    here = case.check.tables[at]
    table, decimals = here.table.table, case.decimals[here.table.name]
    kept = coarsest(table.dimensions, table.codes, MOST)
    marks = case.marks(at)[kept]
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
