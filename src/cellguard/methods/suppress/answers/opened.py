"""A source of records whose answers are suppressed tables: its job, its records, and the table of a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from cellguard.answers.answering import digest_of_figures
from cellguard.answers.question import Question
from cellguard.answers.spec import SourceSpec, read_source
from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError, JobError, did_you_mean, file_name
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.inputs.records import HeldRecords, column_of, read_records
from cellguard.inputs.shown.memory import Shown, shown_of
from cellguard.inputs.shown.nearness import Codes
from cellguard.inputs.shown.record_sets import digest
from cellguard.inputs.tables import build_dimensions, build_tables, input_digests
from cellguard.job.jobfile import Job
from cellguard.job.rulespec import parse_rule
from cellguard.job.specs import TableSpec
from cellguard.microdata.grouped import COUNT, Grouped
from cellguard.microdata.query import group_records
from cellguard.rules.rule import fewest_of
from cellguard.table.lattice import leaf_positions
from cellguard.table.table import Table

_FEWEST = 3
_NOT_TAKEN = ("cells", "apriori", "impossible", "counts", "where")


@dataclass(frozen=True, eq=False)
class Opened:
    """The job of a source and its records, summed by leaf codes and holding. Confidential.

    ``templates`` have a table of the job for each value: its rules and all else that is said of tables.
    """

    folder: Path
    spec: SourceSpec
    job: Job
    templates: Mapping[str, TableSpec]
    dimensions: Mapping[str, Dimension]
    grouped: Grouped
    owner: Mapping[str, str]

    @property
    def fewest(self) -> int:
        """The least number of respondents of a safe cell, by any rule."""
        said = [fewest_of(template.rules) or 0 for template in self.templates.values()]
        return max([*said, self.spec.fewest, _FEWEST])

    def job_of(self, question: Question, name: str, **more: Any) -> Job:  # noqa: ANN401
        """Return the job whose one table answers a question; ``more`` is what else is said of the table."""
        template = self.templates.get(question.value)
        if template is None:
            raise InputError(f"no value {question.value!r}{did_you_mean(question.value, self.templates)}")
        for variable in (*question.by, *(name for name, _ in question.where)):
            if variable not in self.dimensions:
                raise InputError(f"no variable {variable!r}{did_you_mean(variable, self.dimensions)}")
        if both := sorted(set(question.by) & {name for name, _ in question.where}):
            raise InputError(
                f"{both[0]!r} is in `by` and in `where`; a table by it has these codes as cells of its own"
            )
        for variable, levels in question.levels:
            deepest = int(self.dimensions[variable].level.max())
            if max(levels) > deepest:
                raise InputError(f"`levels`: {variable!r} has levels 0 to {deepest} only")
        said = {
            "name": name,
            "by": list(question.by),
            "where": {variable: list(codes) for variable, codes in question.where} or None,
            "publish": {variable: list(levels) for variable, levels in question.levels} or None,
        }
        return self.job.model_copy(update={"tables": [template.model_copy(update={**said, **more})]})

    def members(self, question: Question) -> BoolArray:
        """Return which rows of the records a question is about."""
        inside = np.ones(len(self.grouped), bool)
        for name, codes in question.where:
            dimension = self.dimensions[name]
            wanted = np.zeros(len(dimension.codes), bool)
            wanted[[dimension.position[code] for code in codes]] = True
            place = self.places[name]
            inside &= np.logical_or.reduce([wanted[above] for above in _upwards(dimension, place)])
        return inside

    def figures(self, value: str) -> FloatArray:
        """Return what the records contribute to a value; what is below 0 is refused."""
        found = self.grouped.records.astype(float) if value == COUNT else self.grouped.total[value]
        if (found < 0).any():
            raise InputError(f"{value!r} has contributions below 0; use `cellguard protect`")
        return found

    @cached_property
    def places(self) -> Mapping[str, Codes]:
        """The position of the leaf code of each row of the records, by variable."""
        found = {}
        for name, dimension in self.dimensions.items():
            at = self.grouped.column(column_of(self.job, name))
            here = leaf_positions(dimension, list(self.grouped.labels[at]), name)
            found[name] = np.asarray(here, np.int64)[self.grouped.codes[at]]
        return found

    def table(self, question: Question) -> Table:
        """Return the true table of a question. Confidential."""
        job = self.job_of(question, "asked").model_copy(update={"previous": []})
        return next(table for table in build_tables(job).tables if table.name == "asked")

    def shown(self, question: Question, table: Table, published: BoolArray, name: str) -> Shown:
        """Return what the published cells of a table show of the records."""
        members = self.members(question)
        rows = np.flatnonzero(members)
        population = "all" if members.all() else digest(rows)
        status = np.where(published, "published", np.where(table.unpublished, "unpublished", "secondary"))
        rules = tuple(self.templates[question.value].rules)
        ways = [self._ways(dimension, table, at)[:, rows] for at, dimension in enumerate(table.dimensions)]
        names = [dimension.name for dimension in table.dimensions]
        found = [
            shown_of(table, status, rules, population, dict(zip(names, places, strict=True)), rows, len(members))
            for places in product(*ways)
        ]
        parts = tuple(part for one in found for part in one.parts)
        first = found[0]
        return Shown(name, table, status, rules, population, first.members, first.columns, parts)

    def _ways(self, dimension: Dimension, table: Table, at: int) -> Codes:
        """Return the codes of all rows of the records in a dimension: as leaves, and at each step above them."""
        own = self.dimensions[dimension.name]
        if list(dimension.codes) != list(own.codes):  # a filter: all cells have the code of those that it chooses
            return np.full((1, len(self.grouped)), int(table.codes[at][0]), np.int64)
        steps = [above for above in _upwards(own, self.places[dimension.name]) if (above > 0).any()]
        return np.stack(steps)


def _upwards(dimension: Dimension, place: Codes) -> list[Codes]:
    """Return positions, and those above them step by step to the top, in each of a dimension's hierarchies."""
    found = [place]
    for parent in dimension.parents:
        above = place
        while (above > 0).any():
            above = np.where(above > 0, np.asarray(parent, np.int64)[above], 0)
            found.append(np.maximum(above, 0))
    return found


