"""A map as GeoParquet 1.1: a column of outlines, and what readers must know of it in the file's metadata."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.geometry.tiling import Shape
from cellguard.methods.maps.files import wkb
from cellguard.reading.coordinates import described, in_degrees

_COLUMN = "geometry"


def write_geoparquet(path: Path, table: pa.Table, shapes: Sequence[Shape], crs: str | None) -> None:
    """Write columns and outlines; without outlines it is a plain Parquet file."""
    if shapes:
        table = table.append_column(_COLUMN, pa.array(wkb.of_shapes(shapes), pa.binary()))
        table = table.replace_schema_metadata({"geo": json.dumps(_about(shapes, crs))})
    pq.write_table(table, path)


def _about(shapes: Sequence[Shape], crs: str | None) -> dict[str, Any]:
    """Return the metadata of the standard; a coordinate system that nobody named is null there."""
    corners = np.concatenate([ring for shape in shapes for part in shape for ring in part])
    column: dict[str, Any] = {
        "encoding": "WKB",
        "geometry_types": ["MultiPolygon"],
        "bbox": [*corners.min(axis=0).tolist(), *corners.max(axis=0).tolist()],
    }
    if crs is None or not in_degrees(crs):  # else it is what readers take for granted
        column["crs"] = None if crs is None else described(crs)
    return {"version": "1.1.0", "primary_column": _COLUMN, "columns": {_COLUMN: column}}
