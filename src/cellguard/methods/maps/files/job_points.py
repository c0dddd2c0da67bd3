"""From a job to the points of its map, or to cells that somebody already counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cellguard.arrays import FloatArray, LongArray
from cellguard.errors import InputError, JobError
from cellguard.geometry.areas import Areas
from cellguard.geometry.hexgrid import Grid
from cellguard.geometry.squaregrid import read_codes
from cellguard.geometry.tiling import Tiling
from cellguard.inputs.tables import input_digests, refuse_changed
from cellguard.job.jobfile import Job
from cellguard.methods.maps.files.grids import grid_of, read_areas
from cellguard.methods.maps.places import Points, Tiles
from cellguard.methods.maps.spec import PlaceSpec, table_of
from cellguard.microdata.checked import check_records
from cellguard.microdata.grouped import COUNT
from cellguard.microdata.query import read_units
from cellguard.microdata.roles import Missing, Roles
from cellguard.microdata.sources import open_records
from cellguard.microdata.units import Units
from cellguard.reading.coordinates import coordinate_system, look_like_degrees, projected, to_degrees
from cellguard.reading.dialect import Dialect
from cellguard.table.source import Source, open_source


@dataclass(frozen=True, eq=False)
class Located:
    """The cells of a job's map, and the points behind them unless they are ready-made; notes, digests of files.

    ``points`` are where the records are, None if they, or the counts, came with the codes of their cells; ``value`` is
    that of each record, None if they are only counted. ``crs`` is the coordinate system that the job or the file of
    points names, if one does.
    """

    tiles: Tiles
    points: Points | None
    value: FloatArray | None
    notes: tuple[str, ...]
    inputs: Mapping[str, str]
    decimals: int
    crs: str | None

    @property
    def can_be_sized(self) -> bool:
        """Whether cells of another size can be made of the same points."""
        return self.points is not None and not isinstance(self.tiles.grid, Areas)

    def sized(self, spec: PlaceSpec) -> Located:
        """Return the same points in the cells that a job asks for; ready-made ones stay as they are."""
        if self.points is None or not self.can_be_sized:
            return self
        grid = grid_of(spec, self.points.x, self.points.y, self.crs)
        if grid == self.tiles.grid:
            return self
        return replace(self, tiles=Tiles.of_points(self.points, grid))


def read_map(job: Job) -> Located:
    """Read the points or the counted cells of a job."""
    inputs = input_digests(job)
    located = _read_points(job, inputs) if table_of(job).cells is None else _read_cells(job, inputs)
    refuse_changed(job, inputs)
    return located


def _read_points(job: Job, inputs: Mapping[str, str]) -> Located:
    spec, table, records = PlaceSpec.of(job), table_of(job), job.microdata
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
    where = [] if spec.code else [spec.x, spec.y]
    columns = tuple(dict.fromkeys([*where, *([value] if value else [])]))
    if len(columns) < len(where) + bool(value):
        raise JobError("`x`, `y` and the value must be different columns")
    by = (spec.code,) if spec.code else ()
    checked = check_records(opened, Roles(by, columns, records.weight, missing=Missing(records.missing.value)))
    units = read_units(checked)
    copies = None if units.weight is None else _whole(units.weight, opened.name)
    amount = None if value is None else units.values[value]
    decimals = 0 if amount is None or (amount == np.floor(amount)).all() else 2
    if spec.code:
        tiles, crs = _by_code(job, spec, units, opened.name, copies)
        return Located(
            tiles, None, _repeated(amount, copies), (*checked.notes, *_alone(tiles.grid)), inputs, decimals, crs
        )
    x, y = units.values[spec.x], units.values[spec.y]
    crs = spec.crs or (coordinate_system(data) if isinstance(data, Path) and data.is_file() else None)
    notes = list(checked.notes)
    if crs is not None and len(x):
        to_degrees(x[:1], y[:1], crs)  # what cannot be done is told before anything is written
    if spec.project is not None:
        x, y = projected(x, y, crs, spec.project)
        notes.append(f"coordinates were turned from {crs} into {spec.project}")
        crs = spec.project
    grid: Tiling = read_areas(job, spec) if spec.files else grid_of(spec, x, y, crs)
    notes += _placed(table.name, x, y, crs, grid) + _alone(grid)
    if copies is not None:
        x, y = np.repeat(x, copies), np.repeat(y, copies)
    points, each = Points(x, y), _repeated(amount, copies)
    return Located(Tiles.of_points(points, grid), points, each, tuple(notes), inputs, decimals, crs)


def _by_code(job: Job, spec: PlaceSpec, units: Units, name: str, copies: LongArray | None) -> tuple[Tiles, str | None]:
    """Return the cells of records that came with codes of squares or areas, and the coordinate system of these."""
    labels, codes = units.labels[0], units.codes[0]
    grid, q, r, crs = _coded(job, spec, labels, f"{name}, column {spec.code!r}")
    of_record = codes if copies is None else np.repeat(codes, copies)
    return Tiles.of_places(q[of_record], r[of_record], grid), crs


def _coded(
    job: Job, spec: PlaceSpec, labels: tuple[str, ...], where: str
) -> tuple[Tiling, LongArray, LongArray, str | None]:
    """Return the grid that codes are of, their places, and the coordinate system."""
    if spec.files:
        areas = read_areas(job, spec)
        return areas, *areas.named(labels, where), spec.crs
    found, q, r = read_codes(labels, where)
    grid = replace(found, neighbours=spec.neighbours)
    return grid, q, r, None if grid.epsg is None else f"EPSG:{grid.epsg}"


def _repeated(amount: FloatArray | None, copies: LongArray | None) -> FloatArray | None:
    return amount if amount is None or copies is None else np.repeat(amount, copies)


def _alone(grid: Tiling) -> list[str]:
    """Return that some areas have no neighbour, if so."""
    lonely = grid.alone if isinstance(grid, Areas) else []
    if not lonely:
        return []
    some = ", ".join(lonely[:3]) + (" and others" if len(lonely) > 3 else "")
    return [f"{len(lonely):,} areas have no neighbour ({some}): say in `adjacency` whom an island belongs to"]


def _placed(name: str, x: FloatArray, y: FloatArray, crs: str | None, grid: Tiling) -> list[str]:
    """Return what is to be known of the coordinate system."""
    if isinstance(grid, Areas):
        return []
    if crs is None:
        said = "The file of the map says so (`crs: null`)"
        if look_like_degrees(x, y):
            return [
                f"x and y may be degrees: {grid.word}s are then not alike on the ground. {said}; say `crs: EPSG:4326` "
                "if they are degrees, or better give coordinates in metres, of an equal-area system, and say its name"
            ]
        return [
            f"nothing says which coordinate system x and y are of. {said}; name it, as `crs: EPSG:28992`, and "
            f"{name}.geojson is in degrees, as GeoJSON is to be"
        ]
    if look_like_degrees(x, y):
        return [
            f"x and y are degrees, so {grid.word}s are not alike on the ground: the farther from the equator, the "
            "narrower; say `project: EPSG:3035` (Europe) or another equal-area system, or give coordinates in metres"
        ]
    return []


def _read_cells(job: Job, inputs: Mapping[str, str]) -> Located:
    spec, table = PlaceSpec.of(job), table_of(job)
    cells = table.cells
    if cells is None or cells.count is None or table.value != COUNT:
        raise JobError(
            f"table {table.name!r}: ready-made cells of a map have counts only; say `value: count` and "
            "`cells: {source: ..., count: COLUMN}`, or give the points for a map of values"
        )
    source = open_source(job.path(cells.source), Dialect(cells.delimiter, cells.decimal, cells.encoding))
    source = source.settled([*([] if _coded_cells(spec) else [spec.q, spec.r]), cells.count])
    count = _column(source, cells.count)
    if (count < 0).any():
        raise InputError(f"{source.place.name}: a count is below 0")
    grid: Tiling
    if _coded_cells(spec):
        if spec.code is None:
            raise JobError("ready-made squares and areas go by their codes; name the column of these: `code`")
        labels, place = source.codes(spec.code)
        grid, q, r, crs = _coded(job, spec, tuple(labels), f"{source.place.name}, column {spec.code!r}")
        return Located(
            Tiles.ready_made(q[place], r[place], count, grid), None, None, tuple(_alone(grid)), inputs, 0, crs
        )
    q, r = (_column(source, name) for name in (spec.q, spec.r))
    if spec.crs is not None:
        to_degrees(np.zeros(1), np.zeros(1), spec.crs)
    grid = Grid.of_size(spec.size or 1.0)
    return Located(Tiles.ready_made(q, r, count, grid), None, None, (), inputs, 0, spec.crs)


def _coded_cells(spec: PlaceSpec) -> bool:
    return bool(spec.files) or spec.grid == "squares"


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
