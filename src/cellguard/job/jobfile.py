"""The job file: a frozen, validated description of what to protect and how. The same model serves Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from cellguard.errors import JobError, file_name
from cellguard.job.counts_beside import with_counts
from cellguard.job.dimension_specs import DimensionSpec
from cellguard.job.faults import below, explain
from cellguard.job.house_policy import load_policy, with_policy
from cellguard.job.names import collision_fault, dimension_fault
from cellguard.job.overrides import with_overrides
from cellguard.job.registry import DEFAULT, declared, section, sections, sections_in
from cellguard.job.rulespec import rule_schema
from cellguard.job.specs import AttackSpec, MicrodataSpec, OutputSpec, PreviousSpec, Spec, TableSpec, named_folder
from cellguard.job.yamlfile import Lines, read_yaml
from cellguard.microdata.address import is_remote
from cellguard.rules.presets import PRESETS
from cellguard.words.language import ENGLISH, Language


class Job(Spec):
    """A job: everything that one run needs. The job file is this in YAML; `load` reads it, `parse` takes plain data.

    The keys are described in the reference of the job file, and by ``cellguard schema``.

    Attributes
    ----------
    version
        The version of the format, 1.
    tables
        The tables to publish, as one linked set.
    microdata
        The records that tables are made from.
    dimensions
        The dimensions, by name.
    equations
        Additivity constraints between responses.
    attack
        The a-priori bounds, and whether respondents attack too.
    known
        A file of totals that the attacker has from elsewhere.
    previous
        Earlier releases about the same respondents.
    policy
        A file of rules and defaults.
    settings
        The settings of the methods, by their names.
    language
        The language of the pages.
    output
        Where results go, and their formats.

    Examples
    --------
    >>> job = Job.parse({"version": 1, "tables": [{"name": "t", "by": ["region"], "value": "turnover",
    ...                  "cells": {"source": "t.csv"}, "rules": [{"min_frequency": 3}]}]})
    >>> str(job.tables[0].rules[0])
    'min_frequency 3'
    """

    homes: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("protect", "rules", "by", "value", "cells", "where", "publish"), "a table, beside its `name`"),
        **dict.fromkeys(
            ("source", "respondent", "weight", "holding", "missing"), "`microdata: {source: firms.csv, ...}`"
        ),
        **dict.fromkeys(("formats", "folder"), "`output: {formats: [csv], ...}`"),
    }
    version: Literal[1]
    policy: str | None = Field(
        None, min_length=1, description="file of rules and defaults, or a tool whose conventions rules follow"
    )
    microdata: MicrodataSpec | None = None
    dimensions: dict[str, DimensionSpec] = Field({})
    equations: list[str] = Field([])
    tables: list[TableSpec] = Field(min_length=1)
    settings: dict[str, Any] = Field({}, description="what is said under the name of a method, as `perturb`")
    attack: AttackSpec = AttackSpec()
    known: str | None = Field(None, min_length=1, description="CSV file of totals that an attacker has from elsewhere")
    previous: list[Annotated[PreviousSpec, BeforeValidator(named_folder)]] = Field(
        [], description="earlier releases about the same respondents: output folders"
    )
    language: Language = Field(ENGLISH, description="language of the pages that a run writes: `en`, `fr` or `de`")
    output: OutputSpec | None = None
    _folder: Path = PrivateAttr(default=Path())
    _held: Mapping[str, object] = PrivateAttr(default={})
    _policy_file: str | None = PrivateAttr(default=None)

    @field_validator("tables")
    @classmethod
    def _counts_are_tables(cls, tables: list[TableSpec]) -> list[TableSpec]:
        names = [table.name for table in tables]
        again = [i for i, name in enumerate(names) if name in names[:i]]
        words = "tables[{first}] is named {name} too; give each table a name of its own"
        faults = [
            InitErrorDetails(
                type=PydanticCustomError("twice", words, {"first": names.index(names[i]), "name": repr(names[i])}),
                loc=(i, "name"),
                input=names[i],
            )
            for i in again
        ]
        if faults:
            raise ValidationError.from_exception_data("job", faults)
        return with_counts(tables)

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
    def _coalitions_are_of_insiders(self) -> Job:
        together = self.attack.coalition
        if together > 1 and not self.insiders:
            raise ValueError(f"coalition: {together} is about respondents who attack: say insiders: true, too")
        return self

    @model_validator(mode="after")
    def _names_are_files(self) -> Job:
        dimensions = dict.fromkeys([*self.dimensions, *(name for table in self.tables for name in table.dimensions)])
        faults = [
            *map(dimension_fault, self.dimensions),
            collision_fault("dimensions", dimensions),
            collision_fault("tables", [table.name for table in self.tables]),
        ]
        if fault := next(filter(None, faults), None):
            raise ValueError(fault)
        return self

    @model_validator(mode="before")
    @classmethod
    def _sections_of_methods(cls, data: object) -> object:
        """Collect what is said under the name of a method."""
        if not isinstance(data, Mapping):
            return data
        if "settings" in data:
            hint = ", which is not said here but under the name of a method"
            raise PydanticCustomError("unknown_key", "unknown key '{key}'{hint}", {"key": "settings", "hint": hint})
        names = sections_in(data)
        own = {key: data[key] for key in names if data.get(key) is not None}
        return {**{key: value for key, value in data.items() if key not in names}, "settings": own}

    @field_validator("settings", mode="before")
    @classmethod
    def _checked_settings(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        checked, faults = {}, list[InitErrorDetails]()
        for name, said in data.items():
            try:
                checked[name] = section(name).model_validate(said)
            except ValidationError as error:
                faults += [below(name, fault) for fault in error.errors(include_url=False)]
        if faults:
            raise ValidationError.from_exception_data("job", faults)
        return checked

    @model_serializer(mode="wrap")
    def _as_written(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write what methods are reported under their own names, as a job file does, and who attacks what they
        suppress.
        """
        own = {
            name: self.settings[name].model_dump() if name in self.settings else None
            for name in sections_in(self.settings)
        }
        whole: dict[str, Any] = {}
        for key, value in dump(self).items():
            whole |= own if key == "settings" else {key: value}
        if declared(self.method).attacked:
            whole["attack"]["insiders"] = self.insiders
        return whole

    @model_validator(mode="after")
    def _one_method(self) -> Job:
        for name in self.settings:
            if all(table.protect.method != name for table in self.tables):
                raise ValueError(f"`{name}` is given, but no table says `protect: {{method: {name}}}`")
        _refuse_two_methods(self.tables)
        fault = declared(self.method).fault(self)
        if fault:
            raise ValueError(fault)
        return self

    @property
    def method(self) -> str:
        """The name of the method that protects the tables; all of them have the same."""
        return self.tables[0].protect.method

    @property
    def insiders(self) -> bool:
        """Whether respondents attack too: as the job says, and if it does not, wherever it has their records."""
        said = self.attack.insiders
        return self.microdata is not None and declared(self.method).attacked if said is None else said

    @property
    def folder(self) -> Path:
        """The folder that relative paths start from."""
        return self._folder

    @property
    def policy_file(self) -> str | None:
        """The file of the policy that the job was filled in from."""
        return self._policy_file

    @property
    def formats(self) -> frozenset[str]:
        """The formats to write; CSV files are always among them, since the certificate speaks of them."""
        return frozenset({"csv", *(self.output or OutputSpec()).formats})

    @property
    def raw_codes(self) -> bool:
        """Whether the release's CSV files have codes as they are, even those that a spreadsheet would run."""
        return (self.output or OutputSpec()).raw_codes

    def path(self, name: str) -> Path:
        """Return the path of a file that the job names."""
        return self._folder / name

    @property
    def held(self) -> Mapping[str, object]:
        """What the job names that is no file but in memory: Arrow tables of data, hierarchies."""
        return self._held

    def with_held(self, more: Mapping[str, object]) -> Job:
        """Return the job with more things in memory, which it may name as if they were files."""
        job = self.model_copy()
        job._held = {**self._held, **more}
        return job

    def data(self, name: str) -> object:
        """Return what the job means by a name of data: what is held in memory under it, an address, or a path."""
        if name in self._held:
            return self._held[name]
        return name if is_remote(name) else self.path(name)

    @classmethod
    def load(cls, path: str | Path, *, settings: Sequence[str] = ()) -> Job:
        """Read and check a job file; relative paths in it start from its folder.

        ``settings`` set keys anew for this run, as ``["microdata.source=june.csv"]``.
        """
        data, lines = read_yaml(path)
        source = file_name(path)
        if settings and isinstance(data, Mapping):
            data, lines = with_overrides(data, lines, settings)
            source += " with --set"
        return cls.parse(data, folder=Path(path).parent, source=source, lines=lines)

    @classmethod
    def parse(
        cls,
        data: object,
        *,
        folder: str | Path = ".",
        source: str = "the job",
        lines: Lines | None = None,
        held: Mapping[str, object] | None = None,
    ) -> Job:
        """Check a job given as plain data; every fault is reported with its place. ``held`` is what is in memory."""
        if not isinstance(data, Mapping):
            raise JobError(
                f"{source}: this is no job. A job has keys such as `version: 1`, `microdata:` and `tables:`; "
                "`cellguard init DATA` writes one from a data file"
            )
        named = data.get("policy")
        if isinstance(named, str) and named:
            data = with_policy(data, load_policy(named, Path(folder)), source, lines or {})
        try:
            job = cls.model_validate(dict(data))
        except ValidationError as error:
            raise JobError(explain(error, source, lines or {})) from None
        job._folder = Path(folder)
        job._held = held or {}
        job._policy_file = named if isinstance(named, str) and named not in PRESETS else None
        return job