def open_records(folder: Path) -> Opened:
    """Read the records of a source, and check that its job can answer questions."""
    spec = read_source(folder)
    job = Job.load(folder / spec.job)
    if job.microdata is None or any(getattr(t, name) is not None for t in job.tables for name in _NOT_TAKEN):
        listed = ", ".join(f"`{name}`" for name in _NOT_TAKEN)
        raise JobError(f"{file_name(spec.job)}: a source is made from `microdata`, and its tables have no {listed}")
    if job.microdata.weight is not None:
        raise InputError("on the fly answers are not given from weighted records; use `cellguard protect`")
    attack = job.attack
    if attack.lower > 0 or np.isfinite(attack.upper) or attack.percent is not None:
        raise JobError(
            f"{file_name(spec.job)}: on the fly answers are not given if attackers know bounds beforehand (`attack`); "
            "use `cellguard protect`"
        )
    templates = _templates(job, spec)
    known = list(dict.fromkeys([*(name for table in job.tables for name in table.by), *job.dimensions]))
    variables = known if spec.variables is None else spec.variables
    template = next(iter(templates.values()))
    every = [
        template.model_copy(update={"name": f"ask{i}", "by": [name], "publish": None})
        for i, name in enumerate(variables)
    ]
    every += [
        one.model_copy(update={"name": f"value{i}", "by": [variables[0]], "publish": None})
        for i, one in enumerate(templates.values())
    ]
    whole = job.model_copy(update={"tables": every})
    records = read_records(whole)
    if records is None:  # a job with microdata has records
        raise JobError(f"{file_name(spec.job)}: a source is made from `microdata`")
    dimensions = build_dimensions(whole, {}, records)
    owner = {
        "records": digest_of_figures([f"{name}={found}" for name, found in sorted(input_digests(whole).items())]),
        "rules": digest_of_figures([f"{value}: {rule}" for value, one in templates.items() for rule in one.rules]),
    }
    grouped = group_records(records.checked)
    job = job.with_held({job.microdata.source: HeldRecords(records, grouped)})
    return Opened(folder, spec, job, templates, {name: dimensions[name] for name in variables}, grouped, owner)


def _templates(job: Job, spec: SourceSpec) -> dict[str, TableSpec]:
    """Return a table of the job for each value that may be asked for; rules of the source go before its own."""
    own = {table.response or table.value: table for table in reversed(job.tables)}
    wanted: Sequence[str] = list(reversed(own)) if spec.values is None else spec.values
    found = {}
    for name in wanted:
        like = own.get(name)
        if like is None:
            if name == "count" or job.tables[0].value == "count":
                raise JobError(
                    f"values: no table of {file_name(spec.job)} is about {name!r}, and its rules are not those of "
                    f"{job.tables[0].value!r}; add one to the job"
                )
            like = job.tables[0].model_copy(update={"value": name, "response": None, "decimals": None})
        rules = like.rules if spec.rules is None else [parse_rule(rule) for rule in spec.rules]
        if not any(rule.can_fire for rule in rules):
            raise JobError(f"{file_name(spec.job)}: no rule is applied to {name!r}; a source answers by rules only")
        found[name] = like.model_copy(update={"rules": rules})
    return found
