"""The confidential files of a map: every cell before and after, what was moved, and the measures."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cellguard.io.write import csv_text
from cellguard.methods.maps.measures import Measures
from cellguard.methods.maps.result import MapResult
from cellguard.methods.maps.spec import table_of

_MEASURES = ("u", "cells", "r1", "r2", "u1", "u3")


def write_moved(inside: Path, done: MapResult) -> None:
    """Write every cell before and after, the transfers, and the measures of risk and utility. Confidential."""
    name, by = table_of(done.job).name, table_of(done.job).by[0]
    codes = done.tiles.codes
    columns = {
        by: codes,
        "value": _texts(done.before, done.decimals),
        "shown": _texts(done.after, done.decimals),
        "count": done.tiles.count.tolist(),
        "status": np.where(done.is_shown, "published", "unpublished").tolist(),
        "change": change_words(done).tolist(),
    }
    (inside / f"{name}.csv").write_text(csv_text(list(columns), zip(*columns.values(), strict=True)), encoding="utf-8")
    moved = done.transfers
    ends = [[codes[i] for i in column.tolist()] for column in (moved.source, moved.target)]
    rows = zip(*ends, moved.units.tolist(), moved.steps.tolist(), strict=True)
    (inside / f"{name}_transfers.csv").write_text(csv_text(("from", "to", "units", "steps"), rows), encoding="utf-8")
    if done.values is not None:
        (inside / f"{name}_measures.csv").write_text(measures_text(done.values.measures), encoding="utf-8")
    for algorithm, other in done.others.items():
        (inside / f"{name}_measures_{algorithm}.csv").write_text(measures_text(other.measures), encoding="utf-8")


def change_words(done: MapResult) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    """Return what happened to each cell: raised, gave, kept or removed."""
    change = np.where(done.after > done.before, "raised", np.where(done.after < done.before, "gave", "kept"))
    return np.where(done.is_shown, change, "removed")


def measures_text(measures: Measures) -> str:
    """Return the measures by original count as CSV."""
    rows = zip(*(getattr(measures, name).tolist() for name in _MEASURES), strict=True)
    return csv_text(_MEASURES, rows)


def _texts(values: np.ndarray[tuple[int], np.dtype[np.float64]], decimals: int) -> list[str]:
    return [f"{value + 0.0:.{decimals}f}" for value in values.tolist()]
