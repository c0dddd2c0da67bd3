"""Which cells a map has: hexagons or squares by what a job says, and areas from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.errors import InputError, file_name
from cellguard.geometry.areas import Areas
from cellguard.geometry.hexgrid import Grid
from cellguard.geometry.squaregrid import Squares
from cellguard.geometry.tiling import Shape, Tiling
from cellguard.job.jobfile import Job
from cellguard.methods.maps.spec import PlaceSpec
from cellguard.reading.coordinates import in_degrees
from cellguard.reading.dialect import Dialect
from cellguard.table.source import open_source

_BINS = 30
_EPSG = "EPSG:"
_CORNERS = 3  # that a polygon has at the least
AREA, NEIGHBOUR = "area", "neighbour"


def grid_of(spec: PlaceSpec, x: FloatArray, y: FloatArray, crs: str | None) -> Tiling:
    """Return the grid that a job asks for: of regular cells by `size`, and by `bins` where metres are known."""
    if spec.grid == "squares":
        how: dict[str, Any] = {"neighbours": spec.neighbours, "epsg": number_of(crs), "style": spec.codes}
        return Squares.fit(x, spec.bins or _BINS, **how) if spec.size is None else Squares(spec.size, **how)
    if spec.size is not None:
        return Grid.of_size(spec.size)
    if crs is not None and not in_degrees(crs) and spec.shape is None:
        return Grid.fit_regular(x, spec.bins or _BINS)
    return Grid.fit_round(x, y, spec.bins or _BINS, spec.shape or 1.0)


def number_of(crs: str | None) -> int | None:
    """Return the EPSG number of a coordinate system in metres; None if it is in degrees or has another name.

    >>> number_of("EPSG:3035"), number_of("EPSG:4326"), number_of(None)
    (3035, None, None)
    """
    if crs is None or in_degrees(crs) or not crs.startswith(_EPSG):
        return None
    digits = crs.removeprefix(_EPSG)
    return int(digits) if digits.isdecimal() else None


def read_areas(job: Job, spec: PlaceSpec) -> Areas:
    """Return the areas of a job: polygons, and neighbours from a list if there is one."""
    outlines = None if spec.areas is None else _read_outlines(job.path(spec.areas), spec.area)
    if spec.adjacency is None:
        return Areas.of_outlines(outlines or {})
    listed = Areas.of_list(_read_pairs(job.path(spec.adjacency)))
    if outlines is None:
        return listed
    for name in listed.names:
        if name not in outlines:
            raise InputError(
                f"{file_name(job.path(spec.adjacency))}: {file_name(job.path(spec.areas or ''))} has no area {name!r}; "
                "correct the name, or add its polygon"
            )
    alone = [(name, "") for name in outlines if name not in listed.names]
    whole = Areas.of_list([*((listed.names[a], listed.names[b]) for a, b in listed.pairs), *alone])
    whole = (
        whole
        if set(whole.names) == set(outlines)
        else Areas.of_list(
            [*((whole.names[a], whole.names[b]) for a, b in whole.pairs), *((name, "") for name in outlines)]
        )
    )
    return Areas(whole.names, whole.pairs, tuple(outlines[name] for name in whole.names))


def _read_pairs(path: Path) -> list[tuple[str, str]]:
    """Return the rows of a list of neighbours; a blank neighbour says that an area has none."""
    source = open_source(path, Dialect())
    columns = [source.text(name).to_pylist() for name in (AREA, NEIGHBOUR)]
    pairs = [((a or "").strip(), (b or "").strip()) for a, b in zip(*columns, strict=True)]
    for number, (area, _) in enumerate(pairs):
        if not area:
            raise source.fault(number, AREA, "is blank; name the area")
    return pairs


def _read_outlines(path: Path, name: str) -> dict[str, Shape]:
    """Return the polygons of a GeoJSON file by their code."""
    file = file_name(path)
    try:
        features = json.loads(path.read_text(encoding="utf-8-sig"))["features"]
        found: dict[str, Shape] = {}
        for number, feature in enumerate(features, 1):
            code, shape = _area(feature, name, f"{file} feature {number}")
            if code in found:
                raise InputError(f"{file} feature {number}: there is an area {code!r} already; join their polygons")
            found[code] = shape
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{file}: not a GeoJSON feature collection of polygons") from None
    if not found:
        raise InputError(f"{file}: there is no feature in it")
    return found


def _area(feature: Any, name: str, where: str) -> tuple[str, Shape]:  # noqa: ANN401
    """Return code and outline of a polygon; rings repeat their first corner at the end, which is left out."""
    code = (feature.get("properties") or {}).get(name)
    if code is None or str(code).strip() == "":
        raise InputError(f"{where}: there is no property {name!r}; say which one has the codes of areas: `area`")
    geometry = feature.get("geometry") or {}
    kind = geometry.get("type")
    if kind not in {"Polygon", "MultiPolygon"}:
        raise InputError(f"{where}: an area is a Polygon or MultiPolygon, not {kind!r}")
    parts = [geometry["coordinates"]] if kind == "Polygon" else geometry["coordinates"]
    shape = [[np.array([corner[:2] for corner in ring[:-1]], float) for ring in part] for part in parts]
    for ring in (ring for part in shape for ring in part):
        if len(ring) < _CORNERS or not np.isfinite(ring).all():
            raise InputError(f"{where}: a ring has fewer than three corners, or one that is no number")
    if not shape:
        raise InputError(f"{where}: the area has no outline")
    return str(code), shape
