"""Perturbed tables, checked: their noise, what the checks found, and the multipliers that later tables come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cellguard.job.jobfile import Job
from cellguard.methods.perturb.checks.finding import Finding
from cellguard.methods.perturb.checks.too_narrow import guess_of_a_side
from cellguard.methods.perturb.draw.multipliers import Multipliers
from cellguard.methods.perturb.draw.replicate import Replication
from cellguard.methods.perturb.draw.saved import Saved
from cellguard.methods.perturb.spec import PerturbSpec
from cellguard.methods.perturb.workflow import Check, Perturbed
from cellguard.report.cell_names import name_cell
from cellguard.seam.method import Result
from cellguard.seam.summary import Summary
from cellguard.seam.verdict import Kind, NotChecked, Verdict
from cellguard.table.pattern import Release, ReleasedTable
from cellguard.table.printed import nearest
from cellguard.table.table import Table

CALIBRATED = "in the calibration set"
LATER = "not in the calibration set"
NOT_CHECKED = "NOT CHECKED"
_VERDICTS = {
    "safe": "safe",
    "unsafe": "UNSAFE, nothing is released",
    "not proven": "NOT PROVEN, not everything was looked at",
    "safe by itself": "safe by itself, but NOT CHECKED together with earlier tables",
    "not checked": "NOT CHECKED, the checks before release were left out",
}
EARLIER_ANSWERS = NotChecked(
    "earlier_answers",
    "other tables that were made from these multipliers before",
    "An attacker who has further tables from the same multipliers and subtracts: no file says which there are. List "
    "them "
    "in the job, or name their output folders in `published`, and they are checked together.",
)
OTHER_YEARS = NotChecked(
    "other_times",
    "tables of other years with these multipliers",
    "Somebody who compares the tables of several years, in which a respondent has the same multiplier.",
)

KNOWN = NotChecked(
    "known_combined",
    "known totals together with several published cells at once",
    "Somebody who has true totals from elsewhere and combines them with sums of several cells, or with more than how "
    "far multipliers are from 1. Single cells, differences with known totals and least squares were checked.",
)
GROWTH = NotChecked(
    "growth",
    "growth of single respondents",
    "Somebody who divides two cells that the same contributor dominates, of two years or of two values: its multiplier "
    "cancels. `perturb: {trends: ...}` judges it.",
)


@dataclass(frozen=True, eq=False)
class PerturbationResult(Result):
    """A perturbed set with what it was made from; ``saved`` is what the multipliers' file holds.

    ``study`` is a replication study, if the job wants one; ``reused`` says that the multipliers are those of an earlier
    run, of which it is not known what else was made from them.
    """

    job: Job
    check: Check
    saved: Saved
    notes: tuple[str, ...] = ()
    study: Replication | None = None
    digests: Mapping[str, str] = field(default_factory=dict)
    reused: bool = False

    @property
    def tables(self) -> Sequence[Table]:
        """The true tables."""
        return [here.table.table for here in self.check.tables]

    @property
    def release(self) -> Release | None:
        """The tables as published: perturbed values only, nothing suppressed; None if the checks forbid it."""
        return self.drawn if self.verdict.allows_release else None

    @cached_property
    def drawn(self) -> Release:
        """The perturbed tables, whether or not they may be published. Confidential where they may not."""
        tables = [_released(here, self.decimals[here.table.name]) for here in self.check.tables]
        return Release.of(tables, {d.name: d for table in self.tables for d in table.dimensions})

    @property
    def question(self) -> str:
        """Whether there is noise enough, in all that follows from the tables too."""
        return (
            "whether other contributors can estimate the largest one of a cell too closely in spite of the noise, and "
            "of all sums and differences of cells, by those of the policy's own rules that say how much noise is "
            "enough (min_frequency does not)"
        )

    @property
    def figures(self) -> Mapping[str, float]:
        """Sensitive cells by S_N, before and with the noise, and how much noise which cells carry."""
        check = self.check
        noise = {f"noise %, {name}": group.average for name, group in check.statistics.groups.items()}
        sensitive = sum(int(here.needs.sensitive.sum()) for here in check.tables)
        left = sum(int(here.unsafe.sum()) for here in check.tables)
        told = {"sensitive": float(sensitive), "still sensitive": float(left), **noise, "loss": check.statistics.loss}
        return {name: figure for name, figure in told.items() if not np.isnan(figure)}

    @cached_property
    def verdict(self) -> Verdict:
        """What the checks say, and what they did not look at."""
        open_ = tuple(NotChecked(f"limit {i}", limit, "") for i, limit in enumerate(self.check.limits))
        answered = self.check.unproven or not self.check.checked
        return Verdict(Kind(self.check.verdict), self._headline, (*open_, *self.elsewhere), accepted=answered)

    @property
    def elsewhere(self) -> tuple[NotChecked, ...]:
        """What no check can know of: tables from the same multipliers, and growth where no rule says how close."""
        said = (
            (EARLIER_ANSWERS, self.reused),
            (OTHER_YEARS, self.check.multipliers.years is not None),
            (GROWTH, self.check.growth),
            (KNOWN, bool(self.check.known) and self.check.checked),
        )
        sides = (_sides(self.check.multipliers),) if self.check.multipliers.balance is not None else ()
        return (*(attack for attack, open_ in said if open_), *sides)

    @property
    def _headline(self) -> str:
        text = _VERDICTS[self.check.verdict]
        if self.accepted and self.check.verdict == "safe":
            text = "safe but for findings that the job accepts"
        if not self.reused or self.check.verdict in {"unsafe", "not checked"}:
            return text
        if self.check.verdict == "safe":
            text = text if self.accepted else "safe together with the tables that the job names"
        return f"{text}; {EARLIER_ANSWERS.name} NOT CHECKED"

    @property
    def inputs(self) -> Mapping[str, str]:
        """The digests of the files as they were when they were read."""
        return self.digests

    @cached_property
    def spec(self) -> PerturbSpec:
        """What the job says of the perturbation."""
        return PerturbSpec.of(self.job)

    @property
    def how_checked(self) -> str:
        """In a few words how far the tables were checked."""
        if not self.check.checked:
            return NOT_CHECKED
        apart = ", but not together with earlier tables" if self.check.unseen else ""
        return ("checked in part" if self.check.limits else "checked") + apart

    @cached_property
    def flags(self) -> dict[str, str]:
        """For each table whether it is in the calibration set, and whether it was checked."""
        known = {t.get("cells") for t in self.saved.parameters["tables"]}
        flags = {}
        for here in self.check.tables:
            inside = self.check.multipliers.mark(here.table) in known
            place = CALIBRATED if inside else LATER
            plain = inside and self.how_checked == "checked"
            flags[here.table.name] = place if plain else f"{place}: {self.how_checked}"
        return flags

    @cached_property
    def decimals(self) -> dict[str, int]:
        """How many decimals each table publishes; whole counts if the job wants them rounded."""
        grid = self._grid
        return {
            spec.name: 0 if self.spec.round and spec.value == "count" else _or(spec.decimals, grid[spec.name])
            for spec in self.job.tables
        }

    @cached_property
    def _grid(self) -> dict[str, int]:
        """How many decimals the perturbed totals of each table have."""
        return {here.table.name: self.check.multipliers.decimals(here.table.response) for here in self.check.tables}

    def rounded(self) -> list[str]:
        """Return the tables whose values are rounded one by one, so that they need not add up."""
        return [name for name, decimals in self.decimals.items() if decimals < self._grid[name]]

    @cached_property
    def accepted(self) -> tuple[Finding, ...]:
        """The findings that would forbid the release, had the job not accepted their cells."""
        check = self.check
        return tuple(f for f in check.findings if f.blocks and check.is_accepted(f) and not check.is_old(f))

    @cached_property
    def old(self) -> tuple[Finding, ...]:
        """The findings that would forbid a release, but are about tables that are published already, and no others."""
        return tuple(f for f in self.check.findings if f.blocks and self.check.is_old(f))

    @cached_property
    def marked(self) -> Mapping[str, Mapping[str, str]]:
        """For each table the cells of findings that forbid the release, and of accepted ones: x or a, by name."""
        marked: dict[str, dict[str, str]] = {here.table.name: {} for here in self.check.tables}
        for letter, findings in (("a", self.accepted), ("x", self.check.open)):
            for cell in (cell for f in findings for cell in f.cells if cell.table in marked):
                marked[cell.table][cell.cell] = letter
        return marked

    def marks(self, number: int) -> npt.NDArray[np.str_]:
        """Return the mark of each cell of a table, a letter of the legend."""
        here = self.check.tables[number]
        table = here.table.table
        marks = np.where(here.needs.sensitive, "o", ".")
        told = self.marked[here.table.name]
        if not self.check.checked:
            marks[here.unsafe] = "x"
        elif told:
            names = [table.cell_name(i) for i in range(len(table))]
            marks = np.array([told.get(name, mark) for name, mark in zip(names, marks.tolist(), strict=True)])
        return np.where(table.unpublished, "u", marks)

    def name(self, number: int, cell: int) -> dict[str, str]:
        """Return a cell's table, codes and labels."""
        return name_cell(self.check.tables[number].table.table, cell)

    def summary(self) -> Summary:
        """Return verdict, counts, noise and findings; no cell's value, no multiplier, no seed."""
        counts = {name: self._count(i, flag) for i, (name, flag) in enumerate(self.flags.items())}
        return Summary("perturb", self.verdict, counts, self.warnings(), self._facts())

    def _facts(self) -> dict[str, Any]:
        check, settings = self.check, self.check.multipliers.settings
        plan = check.multipliers.plan
        return {
            "caveat": replace(self.verdict, not_checked=self.elsewhere).caveat,
            "checked_with": [here.table.name for here in check.published] if check.checked else [],
            "checked": check.checked,
            "released": self.release is not None,
            "method": settings.method,
            **({"range": [settings.balanced.low, settings.balanced.high]} if settings.method == "balanced" else {}),
            "mu": plan.zes.mu,
            "sigma": plan.zes.sigma,
            **({"strata": {"by": plan.strata, "mu": dict(plan.classes)}} if plan.strata else {}),
            **({} if check.multipliers.fit is None else {"fit": dict(check.multipliers.fit.facts)}),
            **_how_drawn(check.multipliers),
            "noise": check.statistics.plain(),
            **({} if self.study is None else {"replications": _studied(self.study)}),
            "findings": dict(sorted(Counter(f.kind for f in check.findings).items())),
            "open": [{"kind": f.kind, "text": f.text, "cells": [str(c) for c in f.cells]} for f in check.open[:100]],
            "places": check.places(),
            "advice": check.advice,
            "not_looked_at": list(check.limits),
        }

    def warnings(self) -> list[str]:
        """Return what a statistician should know of the release; that it was not checked comes first."""
        unchecked = [
            f"{NOT_CHECKED}: the checks before release were left out, at your request, so it is not known "
            "whether these tables disclose a contributor"
        ]
        rounded = [
            f"table {name!r}: the perturbed values are rounded one by one, so they need not add up"
            for name in self.rounded()
        ]
        return [*([] if self.check.checked else unchecked), *self.notes, *rounded, *self.check.multipliers.notes]

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


