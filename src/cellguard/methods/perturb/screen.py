"""What a terminal shows of perturbed tables, from their summaries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cellguard.seam.screen import Board, Screen

_RELEASE = {
    "safe": "may be published",
    "not proven": "NOT PROVEN; the job accepts that not everything was looked at",
    "safe by itself": "NOT CHECKED together with earlier tables; publish it only if these are not published",
    "not checked": "NOT CHECKED; do not publish it before what it discloses was looked at",
}


def checked_words(summary: Mapping[str, Any], folder: Path | None, *, released: bool) -> Screen:
    """Return the tables, the verdict, the first findings, what to do, and where it was written."""
    rows = [
        [
            name,
            f"{t['cells']:,}",
            f"{t['sensitive']:,}",
            f"{t['still_sensitive']:,}",
            "not checked" if t["unsafe"] is None else f"{t['unsafe']:,}",
            t["calibration"],
        ]
        for name, t in summary["tables"].items()
    ]
    return [
        Board(["table", "cells", "sensitive", "still sensitive", "unsafe", ""], rows, (1, 2, 3, 4)),
        f"Verdict: {summary['headline']} (method {summary['method']}, {_mu(summary)}).",
        *_findings(summary, folder),
        *_listed("Not looked at", summary["not_looked_at"]),
        *_listed("What to do", summary["advice"]),
        *_listed("Checked together with", summary["checked_with"]),
        *_listed("Warnings", summary["warnings"]),
        *_written(summary, folder, released),
        *([summary["caveat"]] if summary["caveat"] else []),
    ]


def _findings(summary: Mapping[str, Any], folder: Path | None) -> list[str]:
    lines = []
    for finding in summary["open"][:10]:
        cells = ", ".join(finding["cells"][:4]) + (" ..." if len(finding["cells"]) > 4 else "")
        lines.append(f"  {finding['kind']}: {cells}: {finding['text']}")
    if len(summary["open"]) > 10:
        more = f", see {folder}/internal/findings.json" if folder else ""
        lines.append(f"  and {len(summary['open']) - 10} more{more}")
    return lines


def _listed(title: str, lines: list[str]) -> list[str]:
    return [f"{title}:", *(f"  {line}" for line in lines)] if lines else []


def _written(summary: Mapping[str, Any], folder: Path | None, released: bool) -> list[str]:
    if folder is None:
        return [] if released else ["Nothing was released."]
    if released:
        allowed = _RELEASE[summary["verdict"]]
        if summary["verdict"] == "safe" and "earlier_answers" in summary["not_checked"]:
            allowed += " if nothing else was made from these multipliers"
        return [f"Wrote {folder}/release ({allowed}), {folder}/internal (confidential)"]
    return [f"Nothing was released. {folder}/internal says more (confidential)."]


def _mu(summary: Mapping[str, Any]) -> str:
    """Describe which mu the multipliers were drawn with, that of each class if there are strata; or how the
    fit ended.
    """
    if "fit" in summary:
        return "; ".join(summary["fit"].values()) or "nothing to fit"
    if "range" in summary:
        low, high = summary["range"]
        return f"noise of {low:g} to {high:g}, balanced in {summary['balanced']['cells']:,} cells"
    if "strata" not in summary:
        return f"mu = {summary['mu']:.3g}"
    return ", ".join(f"mu = {mu:.3g} of {label}" for label, mu in summary["strata"]["mu"].items())


def assessed_words(summary: Mapping[str, Any]) -> Screen:
    """Return how many cells need noise, and how many of them more than there can be."""
    rows = [
        [name, f"{t['cells']:,}", f"{t['sensitive']:,}", f"{t['supersensitive']:,}", t["rule"]]
        for name, t in summary["tables"].items()
    ]
    return [
        Board(["table", "cells", "sensitive", "supersensitive", "unsafe if"], rows, (1, 2, 3)),
        *(f"Warning: {warning}" for warning in summary["warnings"]),
        "Sensitive cells need noise; supersensitive ones more than is reasonable: recode them, or accept them.",
        "Nothing is perturbed or checked yet: these tables must not be published as they are.",
    ]
