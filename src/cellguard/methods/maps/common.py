"""What all methods for maps share: what a job of a map cannot say, and pictures."""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from cellguard.arrays import FloatArray, LongArray
from cellguard.geometry.tiling import Tiling
from cellguard.job.jobfile import Job
from cellguard.methods.maps.files.shown_files import write_shown
from cellguard.methods.maps.shown import ShownMap
from cellguard.methods.maps.spec import PlaceSpec, table_of
from cellguard.rules.rule import fewest_of
from cellguard.seam.outcome import Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COUNTS = "count"
_TABLE = {"name", "by", "value", "response", "population", "decimals", "cells", "rules", "protect"}
_TEXT = ("delimiter", "decimal", "encoding")
_MOST_DRAWN = 5_000  # cells in an SVG file


def map_fault(job: Job, done: str) -> str | None:
    """Describe what a job of a map cannot have, or what it says in vain; ``done`` is what is done to the map."""
    if len(job.tables) > 1:
        return "a job makes one map; put further tables into jobs of their own"
    table = table_of(job)
    if key := _said_in_vain(job, {"version", "microdata", "tables", "settings", "language", "output"}):
        return f"`{key}` is not looked at when a map is {done}; leave it out"
    if key := _said_in_vain(table, _TABLE):
        return f"table {table.name!r}: `{key}` does not go with a map; leave it out"
    if key := _said_in_vain(table.cells, {"source", "count", *_TEXT}):
        return f"table {table.name!r}: `{key}` of `cells` does not go with a map; leave it out"
    if key := _said_in_vain(job.microdata, {"source", "query", "weight", "missing", *_TEXT}):
        return f"`{key}` of `microdata` is not looked at when a map is made: every point is a record of its own"
    if job.microdata is not None and job.microdata.missing.value == "zero":
        return "`missing: {value: zero}` would put points at 0 that have no place; say error or drop"
    if len(table.by) > 1:
        return f"table {table.name!r}: a map has one dimension, as `by: [hexagon]`"
    return None


def rules_fault(job: Job) -> str | None:
    """Describe which rules a map cannot have, or lacks."""
    table = table_of(job)
    others = [rule for rule in table.rules if rule.fewest is None]
    if why := next((rule.only_suppressed for rule in table.rules if rule.only_suppressed), ""):
        return f"table {table.name!r}: {why}; leave it out"
    if table.value == COUNTS and (others or (fewest_of(table.rules) or 0) < 2):
        return (
            f"table {table.name!r}: a map of counts has the one rule `min_frequency` of 2 or more, as "
            "`rules: [{min_frequency: 3}]`"
        )
    if not any(rule.can_fire for rule in table.rules):
        return f"table {table.name!r}: a map needs `rules` that can fire, as [{{min_frequency: 3}}, {{p_percent: 10}}]"
    return None


def pictured(outcome: Outcome[Any]) -> bool:
    """Return whether pictures are wanted and can be drawn."""
    return "html" in outcome.job.formats and find_spec("matplotlib") is not None


def draw(path: Path, figure: Figure, cells: int) -> None:
    """Write a picture as PNG, and as SVG unless it has too many cells for that."""
    from cellguard.methods.maps.report.figures import picture

    for kind in ("png", *(["svg"] if cells <= _MOST_DRAWN else [])):
        path.with_name(f"{path.name}.{kind}").write_bytes(picture(figure, kind))


def draw_map(
    path: Path,
    grid: Tiling,
    place: tuple[LongArray, LongArray],
    value: FloatArray,
    **look: Any,  # noqa: ANN401
) -> None:
    """Draw a map into files; nothing where nobody knows what the cells look like."""
    from cellguard.methods.maps.report.figures import map_figure

    if shapes := grid.shapes(*place):
        draw(path, map_figure(shapes, value, **look), len(shapes))


def publish_map(outside: Path, shown: ShownMap, outcome: Outcome[Any]) -> None:
    """Write the shown cells with their places, and pictures if pages are wanted."""
    write_shown(outside, shown, outcome.job.formats, geopackage=PlaceSpec.of(outcome.job).geopackage)
    if pictured(outcome):
        figures, look = shown.table().figures, {"whole": shown.decimals == 0, "crs": shown.crs}
        draw_map(outside / shown.name, shown.grid, (shown.q, shown.r), figures, title=shown.name, **look)


def _said_in_vain(part: BaseModel | None, known: Collection[str]) -> str | None:
    """Return a key of a part of the job that says something, but that a map does not know."""
    if part is None:
        return None
    others = {key: field for key, field in type(part).model_fields.items() if key not in known}
    said = (k for k, f in others.items() if getattr(part, k) != f.get_default(call_default_factory=True))
    return next(said, None)
