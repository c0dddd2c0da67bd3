"""A map as plain data for a page that draws it."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellguard.methods.maps.merging.result import MergeResult
from cellguard.methods.maps.report.classes import breaks
from cellguard.methods.maps.result import MapResult
from cellguard.methods.maps.shown import ShownMap
from cellguard.methods.maps.smoothing.result import SmoothResult
from cellguard.reading.coordinates import in_degrees


def starts_of(done: MapResult) -> list[float]:
    """Return where the classes of a map before and after begin; one begins at the threshold of counts. Confidential."""
    values = np.concatenate([done.before, done.after[done.is_shown]])
    return breaks(values, done.threshold if done.counts is not None else None)


def before_and_after(done: MapResult) -> dict[str, Any]:
    """Return the cells with their values before and after, None where one is not shown. Confidential."""
    before, after = done.before.tolist(), done.after.tolist()
    if done.decimals == 0:
        before, after = [round(x) for x in before], [round(x) for x in after]
    return {
        **place(done.tiles.grid.drawn(done.tiles.q, done.tiles.r), done.crs),
        "before": before,
        "after": [value if seen else None for value, seen in zip(after, done.is_shown.tolist(), strict=True)],
        "breaks": starts_of(done),
        "whole": done.decimals == 0,
    }


def drawn_of(done: MapResult | MergeResult | SmoothResult) -> dict[str, Any]:
    """Return a map of any method: before and after where these have the same cells, else as shown. Confidential."""
    if isinstance(done, MergeResult):
        return as_shown(done.shown)
    return _smoothed(done) if isinstance(done, SmoothResult) else before_and_after(done)


def _smoothed(done: SmoothResult) -> dict[str, Any]:
    """Return every square that anything of a record reaches, as it is and as it becomes."""
    q, r = done.shown.q - done.before.left, done.shown.r - done.before.low
    before, after = done.before.total[q, r], done.shown.table().figures
    return {
        **as_shown(done.shown),
        "before": before.tolist(),
        "breaks": breaks(np.concatenate([before[before > 0], after])),
        "whole": done.decimals == 0,
    }


def as_shown(shown: ShownMap) -> dict[str, Any]:
    """Return a map as published; it is made of what is shown only."""
    values = shown.table().figures.tolist() if shown.decimals else shown.units
    return {
        **place(shown.grid.drawn(shown.q, shown.r), shown.crs),
        "after": values,
        "breaks": breaks(np.array(values, float)),
        "whole": shown.decimals == 0,
    }


def place(drawn: Any, crs: str | None) -> dict[str, Any]:  # noqa: ANN401
    """Return what a page needs to draw cells; ``metres`` says that a bar can tell distances."""
    return {**drawn, "metres": crs is not None and not in_degrees(crs), "north": crs is not None}