def _refuse_two_methods(tables: Sequence[TableSpec]) -> None:
    """Refuse tables with different methods: what one of them suppresses, another may show."""
    first = next((table for table in tables if table.protect.method != DEFAULT), tables[0])
    done = declared(first.protect.method).participle
    others = [table for table in tables if table.protect.method != first.protect.method]
    for table in (table for table in tables if table.protect.method == first.protect.method):
        for other in others:
            if (table.response or table.value) == (other.response or other.value):
                raise ValueError(
                    f"conflict: table {table.name!r} is {done} and table {other.name!r} of the same response is "
                    f"{declared(other.protect.method).participle}; the true values of one give away the noise of "
                    "the other, so use one method"
                )
    if others:
        raise ValueError(f"table {first.name!r} is {done} and {others[0].name!r} is not; put them into two jobs")


def job_schema() -> dict[str, Any]:
    """Return the JSON schema of the job file, for editors that complete and check YAML.

    >>> sorted(job_schema()["required"])
    ['tables', 'version']
    """
    schema = Job.model_json_schema(mode="validation")
    own = {name: spec.model_json_schema(ref_template="#/$defs/{model}") for name, spec in sections().items()}
    del schema["properties"]["settings"]
    for name, part in own.items():
        schema["$defs"] |= part.pop("$defs", {})
        schema["properties"][name] = {"anyOf": [part, {"type": "null"}], "default": None}
    schema["$defs"]["Rule"] = rule_schema()
    listed = schema["$defs"]["TableSpec"]["properties"]["rules"]
    listed["items"] = {"$ref": "#/$defs/Rule"}
    listed["anyOf"] = [{"type": listed.pop("type")}, {"type": "string", "description": "a list of the policy"}]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
