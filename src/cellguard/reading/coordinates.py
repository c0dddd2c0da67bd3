"""The coordinate systems of geographic files, and coordinates in degrees, which GeoJSON has by its standard (RFC 7946).

A coordinate system goes by the name that files and people give it, as ``EPSG:28992``. GDAL turns it into degrees
(extra `geo`).
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.errors import InputError, MissingExtra
from cellguard.reading.features import FEATURES, GEOJSON

WGS84 = "EPSG:4326"
_WGS84 = frozenset({WGS84, "OGC:CRS84", "urn:ogc:def:crs:OGC:1.3:CRS84", "urn:ogc:def:crs:EPSG::4326"})
_NAMED = re.compile(rb'"crs"\s*:\s*\{\s*"type"\s*:\s*"name"\s*,\s*"properties"\s*:\s*\{\s*"name"\s*:\s*"([^"]+)"')
_HEAD = 1 << 16  # bytes at both ends of a GeoJSON file in which its coordinate system is named, if it is
_CORNER = np.dtype([("order", "u1"), ("kind", "<u4"), ("x", "<f8"), ("y", "<f8")])  # a point in well-known binary
_DECIMALS = "9"


def coordinate_system(path: Path) -> str | None:
    """Return the name of a geographic file's coordinate system; None if it has none, or is no geographic file."""
    kind = path.suffix.lower()
    if kind in GEOJSON:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            file.seek(max(path.stat().st_size - _HEAD, 0))
            ends = head + b" " + file.read()
        named = _NAMED.search(ends)
        return _plain(named[1].decode()) if named else WGS84
    if kind not in FEATURES:
        return None
    from pyogrio import read_info

    said = read_info(path)["crs"]
    return None if said is None else _plain(said)


def in_degrees(crs: str) -> bool:
    """Return whether coordinates of this system are longitude and latitude as GeoJSON has them.

    >>> in_degrees("EPSG:4326"), in_degrees("EPSG:28992")
    (True, False)
    """
    return _plain(crs) in _WGS84


def look_like_degrees(x: FloatArray, y: FloatArray) -> bool:
    """Return whether coordinates may be longitude and latitude: all of them are in the range of these."""
    return bool(len(x) and np.abs(x).max() <= 180 and np.abs(y).max() <= 90)


def to_degrees(x: FloatArray, y: FloatArray, crs: str) -> tuple[FloatArray, FloatArray]:
    """Return longitude and latitude of points in a coordinate system."""
    if in_degrees(crs):
        return x, y
    try:
        from pyogrio.errors import CRSError, FeatureError
        from pyogrio.raw import write
    except ImportError:
        raise MissingExtra(
            f"`crs: {crs}`: GeoJSON has degrees, and turning coordinates into degrees needs an extra; get it with: "
            "pip install 'cellguard[geo]', or leave `crs` out"
        ) from None
    points = np.zeros(len(x), _CORNER)
    points["order"], points["kind"], points["x"], points["y"] = 1, 1, x, y
    shapes = np.array([point.tobytes() for point in points], object)
    file, how = io.BytesIO(), {"RFC7946": "YES", "COORDINATE_PRECISION": _DECIMALS}
    try:
        write(file, shapes, [], [], geometry_type="Point", crs=crs, driver="GeoJSON", layer="points", layer_options=how)
    except (CRSError, FeatureError):
        raise InputError(
            f"`crs: {crs}` is no coordinate system that is known, or not that of these points; write it as EPSG:28992"
        ) from None
    features = json.loads(file.getvalue())["features"]
    places = np.array([feature["geometry"]["coordinates"][:2] for feature in features], float).reshape(-1, 2)
    if len(places) != len(x) or not np.isfinite(places).all():
        raise InputError(f"`crs: {crs}`: some coordinates are outside of what this system is for")
    return places[:, 0], places[:, 1]


def _plain(crs: str) -> str:
    """Return a name as people write it.

    >>> _plain("urn:ogc:def:crs:EPSG::28992")
    'EPSG:28992'
    """
    found = re.fullmatch(r"(?:urn:ogc:def:crs:)?epsg:(?:[\d.]*:)?(\d+)", crs.strip(), re.IGNORECASE)
    return f"EPSG:{found[1]}" if found else crs.strip()
