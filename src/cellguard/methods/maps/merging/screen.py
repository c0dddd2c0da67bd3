"""What a terminal shows of merged maps, from their summaries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cellguard.methods.maps.screen import written
from cellguard.seam.screen import Board, Screen, counted


def merged_words(summary: Mapping[str, Any], folder: Path | None) -> Screen:
    """Return the verdict, the map in figures, its sizes, and where it was written."""
    (name, about), *_ = summary["tables"].items()
    lost = about["lost_records"]
    kept = (
        f"The total is not kept: {counted(lost, 'record')} ({about['lost_share']:.2%}) are not on the map."
        if lost
        else "The total is kept: every record is on the map."
    )
    sizes = [[size, f"{many:,}"] for size, many in summary["pieces"]["sizes"].items()]
    figures = [f"{about[key]:,}" for key in ("cells", "unsafe", "kept", "shown", "left_out")]
    word = "size" if summary["pieces"]["of"] == "squares" else "areas in it"
    return [
        f"{summary['headline'][:1].upper()}{summary['headline'][1:].rstrip('.')}.",
        Board(
            ["map", summary["grid"]["of"], "unsafe", "as they were", "shown", "left out"],
            [[name, *figures]],
            range(1, 6),
        ),
        Board([word, "shown"], sizes, (1,)),
        kept,
        *(f"Warning: {warning}" for warning in summary["warnings"]),
        *written(folder, bool(summary["released"])),
        *([summary["caveat"]] if summary["caveat"] else []),
    ]


def assessed_words(summary: Mapping[str, Any]) -> Screen:
    """Return how many cells are unsafe as they are."""
    rows = [
        [name, *(f"{about[key]:,}" for key in ("records", "cells", "unsafe"))]
        for name, about in summary["tables"].items()
    ]
    return [
        Board(["map", "records", summary["grid"]["of"], "unsafe"], rows, (1, 2, 3)),
        *(f"Warning: {warning}" for warning in summary["warnings"]),
        "Nothing is merged yet: this map must not be published as it is.",
    ]
