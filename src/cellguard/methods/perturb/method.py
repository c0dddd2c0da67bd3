"""Source data perturbation as jobs know it: records, multipliers, checks, release, and later tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cellguard.errors import InputError, JobError, file_name, listing
from cellguard.job.jobfile import Job
from cellguard.job.specs import AttackSpec, Spec
from cellguard.methods.perturb.answers.later import register_tables
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.cells.sensitivity import needs_of, supersensitive
from cellguard.methods.perturb.checks.finding import Cell
from cellguard.methods.perturb.checks.trends import Trends
from cellguard.methods.perturb.checks.watch import Watch
from cellguard.methods.perturb.draw.attributes import Attributes
from cellguard.methods.perturb.draw.balanced import Balanced
from cellguard.methods.perturb.draw.mu import MuOptions
from cellguard.methods.perturb.draw.multipliers import Multipliers, Settings, load_multipliers, make_multipliers
from cellguard.methods.perturb.draw.redraw import redraw
from cellguard.methods.perturb.draw.replicate import Replication, replicate_as_drawn
from cellguard.methods.perturb.draw.saved import Saved, read_saved
from cellguard.methods.perturb.draw.strata import Whom
from cellguard.methods.perturb.draw.zes import Zes
from cellguard.methods.perturb.files.job_respondents import Calibration, read_calibration
from cellguard.methods.perturb.files.noise_tables import write_noise
from cellguard.methods.perturb.files.published_tables import PublishedFolder, check_same, read_published
from cellguard.methods.perturb.fit.marg import Marg
from cellguard.methods.perturb.fit.opt import Opt
from cellguard.methods.perturb.look import LOOK
from cellguard.methods.perturb.result import PerturbationResult
from cellguard.methods.perturb.screen import assessed_words, checked_words
from cellguard.methods.perturb.spec import PerturbSpec
from cellguard.methods.perturb.workflow import check_tables
from cellguard.randomness import fresh_seed
from cellguard.rules.doubts import doubts
from cellguard.rules.rule import fewest_of
from cellguard.run_context import Run, timed
from cellguard.seam.look import Look
from cellguard.seam.method import Method
from cellguard.seam.outcome import Outcome
from cellguard.seam.screen import Screen

_COUNT_DECIMALS, _DECIMALS = 3, 2
_NOT_READ = ("cells", "apriori", "survey", "negative", "impossible", "zeros", "tolerance", "where")


@dataclass(frozen=True, eq=False)
class Perturb(Method[Calibration, PerturbationResult]):
    """One random multiplier per respondent, shared by all tables, and checks before release.

    ``multipliers`` is the file of an earlier run, or what it holds: the tables are then made from its multipliers,
    consistent with all earlier ones; ``checked`` False leaves the checks out, and every table then says so.
    """

    multipliers: str | Path | Saved | None = None
    checked: bool = True
    name: ClassVar[str] = "perturb"
    participle: ClassVar[str] = "perturbed"
    settings: ClassVar[type[Spec] | None] = PerturbSpec
    keeps_internal: ClassVar[bool] = True
    surveyed: ClassVar[bool] = False
    look: ClassVar[Look] = LOOK
    repeatable: ClassVar[bool] = False
    robustness: ClassVar[str] = (
        "All tables from the same multipliers agree and add up, whatever comes later; each new one is to be checked, "
        "for differences of tables may give a multiplier away."
    )
    flexibility: ClassVar[str] = (
        "Any table can be made from the saved multipliers; only those of the job are calibrated."
    )

    def __post_init__(self) -> None:
        if self.multipliers is None and not self.checked:
            raise InputError("new multipliers are always checked; only later tables from saved ones may go unchecked")

    @classmethod
    def fault(cls, job: Job) -> str | None:
        """Describe what the job says in vain, since perturbation does not look at it."""
        for key, given in (("attack", job.attack != AttackSpec()), ("previous", job.previous)):
            if given:
                return f"`{key}` is not looked at when tables are perturbed; leave it out"
        for table in job.tables:
            for name in _NOT_READ:
                if getattr(table, name) is not None:
                    return f"table {table.name!r}: `{name}` does not go with perturbation; leave it out"
            if isinstance(table.publish, str):
                return f"table {table.name!r}: `publish: nothing` does not go with perturbation; leave the table out"
        return None

    def assess(self, run: Run, seconds: dict[str, float]) -> Calibration:
        """Read the records, each respondent by itself, and make the tables."""
        check_rules(self.job)
        with timed("reading the records", run, seconds):
            return read_calibration(self.job, drawing=self.multipliers is None, published=self._published)

    @cached_property
    def _published(self) -> Sequence[PublishedFolder]:
        """What the job says is published already."""
        return read_published(self.job, PerturbSpec.of(self.job).published)

    def protect(self, assessed: Calibration, run: Run, seconds: dict[str, float]) -> PerturbationResult:
        """Draw or load multipliers, perturb the tables and check them. The records are never changed."""
        spec = PerturbSpec.of(self.job)
        with timed("making multipliers", run, seconds) as here:
            drawn, saved = _draw(self.job, spec, assessed, here) if self.multipliers is None else self._load(assessed)
        check_same(self._published, assessed.published, drawn)
        unseen = _missing(assessed, drawn, saved)
        with timed("checking", run, seconds) as here:
            check = check_tables(
                assessed.tables,
                drawn,
                watch=Watch(few=_few(self.job, spec), sparse=spec.sparse),
                accept=[_cell(text) for text in spec.accept],
                unproven=spec.unproven == "accept",
                others=[table for folder in self._published for table in folder.methods],
                unseen=unseen,
                published=_further(assessed, drawn),
                trend=_trends(spec),
                known=assessed.known,
                checked=self.checked,
                run=here,
            )
        if isinstance(self.multipliers, (str, Path)) and check.verdict != "unsafe":
            register_tables(Path(self.multipliers), assessed.tables, released=check.released)
        notes = [*assessed.notes, *(text for table in self.job.tables for text in doubts(table.name, table.rules))]
        notes += _telling_digits(self.job, drawn, assessed)
        if unseen and self.checked:
            notes.append(
                f"combinations with earlier tables were not checked: add {listing(unseen)} to the job to check them too"
            )
        study = self._study(assessed, drawn, notes, run, seconds)
        reused = self.multipliers is not None
        return PerturbationResult(self.job, check, saved, tuple(notes), study, assessed.files, reused=reused)

    def _study(
        self, data: Calibration, drawn: Multipliers, notes: list[str], run: Run, seconds: dict[str, float]
    ) -> Replication | None:
        """Repeat the perturbation, if the job wants that; a note says if it cannot be done."""
        replications = PerturbSpec.of(self.job).replications
        if not replications:
            return None
        if not drawn.plan.repeatable or drawn.years is not None:
            notes.append("no replications: kept multipliers do not say how all of them were drawn")
            return None
        with timed("replications", run, seconds) as here:
            here.tell(f"studying {replications:,} replications")
            return replicate_as_drawn(data.tables, drawn, replications=replications, run=here)

    def _load(self, data: Calibration) -> tuple[Multipliers, Saved]:
        if isinstance(self.multipliers, Saved):
            saved, name = self.multipliers, "the multipliers"
        else:
            path = Path(str(self.multipliers))
            saved, name = read_saved(path), f"the multipliers in {file_name(path)}"
        drawn = load_multipliers(saved, data.records, data.inputs, name=name)
        if drawn.definitions.parts != data.definitions.parts:
            raise JobError("the job's `equations` are not those that the multipliers were made with; use the same ones")
        return replace(drawn, notes=("the settings are those of the saved multipliers, whatever the job says",)), saved

    def assessed_summary(self, assessed: Calibration) -> dict[str, Any]:
        """Return how many cells of each table need noise."""
        needs = {table.name: needs_of(table) for table in assessed.tables}
        tables = {
            name: {
                "cells": len(n.table),
                "sensitive": int(n.sensitive.sum()),
                "supersensitive": int(supersensitive(n).sum()),
                "rule": "; ".join(map(str, n.table.rules)),
            }
            for name, n in needs.items()
        }
        return {"step": "assess", "method": "perturb", "tables": tables, "warnings": list(assessed.notes)}

    def assessed_screen(self, assessed: Calibration) -> Screen:
        """Return how many cells need noise, and how many of them more than there can be."""
        return assessed_words(self.assessed_summary(assessed))

    def screen(self, outcome: Outcome[PerturbationResult], folder: Path | None) -> Screen:
        """Return the verdict, the tables, the first findings and what to do."""
        return checked_words(outcome.summary, folder, released=outcome.release is not None)

    def write_internal(self, outcome: Outcome[PerturbationResult], inside: Path) -> None:
        """Write true values, noise, needs and findings, and the multipliers if there is a release."""
        write_noise(inside, outcome.protected)

    def about(self, outcome: Outcome[PerturbationResult], table: str) -> Mapping[str, Any]:
        """Return that the table is perturbed, whether it is in the calibration set, and whether it was checked."""
        said, settings = outcome.protected, outcome.protected.check.multipliers.settings
        about = {"method": self.name, "calibration": said.flags[table]}
        if settings.method != "balanced":
            return about
        how = settings.balanced
        noise = {"kind": "balanced", "least": how.low, "most": how.high, "additive": table not in said.rounded()}
        return {**about, "noise": noise}

    def pages(self, outcome: Outcome[PerturbationResult]) -> Mapping[str, str]:
        """Return the officer's page and, if there is a release, the public one."""
        from cellguard.methods.perturb.report import page
        from cellguard.report import render

        render.require_extra()
        pages = {"internal/report.html": page.perturbed_page(outcome)}
        if outcome.release is not None:
            done = outcome.protected
            how = done.how_checked
            title = "" if how == "checked" else f"{how[:1].upper()}{how[1:]} before release: {', '.join(done.flags)}"
            pages["release/report.html"] = page.public_perturbed_page(
                outcome.release, adds_up=not done.rounded(), title=title
            )
        return pages


