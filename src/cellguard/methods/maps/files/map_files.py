"""The files of a map: GeoJSON, CSV and Parquet of what is shown, and confidential ones of what was moved."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.arrays import FloatArray
from cellguard.io.write import csv_text
from cellguard.methods.maps.measures import Measures
from cellguard.methods.maps.result import MapResult
from cellguard.methods.maps.shown import ShownMap
from cellguard.methods.maps.spec import table_of
from cellguard.reading.coordinates import to_degrees

_MEASURES = ("u", "cells", "r1", "r2", "u1", "u3")


def write_shown(folder: Path, shown: ShownMap, formats: frozenset[str]) -> None:
    """Write the hexagons with their places; it takes a map as shown, so there is no true value to let out."""
    x, y = shown.grid.centres(shown.q, shown.r)
    columns = {
        shown.by: shown.codes,
        "q": shown.q.tolist(),
        "r": shown.r.tolist(),
        "x": [round(value, 9) for value in x.tolist()],
        "y": [round(value, 9) for value in y.tolist()],
        "value": shown.table().value,
    }
    rows = zip(*columns.values(), strict=True)
    (folder / f"{shown.name}_hexagons.csv").write_text(csv_text(list(columns), rows), encoding="utf-8")
    (folder / f"{shown.name}.geojson").write_text(geojson(shown), encoding="utf-8")
    if "parquet" in formats:
        numbers = {**columns, "value": shown.table().figures}
        pq.write_table(pa.table(numbers), folder / f"{shown.name}_hexagons.parquet")


def geojson(shown: ShownMap) -> str:
    """Return the map as a GeoJSON feature collection, one polygon per hexagon.

    Coordinates are longitude and latitude, as the standard asks, if the coordinate system is known. If it is not, they
    are those of the points, and ``"crs": null`` says that no system may be assumed.
    """
    corners = np.round(_placed_corners(shown), 9)
    rings = np.concatenate([corners, corners[:, :1]], axis=1).tolist()
    values = shown.table().figures.tolist() if shown.decimals else shown.units
    lines = [
        json.dumps(
            {
                "type": "Feature",
                "properties": {shown.by: code, "q": q, "r": r, "value": value},
                "geometry": {"type": "Polygon", "coordinates": [ring]},
            },
            separators=(",", ":"),
        )
        for code, q, r, value, ring in zip(shown.codes, shown.q.tolist(), shown.r.tolist(), values, rings, strict=True)
    ]
    unknown = '"crs":null,' if shown.crs is None else ""
    return f'{{"type":"FeatureCollection",{unknown}"features":[\n' + ",\n".join(lines) + "\n]}\n"


def _placed_corners(shown: ShownMap) -> FloatArray:
    """Return the corners of all hexagons, in degrees if the coordinate system is known; neighbours share theirs."""
    corners = shown.grid.corners(shown.q, shown.r)
    if shown.crs is None:
        return corners
    distinct, of_corner = np.unique(corners.reshape(-1, 2), axis=0, return_inverse=True)
    placed = np.stack(to_degrees(distinct[:, 0], distinct[:, 1], shown.crs), axis=1)
    return placed[of_corner.ravel()].reshape(corners.shape)


def write_moved(inside: Path, done: MapResult) -> None:
    """Write every hexagon before and after, the transfers, and the measures of risk and utility. Confidential."""
    name, by = table_of(done.job).name, table_of(done.job).by[0]
    hexagons = done.hexagons
    codes = [f"h{q}:{r}" for q, r in zip(hexagons.q.tolist(), hexagons.r.tolist(), strict=True)]
    columns = {
        by: codes,
        "value": _texts(done.before, done.decimals),
        "shown": _texts(done.after, done.decimals),
        "count": hexagons.count.tolist(),
        "status": np.where(done.is_shown, "published", "unpublished").tolist(),
        "change": change_words(done).tolist(),
    }
    (inside / f"{name}.csv").write_text(csv_text(list(columns), zip(*columns.values(), strict=True)), encoding="utf-8")
    moved = done.transfers
    ends = [[codes[i] for i in column.tolist()] for column in (moved.source, moved.target)]
    rows = zip(*ends, moved.units.tolist(), moved.steps.tolist(), strict=True)
    (inside / f"{name}_transfers.csv").write_text(csv_text(("from", "to", "units", "steps"), rows), encoding="utf-8")
    for algorithm, other in done.others.items():
        (inside / f"{name}_measures_{algorithm}.csv").write_text(measures_text(other.measures), encoding="utf-8")


def change_words(done: MapResult) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    """Return what happened to each hexagon: raised, gave, kept or removed."""
    change = np.where(done.after > done.before, "raised", np.where(done.after < done.before, "gave", "kept"))
    return np.where(done.is_shown, change, "removed")


def measures_text(measures: Measures) -> str:
    """Return the measures by original count as CSV."""
    rows = zip(*(getattr(measures, name).tolist() for name in _MEASURES), strict=True)
    return csv_text(_MEASURES, rows)


def _texts(values: np.ndarray[tuple[int], np.dtype[np.float64]], decimals: int) -> list[str]:
    return [f"{value + 0.0:.{decimals}f}" for value in values.tolist()]
