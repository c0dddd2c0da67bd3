"""The published files of a map: CSV, GeoJSON, GeoParquet and GeoPackage, made of what is shown and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cellguard.io.write import csv_text
from cellguard.methods.maps.files.geojson import geojson
from cellguard.methods.maps.files.geopackage import write_geopackage
from cellguard.methods.maps.files.geoparquet import write_geoparquet
from cellguard.methods.maps.shown import ShownMap


def write_shown(folder: Path, shown: ShownMap, formats: frozenset[str], *, geopackage: bool = False) -> None:
    """Write the cells with their places; it takes a map as shown, so there is no true value to let out."""
    columns = columns_of(shown)
    rows = zip(*columns.values(), shown.table().value, strict=True)
    stem = f"{shown.name}_{shown.grid.word}s"
    (folder / f"{stem}.csv").write_text(csv_text([*columns, "value"], rows), encoding="utf-8")
    shapes = shown.grid.shapes(shown.q, shown.r)
    numbers = {**columns, "value": shown.table().figures}
    if shapes:
        (folder / f"{shown.name}.geojson").write_text(geojson(shown, shapes), encoding="utf-8")
    if "parquet" in formats:
        write_geoparquet(folder / f"{stem}.parquet", pa.table(numbers), shapes, shown.crs)
    if geopackage and shapes:
        write_geopackage(folder / f"{shown.name}.gpkg", shown.name, pa.table(numbers), shapes, shown.crs)


def columns_of(shown: ShownMap) -> dict[str, list[Any]]:
    """Return code, coordinates and centre of each cell as columns."""
    columns: dict[str, list[Any]] = {shown.by: shown.codes, **shown.grid.columns(shown.q, shown.r)}
    x, y = shown.grid.centres(shown.q, shown.r)
    if np.isfinite(x).all():
        columns |= {"x": [round(value, 9) for value in x.tolist()], "y": [round(value, 9) for value in y.tolist()]}
    return columns
