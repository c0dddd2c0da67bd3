"""A map as GeoJSON: degrees, as the standard asks (RFC 7946), wherever the coordinate system is known."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from cellguard.geometry.tiling import Shape
from cellguard.methods.maps.shown import ShownMap
from cellguard.reading.coordinates import to_degrees

_DECIMALS = 9


def geojson(shown: ShownMap, shapes: Sequence[Shape]) -> str:
    """Return the map as a GeoJSON feature collection, one polygon per cell.

    Coordinates are longitude and latitude, as the standard asks, if the coordinate system is known. If it is not, they
    are those of the points, and ``"crs": null`` says that no system may be assumed.
    """
    values = shown.table().figures.tolist() if shown.decimals else shown.units
    columns = shown.grid.columns(shown.q, shown.r)
    further = list(zip(*columns.values(), strict=True)) or [()] * len(shown)
    rows = zip(shown.codes, values, in_degrees(shapes, shown.crs), further, strict=True)
    lines = [
        json.dumps(
            {
                "type": "Feature",
                "properties": {shown.by: code, **dict(zip(columns, more, strict=True)), "value": value},
                "geometry": _geometry(shape),
            },
            separators=(",", ":"),
        )
        for code, value, shape, more in rows
    ]
    unknown = '"crs":null,' if shown.crs is None else ""
    return f'{{"type":"FeatureCollection",{unknown}"features":[\n' + ",\n".join(lines) + "\n]}\n"


def _geometry(shape: Shape) -> dict[str, object]:
    parts = [[[*ring.tolist(), ring[0].tolist()] for ring in part] for part in shape]
    if len(parts) == 1:
        return {"type": "Polygon", "coordinates": parts[0]}
    return {"type": "MultiPolygon", "coordinates": parts}


def in_degrees(shapes: Sequence[Shape], crs: str | None) -> list[Shape]:
    """Return outlines in degrees if the coordinate system is known; a corner that cells share is one corner after."""
    rings = [ring for shape in shapes for part in shape for ring in part]
    corners = np.concatenate(rings) if rings else np.zeros((0, 2))
    if crs is not None and len(corners):
        distinct, of_corner = np.unique(corners, axis=0, return_inverse=True)
        corners = np.stack(to_degrees(distinct[:, 0], distinct[:, 1], crs), axis=1)[of_corner.ravel()]
    parts = iter(np.split(np.round(corners, _DECIMALS), np.cumsum([len(ring) for ring in rings])[:-1]))
    return [[[next(parts) for _ in part] for part in shape] for shape in shapes]