def _draw(job: Job, spec: PerturbSpec, data: Calibration, run: Run) -> tuple[Multipliers, Saved]:
    seed = fresh_seed() if spec.seed is None else spec.seed
    who = spec.perturb_if
    drawn = make_multipliers(
        data.records,
        data.tables,
        _settings(job, spec, data),
        seed=seed,
        definitions=data.definitions,
        strata=data.strata,
        whom=None if who is None else Whom(who.weight_below, who.largest),
        earlier=None if spec.earlier is None else read_saved(job.path(spec.earlier)),
        run=run,
    )
    if spec.redraw:
        drawn = redraw(drawn, data.tables, spec.redraw, accepted=[_cell(text) for text in spec.accept], run=run)
    return drawn, drawn.save(data.tables, data.inputs)


def _settings(job: Job, spec: PerturbSpec, data: Calibration) -> Settings:
    finest = [_COUNT_DECIMALS if t.value == "count" else _DECIMALS for t in job.tables if t.decimals is None]
    decimals = max([*finest, *(t.decimals for t in job.tables if t.decimals is not None)])
    return Settings(
        spec.method,
        Zes(spec.mu, spec.sigma, spec.shape, spec.directions),
        MuOptions(spec.sigma, spec.probability, spec.cap, spec.way, whole=spec.promise == "release"),
        _attributes(spec),
        decimals,
        _marg(job, spec),
        Opt(cap=spec.cap, **spec.opt.model_dump()),
        spec.assign,
        _coarser(job, data, decimals),
        Balanced(**spec.balanced.model_dump()),
    )


