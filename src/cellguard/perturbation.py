"""The pipeline of a job whose tables are perturbed: records, multipliers, checks, release, and later tables."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from cellguard.errors import InputError, JobError, file_name, listing
from cellguard.files.excel import check_excel
from cellguard.files.jobfile import Job
from cellguard.files.perturbed import Perturbation, release_of, write_perturbed
from cellguard.files.perturbspec import PerturbSpec
from cellguard.files.respondents import Calibration, read_calibration
from cellguard.files.write import csv_text
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.protect.perturb.checks.conflicts import Protected
from cellguard.protect.perturb.checks.finding import Cell
from cellguard.protect.perturb.checks.watch import Watch
from cellguard.protect.perturb.draw.attributes import Attributes
from cellguard.protect.perturb.draw.mu import MuOptions
from cellguard.protect.perturb.draw.multipliers import Multipliers, Settings, load_multipliers, make_multipliers
from cellguard.protect.perturb.draw.replicate import Replication, replicate_as_drawn
from cellguard.protect.perturb.draw.saved import Saved, read_saved
from cellguard.protect.perturb.draw.zes import Zes
from cellguard.protect.perturb.workflow import Check, check_tables
from cellguard.randomness import fresh_seed
from cellguard.rules.doubts import doubts
from cellguard.rules.simple import MinFrequency
from cellguard.types import Run

Tell = Callable[[str], None]
CALIBRATED = "in the calibration set"
LATER = "not in the calibration set"
NOT_CHECKED = "NOT CHECKED"
HIERARCHIES = "hierarchies.csv"
_COUNT_DECIMALS, _DECIMALS = 3, 2


@dataclass(frozen=True, eq=False)
class PerturbedJob:
    """A perturbed set with what it was made from; ``saved`` is what the multipliers' file holds.

    ``study`` is a replication study, if the job wants one.
    """

    job: Job
    check: Check
    saved: Saved
    notes: tuple[str, ...]
    seconds: Mapping[str, float]
    study: Replication | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def safe(self) -> bool:
        """Whether the set may be released."""
        return self.check.released

    def flags(self) -> dict[str, str]:
        """Return for each table whether it is in the calibration set, and whether it was checked."""
        known = {t.get("cells") for t in self.saved.parameters["tables"]}
        found = {}
        for here in self.check.tables:
            inside = self.check.multipliers.mark(here.table) in known
            place, checked = CALIBRATED if inside else LATER, _how_checked(self.check)
            found[here.table.name] = place if inside and checked == "checked" else f"{place}: {checked}"
        return found

    def decimals(self) -> dict[str, int]:
        """Return how many decimals each table publishes; whole counts if the job wants them rounded."""
        rounded = bool(self.job.perturb and self.job.perturb.round)
        grid = self.check.multipliers.settings.decimals
        return {
            spec.name: 0 if rounded and spec.value == "count" else grid if spec.decimals is None else spec.decimals
            for spec in self.job.tables
        }

    def summary(self) -> dict[str, Any]:
        """Return verdict, counts, noise, findings and run facts; no cell's value, no multiplier, no seed."""
        check, settings = self.check, self.check.multipliers.settings
        plan = check.multipliers.plan
        return {
            "cellguard": version("cellguard"),
            "step": "perturb",
            "verdict": check.verdict,
            "checked": check.checked,
            "released": check.released,
            "tables": {name: self._count(i, flag) for i, (name, flag) in enumerate(self.flags().items())},
            "method": settings.method,
            "mu": plan.zes.mu,
            "sigma": plan.zes.sigma,
            **({"strata": {"by": plan.strata, "mu": dict(plan.classes)}} if plan.strata else {}),
            "noise": check.statistics.plain(),
            **({} if self.study is None else {"replications": self._studied(self.study)}),
            "findings": dict(sorted(Counter(f.kind for f in check.findings).items())),
            "open": [{"kind": f.kind, "text": f.text, "cells": [str(c) for c in f.cells]} for f in check.open[:100]],
            "places": check.places(),
            "advice": check.advice(),
            "not_looked_at": list(check.limits),
            "warnings": self.warnings(),
            "inputs": dict(self.inputs),
            "versions": {name: version(name) for name in ("cellguard", "highspy", "numba", "numpy", "scipy")},
            "seconds": {step: round(s, 3) for step, s in self.seconds.items()},
        }

    def _studied(self, study: Replication) -> dict[str, Any]:
        ratio, cv = (x[~np.isnan(x)] for x in (study.mean_ratio, study.cv))
        ends = {"lowest": float(ratio.min()), "highest": float(ratio.max())} if len(ratio) else {}
        return {
            "number": study.replications,
            "noise": study.statistics().plain(),
            "mean_ratio": ends,
            "cv": {"average": float(cv.mean()), "highest": float(cv.max())} if len(cv) else {},
        }

    def rounded(self) -> list[str]:
        """Return the tables whose values are rounded one by one, so that they need not add up."""
        grid = self.check.multipliers.settings.decimals
        return [name for name, decimals in self.decimals().items() if decimals < grid]

    def warnings(self) -> list[str]:
        """Return what a statistician should know of the release; that it was not checked comes first."""
        unchecked = [
            f"{NOT_CHECKED}: the checks before release were left out, as was asked, so nobody knows whether these "
            "tables disclose a contributor"
        ]
        found = [
            f"table {name!r}: the perturbed values are rounded one by one, so they need not add up"
            for name in self.rounded()
        ]
        return [*([] if self.check.checked else unchecked), *self.notes, *found, *self.check.multipliers.notes]

    def _count(self, number: int, flag: str) -> dict[str, Any]:
        here = self.check.tables[number]
        open_ = {cell for f in self.check.open for cell in f.cells if cell.table == here.table.name}
        return {
            "cells": len(here.table),
            "sensitive": int(here.needs.sensitive.sum()),
            "still_sensitive": int(here.unsafe.sum()),
            "unsafe": len(open_) if self.check.checked else None,
            "calibration": flag,
        }


