"""The job file: a frozen, validated description of what to protect and how. The same model serves Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from cellguard.errors import JobError, did_you_mean, file_name
from cellguard.files.rulespec import dump_rule, parse_rule, rule_schema
from cellguard.files.yamlfile import Lines, read_yaml
from cellguard.protect.suppress.costs import COSTS, parse_cost
from cellguard.rules.rule import Rule
from cellguard.table.survey import Survey


def _checked_cost(data: object) -> object:
    parse_cost(data)
    return data


CostSpec = Annotated[
    str | dict[str, Any],
    PlainValidator(_checked_cost),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(COSTS)},
                {"type": "object", "properties": {"box_cox": {"type": "number", "minimum": 0, "maximum": 1}}},
                {"type": "object", "properties": {"inner_first": {}}},
                {"type": "object", "properties": {"sum": {"type": "array", "items": {"type": "object"}}}},
            ]
        }
    ),
]


class _Spec(BaseModel):
    """A part of a job: frozen, strict about types, and unknown keys are errors with a suggestion."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True)
    later: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: object) -> object:
        if isinstance(data, Mapping):
            for key in data:
                if key in cls.later:
                    raise PydanticCustomError("later", "`{key}` is not there yet in this version", {"key": key})
                if key not in cls.model_fields:
                    hint = did_you_mean(str(key), cls.model_fields)
                    raise PydanticCustomError("unknown_key", "unknown key '{key}'{hint}", {"key": key, "hint": hint})
        return data


def _unbounded(sign: float) -> BeforeValidator:
    return BeforeValidator(lambda value: sign * np.inf if value == "unbounded" else value)


_BOUND = WithJsonSchema({"anyOf": [{"type": "number"}, {"const": "unbounded"}]})
_SPELL = PlainSerializer(lambda value: "unbounded" if np.isinf(value) else value)
Lower = Annotated[float, _unbounded(-1), _SPELL, _BOUND]
Upper = Annotated[float, _unbounded(1), _SPELL, _BOUND]
RuleSpec = Annotated[Rule, PlainValidator(parse_rule), PlainSerializer(dump_rule), WithJsonSchema({"type": "object"})]


class GroupingSpec(_Spec):
    """A hierarchy from a file or from the digits of the codes; at most one of levels, parents, digits, hrc."""

    levels: str | None = Field(None, min_length=1, description="CSV file with one column a level, coarsest first")
    parents: str | None = Field(
        None, min_length=1, description="CSV file with columns code and parent; the total has no parent"
    )
    digits: list[int] | None = Field(None, min_length=1, description="how many characters each level adds to the code")
    hrc: str | None = Field(None, min_length=1, description="τ-ARGUS .hrc file")
    lead: str = Field("@", description="the string that marks the depth in a .hrc file")

    @model_validator(mode="after")
    def _one_way(self) -> GroupingSpec:
        given = [key for key in ("levels", "parents", "digits", "hrc") if getattr(self, key) is not None]
        if len(given) > 1:
            raise ValueError(f"give one of {' and '.join(given)}, not both")
        return self


class AlsoSpec(GroupingSpec):
    """A second, possibly non-nested grouping of the same leaves under the same total."""

    name: str


class RecodeSpec(_Spec):
    """A coarser version of a hierarchy: merge codes with one parent, cut off what is below a code or a level."""

    merge: dict[str, list[str]] = Field({}, description="new code: the codes that it replaces")
    cut: list[str] = Field([], description="codes that become leaves")
    to_level: int | None = Field(None, description="the deepest level to keep; 0 is the total")


class DimensionSpec(GroupingSpec):
    """A dimension: a column and its hierarchy; without one, the codes stand side by side under the total."""

    column: str | None = Field(None, description="the column's name, if it is not the dimension's")
    total: str | None = Field(None, description="the code of the total (default: Total)")
    labels: str | None = Field(None, description="CSV file with columns code and label")
    also: list[AlsoSpec] = []
    recode: RecodeSpec | None = None


