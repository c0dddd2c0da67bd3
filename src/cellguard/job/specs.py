"""The parts of a job: cells, records, tables, attackers and output, each frozen and checked by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, cast

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    PlainValidator,
    SerializeAsAny,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from cellguard.errors import did_you_mean
from cellguard.job.formats import format_fault
from cellguard.job.names import LONGEST, TABLE, dimension_fault, plain_name, table_fault
from cellguard.job.registry import DEFAULT, declared, method_names
from cellguard.job.rulespec import dump_rule, parse_rule
from cellguard.microdata.address import address_fault, is_remote
from cellguard.rules.rule import Rule
from cellguard.table.negative import Negative, dump_negative, parse_negative
from cellguard.table.survey import Survey


class Spec(BaseModel):
    """A part of a job: frozen, strict about types, and unknown keys are errors with a suggestion."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True)
    # Where keys belong that people write here.
    homes: ClassVar[Mapping[str, str]] = {}

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: object) -> object:
        if isinstance(data, Mapping):
            for key, said in data.items():
                if key not in cls.model_fields:
                    hint = did_you_mean(str(key), cls.model_fields)
                    hint = f"; it stands in {cls.homes[key]}" if key in cls.homes else hint
                    if said is None:  # {by: region, size} has a key `size` without a value
                        hint += "; a list stands in brackets, as [a, b]"
                    raise PydanticCustomError("unknown_key", "unknown key '{key}'{hint}", {"key": key, "hint": hint})
        return data


def _unbounded(sign: float) -> BeforeValidator:
    return BeforeValidator(lambda value: sign * np.inf if value == "unbounded" else value)


_BOUND = WithJsonSchema({"anyOf": [{"type": "number"}, {"const": "unbounded"}]})
_SPELL = PlainSerializer(lambda value: "unbounded" if np.isinf(value) else value)
Lower = Annotated[float, _unbounded(-1), _SPELL, _BOUND]
Upper = Annotated[float, _unbounded(1), _SPELL, _BOUND]
MOST_TOGETHER = 4  # the respondents of a coalition: looking at all of them takes a power of this number
_NEGATIVE = {
    "anyOf": [
        {"enum": ["absolute", None]},
        {"type": "object", "properties": {"shift": {"type": "number"}}, "required": ["shift"]},
        {"type": "object", "properties": {"proxy": {"type": "string"}, "share": {"type": "number"}}},
    ]
}
NegativeSpec = Annotated[
    Negative | None, PlainValidator(parse_negative), PlainSerializer(dump_negative), WithJsonSchema(_NEGATIVE)
]
RuleSpec = Annotated[Rule, PlainValidator(parse_rule), PlainSerializer(dump_rule), WithJsonSchema({"type": "object"})]


class CellsSpec(Spec):
    """Ready-made cells: a CSV or Parquet file, and the names of the columns that hold what."""

    source: str
    count: str | None = Field(None, description="number of respondents")
    holdings: str | None = Field(None, description="number of holdings; where given, the rules count these")
    top: list[str] = Field([], description="the largest contributions, largest first")
    sizes: str | None = Field(None, description="sum of the sizes of contributions of which some are below 0")
    positive: str | None = Field(None, description="T+, the sum of the contributions above 0; goes with `negative`")
    negative: str | None = Field(None, description="T-, the sum of the contributions below 0, itself 0 or less")
    status: str | None = Field(None, description="must_publish, must_suppress, waived, unpublished, secondary or blank")
    cost: str | None = None
    need_lower: str | None = None
    need_upper: str | None = None
    lower: str | None = None
    upper: str | None = None
    totals: Literal["given", "compute"] = Field(
        "given", description="compute: the file has inner cells only, and their totals are added"
    )
    columns: list[str] | None = Field(
        None, min_length=1, description="the names of the columns, for a text file without a header line"
    )
    delimiter: str | None = Field(None, description="found out if not given")
    decimal: str | None = Field(None, description="found out if not given: a point, or a comma as in 12,5")
    encoding: str | None = Field(None, description="found out if not given: UTF-8, UTF-16, or else Windows-1252")


class MissingSpec(Spec):
    """What to do where a record lacks something; whatever is not an error is counted and reported."""

    value: Literal["error", "drop", "zero"] = Field("error", description="a blank value: error, drop the record, or 0")
    code: Literal["error", "drop", "category"] = Field(
        "error", description="a blank code: error, drop the record, or a category of its own, `Missing`"
    )
    holding: Literal["error", "own"] = Field(
        "error", description="a blank holding: error, or the respondent is a holding of its own"
    )


