"""What a terminal shows of rounded tables, from their summaries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cellguard.seam.screen import Board, Screen, counted

_SHOWN = 10


def rounded_words(summary: Mapping[str, Any], folder: Path | None) -> Screen:
    """Return the tables, the verdict, what attackers conclude, how far values moved, and where it was written."""
    rows = [
        [name, f"{t['cells']:,}", f"{t['base']:g}", *(f"{t[key]:,}" for key in ("suppressed", "primary", "unsafe"))]
        for name, t in summary["tables"].items()
        if "base" in t
    ]
    both, off, sums = summary["set"], summary["distance"], summary["sums"]
    known = "" if both["intervals"] == "exact" else " at least"
    return [
        Board(["table", "cells", "base", "suppressed", "unsafe by rule", "still unsafe"], rows, range(1, 6)),
        f"Verdict: {summary['headline']}.",
        *(f"  {cell}" for cell in summary["open"][:_SHOWN]),
        *([f"  and {len(summary['open']) - _SHOWN} more"] if len(summary["open"]) > _SHOWN else []),
        f"Together the tables tell{known} {counted(both['narrowed'], 'cell')} more closely than its own rounding.",
        f"Values moved by {off['mean']:.4g} on average and {off['largest']:g} at most; "
        f"Hellinger distance {off['hellinger']:.4g}.",
        _additive(sums),
        *(f"Warning: {warning}" for warning in summary["warnings"]),
        *_written(summary, folder),
        *([summary["caveat"]] if summary["caveat"] else []),
    ]


def _additive(sums: Mapping[str, int]) -> str:
    if not sums["off"]:
        return "The published values add up."
    return f"Not additive: {sums['off']:,} of {counted(sums['published'], 'published sum')} do not add up."


def _written(summary: Mapping[str, Any], folder: Path | None) -> list[str]:
    if folder is None:
        return [] if summary["released"] else ["Nothing was released."]
    if summary["released"]:
        return [f"Wrote {folder}/release (may be published), {folder}/internal (confidential)"]
    cure = "a larger `base`, `suppress_below`, or `if_unsafe: suppress` may help"
    return [f"Nothing was released; {cure}. {folder}/internal says more (confidential)."]


def assessed_words(summary: Mapping[str, Any]) -> Screen:
    """Return how many cells are unsafe before anything is rounded."""
    rows = [[name, f"{t['cells']:,}", f"{t['primary']:,}"] for name, t in summary["tables"].items()]
    return [
        Board(["table", "cells", "unsafe"], rows, (1, 2)),
        *(f"Warning: {warning}" for warning in summary["warnings"]),
        "Nothing is rounded yet: these tables must not be published as they are.",
    ]
