"""The coordinate systems of geographic files, and coordinates in degrees, which GeoJSON has by its standard (RFC 7946).

A coordinate system goes by the name that files and people give it, as ``EPSG:28992``. The extra `geo` turns
coordinates from one into another: GDAL into degrees, and PROJ into any system of equal areas.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.errors import InputError, MissingExtra
from cellguard.reading.features import FEATURES, GEOJSON
from cellguard.reading.geoparquet import PARQUET_ENDINGS, system_of

if TYPE_CHECKING:
    from pyproj import CRS

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
        found = _NAMED.search(ends)
        return _plain(found[1].decode()) if found else WGS84
    if kind in PARQUET_ENDINGS:
        system = system_of(path)
        return system if system is None or isinstance(system, str) else named(system)
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


def need_gdal(what: str) -> None:
    """Raise `MissingExtra` if geographic files cannot be written here; ``what`` was asked for."""
    _need("pyogrio", what)


def described(crs: str) -> Mapping[str, Any]:
    """Return a coordinate system in full, as PROJJSON, which GeoParquet asks for."""
    _need("pyproj", f"`crs: {crs}` in GeoParquet")
    return cast("Mapping[str, Any]", _system(crs).to_json_dict())


def named(system: Mapping[str, Any]) -> str | None:
    """Return the name of a coordinate system in PROJJSON; None if it has none that people would write.

    >>> named({"id": {"authority": "EPSG", "code": 3035}}), named({"name": "ours"})
    ('EPSG:3035', None)
    """
    known = system.get("id") or {}
    return _plain(f"{known['authority']}:{known['code']}") if {"authority", "code"} <= set(known) else None


def projected(x: FloatArray, y: FloatArray, crs: str | None, into: str) -> tuple[FloatArray, FloatArray]:
    """Return coordinates in another system, which must be one of metres and of equal areas."""
    if crs is None:
        raise InputError(f"`project: {into}` needs the coordinate system of x and y; name it, as `crs: EPSG:4326`")
    _need("pyproj", f"`project: {into}`")
    from pyproj import Transformer
    from pyproj.exceptions import ProjError

    source, target = _system(crs), _system(into)
    if not (target.is_projected and "equal area" in _how(target).lower() and _in_metres(target)):
        raise InputError(
            f"`project: {into}` is no system of equal areas in metres; take EPSG:3035 in Europe, EPSG:5070 in the "
            "United States, EPSG:6933 for the world"
        )
    try:
        far_x, far_y = Transformer.from_crs(source, target, always_xy=True).transform(x, y, errcheck=True)
    except ProjError:
        far_x, far_y = np.full(len(x), np.inf), np.full(len(x), np.inf)
    if not (np.isfinite(far_x).all() and np.isfinite(far_y).all()):
        raise InputError(
            f"`project: {into}`: some coordinates are no places of {crs}, or outside of what {into} is for"
        )
    return np.asarray(far_x, float), np.asarray(far_y, float)


def _system(crs: str) -> CRS:
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        return CRS.from_user_input(crs)
    except CRSError:
        raise InputError(f"`crs: {crs}` is no coordinate system that is known; write it as EPSG:28992") from None


def _how(system: CRS) -> str:
    return "" if system.coordinate_operation is None else str(system.coordinate_operation.method_name)


def _in_metres(system: CRS) -> bool:
    return all(axis.unit_name == "metre" for axis in system.axis_info)


def _need(module: str, what: str) -> None:
    if find_spec(module) is None:
        raise MissingExtra(f"{what} needs an extra; get it with: pip install 'cellguard[geo]'")


def _plain(crs: str) -> str:
    """Return a name as people write it.

    >>> _plain("urn:ogc:def:crs:EPSG::28992")
    'EPSG:28992'
    """
    found = re.fullmatch(r"(?:urn:ogc:def:crs:)?epsg:(?:[\d.]*:)?(\d+)", crs.strip(), re.IGNORECASE)
    return f"EPSG:{found[1]}" if found else crs.strip()
