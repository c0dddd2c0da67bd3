"""`cellguard init` for points: a commented job for a map of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from cellguard.job.names import plain_name
from cellguard.suggest.columns import Column
from cellguard.suggest.yaml_words import in_comment, text_of


def draft_map_job(data: Path, folder: Path, columns: Sequence[Column], places: tuple[str, str] | None) -> str:
    """Return the text of a job that maps points; ``places`` are their coordinates, None those of a geographic file."""
    path = os.path.relpath(data.resolve(), folder.resolve())
    said = (
        [] if places in {None, ("x", "y")} else [f"{a}: {text_of(c)}" for a, c in zip("xy", places or (), strict=False)]
    )
    values = [c.name for c in columns if c.is_number and not c.is_code and c.name not in (places or ())]
    more = f"; values to sum instead: {in_comment(values)}" if values else ""
    lines = [
        "# A cellguard job: a map of points, in hexagons. Run: cellguard map JOB --out OUT",
        "# What follows a # explains a guess; correct what is wrong. `cellguard schema` describes every key.",
        "version: 1",
        f"microdata: {{source: {text_of(path)}}}",
        "# about so many hexagons across; or `size: 500`, how far apart their centres are in units of the coordinates",
        f"redistribute: {{{', '.join([*said, 'bins: 30'])}}}",
        "tables:",
        f"  - name: {plain_name(data.stem, 'map')}",
        "    by: [hexagon]",
        "    value: count          # points are counted" + more,
        "    rules: [{min_frequency: 3}]",
        "    protect: {method: redistribute}",
        "",
    ]
    return "\n".join(lines)
