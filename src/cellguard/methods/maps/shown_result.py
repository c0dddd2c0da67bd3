"""What the results of all methods for maps share: the map that may be shown, and the release made of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.geometry.tiling import Tiling
from cellguard.job.jobfile import Job
from cellguard.methods.maps.files.job_points import Located
from cellguard.methods.maps.places import Tiles
from cellguard.methods.maps.shown import ShownMap
from cellguard.methods.maps.spec import table_of
from cellguard.seam.method import Result
from cellguard.table.pattern import Release
from cellguard.table.printed import nearest
from cellguard.table.table import Table


class Placed(NamedTuple):
    """The cells that may be shown, with their figures."""

    grid: Tiling
    q: LongArray
    r: LongArray
    value: FloatArray


class ShownResult(Result):
    """A map as a method made it. Confidential, all but ``shown`` and the release."""

    job: Job
    decimals: int

    @property
    @abstractmethod
    def placed(self) -> Placed:
        """The cells that may be shown, in coordinate order, and what they show."""

    @property
    @abstractmethod
    def is_shown(self) -> BoolArray:
        """Which of the cells that have records are shown as they are."""

    @property
    @abstractmethod
    def after(self) -> FloatArray:
        """What each of the cells that have records shows, 0 where it is not shown."""

    @property
    @abstractmethod
    def map_crs(self) -> str | None:
        """The coordinate system, None if nobody said it."""

    @property
    def tables(self) -> Sequence[Table]:
        """No tables: cells of a map have neighbours, but no relations."""
        return ()

    @cached_property
    def shown(self) -> ShownMap:
        """The map as it may be published."""
        table, placed = table_of(self.job), self.placed
        return ShownMap(
            table.name,
            table.by[0],
            placed.grid,
            placed.q,
            placed.r,
            nearest(placed.value.tolist(), self.decimals),
            table.response or table.value,
            table.population,
            self.decimals,
            self.map_crs,
        )

    @cached_property
    def release(self) -> Release | None:
        """The map as a table; None if the verdict forbids it."""
        return Release((self.shown.table(),)) if self.verdict.allows_release else None


@dataclass(frozen=True, eq=False)
class LocatedResult(ShownResult):
    """A map of the cells that records were sorted into; ``decimals`` are those of its figures."""

    job: Job
    located: Located
    decimals: int

    @property
    def inputs(self) -> Mapping[str, str]:
        """The digests of the files as they were when they were read."""
        return self.located.inputs

    @property
    def tiles(self) -> Tiles:
        """The cells that have records."""
        return self.located.tiles

    @property
    def map_crs(self) -> str | None:
        """The coordinate system that the points were read with."""
        return self.located.crs

    @property
    def facts(self) -> dict[str, Any]:
        """What every summary says of such a map."""
        return {
            "released": self.release is not None,
            "grid": dict(self.tiles.grid.about()),
            "crs": self.located.crs,
        }
