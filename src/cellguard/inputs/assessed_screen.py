"""What a terminal shows of assessed tables, from their summary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cellguard.seam.screen import Board, Screen, counted
from cellguard.table.table import ADDED

CURE = "Give every table `rules`, or accept this with --accept-no-rules."


def assessed_words(summary: Mapping[str, Any], *, cured: bool = True) -> Screen:
    """Return what was found: one line per table, then the set, warnings and what was not checked."""
    rows = []
    for name, table in summary["tables"].items():
        share = f"{100 * table['primary'] / table['cells']:.1f} %" if table["cells"] else "-"
        rules = "; ".join(f"{rule}: {cells:,}" for rule, cells in table["by_rule"].items()) or "no rules"
        called = ADDED.get(table["release"], name)
        rows.append([called, f"{table['cells']:,}", f"{table['primary']:,}", share, rules])
    both = summary["set"]
    return [
        Board(["table", "cells", "unsafe", "share", "unsafe by rule"], rows, (1, 2, 3)),
        f"\nAll tables together: {counted(both['cells'], 'distinct cell')}, {counted(both['relations'], 'relation')}, "
        f"{counted(both['primary'], 'unsafe cell')}.",
        *(f"Warning: {warning}" for warning in summary["warnings"]),
        f"{summary['headline']}: these tables must not be published as they are. Insiders not checked.",
        *([] if cured else [CURE]),
    ]
