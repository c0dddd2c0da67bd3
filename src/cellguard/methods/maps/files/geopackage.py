"""A map as GeoPackage, written by GDAL (extra `geo`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from cellguard.geometry.tiling import Shape
from cellguard.methods.maps.files import wkb
from cellguard.reading.coordinates import need_gdal

_STAMP = "2000-01-01T00:00:00.000Z"  # no file tells when it was made, so that the same map gives the same bytes


def write_geopackage(path: Path, layer: str, table: pa.Table, shapes: Sequence[Shape], crs: str | None) -> None:
    """Write columns and outlines as one layer."""
    need_gdal("`geopackage: true`")
    from pyogrio import set_gdal_config_options
    from pyogrio.raw import write

    geometry = np.array(wkb.of_shapes(shapes), object)
    columns = [np.array(column.to_pylist()) for column in table.columns]
    fields = [np.array(column, object) if column.dtype.kind == "U" else column for column in columns]
    set_gdal_config_options({"OGR_CURRENT_DATE": _STAMP})
    try:
        write(
            path,
            geometry,
            fields,
            list(table.column_names),
            layer=layer,
            driver="GPKG",
            geometry_type="MultiPolygon",
            crs=crs,
        )
    finally:
        set_gdal_config_options({"OGR_CURRENT_DATE": None})
