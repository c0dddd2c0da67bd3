"""The job file: a frozen, validated description of what to protect and how. The same model serves Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, PrivateAttr, ValidationError, model_validator

from cellguard.errors import JobError, file_name
from cellguard.files.names import collision_fault, dimension_fault
from cellguard.files.perturbspec import PerturbSpec
from cellguard.files.rulespec import rule_schema
from cellguard.files.specs import AttackSpec, DimensionSpec, MicrodataSpec, OutputSpec, Spec, TableSpec
from cellguard.files.yamlfile import Lines, read_yaml


class Job(Spec):
    """Everything that one run needs; the job file is this in YAML.

    >>> job = Job.parse({"version": 1, "tables": [{"name": "t", "by": ["region"], "value": "turnover",
    ...                  "cells": {"source": "t.csv"}, "rules": [{"min_frequency": 3}]}]})
    >>> str(job.tables[0].rules[0])
    'min_frequency 3'
    """

    later: ClassVar[tuple[str, ...]] = ("previous",)
    version: Literal[1]
    microdata: MicrodataSpec | None = None
    dimensions: dict[str, DimensionSpec] = Field({})
    equations: list[str] = Field([])
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
    def _names_are_files(self) -> Job:
        dimensions = dict.fromkeys([*self.dimensions, *(name for table in self.tables for name in table.by)])
        faults = [
            *map(dimension_fault, self.dimensions),
            collision_fault("dimensions", dimensions),
            collision_fault("tables", [table.name for table in self.tables]),
        ]
        if fault := next(filter(None, faults), None):
            raise ValueError(fault)
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

    @property
    def raw_codes(self) -> bool:
        """Whether the release's CSV files have codes as they are, even those that a spreadsheet would run."""
        return (self.output or OutputSpec()).raw_codes

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


_CURES = {
    "rules": "; every table needs rules, as `rules: [{min_frequency: 3}, {p_percent: 10}]`. `rules: []` applies none "
    "on purpose, and then nothing is called safe"
}


def _words(error: Mapping[str, Any]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind in {"unknown_key", "later"}:
        return str(error["msg"])
    if kind == "missing":
        return "this key is missing" + _CURES.get(error["loc"][-1], "")
    if kind == "value_error":
        return str(context["error"])
    if kind == "string_type":
        return "must be text; put codes and names that look like numbers or yes/no into quotes"
    if kind == "literal_error":
        return f"must be {context['expected']}"
    return str(error["msg"])[0].lower() + str(error["msg"])[1:]


def job_schema() -> dict[str, Any]:
    """Return the JSON schema of the job file, for editors that complete and check YAML.

    >>> sorted(job_schema()["required"])
    ['tables', 'version']
    """
    schema = Job.model_json_schema()
    schema["$defs"]["Rule"] = rule_schema()
    schema["$defs"]["TableSpec"]["properties"]["rules"]["items"] = {"$ref": "#/$defs/Rule"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