class CellsSpec(_Spec):
    """Ready-made cells: a CSV or Parquet file, and the names of the columns that hold what."""

    source: str
    count: str | None = Field(None, description="number of respondents")
    holdings: str | None = Field(None, description="number of holdings; where given, the rules count these")
    top: list[str] = Field([], description="the largest contributions, largest first")
    status: str | None = Field(None, description="must_publish, must_suppress, waived, unpublished, secondary or blank")
    cost: str | None = None
    need_lower: str | None = None
    need_upper: str | None = None
    lower: str | None = None
    upper: str | None = None
    delimiter: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"


class MissingSpec(_Spec):
    """What to do where a record lacks something; whatever is not an error is counted and reported."""

    value: Literal["error", "drop", "zero"] = Field("error", description="a blank value: error, drop the record, or 0")
    code: Literal["error", "drop", "category"] = Field(
        "error", description="a blank code: error, drop the record, or a category of its own, `Missing`"
    )
    holding: Literal["error", "own"] = Field(
        "error", description="a blank holding: error, or the respondent is a holding of its own"
    )


class MicrodataSpec(_Spec):
    """The records that tables without `cells` are made from, and which column holds what."""

    source: str = Field(min_length=1, description="CSV, Parquet or DuckDB file, or the text file of an .rda")
    query: str | None = Field(None, min_length=1, description="for a DuckDB file: a SELECT that returns the records")
    rda: str | None = Field(None, min_length=1, description="τ-ARGUS metadata: fixed-width or free text without header")
    respondent: str | None = Field(None, description="who gave the record; counts once in each cell")
    holding: str | None = Field(None, description="the group that the respondent belongs to; counts once in each cell")
    weight: str | None = Field(None, description="the survey weight")
    waiver: str | None = Field(None, description="yes or no: the respondent allows publication")
    request: str | None = Field(None, description="yes or no: the respondent asks for protection")
    missing: MissingSpec = MissingSpec()
    delimiter: str | None = None
    decimal: str = "."
    encoding: str | None = Field(None, description="found out if not given: UTF-8, or else Windows-1252")

    @model_validator(mode="after")
    def _one_format(self) -> MicrodataSpec:
        if self.query and self.rda:
            raise ValueError("give one of query and rda, not both")
        return self


class ProtectSpec(_Spec):
    """How a table is protected. Tables of a job are one linked set, so they share method and engine."""

    method: Literal["suppress", "perturb"] = Field("suppress", description="perturb: see the job's `perturb`")
    engine: Literal["witness"] = "witness"
    cost: CostSpec = Field("value", description="what hiding a cell costs")


class AttributesSpec(_Spec):
    """Own multipliers of each response, close to the respondent's, so that ratios are not disclosed."""

    variant: Literal["delta", "factor"] = Field("factor", description="add to the multiplier, or multiply it")
    sd: float = Field(0.005, gt=0, lt=0.5, description="the standard deviation of what is added or multiplied")
    limit: float = Field(0.2, gt=0, description="derived multipliers that are farther off are reported")


class PerturbSpec(_Spec):
    """How tables with `method: perturb` are perturbed: one multiplier a respondent, shared by all tables."""

    method: Literal["zes", "zes_mu"] = Field("zes", description="zes uses mu; zes_mu finds the smallest that protects")
    mu: float = Field(0.10, gt=0, lt=1, description="how far multipliers are from 1 on average")
    sigma: float = Field(0.02, ge=0, lt=1, description="the standard deviation of that distance")
    shape: Literal["normal", "beta", "uniform", "triangular"] = "normal"
    directions: Literal["random", "balanced"] = "random"
    probability: float = Field(0.95, ge=0.5, lt=1, description="zes_mu: how sure an unsafe cell must become safe")
    cap: float = Field(0.20, gt=0, lt=1, description="zes_mu: the largest mu to use")
    way: Literal["exact", "formula"] = Field("exact", description="zes_mu: the whole noise, or the largest one's only")
    seed: int | None = Field(None, ge=0, lt=2**63, description="default: one that nobody can guess")
    attributes: AttributesSpec | None = None
    accept: list[str] = Field([], description="unsafe cells that may be released all the same, as `table: cell`")
    published: list[str] = Field([], description="output folders of the same office, to find conflicts with")
    few: int = Field(3, ge=1, description="cells with fewer contributors are listed")
    sparse: int = Field(100, ge=2, description="cells with at most so many contributors are looked at for coalitions")
    round: bool = Field(False, description="publish whole counts; they then no longer add up")


