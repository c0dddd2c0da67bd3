"""The two pages: one for the disclosure officer, confidential; one for the public, made of nothing but the release.

Both are single files without any address in them: style, script and data are inside, and a content security policy
forbids the rest. They need the extra `report` (jinja2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cellguard.methods.suppress.report.assurance import checked, inside, run, verdict
from cellguard.methods.suppress.report.counts import counts
from cellguard.methods.suppress.report.sections import edge, largest, levels, protected, protects, reasons
from cellguard.methods.suppress.report.signing import Baseline, compared, signing
from cellguard.methods.suppress.report.unsafe import figures_of, hidden_cells
from cellguard.methods.suppress.report.what_if import what_if
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.report.page_grids import Grid, Positions, internal_grid
from cellguard.report.render import render
from cellguard.report.section import Section
from cellguard.report.tables_page import heading, listed, public_tables, status_words
from cellguard.report.words import number, told_count
from cellguard.seam.outcome import Outcome
from cellguard.table.pattern import Release
from cellguard.table.table import ADDED, Table
from cellguard.words.retell import retell
from cellguard.words.say import say


def internal_page(outcome: Outcome[SuppressionResult], earlier: Baseline | None = None) -> str:
    """Return the page from which a disclosure officer decides. Confidential: it holds suppressed values.

    With an ``earlier`` run it says what changed since.
    """
    grids = [_internal_grid(outcome, at) for at in range(len(outcome.protected.findings.by_table))]
    legend = [entry for entry in _LEGEND if entry[0] != "u" or any("u" in grid["status"] for grid in grids)]
    headings = [heading(g) | _added(table) for g, table in zip(grids, outcome.protected.tables, strict=True)]
    tables = Section("tables", "The tables", {"grids": headings, "legend": legend})
    own = [table.name for table in outcome.protected.tables if not table.is_added]
    since = [compared(outcome, earlier)] if earlier else []
    return render(
        "internal.html",
        title=say("Disclosure control of {tables}", tables=listed(own)),
        verdict=verdict(outcome),
        sections=[protected(outcome), tables, *since, *filter(None, (make(outcome) for make in _AFTER_TABLES))],
        data={"kinds": status_words(_LEGEND), "tables": grids},
        made=outcome.made,
        holds="suppressed values",
        proven=True,
    )


def public_page(release: Release, *, title: str = "") -> str:
    """Return a page of the tables as published. It is made from the release and from nothing else.

    It tells no suppressed value, no sum of them, and not why a cell is suppressed.
    """
    return public_tables("public.html", release, title=title, marks=True)


FIGURED = 5_000  # suppressed cells of a table up to which the page has the figures of rules for each
_AFTER_TABLES = (hidden_cells, levels, largest, counts, edge, reasons, inside, what_if, checked, run, signing)
_LEGEND = (
    (".", "published", ""),
    ("p", "primary: suppressed because a rule calls it unsafe", "●"),
    ("s", "secondary: suppressed to protect others", "○"),
    ("u", "not in the release", "–"),
)


def _added(table: Table) -> dict[str, str]:
    """Return what the heading of a table says that cellguard added."""
    if not table.is_added:
        return {}
    return {"name": ADDED[table.release]} | ({"by": "sum"} if table.release == "sums" else {})


def _internal_grid(outcome: Outcome[SuppressionResult], at: int) -> Grid:
    audit, cells = outcome.protected.audit, outcome.protected.audit.needs.tables.cells_of[at]
    values = [audit.values[c] for c in cells.tolist()]
    grid, kept = internal_grid(outcome.protected.findings.by_table[at].table, audit.pattern.status(at), values)
    grid["notes"] = _notes(outcome, at, kept)
    return grid


def _notes(outcome: Outcome[SuppressionResult], at: int, kept: Positions) -> dict[str, Any]:
    """Return for the suppressed cells of a grid what a click on them tells: reasons, needs and intervals."""
    audit, here = outcome.protected.audit, outcome.protected.findings.by_table[at]
    cells = audit.needs.tables.cells_of[at][kept]
    where = np.flatnonzero(audit.pattern.hidden[cells])
    cells, rows = cells[where], kept[where]
    rules = here.reasons()
    texts: dict[str, int] = {}
    primary = audit.needs.primary[cells]
    figures = iter(figures_of(here, rows[primary])) if len(cells) <= FIGURED else iter(())
    said = [
        next(figures, "") or rules[row] or "unsafe in a linked table" if unsafe else protects(outcome, cell, 8)
        for cell, row, unsafe in zip(cells.tolist(), rows.tolist(), primary.tolist(), strict=True)
    ]
    reason = [texts.setdefault(words, len(texts)) for words in said]
    notes: dict[str, Any] = {"at": where.tolist(), "reason": reason, "texts": list(map(retell, texts))}
    digits = here.table.decimals + 1
    for name in ("lower", "upper", "sliding"):
        need = getattr(audit.needs, name)[cells]
        notes[name] = [float(x) for x in np.round(need, digits).tolist()]
    if outcome.protected.intervals is not None:
        ends = outcome.protected.intervals.lower[cells].tolist(), outcome.protected.intervals.upper[cells].tolist()
        notes["interval"] = [retell(_seen(here.table, low, high)) for low, high in zip(*ends, strict=True)]
    return notes


def _seen(table: Table, low: float, high: float) -> str:
    """Describe what an outsider sees of a suppressed cell."""
    if table.is_count:
        return told_count(low, high)
    return f"{number(low, table.decimals)} to {number(high, table.decimals)}"
