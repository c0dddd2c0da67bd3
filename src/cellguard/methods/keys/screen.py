"""What a terminal shows of counts with noise from cell keys, from their summaries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cellguard.seam.screen import Board, Screen

NOT_ADDITIVE = "Not additive: each cell has noise of its own, so a total need not be the sum of its parts."


def keyed_words(summary: Mapping[str, Any], folder: Path | None) -> Screen:
    """Return the verdict, the tables, what differences still hide, and where it was written."""
    rows = [
        [
            name,
            *(f"{about[key]:,}" for key in ("cells", "small", "changed", "over")),
            f"{about['largest_posterior']:.1%}",
        ]
        for name, about in summary["tables"].items()
    ]
    noise = summary["perturbation_table"]
    hidden = [[f"{one['cells']}", f"{one['variance']:.3g}", f"{one['guess']:.1%}"] for one in summary["differences"]]
    return [
        Board(["table", "cells", "small", "changed", "over the limit", "largest posterior"], rows, (1, 2, 3, 4, 5)),
        f"Verdict: {summary['headline']}.",
        f"Noise: {noise['from']}; at most {noise['deviation']} up or down, variance {noise['variance']:.3g}.",
        NOT_ADDITIVE,
        Board(["cells added or subtracted", "variance", "a guess is right at most"], hidden, (0, 1, 2)),
        *_simulated(summary),
        *(f"Warning: {warning}" for warning in summary["warnings"]),
        *_written(folder, bool(summary["released"])),
        *([summary["caveat"]] if summary["caveat"] else []),
    ]


def _simulated(summary: Mapping[str, Any]) -> list[str]:
    if "simulation" not in summary:
        return []
    done = summary["simulation"]
    return [
        f"Of {done['draws']:,} simulated releases {done['above']:.1%} go over the limit; guesses of small counts are "
        f"right in {done['right']:.1%}, and claim {done['claimed']:.1%}."
    ]


def _written(folder: Path | None, released: bool) -> list[str]:
    if folder is None:
        return [] if released else ["Nothing was released."]
    if released:
        return [f"Written: {folder}/release (for the public), {folder}/internal (confidential, with the keys' secret)"]
    return [f"Nothing was released. {folder}/internal says more (confidential)."]


def assessed_words(summary: Mapping[str, Any]) -> Screen:
    """Return how many cells have small counts."""
    rows = [[name, f"{about['cells']:,}", f"{about['small']:,}"] for name, about in summary["tables"].items()]
    return [
        Board(["table", "cells", "small"], rows, (1, 2)),
        *(f"Warning: {warning}" for warning in summary["warnings"]),
        "Nothing is perturbed yet: these tables must not be published as they are.",
    ]