class OutputSpec(_Spec):
    """Where the results go, and in which formats."""

    folder: str | None = Field(None, min_length=1, description="the output folder; --out goes before it")
    formats: list[Literal["csv", "parquet", "html", "xlsx"]] = Field(
        ["csv", "html"], description="csv is always written; html is the report, for the officer and for the public"
    )

    @model_validator(mode="after")
    def _once(self) -> OutputSpec:
        if len(set(self.formats)) < len(self.formats):
            raise ValueError("`formats` names a format twice")
        return self


class TableSpec(_Spec):
    """One table to publish. All tables of a job are protected as one linked set."""

    name: str = Field(pattern=r"^[\w.-]+$", description="letters, digits, _ . and -, since files are named after it")
    by: list[str] = Field(min_length=1)
    value: str = Field(description="the column of cell totals, or `count` for a frequency table")
    response: str | None = Field(None, description="what is summed (default: the value's name)")
    population: str = "all"
    decimals: int | None = Field(None, ge=0, le=9)
    zeros: Literal["known", "possible"] | None = None
    impossible: str | None = Field(None, description="with zeros possible: a file of impossible combinations")
    publish: dict[str, list[int]] | None = Field(None, description="levels shown, by dimension")
    tolerance: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="how far a sum may be off, for values rounded one by one"
    )
    cells: CellsSpec | None = Field(None, description="ready-made cells; without them the table is made from records")
    survey: Survey | None = Field(None, description="with weights: which contributions the rules see")
    apriori: str | None = Field(None, description="statements about single cells: CSV, or τ-ARGUS .hst")
    rules: list[RuleSpec] = []
    protect: ProtectSpec = ProtectSpec()

    @model_validator(mode="after")
    def _whole(self) -> TableSpec:
        if self.cells and self.survey:
            raise ValueError("`survey` goes with tables from records; ready-made cells have no weights")
        if self.value == "count" and self.cells and self.cells.count is None:
            raise ValueError("value: count is a frequency table; name the column of counts with `cells: {count: ...}`")
        if self.impossible and self.zeros == "known":
            raise ValueError("`impossible` goes with zeros: possible")
        if len(set(self.by)) < len(self.by):
            raise ValueError("`by` names a dimension twice")
        return self


class AttackSpec(_Spec):
    """What an attacker knows beforehand: every value lies between lower and upper, or is known to within percent."""

    lower: Lower = 0.0
    upper: Upper = Field("unbounded", validate_default=True)
    percent: float | None = Field(None, gt=0, allow_inf_nan=False)
    insiders: bool = False

    @model_validator(mode="after")
    def _sensible(self) -> AttackSpec:
        if not self.lower < self.upper:
            raise ValueError("lower must be below upper")
        if self.insiders:
            raise ValueError("insiders: true is not there yet in this version; say false, and reports will say so")
        return self