def _attributes(spec: PerturbSpec) -> Attributes:
    """Return how responses differ: as the job says, or each year by steps if growth must not be known."""
    if spec.trends is not None and spec.trends.values:
        return Attributes("steps", p=spec.trends.p / 100, years=tuple(map(tuple, spec.trends.values)))
    said = spec.attributes
    return Attributes() if said is None else Attributes(said.variant, said.sd, said.limit)


def _trends(spec: PerturbSpec) -> Trends | None:
    """Return what the job says of growth."""
    said = spec.trends
    return None if said is None else Trends(said.p / 100, tuple(map(tuple, said.values)), said.dimension)


def _coarser(job: Job, data: Calibration, decimals: int) -> dict[str, int]:
    """Return how many decimals leaf responses have, if fewer, unless the job says how many are published."""
    leaves, said = set[str](), set[str]()
    for spec, table in zip(job.tables, data.tables, strict=True):
        here = set(data.definitions.of(table.response))
        leaves |= here
        if spec.value == "count" or spec.decimals is not None:
            said |= here
    found = {leaf: _decimals_of(data, leaf, decimals) for leaf in sorted(leaves - said)}
    return {leaf: number for leaf, number in found.items() if number < decimals}


def _decimals_of(data: Calibration, leaf: str, most: int) -> int:
    """Return how many decimals all contributions to a leaf response have, ``most`` where they have more."""
    values = np.concatenate([data.records.plain(leaf), data.records.weighted(leaf)])
    dust = 4 * np.spacing(np.abs(values))  # of a weight times a value
    return next((d for d in range(most) if (np.abs(np.round(values, d) - values) <= dust).all()), most)


