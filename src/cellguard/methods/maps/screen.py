"""What a terminal shows of maps, from their summaries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cellguard.seam.screen import Board, Screen, counted


def map_words(summary: Mapping[str, Any], folder: Path | None) -> Screen:
    """Return the verdict, the map in figures, what the algorithms cost, and where it was written."""
    (name, about), *_ = summary["tables"].items()
    lost = about["lost_records"]
    kept = (
        f"The total is not kept: {counted(lost, 'record')} ({about['lost_share']:.2%} of the total) left the map."
        if lost
        else "The total is kept: no record was removed."
    )
    algorithms = [[key, f"{other['mu']:,}"] for key, other in summary["algorithms"].items()]
    return [
        f"{summary['headline'][:1].upper()}{summary['headline'][1:].rstrip('.')}.",
        Board(
            ["map", summary["grid"]["of"], "shown", "sensitive", "outliers", "moved", "mu"],
            [
                [
                    name,
                    *(f"{about[key]:,}" for key in ("hexagons", "shown", "sensitive", "outliers")),
                    f"{about.get('units_moved', about.get('contributors_moved', 0)):,}",
                    f"{about['mu']:,}",
                ]
            ],
            range(1, 7),
        ),
        kept,
        *([Board(["algorithm", "mu"], algorithms, (1,))] if algorithms else []),
        *(f"Warning: {warning}" for warning in summary["warnings"]),
        *written(folder, bool(summary["released"])),
        *([summary["caveat"]] if summary["caveat"] else []),
    ]


def written(folder: Path | None, released: bool) -> list[str]:
    """Return where a map was written, and which half is for whom."""
    if folder is None:
        return [] if released else ["Nothing was released."]
    if released:
        return [f"Written: {folder}/release (the map after, for the public), {folder}/internal (confidential)"]
    return [f"Nothing was released. {folder}/internal says more (confidential)."]


def assessed_words(summary: Mapping[str, Any]) -> Screen:
    """Return how many hexagons have too few records."""
    rows = [
        [name, *(f"{about[key]:,}" for key in ("records", "hexagons", "sensitive", "outliers"))]
        for name, about in summary["tables"].items()
    ]
    return [
        Board(["map", "records", summary["grid"]["of"], "sensitive", "outliers"], rows, (1, 2, 3, 4)),
        *(f"Warning: {warning}" for warning in summary["warnings"]),
        "Nothing is redistributed yet: this map must not be published as it is.",
    ]