def _how_drawn(made: Multipliers) -> dict[str, Any]:
    """Return who drew again, who kept a multiplier, and what was promised for all cells together."""
    about: dict[str, Any] = {} if made.redrawn is None else {"redrawn": asdict(made.redrawn)}
    about |= {} if made.years is None else {"years": asdict(made.years)}
    if made.balance is not None:
        done = made.balance
        about["balanced"] = {
            "units": done.units,
            "cells": done.cells,
            "exact": done.exact,
            "guarded": len(done.guarded),
        }
    about |= {"perturbed": made.plan.whom} if made.plan.whom else {}
    if made.choice is not None and made.choice.asked:
        about["safe_together_at_least"] = made.choice.together
    return about


def _sides(made: Multipliers) -> NotChecked:
    """Return what somebody concludes who guesses on which side of 1 a multiplier is."""
    at_most = 100 * guess_of_a_side(made.settings)
    return NotChecked(
        "sides",
        "guesses of a side",
        f"Somebody who guesses whether a multiplier is above 1 or below: one guess in two is right, and the "
        f"contribution is then known to within {at_most:.3g} % or less.",
    )


def _or(decimals: int | None, otherwise: int) -> int:
    return otherwise if decimals is None else decimals


def _studied(study: Replication) -> dict[str, Any]:
    ratio, cv = (x[~np.isnan(x)] for x in (study.mean_ratio, study.cv))
    ends = {"lowest": float(ratio.min()), "highest": float(ratio.max())} if len(ratio) else {}
    return {
        "number": study.replications,
        "noise": study.statistics().plain(),
        "mean_ratio": ends,
        "cv": {"average": float(cv.mean()), "highest": float(cv.max())} if len(cv) else {},
    }


def _released(here: Perturbed, decimals: int) -> ReleasedTable:
    table = here.table.table
    return ReleasedTable.of(table, nearest(here.total[~table.unpublished].tolist(), decimals), decimals=decimals)
