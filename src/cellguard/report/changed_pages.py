"""Parts that the officer's pages about changed figures share: the verdict, and the tables with their legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cellguard.report.page_grids import Grid
from cellguard.report.section import Section
from cellguard.report.tables_page import heading
from cellguard.seam.outcome import Outcome


def verdict_of(outcome: Outcome[Any], figures: Sequence[tuple[str, str, str]]) -> Mapping[str, Any]:
    """Return the verdict in one line, one sentence and a few figures."""
    head = outcome.verdict
    kind = head.kind if head.kind in {"safe", "unsafe"} else "undecided"
    released = "" if outcome.release is not None else "Nothing was released. "
    return {"kind": kind, "headline": f"{head.text}.", "sentence": released + head.caveat, "figures": list(figures)}


def tables_of(grids: Sequence[Grid], legend: Sequence[tuple[str, str, str]]) -> Section:
    """Return the part that shows the tables, with as much of the legend as they need."""
    seen = set().union(*(grid["status"] for grid in grids))
    said = [entry for entry in legend if entry[0] in seen]
    return Section("tables", "The tables", {"grids": [heading(grid) for grid in grids], "legend": said})
