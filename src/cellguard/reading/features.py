"""Points from geographic files: GeoJSON by itself; GeoPackage, shapefile and FlatGeobuf by the extra `geo` (pyogrio).

Every feature is a record: its properties are the columns, and x and y the coordinates of its point.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cellguard.arrays import FloatArray
from cellguard.errors import InputError, MissingExtra, file_name
from cellguard.reading.frames import from_mapping

GEOJSON = frozenset({".geojson"})
FEATURES = GEOJSON | {".gpkg", ".shp", ".fgb"}
_POINT, _LITTLE = 1, 1  # in well-known binary


def read_features(path: Path) -> pa.Table:
    """Return the points of a geographic file as columns."""
    return _read_geojson(path) if path.suffix.lower() in GEOJSON else _read_with_gdal(path)


def _read_geojson(path: Path) -> pa.Table:
    name = file_name(path)
    try:
        features = json.loads(path.read_text(encoding="utf-8-sig"))["features"]
        places = np.array([_point(feature, number, name) for number, feature in enumerate(features, 1)], float)
        records = [feature.get("properties") or {} for feature in features]
        keys = dict.fromkeys(key for record in records for key in record)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name}: not a GeoJSON feature collection of points") from None
    if not len(places):
        raise InputError(f"{name}: there is no feature in it")
    refuse_twice(name, list(keys))
    return from_mapping({"x": places[:, 0], "y": places[:, 1], **{k: [r.get(k) for r in records] for k in keys}})


def _point(feature: Any, number: int, name: str) -> tuple[float, float]:  # noqa: ANN401
    geometry = feature.get("geometry") or {}
    if geometry.get("type") != "Point" or len(geometry.get("coordinates", ())) < 2:
        raise InputError(f"{name} feature {number}: a map is made of points, and this is none")
    return geometry["coordinates"][0], geometry["coordinates"][1]


def _read_with_gdal(path: Path) -> pa.Table:
    try:
        from pyogrio.errors import DataSourceError
        from pyogrio.raw import read_arrow
    except ImportError:
        raise MissingExtra(
            f"{file_name(path)}: reading it needs an extra; get it with: pip install 'cellguard[geo]', or save the "
            "points as GeoJSON, CSV or Parquet"
        ) from None
    name = file_name(path)
    try:
        about, table = read_arrow(path)
    except (DataSourceError, OSError):
        raise InputError(f"{name}: cannot be read as a geographic file") from None
    table = pa.table(table)
    column = about["geometry_name"] or "wkb_geometry"
    places = points_of(table.column(column), name)
    rest = table.drop_columns([column])
    refuse_twice(name, rest.column_names)
    return rest.add_column(0, "y", pa.array(places[:, 1])).add_column(0, "x", pa.array(places[:, 0]))


def points_of(geometry: pa.ChunkedArray, name: str) -> FloatArray:
    """Return the coordinates of points in well-known binary: byte order, kind, x, y and perhaps more."""
    shapes = geometry.to_pylist()
    for number, shape in enumerate(shapes, 1):
        kind = int.from_bytes(shape[1:5], "little") if shape and shape[0] == _LITTLE else 0
        if kind % 1000 != _POINT and kind & 0xFF != _POINT:
            raise InputError(f"{name} feature {number}: a map is made of points, and this is none")
    return np.frombuffer(b"".join(shape[5:21] for shape in shapes), "<f8").reshape(-1, 2)


def refuse_twice(name: str, columns: list[str]) -> None:
    """Refuse columns that are called as the coordinates of points are."""
    for column in ("x", "y"):
        if column in columns:
            raise InputError(f"{name}: has a property {column!r} besides the coordinates of its points; rename it")
