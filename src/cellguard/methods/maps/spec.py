"""The part of a job that says where places are, shared by all methods for maps, and that of redistribution."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from cellguard.job.jobfile import Job
from cellguard.job.specs import Spec, TableSpec


def table_of(job: Job) -> TableSpec:
    """Return the one table that the job of a map has."""
    return job.tables[0]


class PlaceSpec(Spec):
    """Where points are, and which hexagons, squares or areas they are sorted into."""

    x: str = Field("x", min_length=1, description="the column of the first coordinate")
    y: str = Field("y", min_length=1, description="the column of the second coordinate")
    crs: str | None = Field(None, min_length=1, description="the coordinate system of x and y, as EPSG:28992")
    project: str | None = Field(
        None, min_length=1, description="the system that x and y are turned into, of equal areas, as EPSG:3035"
    )
    grid: Literal["hexagons", "squares"] = Field("hexagons", description="what the cells of the map are")
    q: str = Field("q", min_length=1, description="ready-made hexagons: the column of the first axial coordinate")
    r: str = Field("r", min_length=1, description="ready-made hexagons: the column of the second axial coordinate")
    code: str | None = Field(
        None, min_length=1, description="squares or areas: the column of their codes, in place of x and y"
    )
    codes: Literal["long", "short"] = Field(
        "long", description="squares: codes as CRS3035RES1000mN2684000E4334000, or as 1kmN2684E4334"
    )
    neighbours: Literal[4, 8] = Field(4, description="squares: neighbours by edges (4), or by corners too (8)")
    areas: str | None = Field(None, min_length=1, description="a GeoJSON file of polygons, which are the cells")
    area: str = Field("area", min_length=1, description="the property of a polygon that has its code")
    adjacency: str | None = Field(
        None, min_length=1, description="a CSV file with columns area and neighbour, which are the cells"
    )
    size: float | None = Field(None, gt=0, allow_inf_nan=False, description="distance of neighbouring centres")
    bins: int | None = Field(None, ge=1, description="about so many cells across (default: 30)")
    shape: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="hexagons with bins: the map's height by its width"
    )
    geopackage: bool = Field(False, description="write the map as a GeoPackage too (extra geo)")

    @classmethod
    def of(cls, job: Job) -> Self:
        """Return what a job says, or the defaults."""
        said = job.settings.get(job.method)
        return said if isinstance(said, cls) else cls()

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the settings name."""
        return tuple(name for name in (self.areas, self.adjacency) if name)

    def _first_said(self, *keys: str) -> str | None:
        """Return the first of some keys that says something else than its default."""
        return next((key for key in keys if getattr(self, key) != type(self).model_fields[key].default), None)

    @model_validator(mode="after")
    def _one_grid(self) -> Self:
        if self.size is not None and self.bins is not None:
            raise ValueError("give one of size and bins, not both")
        if self.files:
            if key := self._first_said("grid", "size", "bins", "shape", "neighbours", "codes", "project"):
                raise ValueError(f"`{key}` does not go with areas, which are as they are; leave it out")
            if self.areas is None and self.code is None:
                raise ValueError("a list of neighbours does not say where areas are; name the column of codes: `code`")
        elif self.grid == "hexagons":
            if key := self._first_said("code", "codes", "neighbours"):
                raise ValueError(f"`{key}` is for squares and areas; say `grid: squares`, or leave it out")
        elif key := self._first_said("shape"):
            raise ValueError(f"`{key}` is for hexagons; leave it out")
        elif self.code is not None and (key := self._first_said("size", "bins", "crs", "project", "codes")):
            raise ValueError(f"`{key}` is in the codes of the squares already; leave it out")
        return self


class RedistributeSpec(PlaceSpec):
    """How points become cells of a map, and how cells with too few records are filled up."""

    algorithm: Literal["group", "nearest", "everybody", "optimal"] = Field(
        "group", description="who gives: the smallest group around, the nearest, all alike, or as is cheapest"
    )
    order: Literal["smallest", "isolated"] = Field("smallest", description="which sensitive cell is filled first")
    outliers: Literal["remove", "redistribute", "keep"] = Field("remove", description="what happens to outliers")
    outlier_distance: int | None = Field(
        None, ge=1, description="how far they are from others (default: min_frequency)"
    )
    outlier_cells: int = Field(2, ge=1, description="how many cells an outlier has at most")
    coarsen: bool = Field(True, description="choose larger cells where there are too few records")
    keep_away: float = Field(
        10.0, ge=0, le=45, description="values: how many percent totals stay away from a true largest value; 0: any"
    )
    unresolved: Literal["refuse", "remove"] = Field(
        "refuse", description="values: what happens to cells that no rule can be satisfied for"
    )
    seed: int | None = Field(None, ge=0, lt=2**63, description="of random draws (default: a secret one)")


class MergeSpec(PlaceSpec):
    """How squares or areas with too few records are merged."""

    largest: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="squares: how wide they become at most; what is still unsafe is left out",
    )
    most_areas: int | None = Field(
        None, ge=1, description="areas: how many are merged into one at most; what is still unsafe is left out"
    )

    @model_validator(mode="after")
    def _can_be_merged(self) -> Self:
        if not self.files and self.grid == "hexagons":
            raise ValueError("hexagons cannot be merged into larger ones; say `grid: squares`, or give areas")
        if key := self._first_said("largest") if self.files else self._first_said("most_areas"):
            raise ValueError(f"`{key}` is for {'squares' if self.files else 'areas'}; leave it out")
        return self


class SmoothSpec(PlaceSpec):
    """How counts and values of cells are smoothed."""

    bandwidth: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="the standard deviation of the kernel (default: the size)"
    )
    max_risk: float = Field(0.95, gt=0, allow_inf_nan=False, description="the risk above which a cell is sensitive")
    risk: Literal["external", "internal", "discrete"] = Field("external", description="how risk is measured")
    unproven: Literal["refuse", "accept"] = Field(
        "refuse", description="whether somebody answers for a map that nothing is proven of"
    )