def perturb_job(
    job: Job,
    *,
    multipliers: str | Path | None = None,
    checked: bool = True,
    tell: Tell = lambda _: None,
) -> PerturbedJob:
    """Perturb the tables of a job and check them. The records are read, and never changed.

    ``multipliers`` is the file of an earlier run: the tables are then made from its multipliers, consistent with all
    earlier ones; ``checked`` False leaves the checks out, and every table then says so.
    """
    check_job(job)
    if multipliers is None and not checked:
        raise InputError("new multipliers are always checked; only later tables from saved ones may go unchecked")
    if "xlsx" in job.formats:
        check_excel()
    spec, seconds, start = job.perturb or PerturbSpec(), {}, time.perf_counter()
    tell("reading the records")
    data = read_calibration(job, drawing=multipliers is None)
    seconds["reading the records"] = time.perf_counter() - start
    drawn, saved = _draw(job, spec, data) if multipliers is None else _load(job, data, Path(multipliers))
    seconds["making multipliers"] = time.perf_counter() - start - seconds["reading the records"]
    unseen = _missing(data, drawn, saved)
    check = check_tables(
        data.tables,
        drawn,
        watch=Watch(few=_few(job, spec), sparse=spec.sparse),
        accept=[_cell(text) for text in spec.accept],
        unproven=spec.unproven == "accept",
        others=[table for folder in spec.published for table in read_published(job.path(folder))],
        unseen=unseen,
        checked=checked,
        run=Run(tell),
    )
    seconds["checking"] = time.perf_counter() - start - sum(seconds.values())
    notes = [*data.notes, *(text for table in job.tables for text in doubts(table.name, table.rules))]
    if unseen and checked:
        notes.append(
            f"combinations with earlier tables were not checked: add {listing(unseen)} to the job to check them too"
        )
    study = None
    if spec.replications and drawn.plan.repeatable:
        tell(f"studying {spec.replications:,} replications")
        study = replicate_as_drawn(data.tables, drawn, replications=spec.replications, run=Run(tell))
        seconds["replications"] = time.perf_counter() - start - sum(seconds.values())
    elif spec.replications:
        notes.append("no replications: the saved multipliers do not tell who is in which stratum")
    return PerturbedJob(job, check, saved, tuple(notes), seconds, study, data.files)


def _how_checked(check: Check) -> str:
    """Say in a few words how far tables were checked."""
    if not check.checked:
        return NOT_CHECKED
    apart = ", but not together with earlier tables" if check.unseen else ""
    return ("checked in part" if check.limits else "checked") + apart


def release_perturbed(done: PerturbedJob, folder: str | Path, *, force: bool = False) -> list[str]:
    """Write the output folder: the release if it is allowed, and the internal files in any case.

    Returns what a person should know of it: that a report was left out because its extra is not installed, say.
    """
    outcome = Perturbation(done.job, done.check, done.saved, done.summary(), done.flags(), done.decimals(), done.study)
    pages, notes = _pages(done, outcome)
    dimensions = {d.name: d for here in done.check.tables for d in here.table.table.dimensions}
    files = {f"internal/{HIERARCHIES}": _hierarchies(dimensions.values()), **pages}
    write_perturbed(folder, replace(outcome, pages=files), force=force)
    return notes


def _hierarchies(dimensions: Iterable[Dimension]) -> str:
    """Return the codes of all dimensions with their parents, as CSV: how `show` knows the tree of a table."""
    rows = [
        (dimension.name, number, code, hierarchy.parent_of(code) or "", dimension.labels.get(code, ""))
        for dimension in dimensions
        for number, hierarchy in enumerate(dimension.hierarchies)
        for code in hierarchy.codes
    ]
    return csv_text(("dimension", "hierarchy", "code", "parent", "label"), rows)


