"""From a job to its respondents and to the tables that perturbation calibrates on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cellguard.attack.external_totals import read_named_totals
from cellguard.errors import InputError, JobError
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.inputs.identity import check_identity
from cellguard.inputs.records import JobRecords, column_of, read_records
from cellguard.inputs.tables import build_dimensions, input_digests, refuse_changed
from cellguard.job.jobfile import Job
from cellguard.job.specs import TableSpec
from cellguard.methods.perturb.cells.calibration import CalibrationTable, calibration_table
from cellguard.methods.perturb.cells.respondents import Respondents
from cellguard.methods.perturb.checks.known_sets import KnownTotal
from cellguard.methods.perturb.draw.attributes import Definitions, define
from cellguard.methods.perturb.draw.strata import Strata, by_column, by_need
from cellguard.methods.perturb.files.published_tables import PublishedFolder, with_published
from cellguard.methods.perturb.spec import PerturbSpec
from cellguard.microdata.grouped import COUNT
from cellguard.microdata.query import read_units
from cellguard.microdata.record_keys import read_column, read_record_keys
from cellguard.rules.limits import NoiseRule
from cellguard.rules.rule import Rule
from cellguard.table.facts import FloatArray


@dataclass(frozen=True, eq=False)
class Calibration:
    """The respondents of a job, its tables, definitions and strata, the digests of the records' files, and notes.

    ``files`` are the digests of all files that were read, by the name that the job gives them; ``published`` the
    perturbed tables of these respondents that are published already, ``known`` true totals that everybody has.
    """

    records: Respondents
    tables: tuple[CalibrationTable, ...]
    definitions: Definitions
    inputs: Mapping[str, str]
    notes: tuple[str, ...]
    strata: Strata | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    published: tuple[CalibrationTable, ...] = ()
    known: tuple[KnownTotal, ...] = ()


def read_calibration(job: Job, *, drawing: bool = True, published: Sequence[PublishedFolder] = ()) -> Calibration:
    """Read the records of a job, each respondent by itself, and make its tables, margins included.

    With ``drawing`` False, for later tables from saved multipliers, strata are not looked at.
    """
    check_identity(job)
    files = input_digests(job)
    definitions = define(job.equations)
    linked = with_published(job, published)
    whole = _with_parts(linked, definitions)
    read = read_records(whole)
    if read is None:
        raise JobError("perturbation needs records; name them with `microdata`")
    dimensions = build_dimensions(whole, {}, read)
    records = _respondents(whole, read)
    made = tuple(_table(linked, spec, records, dimensions) for spec in linked.tables)
    tables, old = made[: len(job.tables)], made[len(job.tables) :]
    if len({t.name for t in tables}) < len(tables):
        twice = next(t.name for i, t in enumerate(tables) if t.name in {other.name for other in tables[:i]})
        raise JobError(f"two tables are named {twice!r}; give each a name of its own")
    strata = _strata(job, read, records, tables) if drawing else None
    known = _known(job, tables)
    refuse_changed(job, files)
    inputs = _of_records(job, files)
    return Calibration(records, tables, definitions, inputs, read.checked.notes, strata, files, old, known)


def _known(job: Job, tables: tuple[CalibrationTable, ...]) -> tuple[KnownTotal, ...]:
    """Return the totals that everybody has from elsewhere, if the job names any."""
    if not job.known:
        return ()
    totals = read_named_totals(job.data(job.known), [t.table for t in tables])
    return tuple(KnownTotal(tables[total.table], total.cells) for total in totals)


def _strata(job: Job, read: JobRecords, records: Respondents, tables: tuple[CalibrationTable, ...]) -> Strata | None:
    """Return the classes of respondents that have a mu of their own, if the job wants any."""
    spec = PerturbSpec.of(job)
    if spec.strata is None:
        return None
    column = spec.strata.column
    if column is None:
        return by_need(tables, least=spec.least)
    texts = read_column(read.checked, column)
    blank = sum(not text for text in texts)
    if blank:
        raise InputError(
            f"{read.checked.opened.name}: column {column!r} of `strata` is blank in {blank} records; fill it, or use "
            "another column"
        )
    return by_column(records, column, texts, mu=spec.strata.mu, least=spec.least)


def noise_rules(spec: TableSpec) -> tuple[NoiseRule, ...]:
    """Return what the rules of a perturbed table say of noise; those that only count respondents say nothing.

    >>> from cellguard.job.specs import TableSpec
    >>> table = {"name": "t", "by": ["r"], "value": "x", "protect": {"method": "perturb"}}
    >>> both = [{"dominance": {"n": 1, "k": 50}}, {"dominance": {"n": 2, "k": 90}}]
    >>> [str(rule) for rule in noise_rules(TableSpec.model_validate({**table, "rules": both}))]
    ['n = 1, p = 100, q = 100', 'n = 2, p = 11.1111, q = 100']
    """
    rules = [rule for rule in spec.rules if rule.fewest is None]
    if not rules:
        raise JobError(f"table {spec.name!r}: no rule says how much noise a cell needs; give dominance or p_percent")
    return tuple(_noise_rule(spec.name, rule) for rule in rules)


def _noise_rule(name: str, rule: Rule) -> NoiseRule:
    if (said := rule.noise) is None:
        raise JobError(
            f"table {name!r}: the rule {rule} does not say how much noise a cell needs; use dominance, p_percent or "
            "prior_posterior"
        )
    return said


def _with_parts(job: Job, definitions: Definitions) -> Job:
    """Return the job with a table for each response that definitions need and no table has, so that it is read."""
    have = {_response(spec) for spec in job.tables}
    wanted = dict.fromkeys(name for total, parts in definitions.parts.items() for name in (total, *parts))
    by = job.tables[0].by
    more = [
        TableSpec(name=f"part{i}", by=by, value=name, rules=[]) for i, name in enumerate(wanted) if name not in have
    ]
    return job.model_copy(update={"tables": [*job.tables, *more]})


def _response(spec: TableSpec) -> str:
    return spec.response or spec.value


def _respondents(job: Job, read: JobRecords) -> Respondents:
    units = read_units(read.checked)
    owners = read_record_keys(read.checked)
    columns = {_response(spec): spec.value for spec in job.tables}
    values: dict[str, FloatArray] = {}
    for response, column in columns.items():
        values[response] = np.ones(len(units)) if column == COUNT else units.values[column]
    if COUNT in columns.values() and len(owners.keys) < len(owners.unit):
        raise InputError(
            "value: count of respondents with several records does not add up over cells, so it cannot be perturbed; "
            "leave `holding` out, or give each respondent one record"
        )
    codes = dict(zip(units.columns, units.codes, strict=True))
    return Respondents(codes, dict(zip(units.columns, units.labels, strict=True)), values, units.weight, owners)


def _table(job: Job, spec: TableSpec, records: Respondents, dimensions: Mapping[str, Dimension]) -> CalibrationTable:
    rule, *others = noise_rules(spec)
    by = {column_of(job, name): dimensions[name] for name in spec.by}
    if len(by) < len(spec.by):
        raise JobError(f"table {spec.name!r}: two of its dimensions are the same column; leave one of them out of `by`")
    calibrated = calibration_table(
        records,
        by,
        _response(spec),
        name=spec.name,
        rule=rule,
        others=others,
        levels=spec.publish if isinstance(spec.publish, dict) else None,
        decimals=spec.decimals or 0,
    )
    about = replace(calibrated.table, population=spec.population, is_count=spec.value == COUNT)
    return replace(calibrated, table=about)


def _of_records(job: Job, known: Mapping[str, str]) -> dict[str, str]:
    """Return the digests of the records' own files; hierarchies may change later, and other columns of a frame."""
    spec = job.microdata
    names = {"file of records": spec.source, "metadata file": spec.rda} if spec else {}
    return {role: known[name] for role, name in names.items() if name and name in known and name not in job.held}
