"""A source opened: records in memory, multipliers on them, and the responses and variables that may be asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cellguard.answers.question import Question
from cellguard.answers.spec import FILE, SourceSpec, fewest_of_rules, noise_rules_of, read_source
from cellguard.arrays import IntArray
from cellguard.errors import InputError, JobError, did_you_mean, file_name, listing
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.inputs.records import column_of
from cellguard.job.jobfile import Job
from cellguard.job.specs import TableSpec
from cellguard.methods.perturb.answers.asked import Response
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.draw.multipliers import Multipliers, load_multipliers
from cellguard.methods.perturb.draw.saved import Saved, read_saved
from cellguard.methods.perturb.files.job_respondents import Calibration, read_calibration
from cellguard.methods.perturb.files.published_tables import PublishedFolder, check_same, read_published
from cellguard.methods.perturb.spec import PerturbSpec
from cellguard.rules.limits import NoiseRule
from cellguard.table.lattice import leaf_positions


@dataclass(frozen=True, eq=False)
class Opened:
    """What a source holds. Confidential.

    ``variables`` have their dimension and each record's leaf code, ``owner`` the digests that a register belongs to,
    ``planned`` the questions that the job's tables answer.
    """

    folder: Path
    spec: SourceSpec
    variables: Mapping[str, tuple[Dimension, IntArray]]
    responses: Mapping[str, Response]
    rules: tuple[NoiseRule, ...]
    fewest: int
    planned: tuple[Question, ...]
    owner: Mapping[str, str]


def open_source(folder: Path) -> Opened:
    """Read the records and multipliers of a source, and check that they go together."""
    spec = read_source(folder)
    job = Job.load(folder / spec.job)
    if job.method != "perturb":
        raise JobError(f"{file_name(spec.job)}: the tables of a source are perturbed; say protect: {{method: perturb}}")
    if job.known:
        raise JobError("`known` totals are not kept by answers on the fly; leave them out, or use `cellguard perturb`")
    asked, variables = _with_all(job, spec)
    published = _published(job)
    data = read_calibration(asked, drawing=False, published=published)
    saved = read_saved(folder / spec.multipliers)
    drawn = load_multipliers(saved, data.records, data.inputs, name=f"the multipliers in {file_name(spec.multipliers)}")
    _refuse(data, drawn)
    _refuse_growth(job, drawn)
    check_same(published, data.published, drawn)
    own = data.tables[: len(job.tables)]
    _refuse_missing(own, drawn, saved)
    planned = (*own, *data.published)
    said = (*job.tables, *(table for here in published for table in here.tables))
    _refuse_unknown(said, variables)
    rules = list(job.tables[0].rules)
    responses = {t.response: response_of(drawn, t.response) for t in (*data.tables, *data.published)}
    values = list(responses) if spec.values is None else spec.values
    return Opened(
        folder,
        spec,
        {name: _variable(data, job, name) for name in variables},
        {name: responses[name] for name in dict.fromkeys([*values, *(table.response for table in planned)])},
        spec.noise_rules or noise_rules_of(rules),
        max(spec.fewest, fewest_of_rules(rules)),
        tuple(_question(spec, table) for spec, table in zip(said, planned, strict=True)),
        {
            "multipliers": saved.digest,
            "planned tables": _digest([drawn.mark(table) for table in planned]),
            "dimensions": _digest([[d.name, d.codes, d.parents] for d in _dimensions(data)]),
        },
    )


def _published(job: Job) -> list[PublishedFolder]:
    """Return what is published already, and counts as answered; refuse what cannot take part in the check."""
    found = read_published(job, PerturbSpec.of(job).published)
    for here in found:
        if other := [table for table in here.methods if table.method != job.method]:
            raise JobError(
                f"`published`: table {other[0].name!r} in {file_name(here.folder.path)!r} is not perturbed, so that it "
                "cannot be checked together with answers; take the folder out if its respondents are others"
            )
    return found


def _refuse_unknown(tables: Sequence[TableSpec], variables: Sequence[str]) -> None:
    """Refuse tables that count as answered and have a variable that the source does not know."""
    for table in tables:
        if unknown := [name for name in table.by if name not in variables]:
            raise JobError(
                f"table {table.name!r} counts as answered, and is by {unknown[0]!r}; add it to `variables` of {FILE}, "
                "so that it is checked together with answers"
            )


def response_of(drawn: Multipliers, name: str) -> Response:
    """Return the contributors of a response, with what the multipliers make of them."""
    records, scale = drawn.records, drawn.settings.decimals
    value, grains = records.plain(name), drawn.grains(name)
    present = ~np.isnan(records.value(name))
    mine = np.flatnonzero(present & (value != 0))
    if len(np.unique(records.unit[mine])) < len(mine):
        raise InputError(
            f"respondents have several records of {name!r}; on the fly answers are given only where each has one, so "
            "add their records up first, or make the tables with `cellguard perturb`"
        )
    given = grains[mine] / 10.0**scale
    return Response(name, mine, present, value[mine], given, grains[mine], drawn.decimals(name), scale)


def _with_all(job: Job, spec: SourceSpec) -> tuple[Job, list[str]]:
    """Return the job with a table of each variable and each value that may be asked for, so that they are read."""
    known = list(dict.fromkeys([*(name for table in job.tables for name in table.by), *job.dimensions]))
    variables = known if spec.variables is None else spec.variables
    have = {table.response or table.value: table.value for table in job.tables}
    more = {name: have.get(name, name) for name in [*have, *(spec.values or [])]}
    first = job.tables[0]
    tables = list[TableSpec]()
    taken = {table.name for table in job.tables}
    for by, (response, column) in [
        *((name, next(iter(more.items()))) for name in variables),
        *((variables[0], pair) for pair in more.items()),
    ]:
        name = f"ask{len(tables)}"
        while name in taken:
            name += "_"
        taken.add(name)
        about = {"by": [by], "value": column, "response": response if response != column else None}
        tables.append(first.model_copy(update={"name": name, "publish": None, "decimals": None, **about}))
    return job.model_copy(update={"tables": [*job.tables, *tables]}), variables


def _variable(data: Calibration, job: Job, name: str) -> tuple[Dimension, IntArray]:
    column = column_of(job, name)
    dimension = next(d for d in _dimensions(data) if d.name == name)
    return dimension, leaf_positions(dimension, data.records.labels[column], column)[data.records.codes[column]]


def _dimensions(data: Calibration) -> list[Dimension]:
    found = {d.name: d for table in data.tables for d in table.table.dimensions}
    return [found[name] for name in sorted(found)]


def _refuse(data: Calibration, drawn: Multipliers) -> None:
    if data.records.weight is not None:
        raise InputError("on the fly answers are not given from weighted records; use `cellguard perturb`")
    if drawn.definitions.parts:
        raise InputError(
            "on the fly answers are not given where `equations` tie responses to each other; leave them out, or use "
            "`cellguard perturb`"
        )


def _refuse_growth(job: Job, drawn: Multipliers) -> None:
    """Refuse a job that wants growth protected in a way that answers would not keep."""
    said = PerturbSpec.of(job).trends
    if said is None:
        return
    if said.dimension is not None:
        raise JobError("`trends` over a dimension is not kept by answers on the fly; give the years as `values`")
    steps = drawn.settings.attributes
    if steps.variant != "steps" or steps.p < said.p / 100 or [*map(list, steps.years)] != said.values:
        raise JobError("`trends`: the multipliers were not drawn with these years and this p; draw them anew")


def _refuse_missing(planned: Sequence[CalibrationTable], drawn: Multipliers, saved: Saved) -> None:
    here = {drawn.mark(table) for table in planned}
    if missing := [table["name"] for table in saved.parameters["tables"] if table.get("cells") not in here]:
        raise InputError(
            f"the multipliers were drawn for {listing(missing)}, which the job of the source does not have as it was "
            "then. These tables count as answered; put them back into the job"
        )


def _question(spec: TableSpec, table: CalibrationTable) -> Question:
    """Return the question that a planned table answers."""
    levels = spec.publish if isinstance(spec.publish, dict) else {}
    if any(not isinstance(level, int) for chosen in levels.values() for level in chosen):
        raise JobError(f"table {spec.name!r}: `publish` must list levels as numbers")
    return Question.of(spec.by, value=table.response, levels={name: list(chosen) for name, chosen in levels.items()})


def _digest(plain: object) -> str:
    text = json.dumps(plain, ensure_ascii=False, default=lambda array: array.tolist())
    return hashlib.sha256(text.encode()).hexdigest()


def known_value(opened: Opened, name: str) -> Response:
    """Return a response that may be asked for."""
    allowed = list(opened.responses) if opened.spec.values is None else opened.spec.values
    if name not in allowed:
        raise InputError(f"no value {name!r}{did_you_mean(name, allowed)}")
    return opened.responses[name]
