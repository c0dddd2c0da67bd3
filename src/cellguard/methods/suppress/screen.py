"""What a terminal shows of audited tables, from their summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cellguard.inputs.assessed_screen import CURE
from cellguard.methods.suppress.engines.effort import BEST, NORMAL
from cellguard.methods.suppress.suppress import Suppression
from cellguard.seam.screen import Board, Screen, counted
from cellguard.table.table import ADDED

_SHOWN = 20
SEARCHING = ("witness", "gauss")
"""The engines that go on for longer with more effort."""
_ADDED_ROWS = (
    "Rows of cells that no table lists, and of sums, are what an attacker can work out: "
    "judged and protected, not released."
)


def audit_words(
    summary: Mapping[str, Any], written: Sequence[str], *, cured: bool = True, search: Suppression | None = None
) -> Screen:
    """Return the verdict first, then the cells that are given away and how, what was written, what was not checked.

    ``search`` is what chose the pattern, if it was chosen now.
    """
    cure = CURE if summary["verdict"] == "no rule" and not cured else ""
    gap = summary.get("gap") if summary.get("lower_bound") or not summary.get("cost") else None
    return [
        f"{summary['headline'].rstrip('.')}.",
        *_tables(summary),
        *_failures(summary),
        *_too_near(summary),
        *(
            []
            if gap is None
            else [f"At most {gap:.1%} of what the secondary cells cost could be saved (0.0% is the optimum)."]
        ),
        *_where_it_ended(search),
        *(f"Warning: {warning}" for warning in summary.get("warnings", ())),
        *(
            f"Taken on trust: the rule {rule}, which `cellguard verify` cannot recompute."
            for rule in summary.get("trusted", ())
        ),
        *(f"Written: {line}" for line in written),
        *(line for line in (cure, summary.get("caveat", "")) if line),
    ]


def _where_it_ended(search: Suppression | None) -> list[str]:
    """Say with which work a search ended that is further from the optimum than normal effort aims at.

    >>> _where_it_ended(None)
    []
    """
    if search is None or search.seed is not None or not search.finished or search.effort == BEST.name:
        return []
    if search.engine not in SEARCHING or search.search_gap <= NORMAL.gap or search.bound <= 0:
        return []
    return [
        f"The search ended with the work of effort {search.effort}, at most {search.search_gap:.1%} above the optimum; "
        "effort best goes on."
    ]


def _tables(summary: Mapping[str, Any]) -> Screen:
    both = summary["set"]
    if "tables" not in summary:
        return [
            f"{counted(both['cells'], 'distinct cell')}, {both['suppressed']:,} suppressed, "
            f"{both['disclosed']:,} disclosed."
        ]
    header = ["table", "cells", "published", "primary", "secondary", "not protected"]
    keys = ("cells", "published", "primary", "secondary", "failing")
    tables = summary["tables"].items()
    rows = [[ADDED.get(table["release"], name), *(f"{table[k]:,}" for k in keys)] for name, table in tables]
    added = any(table["release"] in ADDED for _, table in tables)
    return [
        Board(header, rows, range(1, 6)),
        *([_ADDED_ROWS] if added else []),
        f"All tables together: {counted(both['cells'], 'distinct cell')}, {counted(both['relations'], 'relation')}, "
        f"{counted(both['primary'], 'unsafe cell')}, {counted(both['witnesses'], 'witness')}.",
    ]


def _failures(summary: Mapping[str, Any]) -> list[str]:
    failing = summary["failing"]
    lines = []
    for failure in failing[:_SHOWN]:
        lines += [f"\n{failure['cell']}: {_interval(failure)}", *(f"  {line}" for line in failure["how"])]
    if len(failing) > _SHOWN:
        listed = max(summary["set"].get("failing", 0), len(failing))
        lines.append(f"\n... and more; --json lists up to 100 of {listed:,}.")
    return lines


def _too_near(summary: Mapping[str, Any]) -> list[str]:
    """Describe which insiders estimate others too closely, by their numbers."""
    pairs = summary.get("too_near", [])
    lines = []
    for pair in pairs[:_SHOWN]:
        who = "A respondent from elsewhere" if pair["insider"] is None else f"Insider {pair['insider']}"
        if pair["others"]:
            who = f"Insiders {', '.join(map(str, (pair['insider'], *pair['others'])))} together"
        what = "may estimate" if pair["undecided"] else "estimate" if pair["others"] else "estimates"
        lines.append(f"{who} {what} another respondent of {pair['cell']} too closely.")
    return [*lines, *([f"... and more; --json lists up to {len(pairs)}."] if len(pairs) > _SHOWN else [])]


def _interval(failure: Mapping[str, Any]) -> str:
    if failure.get("undecided"):
        return "not decided"
    low, high = failure["lower"], failure["upper"]
    if low is not None and low == high:
        return f"known exactly, {low:,.10g}"
    ends = ("no lower end" if low is None else f"{low:,.10g}"), ("no upper end" if high is None else f"{high:,.10g}")
    return f"between {ends[0]} and {ends[1]}"
