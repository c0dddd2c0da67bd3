"""Every suppressed cell with what an officer asks of it: how unsafe, how many respondents, the largest, what room."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellguard.arrays import FloatArray, Positions
from cellguard.methods.suppress.report.sections import need_words, protects
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.report.cell_names import name_cell
from cellguard.report.section import Section
from cellguard.report.words import number, told_count
from cellguard.rules.assess import TableFindings
from cellguard.seam.outcome import Outcome

MOST = 1_500  # rows of the list; the rest is in the internal tables


def hidden_cells(outcome: Outcome[SuppressionResult]) -> Section:
    """List the suppressed cells, unsafe ones first: figures of the rules, respondents, shares, need and interval."""
    rows: list[dict[str, Any]] = []
    hidden = 0
    for at, here in enumerate(outcome.protected.findings.by_table):
        status = outcome.protected.audit.pattern.status(at)
        for word in ("primary", "secondary"):
            cells = np.flatnonzero(status == word)
            hidden += len(cells)
            listed = cells[: max(MOST - len(rows), 0)]
            told = figures_of(here, listed, _ends(outcome, at)) if word == "primary" else [""] * len(listed)
            rows += [_row(outcome, at, here, cell, why) for cell, why in zip(listed.tolist(), told, strict=True)]
    data = {"rows": rows, "more": hidden - len(rows), "exact": outcome.protected.intervals is not None}
    return Section("hidden", "Every suppressed cell", data)


def _row(outcome: Outcome[SuppressionResult], at: int, here: TableFindings, cell: int, figures: str) -> dict[str, Any]:
    """Return a row of the list; ``figures`` are those of the rules, blank for a secondary."""
    table, needs = here.table, outcome.protected.audit.needs
    distinct = int(needs.tables.cells_of[at][cell])
    count = table.facts.count
    primary = bool(figures)
    return name_cell(table, cell) | {
        "status": "primary" if primary else "secondary",
        "level": "/".join(str(d.level[c[cell]]) for d, c in zip(table.dimensions, table.codes, strict=True)),
        "value": number(table.value[cell], table.decimals),
        "count": "" if count is None or table.is_count else f"{count[cell]:,.0f}",
        "shares": _shares(here, cell),
        "reason": "; ".join(here.why(cell)) or "unsafe in a linked table" if primary else "protects others",
        "why": figures or protects(outcome, distinct, 3),
        "need": need_words(needs, distinct, table.decimals) if primary else "",
        "interval": _interval(outcome, distinct, table.decimals, is_count=table.is_count),
    }


def figures_of(here: TableFindings, cells: Positions, ends: tuple[FloatArray, FloatArray] | None = None) -> list[str]:
    """Return for some unsafe cells the rules that say so, each with its figure.

    ``ends`` are those of what an outsider knows of each cell of the table; with them a rule says what its figure
    becomes by suppression.
    """
    told: list[list[str]] = [[] for _ in cells]
    for rule, unsafe in zip(here.rules, here.unsafe, strict=True):
        which = np.flatnonzero(unsafe[cells])
        for i, figure in zip(which.tolist(), rule.figures(here.table, cells[which]), strict=True):
            cell = int(cells[i])
            after = rule.after(here.table, cell, float(ends[0][cell]), float(ends[1][cell])) if ends else ""
            told[i].append(f"{rule}: {figure}" + (f", {after}" if after else ""))
    named = (figures or here.why(cell) for figures, cell in zip(told, cells.tolist(), strict=True))
    return ["; ".join(words) or "unsafe in a linked table" for words in named]


def _ends(outcome: Outcome[SuppressionResult], at: int) -> tuple[FloatArray, FloatArray] | None:
    """Return what an outsider knows of the cells of a table, if that was worked out."""
    intervals = outcome.protected.intervals
    if intervals is None:
        return None
    cells = outcome.protected.audit.needs.tables.cells_of[at]
    return intervals.lower[cells], intervals.upper[cells]


def _shares(here: TableFindings, cell: int) -> str:
    """Return the shares of the largest contributions, without saying whose they are."""
    tops, whole = here.table.facts.tops, here.table.facts.basis[cell]
    if tops is None or not whole > 0:
        return ""
    return ", ".join(f"{100 * top / whole:,.0f} %" for top in tops[cell][:3].tolist() if top > 0)


def _interval(outcome: Outcome[SuppressionResult], cell: int, decimals: int, *, is_count: bool) -> str:
    intervals = outcome.protected.intervals
    if intervals is None:
        return ""
    low, high = intervals.lower[cell], intervals.upper[cell]
    return told_count(low, high) if is_count else f"{number(low, decimals)} to {number(high, decimals)}"