def _telling_digits(job: Job, drawn: Multipliers, data: Calibration) -> list[str]:
    """Return a warning about each table whose last digits tell which of its cells hold somebody who is perturbed."""
    if drawn.plan.only is None:
        return []
    notes, whole_counts = [], PerturbSpec.of(job).round
    for spec, table in zip(job.tables, data.tables, strict=True):
        leaves, counts = data.definitions.of(table.response), spec.value == "count"
        shown = drawn.decimals(table.response) if spec.decimals is None else spec.decimals
        shown = 0 if counts and whole_counts else shown
        cure = ""
        if shown > max(_decimals_of(data, leaf, shown) for leaf in leaves):
            cure = "say `round: true`" if counts else "leave `decimals` out"
        elif not counts and all((data.records.plain(leaf) % 10 == 0).all() for leaf in leaves):
            cure = "all values end in 0, so give them in tens, hundreds or thousands"
        if cure:
            notes.append(
                f"table {table.name!r}: not all respondents are perturbed, and the last digits of a cell tell "
                f"whether it holds one who is; {cure}"
            )
    return notes


def _marg(job: Job, spec: PerturbSpec) -> Marg:
    """Return the parameters of MARG; cells that stay must be cells of the job's tables."""
    for cell in map(_cell, spec.marg.keep):
        if cell.table not in {t.name for t in job.tables}:
            raise JobError(
                f"`keep` names the table {cell.table!r}, but there are {listing([t.name for t in job.tables])}"
            )
    return Marg(**{**spec.marg.model_dump(), "keep": tuple(spec.marg.keep)})


def _few(job: Job, spec: PerturbSpec) -> int:
    """Return how many contributors a cell should have: as `few` says, or a rule of a table if that is more."""
    return max(spec.few, fewest_of(rule for table in job.tables for rule in table.rules) or 0)


def _cell(text: str) -> Cell:
    table, colon, cell = text.partition(":")
    if not (colon and table.strip() and cell.strip()):
        raise JobError(f"`accept` and `keep`: {text!r} is not of the form 'table: cell', as 'turnover: North/B'")
    return Cell(table.strip(), cell.strip())


def _missing(data: Calibration, drawn: Multipliers, saved: Saved) -> list[str]:
    """Return the tables of the calibration set that are not in this job, with all that they show.

    Combinations with them are not checked.
    """
    here = {drawn.mark(table) for table in (*data.tables, *data.published)}
    return [t["name"] for t in saved.parameters["tables"] if t.get("cells") not in here]


def _further(data: Calibration, drawn: Multipliers) -> list[CalibrationTable]:
    """Return the published tables that the job does not show again, each once."""
    seen, further = {drawn.mark(table) for table in data.tables}, list[CalibrationTable]()
    for table in data.published:
        if (mark := drawn.mark(table)) not in seen:
            seen.add(mark)
            further.append(table)
    return further


def check_rules(job: Job) -> None:
    """Refuse a job that does not say of each table how close is too close."""
    bare = [t.name for t in job.tables if all(rule.fewest is not None for rule in t.rules)]
    if bare:
        raise JobError(
            f"table {bare[0]!r}: no rule says how much noise a cell needs (min_frequency does not); add dominance, "
            "p_percent or prior_posterior to its `rules`, as {dominance: {n: 3, k: 70}}"
        )
    for table in job.tables:
        if why := next((rule.only_suppressed for rule in table.rules if rule.only_suppressed), ""):
            raise JobError(f"table {table.name!r}: {why}; leave it out")
