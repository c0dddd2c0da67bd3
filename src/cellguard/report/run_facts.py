"""What every page ends with: the attacks that were checked and those that were not, and how the run went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cellguard.report.section import Section
from cellguard.report.words import seconds


def attacks(rows: Sequence[tuple[str, str, str, str]], limits: Sequence[str] = ()) -> Section:
    """Return the table of attacks (name, result, who is meant, and yes, no or open), and what was not looked at."""
    return Section("checked", "Attacks that were checked, and not", {"rows": list(rows), "limits": list(limits)})


def run_facts(summary: Mapping[str, Any], made: str, lead: str) -> Section:
    """Return what a summary says of a run, below a sentence that leads to it."""
    data = {
        "lead": lead,
        "seconds": [(step, seconds(s)) for step, s in summary.get("seconds", {}).items()],
        "versions": list(summary.get("versions", {}).items()),
        "seed": summary.get("seed"),
        "records": [(word.replace("_", " "), f"{n:,}") for word, n in summary.get("microdata", {}).items()],
        "inputs": list(summary.get("inputs", {}).items()),
        "witnesses": summary.get("set", {}).get("witnesses"),
        "made": made,
    }
    return Section("run", "Run facts", data)
