"""From a job to the points of its map, or to hexagons that somebody already counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cellguard.arrays import FloatArray, LongArray
from cellguard.errors import InputError, JobError
from cellguard.geometry.hexgrid import Grid
from cellguard.inputs.tables import input_digests, refuse_changed
from cellguard.job.jobfile import Job
from cellguard.methods.maps.places import Hexagons, Points
from cellguard.methods.maps.spec import RedistributeSpec, table_of
from cellguard.microdata.checked import check_records
from cellguard.microdata.grouped import COUNT
from cellguard.microdata.query import read_units
from cellguard.microdata.roles import Missing, Roles
from cellguard.microdata.sources import open_records
from cellguard.reading.coordinates import coordinate_system, in_degrees, look_like_degrees, to_degrees
from cellguard.reading.dialect import Dialect
from cellguard.table.source import Source, open_source

_BINS = 30


@dataclass(frozen=True, eq=False)
class Located:
    """The hexagons of a job, and the points behind them unless they are ready-made; notes, and the digests of files.

    ``crs`` is the coordinate system that the job or the file of points names, if one does.
    """

    hexagons: Hexagons
    points: Points | None
    notes: tuple[str, ...]
    inputs: Mapping[str, str]
    decimals: int
    crs: str | None

    def sized(self, spec: RedistributeSpec) -> Located:
        """Return the same points in the hexagons that a job asks for; ready-made ones stay as they are."""
        if self.points is None:
            return self
        grid = _grid(spec, self.points.x, self.points.y, self.crs)
        if grid == self.hexagons.grid:
            return self
        return replace(self, hexagons=Hexagons.of_points(self.points, grid))


def read_map(job: Job) -> Located:
    """Read the points or the hexagons of a job."""
    inputs = input_digests(job)
    located = _read_points(job, inputs) if table_of(job).cells is None else _read_hexagons(job, inputs)
    refuse_changed(job, inputs)
    return located


def _read_points(job: Job, inputs: Mapping[str, str]) -> Located:
    spec, table, records = RedistributeSpec.of(job), table_of(job), job.microdata
    if records is None:
        raise JobError("a map needs points; name their file with `microdata: {source: ...}`")
    data = job.data(records.source)
    opened = open_records(
        data,
        query=records.query,
        dialect=Dialect(records.delimiter, records.decimal, records.encoding),
        remote=records.remote,
    )
    value = None if table.value == COUNT else table.value
    columns = tuple(dict.fromkeys([spec.x, spec.y, *([value] if value else [])]))
    if len(columns) < (3 if value else 2):
        raise JobError("`x`, `y` and the value must be different columns")
    checked = check_records(opened, Roles((), columns, records.weight, missing=Missing(records.missing.value)))
    units = read_units(checked)
    x, y = units.values[spec.x], units.values[spec.y]
    crs = spec.crs or (coordinate_system(data) if isinstance(data, Path) and data.is_file() else None)
    if crs is not None and len(x):
        to_degrees(x[:1], y[:1], crs)  # what cannot be done is told before anything is written
    grid = _grid(spec, x, y, crs)
    amount = None if value is None else units.values[value]
    if units.weight is not None:
        copies = _whole(units.weight, opened.name)
        x, y = np.repeat(x, copies), np.repeat(y, copies)
        amount = None if amount is None else np.repeat(amount, copies)
    points = Points(x, y, amount)
    decimals = 0 if amount is None or (amount == np.floor(amount)).all() else 2
    notes = (*checked.notes, *_placed(table.name, x, y, crs))
    return Located(Hexagons.of_points(points, grid), points, notes, inputs, decimals, crs)


def _placed(name: str, x: FloatArray, y: FloatArray, crs: str | None) -> list[str]:
    """Return what is to be known of the coordinate system."""
    if crs is None:
        said = "The file of the map says so (`crs: null`)"
        if look_like_degrees(x, y):
            return [
                f"x and y may be degrees: hexagons are then not alike on the ground. {said}; say `crs: EPSG:4326` if "
                "they are degrees, or better give coordinates in metres, of an equal-area system, and say its name"
            ]
        return [
            f"nothing says which coordinate system x and y are of. {said}; name it, as `crs: EPSG:28992`, and "
            f"{name}.geojson is in degrees, as GeoJSON is to be"
        ]
    if look_like_degrees(x, y):
        return [
            "x and y are degrees, so hexagons are not alike on the ground: the farther from the equator, the narrower; "
            "give coordinates in metres, of an equal-area system, as EPSG:3035 in Europe"
        ]
    return []


def _grid(spec: RedistributeSpec, x: FloatArray, y: FloatArray, crs: str | None) -> Grid:
    """Return the grid: of regular hexagons by `size`, and by `bins` where coordinates are known to be in metres."""
    if spec.size is not None:
        return Grid.of_size(spec.size)
    if crs is not None and not in_degrees(crs) and "shape" not in spec.model_fields_set:
        return Grid.fit_regular(x, spec.bins or _BINS)
    return Grid.fit_round(x, y, spec.bins or _BINS, spec.shape)


def _read_hexagons(job: Job, inputs: Mapping[str, str]) -> Located:
    spec, table = RedistributeSpec.of(job), table_of(job)
    cells = table.cells
    if cells is None or cells.count is None or table.value != COUNT:
        raise JobError(
            f"table {table.name!r}: ready-made hexagons have counts only; say `value: count` and "
            "`cells: {source: ..., count: COLUMN}`, or give the points for a map of values"
        )
    source = open_source(job.path(cells.source), Dialect(cells.delimiter, cells.decimal, cells.encoding))
    source = source.settled([spec.q, spec.r, cells.count])
    q, r, count = (_column(source, name) for name in (spec.q, spec.r, cells.count))
    if (count < 0).any():
        raise InputError(f"{source.place.name}: a count is below 0")
    grid = Grid.of_size(spec.size or 1.0)
    if spec.crs is not None:
        to_degrees(np.zeros(1), np.zeros(1), spec.crs)
    return Located(Hexagons.ready_made(q, r, count, grid), None, (), inputs, 0, spec.crs)


def _column(source: Source, name: str) -> LongArray:
    numbers = source.numbers(name)
    broken = np.flatnonzero((numbers != np.floor(numbers)) | (np.abs(numbers) > 2**30))
    if len(broken):
        raise source.fault(int(broken[0]), name, "must be a whole number")
    return numbers.astype(np.int64)


def _whole(weight: FloatArray, name: str) -> LongArray:
    if (weight != np.floor(weight)).any() or (weight < 0).any() or weight.sum() > 2**31:
        raise InputError(
            f"{name}: on a map the weight of a point is the number of records at its place, a whole number from 0"
        )
    return weight.astype(np.int64)
