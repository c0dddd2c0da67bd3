"""The part of a job that says how a map is made and redistributed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from cellguard.job.jobfile import Job
from cellguard.job.specs import Spec, TableSpec


def table_of(job: Job) -> TableSpec:
    """Return the one table that the job of a map has."""
    return job.tables[0]


class RedistributeSpec(Spec):
    """How points become hexagons, and how hexagons with too few records are filled up."""

    x: str = Field("x", min_length=1, description="the column of the first coordinate")
    y: str = Field("y", min_length=1, description="the column of the second coordinate")
    crs: str | None = Field(None, min_length=1, description="the coordinate system of x and y, as EPSG:28992")
    q: str = Field("q", min_length=1, description="ready-made hexagons: the column of the first axial coordinate")
    r: str = Field("r", min_length=1, description="ready-made hexagons: the column of the second axial coordinate")
    size: float | None = Field(None, gt=0, allow_inf_nan=False, description="distance of neighbouring centres")
    bins: int | None = Field(None, ge=1, description="about so many hexagons across (default: 30)")
    shape: float = Field(1.0, gt=0, allow_inf_nan=False, description="with bins: the map's height by its width")
    algorithm: Literal["group", "nearest", "everybody", "optimal"] = Field(
        "group", description="who gives: the smallest group around, the nearest, all alike, or as is cheapest"
    )
    order: Literal["smallest", "isolated"] = Field("smallest", description="which sensitive hexagon is filled first")
    outliers: Literal["remove", "redistribute", "keep"] = Field("remove", description="what happens to outliers")
    outlier_distance: int | None = Field(
        None, ge=1, description="how far they are from others (default: min_frequency)"
    )
    outlier_cells: int = Field(2, ge=1, description="how many hexagons an outlier has at most")
    coarsen: bool = Field(True, description="choose larger hexagons where there are too few records")
    keep_away: float = Field(
        10.0, ge=0, le=45, description="values: how many percent totals stay away from a true largest value; 0: any"
    )
    unresolved: Literal["refuse", "remove"] = Field(
        "refuse", description="values: what happens to hexagons that no rule can be satisfied for"
    )
    seed: int | None = Field(None, ge=0, lt=2**63, description="of random draws (default: a secret one)")

    @classmethod
    def of(cls, job: Job) -> RedistributeSpec:
        """Return what a job says, or the defaults."""
        said = job.settings.get("redistribute")
        return said if isinstance(said, RedistributeSpec) else cls()

    @model_validator(mode="after")
    def _one_size(self) -> RedistributeSpec:
        if self.size is not None and self.bins is not None:
            raise ValueError("give one of size and bins, not both")
        return self