class MicrodataSpec(Spec):
    """The records that tables without `cells` are made from, and which column holds what."""

    source: str = Field(
        min_length=1,
        description="CSV, Parquet or DuckDB file, the text file of an .rda, postgresql://HOST/DATABASE, spark:TABLE",
    )
    query: str | None = Field(None, min_length=1, description="for a database: a SELECT that returns the records")
    remote: str | None = Field(None, min_length=1, description="for Spark: the address of a cluster, sc://HOST:15002")
    rda: str | None = Field(None, min_length=1, description="τ-ARGUS metadata: fixed-width or free text without header")
    files_elsewhere: bool = Field(
        False, description="the .rda may name code lists and hierarchies outside of its own folder"
    )
    respondent: str | None = Field(None, description="who reported the record; counts once in each cell")
    holding: str | None = Field(None, description="the group that the respondent belongs to; counts once in each cell")
    weight: str | None = Field(None, description="the survey weight")
    waiver: str | None = Field(None, description="yes or no: the respondent allows publication")
    request: str | None = Field(None, description="yes or no: the respondent asks for protection")
    record_key: str | None = Field(None, min_length=1, description="cell keys: a random number, from 0 to below 1")
    key_range: int | None = Field(
        None, ge=2, le=2**32, description="record keys are whole numbers from 0 to this less 1"
    )
    missing: MissingSpec = MissingSpec()
    delimiter: str | None = Field(None, description="found out if not given")
    decimal: str | None = Field(None, description="found out if not given: a point, or a comma as in 12,5")
    encoding: str | None = Field(None, description="found out if not given: UTF-8, UTF-16, or else Windows-1252")

    @model_validator(mode="after")
    def _one_format(self) -> MicrodataSpec:
        if self.query and self.rda:
            raise ValueError("give one of query and rda, not both")
        if self.key_range is not None and self.record_key is None:
            raise ValueError("`key_range` goes with `record_key`, the column of record keys")
        if self.files_elsewhere and not self.rda:
            raise ValueError("`files_elsewhere` goes with `rda`")
        if fault := address_fault(self.source, self.remote, self.query):
            raise ValueError(fault)
        if self.rda and is_remote(self.source):
            raise ValueError("an .rda file describes a text file; name that as `source`")
        return self


class ProtectSpec(Spec):
    """How a table is protected: the method, and what the method lets a table say."""

    method: str = Field(DEFAULT, description="how the table is protected")

    @model_validator(mode="wrap")
    @classmethod
    def _of_its_method(cls, data: object, build: ModelWrapValidatorHandler[ProtectSpec]) -> ProtectSpec:
        """Hand over to the method that is named."""
        if cls is not ProtectSpec or not isinstance(data, Mapping):
            return build(data)
        name = data.get("method", cls.model_fields["method"].default)
        if name not in method_names():
            expected = " or ".join(repr(known) for known in method_names())
            fault = InitErrorDetails(type="literal_error", loc=("method",), input=name, ctx={"expected": expected})
            raise ValidationError.from_exception_data("protect", [fault])
        options = declared(name).options
        return build(data) if options is ProtectSpec else cast("ProtectSpec", options.model_validate(data))


def _known_format(name: str) -> str:
    fault = format_fault(name)
    if fault:
        raise ValueError(fault)
    return name


class OutputSpec(Spec):
    """Where the results go, and in which formats."""

    folder: str | None = Field(None, min_length=1, description="the output folder; --out goes before it")
    formats: list[Annotated[str, AfterValidator(_known_format)]] = Field(
        ["csv", "html"],
        description="csv, csvw, datapackage, eurostat, html, parquet, px, sbs, sdmx, xlsx, or one that an installed "
        "package adds; csv is always written; html is the report, for the officer and for the public",
    )

    raw_codes: bool = Field(
        False, description="write codes that a spreadsheet would run as a formula as they are, without an apostrophe"
    )

    @model_validator(mode="after")
    def _once(self) -> OutputSpec:
        if len(set(self.formats)) < len(self.formats):
            raise ValueError("`formats` names a format twice")
        return self


class PreviousSpec(Spec):
    """An earlier release: its output folder, what it is about, and how dear it is to depart from its pattern."""

    folder: str = Field(min_length=1, description="the output folder of an earlier run")
    period: Literal["same", "other"] = Field(
        "same", description="same: the same values, which it made public in part; other: only its pattern matters"
    )
    change_cost: float = Field(
        5.0, ge=1, allow_inf_nan=False, description="how many times as much a change costs: 1 makes no difference"
    )


def named_folder(data: object) -> object:
    """Return a folder given by its name alone as all that is said of it."""
    return {"folder": data} if isinstance(data, str) else data


class AllBut(Spec):
    """All codes but some."""

    all_but: list[str] = Field(min_length=1)