class Job(_Spec):
    """Everything that one run needs; the job file is this in YAML.

    >>> job = Job.parse({"version": 1, "tables": [{"name": "t", "by": ["region"], "value": "turnover",
    ...                  "cells": {"source": "t.csv"}, "rules": [{"min_frequency": 3}]}]})
    >>> str(job.tables[0].rules[0])
    'min_frequency 3'
    """

    later: ClassVar[tuple[str, ...]] = ("previous",)
    version: Literal[1]
    microdata: MicrodataSpec | None = None
    dimensions: dict[str, DimensionSpec] = {}
    equations: list[str] = []
    tables: list[TableSpec] = Field(min_length=1)
    perturb: PerturbSpec | None = Field(None, description="settings of tables with `protect: {method: perturb}`")
    attack: AttackSpec = AttackSpec()
    known: str | None = Field(None, min_length=1, description="CSV file of totals that an attacker has from elsewhere")
    output: OutputSpec | None = None
    _folder: Path = PrivateAttr(default=Path())

    @model_validator(mode="after")
    def _tables_have_data(self) -> Job:
        made = [table.name for table in self.tables if table.cells is None]
        if made and self.microdata is None:
            raise ValueError(
                f"table {made[0]!r} has no data: name its `cells`, or, to make it from records, the job's `microdata`"
            )
        if self.microdata and not made:
            raise ValueError("`microdata` is given, but every table has `cells`; leave one of them out")
        return self

    @model_validator(mode="after")
    def _one_method(self) -> Job:
        perturbed = [t for t in self.tables if t.protect.method == "perturb"]
        others = [t for t in self.tables if t.protect.method != "perturb"]
        if not perturbed:
            if self.perturb:
                raise ValueError("`perturb` is given, but no table says `protect: {method: perturb}`")
            return self
        for table in perturbed:
            for other in others:
                if (table.response or table.value) == (other.response or other.value):
                    raise ValueError(
                        f"conflict: table {table.name!r} is perturbed and table {other.name!r} of the same response is "
                        "suppressed; the true values of one give away the noise of the other, so use one method"
                    )
        if others:
            raise ValueError(
                f"table {perturbed[0].name!r} is perturbed and {others[0].name!r} is not; put them into two jobs"
            )
        for key, given in (("known", self.known), ("attack", self.attack != AttackSpec())):
            if given:
                raise ValueError(f"`{key}` is not looked at when tables are perturbed; leave it out")
        for table in perturbed:
            for name in ("cells", "apriori", "survey", "impossible", "zeros", "tolerance"):
                if getattr(table, name) is not None:
                    raise ValueError(f"table {table.name!r}: `{name}` does not go with perturbation; leave it out")
        return self

    @property
    def is_perturbed(self) -> bool:
        """Whether the tables are perturbed (all of them are, or none)."""
        return self.tables[0].protect.method == "perturb"

    @property
    def folder(self) -> Path:
        """The folder that relative paths start from."""
        return self._folder

    @property
    def formats(self) -> frozenset[str]:
        """The formats to write; CSV files are always among them, since the certificate speaks of them."""
        return frozenset({"csv", *(self.output or OutputSpec()).formats})

    def path(self, name: str) -> Path:
        """Return the path of a file that the job names."""
        return self._folder / name

    @classmethod
    def load(cls, path: str | Path) -> Job:
        """Read and check a job file; relative paths in it start from its folder."""
        data, lines = read_yaml(path)
        return cls.parse(data, folder=Path(path).parent, source=file_name(path), lines=lines)

    @classmethod
    def parse(
        cls, data: object, *, folder: str | Path = ".", source: str = "the job", lines: Lines | None = None
    ) -> Job:
        """Check a job given as plain data; every fault is told with its place."""
        if not isinstance(data, Mapping):
            raise JobError(f"{source}: a job is a mapping with the keys {', '.join(cls.model_fields)}")
        try:
            job = cls.model_validate(dict(data))
        except ValidationError as error:
            raise JobError(_explain(error, source, lines or {})) from None
        job._folder = Path(folder)
        return job


def _explain(error: ValidationError, source: str, lines: Lines) -> str:
    """Return all faults of a job, one a line, in plain words; values are not repeated."""
    return "\n".join(dict.fromkeys(_fault(e, source, lines) for e in error.errors(include_url=False)))


def _fault(error: Mapping[str, Any], source: str, lines: Lines) -> str:
    place = tuple(error["loc"])
    context = error.get("ctx", {})
    if error["type"] in {"unknown_key", "later"}:
        place = (*place, context["key"])
    line = next((lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in lines), None)
    where = f"{source} line {line}" if line else source
    named = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in place).lstrip(".")
    return f"{where}: {named + ': ' if named else ''}{_words(error)}"


def _words(error: Mapping[str, Any]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind in {"unknown_key", "later"}:
        return str(error["msg"])
    if kind == "missing":
        return "this key is missing"
    if kind == "value_error":
        return str(context["error"])
    if kind == "string_type":
        return "must be text; put codes and names that look like numbers or yes/no into quotes"
    if kind == "literal_error":
        return f"must be {context['expected']}"
    return str(error["msg"])[0].lower() + str(error["msg"])[1:]


def job_schema() -> dict[str, Any]:
    """Return the JSON schema of the job file."""
    schema = Job.model_json_schema()
    schema["$defs"]["Rule"] = rule_schema()
    schema["$defs"]["TableSpec"]["properties"]["rules"]["items"] = {"$ref": "#/$defs/Rule"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
