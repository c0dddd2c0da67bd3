"""What pages may ask, each part checked: nothing that is not described here reaches the rest."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from cellguard.views.sheet import Fold, Look

Name = Annotated[str, Field(min_length=1, max_length=200)]
Word = Annotated[str, Field(max_length=200)]
Names = Annotated[list[Name], Field(max_length=20_000)]
Place = Annotated[int, Field(ge=0, le=100_000_000)]
Number = Annotated[int, Field(ge=1, le=1_000_000)]
Version = Annotated[str, Field(max_length=40)]
Comment = Annotated[str, Field(max_length=5_000)]
MOST_SEEN = 40_000  # cells of a window


class Asked(BaseModel):
    """A question, without anything beyond what is known."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Who(Asked):
    """Who sits there."""

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]


class Opening(Asked):
    """Which job to open."""

    job: Name


class ChosenTable(Asked):
    """A table to make: the columns of its dimensions, and its value."""

    by: Annotated[list[Name], Field(min_length=1, max_length=8)]
    value: Name


class ChosenMap(Asked):
    """A map to make: the columns of the coordinates, and the distance of neighbouring hexagons."""

    x: Name
    y: Name
    size: Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)] | None = None


class NewJob(Asked):
    """A job to make of a data file. Without tables it is the suggested one."""

    data: Name
    job: Annotated[str, Field(max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*\.ya?ml$")] = "job.yaml"
    tables: Annotated[list[ChosenTable], Field(max_length=20)] = []
    roles: dict[Literal["respondent", "holding", "weight", "request"], Name] = {}
    levels: dict[Name, Annotated[list[Name], Field(max_length=8)]] = {}
    files: dict[Name, Name] = {}
    map: ChosenMap | None = None


class JobText(Asked):
    """The text of the job, and the version that it was changed from."""

    text: Annotated[str, Field(max_length=2_000_000)]
    version: Version


class Rules(Asked):
    """Rules by table, as a job writes them."""

    rules: Annotated[dict[Name, Annotated[list[dict[str, Any]], Field(max_length=30)]], Field(max_length=100)]
    version: Version = ""


class MapSettings(Asked):
    """Settings of a map: to be tried, or to be written into the job."""

    size: Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)] | None = None
    algorithm: Literal["group", "nearest", "everybody", "optimal"] | None = None
    outliers: Literal["remove", "redistribute", "keep"] | None = None
    largest: Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)] | None = None  # 0: no limit
    bandwidth: Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)] | None = None
    risk: Literal["external", "internal", "discrete"] | None = None
    max_risk: Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)] | None = None
    min_frequency: Annotated[int, Field(ge=2, le=1_000_000)] | None = None
    version: Version = ""

    def said(self) -> dict[str, object]:
        """Return what is said of them."""
        return self.model_dump(exclude_none=True, exclude={"version"})


class Options(Asked):
    """How all tables are protected."""

    options: Annotated[dict[Literal["cost", "effort", "engine", "random"], Any], Field(max_length=4)]
    version: Version


class FoldAsked(Asked):
    """What is folded along a side."""

    depth: Annotated[int, Field(ge=0, le=99)] = 99
    turned: Names = []

    def fold(self) -> Fold:
        """Return it as the sheet knows it."""
        return Fold(self.depth, frozenset(self.turned))


class LookAsked(Asked):
    """What is to be seen of a table."""

    rows: Name
    columns: Name | None = None
    fixed: Annotated[dict[Name, Name], Field(max_length=20)] = {}
    row_fold: FoldAsked = FoldAsked()
    column_fold: FoldAsked = FoldAsked()
    search: Word = ""
    statuses: Annotated[list[Word], Field(max_length=20)] = []
    reasons: Annotated[list[Word], Field(max_length=50)] = []

    def look(self) -> Look:
        """Return it as the sheet knows it."""
        sides = self.row_fold.fold(), self.column_fold.fold()
        picked = frozenset(self.statuses), frozenset(self.reasons)
        return Look(self.rows, self.columns, tuple(self.fixed.items()), *sides, self.search.strip(), *picked)


class Window(Asked):
    """A window of a table: of the findings, or of a run."""

    table: Name
    run: Number | None = None
    look: LookAsked | None = None
    figure: Name | None = None
    top: Place = 0
    left: Place = 0
    bottom: Place = 60
    right: Place = 30


class Seek(Asked):
    """The next picked cell from a place."""

    table: Name
    run: Number | None = None
    look: LookAsked
    row: Place
    column: Place
    back: bool = False


class CellAsked(Asked):
    """One cell of a table."""

    table: Name
    run: Number | None = None
    codes: Annotated[list[Word], Field(min_length=1, max_length=20)]


class StatesAsked(Asked):
    """What shall be said of cells."""

    table: Name
    cells: Annotated[
        list[Annotated[list[Word], Field(min_length=1, max_length=20)]], Field(min_length=1, max_length=5_000)
    ]
    status: Literal["", "must_publish", "must_suppress", "waived", "secondary"] | None = None
    cost: Annotated[str, Field(max_length=30)] | None = None


class ProtectAsked(Asked):
    """How to run: an effort for this run, a time limit, and whether to begin with the last run's pattern."""

    effort: Literal["quick", "normal", "best"] | None = None
    seconds: Annotated[float, Field(gt=0, le=1_000_000)] | None = None
    warm: bool = False


class StopAsked(Asked):
    """Whether all ends at once."""

    at_once: bool = False


class WhatIfAsked(Asked):
    """Policies to compare."""

    methods: Annotated[list[Literal["suppress", "perturb"]], Field(min_length=1, max_length=2)] = ["suppress"]
    rules: Annotated[list[Annotated[str, Field(max_length=300)]], Field(max_length=6)] = []
    costs: Annotated[list[Literal["value", "count", "constant", "log"]], Field(max_length=4)] = []
    efforts: Annotated[list[Literal["quick", "normal", "best"]], Field(max_length=3)] = []


class Decision(Asked):
    """What is decided of a run, and why."""

    what: Literal["request", "comment", "accept", "refuse"]
    run: Number
    reason: Comment = ""