def _pages(done: PerturbedJob, outcome: Perturbation) -> tuple[dict[str, str], list[str]]:
    """Return the reports by their path in the output folder, if the job wants them and can have them, and notes."""
    if "html" not in done.job.formats:
        return {}, []
    from cellguard.report import page
    from cellguard.report.perturbed import PerturbedCase

    if not page.available():
        return {}, [f"No report was made, since it needs an extra. Get it with: {page.GET_IT}"]
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    folders = len(done.job.perturb.published) if done.job.perturb else 0
    case = PerturbedCase(done.check, outcome.summary, outcome.flags, outcome.decimals, done.study, folders, made)
    pages = {"internal/report.html": page.perturbed_page(case)}
    if done.safe:
        dimensions = {d.name: d for here in done.check.tables for d in here.table.table.dimensions}
        how = _how_checked(done.check)
        title = "" if how == "checked" else f"{how[:1].upper()}{how[1:]} before release: {', '.join(outcome.flags)}"
        pages["release/report.html"] = page.public_perturbed_page(
            release_of(outcome), dimensions, adds_up=not done.rounded(), title=title
        )
    return pages, []


def read_published(folder: Path) -> list[Protected]:
    """Return the tables of an output folder (or of its ``release``) with how they are protected."""
    paths = [folder / "release" / "metadata.json", folder / "metadata.json"]
    path = next((p for p in paths if p.is_file()), None)
    if path is None:
        raise InputError(f"`published`: {file_name(folder)!r} is no output folder: it has no release/metadata.json")
    try:
        tables = json.loads(path.read_text(encoding="utf-8"))["tables"]
        return [
            Protected(name, t["response"], t.get("method", "suppress"), t["population"], file_name(folder))
            for name, t in tables.items()
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"`published`: the metadata of {file_name(folder)!r} cannot be read") from None


def _draw(job: Job, spec: PerturbSpec, data: Calibration) -> tuple[Multipliers, Saved]:
    seed = fresh_seed() if spec.seed is None else spec.seed
    settings, definitions, strata = _settings(job, spec), data.definitions, data.strata
    drawn = make_multipliers(data.records, data.tables, settings, seed=seed, definitions=definitions, strata=strata)
    return drawn, drawn.save(data.tables, data.inputs)


def _load(job: Job, data: Calibration, path: Path) -> tuple[Multipliers, Saved]:
    saved = read_saved(path)
    drawn = load_multipliers(saved, data.records, data.inputs, name=f"the multipliers in {file_name(path)}")
    if drawn.definitions.parts != data.definitions.parts:
        raise JobError("the job's `equations` are not those that the multipliers were made with; use the same ones")
    return replace(drawn, notes=("the settings are those of the saved multipliers, whatever the job says",)), saved


def _settings(job: Job, spec: PerturbSpec) -> Settings:
    grid = [_COUNT_DECIMALS if t.value == "count" else _DECIMALS for t in job.tables if t.decimals is None]
    said = spec.attributes
    return Settings(
        spec.method,
        Zes(spec.mu, spec.sigma, spec.shape, spec.directions),
        MuOptions(spec.sigma, spec.probability, spec.cap, spec.way),
        Attributes() if said is None else Attributes(said.variant, said.sd, said.limit),
        max([*grid, *(t.decimals for t in job.tables if t.decimals is not None)]),
    )


def _few(job: Job, spec: PerturbSpec) -> int:
    """Return how many contributors a cell should have: as `few` says, or a rule of a table if that is more."""
    return max([spec.few, *(rule.n for t in job.tables for rule in t.rules if isinstance(rule, MinFrequency))])


def _cell(text: str) -> Cell:
    table, colon, cell = text.partition(":")
    if not (colon and table.strip() and cell.strip()):
        raise JobError(f"`accept`: {text!r} is not of the form 'table: cell', as 'turnover: North/B'")
    return Cell(table.strip(), cell.strip())


def _missing(data: Calibration, drawn: Multipliers, saved: Saved) -> list[str]:
    """Return the tables of the calibration set that are not in this job, with all that they show.

    Combinations with them are not checked.
    """
    here = {drawn.mark(table) for table in data.tables}
    return [t["name"] for t in saved.parameters["tables"] if t.get("cells") not in here]


def check_job(job: Job) -> None:
    """Refuse a job that does not perturb, or does not say of each table how close is too close."""
    if not job.is_perturbed:
        raise JobError("the job's tables say `method: suppress`; `protect: {method: perturb}` is what is wanted here")
    bare = [t.name for t in job.tables if all(isinstance(rule, MinFrequency) for rule in t.rules)]
    if bare:
        raise JobError(
            f"table {bare[0]!r}: no rule says how much noise a cell needs (min_frequency does not); add dominance, "
            "p_percent or prior_posterior to its `rules`, as {dominance: {n: 3, k: 70}}"
        )
    for table in job.tables:
        if any(isinstance(rule, MinFrequency) and rule.hide == "small" for rule in table.rules):
            raise JobError(f"table {table.name!r}: `hide: small` is for suppressed tables of counts; leave it out")
