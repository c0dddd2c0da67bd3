"""The end of the officer's page: what changed since an earlier run, and the block to sign."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from cellguard.methods.suppress.result import SuppressionResult
from cellguard.report.cell_names import link_to
from cellguard.report.section import Section
from cellguard.seam.outcome import Outcome
from cellguard.table.table import Table

_MOST = 500
_FIGURES = ("cells", "primary", "secondary")


@dataclass(frozen=True)
class Baseline:
    """An earlier run: what it is called, its summary, and for each table the status of each cell by its name."""

    name: str
    summary: Mapping[str, Any]
    statuses: Mapping[str, Mapping[str, str]]


def compared(outcome: Outcome[SuppressionResult], earlier: Baseline) -> Section:
    """Show what changed since an earlier run: figures side by side, and the cells whose status differs."""
    now = outcome.summary
    figures = [(word, earlier.summary.get("set", {}).get(word), now["set"][word]) for word in _FIGURES]
    figures += [(word, earlier.summary.get(word), now.get(word)) for word in ("cost", "gap", "verdict")]
    rows: list[dict[str, str]] = []
    for at, table in enumerate(outcome.protected.tables):
        if table.is_added:  # nothing of it is ever released
            continue
        rows += _changes(
            table, outcome.protected.audit.pattern.status(at).tolist(), earlier.statuses.get(table.name, {})
        )
    data = {
        "earlier": earlier.name,
        "figures": [(word, _words(before), _words(after)) for word, before, after in figures],
        "rows": rows[:_MOST],
        "more": max(len(rows) - _MOST, 0),
    }
    return Section("compared", "What changed", data)


def _changes(table: Table, status: Sequence[str], before: Mapping[str, str]) -> list[dict[str, str]]:
    names = [table.cell_name(i) for i in range(len(table))]
    found = [
        {"codes": name.replace("/", " / "), "table": table.name, "before": before.get(name, "absent"), "now": word}
        | {"go": link_to(table, i)}
        for i, (name, word) in enumerate(zip(names, status, strict=True))
        if before.get(name, "absent") != word
    ]
    gone = [name for name in before if name not in set(names)]
    nowhere = [{"codes": name.replace("/", " / "), "table": table.name, "before": before[name]} for name in gone]
    return found + [row | {"now": "absent", "go": ""} for row in nowhere]


def signing(outcome: Outcome[SuppressionResult]) -> Section:
    """Return the block to sign: what was decided on, told apart from every other run; who and when are left blank."""
    job = outcome.protected.job
    text = "" if job is None else yaml.safe_dump(job.model_dump(), sort_keys=False, allow_unicode=True)
    data = {
        "verdict": outcome.verdict.text,
        "job": hashlib.sha256(text.encode()).hexdigest() if text else "",
        "inputs": len(outcome.summary.get("inputs", {})),
        "versions": ", ".join(f"{name} {number}" for name, number in outcome.summary.get("versions", {}).items()),
        "made": outcome.made,
    }
    return Section("signing", "Sign-off", data)


def _words(figure: object) -> str:
    if isinstance(figure, bool) or not isinstance(figure, (int, float)):
        return "–" if figure is None else str(figure)
    return f"{figure:,.4g}" if abs(figure) < 1 else f"{round(figure, 2):,}"