class TableSpec(Spec):
    """One table to publish. All tables of a job are protected as one linked set."""

    homes: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("microdata", "dimensions", "attack", "output", "known", "previous", "equations", "policy"),
        "the job, beside `tables`",
    )
    name: str = Field(
        description="letters, digits, _ . and -, since files are named after it",
        json_schema_extra={"pattern": TABLE, "maxLength": LONGEST},
    )
    by: list[str] = Field(min_length=1)
    value: str = Field(description="the column of cell totals, or `count` for a frequency table")
    response: str | None = Field(None, description="what is summed (default: the value's name)")
    population: str = "all"
    where: dict[str, list[str] | AllBut] | None = Field(
        None,
        min_length=1,
        description="the respondents that the table is about: codes by dimension, as {status: [active]}, or all but "
        "some, as {branch: {all_but: [C]}}; default: all of the population",
    )
    decimals: int | None = Field(None, ge=0, le=9)
    zeros: Literal["known", "possible"] | None = None
    impossible: str | None = Field(None, description="with zeros possible: a file of impossible combinations")
    publish: dict[str, list[int]] | Literal["nothing", "latent"] | None = Field(
        None,
        description="levels shown, by dimension; `nothing`: not released, but protected like a released table; "
        "`latent`: the same, but only where no other table lists the cell",
    )
    tolerance: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="how far a sum may be off, for values rounded one by one"
    )
    cells: CellsSpec | None = Field(None, description="ready-made cells; without them the table is made from records")
    survey: Survey | None = Field(None, description="with weights: which contributions the rules see")
    negative: NegativeSpec = Field(None, description="from records: what rules see of contributions below 0")
    apriori: str | None = Field(None, description="statements about single cells: CSV, or τ-ARGUS .hst")
    rules: list[RuleSpec] = Field(
        description="unsafe if any of them says so; [] applies none, and nothing is called safe"
    )
    counts: Literal["shown", "hidden_with_values"] | None = Field(
        None,
        description="publish beside the values how many respondents each cell has: everywhere, or only where the value "
        "is published",
    )
    protect: SerializeAsAny[ProtectSpec] = Field(default={}, validate_default=True)

    @field_validator("rules", mode="before")
    @classmethod
    def _listed(cls, rules: object) -> object:
        if isinstance(rules, str):
            raise ValueError(f"{rules!r} is the name of a list of rules; say with `policy` which file has it")
        return rules

    @field_validator("name")
    @classmethod
    def _names_a_file(cls, name: str) -> str:
        if fault := table_fault(name):
            raise ValueError(f"files are named after a table, and {fault}; {plain_name(name, 'table')!r} would do")
        return name

    @field_validator("by", "where")
    @classmethod
    def _name_files(cls, names: Any) -> Any:  # noqa: ANN401
        if fault := next(filter(None, map(dimension_fault, names or ())), None):
            raise ValueError(fault)
        return names

    @model_validator(mode="after")
    def _whole(self) -> TableSpec:
        if self.cells and self.survey:
            raise ValueError("`survey` goes with tables from records; ready-made cells have no weights")
        if self.cells and self.negative:
            raise ValueError(
                "`negative` goes with tables from records; of ready-made cells name the columns of the sums above and "
                "below 0, as `cells: {positive: up, negative: down}`, or that of `sizes`"
            )
        if self.value == "count" and self.negative:
            raise ValueError("`negative` is for sums; counts are never negative")
        if self.value == "count" and self.cells and self.cells.count is None:
            raise ValueError("value: count is a frequency table; name the column of counts with `cells: {count: ...}`")
        if self.counts and (fault := self._fault_of_counts()):
            raise ValueError(fault)
        if self.impossible and self.zeros == "known":
            raise ValueError("`impossible` goes with zeros: possible")
        if len(set(self.by)) < len(self.by):
            twice = next(name for name in self.by if self.by.count(name) > 1)
            raise ValueError(f"`by` names a dimension twice: {twice!r}; name each once")
        for name, codes in (self.where or {}).items():
            if name in self.by:
                raise ValueError(
                    f"{name!r} is in `by` and in `where`; a table by {name!r} has these codes as cells of its own"
                )
            listed = codes.all_but if isinstance(codes, AllBut) else codes
            if not listed or len(set(listed)) < len(listed):
                raise ValueError(f"`where` names no code of {name!r}, or one twice")
        return self

    def _fault_of_counts(self) -> str | None:
        """Explain why there can be no counts beside the values."""
        if self.value == "count":
            return "`counts` go beside values, and this is a frequency table; leave them out"
        if "hide_with" not in type(self.protect).model_fields:
            return "`counts` go beside values of which some are suppressed; leave them out"
        if self.cells and self.cells.count is None:
            return "`counts` beside the values need a column of counts; name it with `cells: {count: ...}`"
        if self.apriori:
            return (
                "`apriori` speaks of values, so it cannot go with `counts`; give the counts a table of their own, with "
                "`value: count` and a file of its own"
            )
        return None

    @property
    def dimensions(self) -> list[str]:
        """The table's dimensions: those that it is by, and those that say whom it is about."""
        return [*self.by, *(self.where or {})]


class AttackSpec(Spec):
    """What an attacker knows beforehand: every value lies between lower and upper, or is known to within percent."""

    lower: Lower = 0.0
    upper: Upper = Field("unbounded", validate_default=True)
    percent: float | None = Field(None, gt=0, allow_inf_nan=False)
    insiders: bool | None = Field(
        None, description="whether respondents attack too (default: wherever the job has their records)"
    )
    coalition: int = Field(
        1, ge=1, le=MOST_TOGETHER, description="with insiders: how many respondents may pool what they know"
    )
    crossing: Literal["checked", "not_checked"] = Field(
        "checked", description="whether tables that form a cycle must have one cover table without negative cells"
    )

    @model_validator(mode="after")
    def _sensible(self) -> AttackSpec:
        if not self.lower < self.upper:
            raise ValueError("lower must be below upper")
        return self
