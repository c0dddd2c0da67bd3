"""Points from GeoParquet: a Parquet file whose metadata say which column has the places, and in which system."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.errors import InputError, file_name
from cellguard.reading.features import points_of, refuse_twice

PARQUET_ENDINGS = frozenset({".parquet", ".pq"})
_POINTS = frozenset({"Point", "Point Z"})
_WGS84 = "EPSG:4326"


def places_in(schema: pa.Schema) -> Mapping[str, Any] | None:
    """Return what the metadata of a file of points say of their column, its ``name`` added; None of other files."""
    try:
        about = json.loads((schema.metadata or {})[b"geo"])
        column = {**about["columns"][about["primary_column"]], "name": about["primary_column"]}
    except (KeyError, ValueError, TypeError):
        return None
    points = column.get("encoding") == "point" or set(column.get("geometry_types") or ["unknown"]) <= _POINTS
    return column if points and column["name"] in schema.names else None


def read_points(path: Path, column: Mapping[str, Any]) -> pa.Table:
    """Return the columns of a file of points, with x and y in place of their shapes."""
    file, name = file_name(path), str(column["name"])
    table = pq.read_table(path)
    rest = table.drop_columns([name])
    refuse_twice(file, rest.column_names)
    geometry = table.column(name)
    if geometry.null_count:
        raise InputError(f"{file}: a point has no place; leave it out")
    if column.get("encoding") == "point":
        flat = geometry.combine_chunks().flatten()
        x, y = (flat[axis].cast(pa.float64()) for axis in (0, 1))
        return rest.add_column(0, "y", y).add_column(0, "x", x)
    places = points_of(geometry, file)
    return rest.add_column(0, "y", pa.array(places[:, 1])).add_column(0, "x", pa.array(places[:, 0]))


def system_of(path: Path) -> Mapping[str, Any] | str | None:
    """Return the coordinate system of a file of points: PROJJSON, or a name; None if it is none or says none."""
    column = places_in(pq.read_schema(path))
    if column is None:
        return None
    return cast("Mapping[str, Any] | None", column["crs"]) if "crs" in column else _WGS84
