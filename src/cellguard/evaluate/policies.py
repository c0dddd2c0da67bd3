"""Policies compared: each protects the same tables by its own method and rules, and all are held to one measure.

Risk is what an outsider can work out of the cells that the *job's own* rules call unsafe, whatever rules a policy uses;
utility is what the release still tells (the R-U map of Duncan, Keller-McNulty and Stokes 2001).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from time import process_time
from typing import Any

import numpy as np

from cellguard.assessment import Assessment
from cellguard.errors import CellguardError, InputError, did_you_mean
from cellguard.evaluate.outsider_risk import Nearness, measure_nearness
from cellguard.evaluate.rule_study import parse_written
from cellguard.evaluate.utility import Utility, measure_utility
from cellguard.job import assess_job, run
from cellguard.protection import Requirements
from cellguard.rules.rule import Rule
from cellguard.spec.jobfile import Job
from cellguard.spec.registry import method_names, sections
from cellguard.spec.rulespec import dump_rule
from cellguard.table.pattern import Release
from cellguard.types import Run


@dataclass(frozen=True)
class Policy:
    """A method and, unless the job's own are used, the rules of all tables."""

    method: str
    rules: tuple[Rule, ...] | None = None

    def __str__(self) -> str:
        return f"{self.method}, {'; '.join(map(str, self.rules))}" if self.rules else self.method

    def of(self, job: Job) -> Job:
        """Return the job with this policy; raises `JobError` where it makes no sense."""
        if self.method not in method_names():
            raise InputError(f"there is no method {self.method!r}{did_you_mean(self.method, method_names())}")
        data = job.model_dump()
        data = {key: value for key, value in data.items() if key not in method_names() or key == self.method}
        for table, spec in zip(data["tables"], job.tables, strict=True):
            if spec.protect.method != self.method:
                table["protect"] = {"method": self.method}
            rules = spec.rules if self.rules is None else self.rules
            table["rules"] = [dump_rule(rule) for rule in rules]
        if "seed" in getattr(sections().get(self.method), "model_fields", {}):
            # Nothing is released, so the seed need not be secret, and the same comparison gives the same result.
            data[self.method] = {**(data.get(self.method) or {}), "seed": 1}
        return Job.parse(_without_nones(data), folder=job.folder)


def parse_policies(methods: str, rules: Sequence[str]) -> list[Policy]:
    """Return every method with every set of rules, as people write them.

    >>> [str(policy) for policy in parse_policies("suppress", ["p_percent p=5; min_frequency n=3"])]
    ['suppress, p_percent 5; min_frequency 3']
    """
    names = [name.strip() for name in methods.split(",") if name.strip()]
    sets: list[tuple[Rule, ...] | None] = [
        tuple(map(parse_written, filter(str.strip, one.split(";")))) for one in rules
    ]
    sets = sets or [None]
    return [Policy(name, chosen) for name in names for chosen in sets]


@dataclass(frozen=True)
class Point:
    """A policy on the R-U map; ``fault`` says why it releases nothing, and risk and utility are then 0.

    ``shown`` is what the policy publishes of the cells that were asked for.
    """

    name: str
    utility: float
    risk: float
    too_near: int
    by_table: Mapping[str, Utility]
    shown: Mapping[str, str]
    seconds: float
    fault: str = ""

    def plain(self) -> dict[str, Any]:
        """Return the point as plain data."""
        return {
            "policy": self.name,
            "utility": round(self.utility, 6),
            "risk": round(self.risk, 6),
            "too_near": self.too_near,
            "tables": {name: utility.plain() for name, utility in self.by_table.items()},
            "cells": dict(self.shown),
            "seconds": round(self.seconds, 2),
            "fault": self.fault,
        }


@dataclass(frozen=True)
class RiskUtility:
    """Policies on the R-U map, between publishing nothing and publishing everything as it is.

    ``tolerated`` is the largest mean risk that is acceptable.
    """

    points: tuple[Point, ...]
    unsafe: int
    tolerated: float

    @property
    def frontier(self) -> tuple[Point, ...]:
        """The policies that no other one beats in risk and utility at once, by rising utility."""
        released = [point for point in self.points if not point.fault]
        best = [
            p
            for p in released
            if not any(
                q.utility >= p.utility and q.risk <= p.risk and (q.utility, q.risk) != (p.utility, p.risk)
                for q in released
            )
        ]
        return tuple(sorted(best, key=lambda p: (p.utility, p.risk, p.name)))

    @property
    def recommended(self) -> Point | None:
        """The policy of the highest utility whose risk is tolerated; the first one on ties."""
        allowed = [p for p in self.points if not p.fault and p.risk <= self.tolerated and p.name != EVERYTHING]
        return max(allowed, key=lambda p: p.utility, default=None)

    def words(self) -> str:
        """Say what is recommended, and why."""
        best = self.recommended
        if best is None:
            return "No policy releases anything at the tolerated risk; take weaker rules, or coarser tables."
        others = [p for p in self.points if not p.fault and p.risk > self.tolerated and p.utility > best.utility]
        more = [p.name for p in others if p.name != EVERYTHING]
        told = f"{100 * best.utility:.1f} % of the cells' information"
        text = f"Of the policies whose risk is tolerated, {best.name} tells the most ({told})."
        if more:
            text += f" {', '.join(more)} would tell more, but an outsider comes too near."
        return text


EVERYTHING, NOTHING = "original data", "no data"


def compare_policies(
    job: Job,
    policies: Sequence[Policy],
    *,
    tolerated: float = 0.0,
    cells: Sequence[str] = (),
    within: Run = Run(),  # noqa: B008
) -> RiskUtility:
    """Protect a job's tables by each policy, and place them on the R-U map.

    ``cells``, written as ``table: cell``, are listed with what each policy publishes of them. With several threads
    policies run in processes of their own at the same time; the result is the same.
    """
    if not policies:
        raise InputError("name at least one policy: a method, with rules if not those of the job")
    assessed = assess_job(job, within=within)
    asked = [_cell(assessed, text) for text in cells]
    jobs = [policy.of(job) for policy in policies]
    work = partial(_place, assessed.needs, asked)
    if within.threads > 1 and len(jobs) > 1:
        with ProcessPoolExecutor(within.threads, mp_context=get_context("spawn")) as pool:
            points = list(pool.map(partial(_in_process, job, cells), map(str, policies), jobs))
    else:
        points = []
        for number, (policy, one) in enumerate(zip(policies, jobs, strict=True), 1):
            within.tell(f"policy {number} of {len(jobs)}: {policy}")
            points.append(work(str(policy), one))
    return RiskUtility((*points, *_ends(assessed.needs, asked)), int(assessed.needs.primary.sum()), tolerated)


def _in_process(reference: Job, cells: Sequence[str], name: str, job: Job) -> Point:
    assessed = assess_job(reference)
    return _place(assessed.needs, [_cell(assessed, text) for text in cells], name, job)


def _place(reference: Requirements, asked: Sequence[tuple[str, int]], name: str, job: Job) -> Point:
    start = process_time()
    try:
        outcome = run(job)
    except CellguardError as error:
        return Point(name, 0.0, 0.0, 0, {}, {}, process_time() - start, str(error).split("\n")[0])
    seconds = process_time() - start
    if outcome.release is None:
        return Point(name, 0.0, 0.0, 0, {}, {}, seconds, outcome.verdict.text)
    nearness = measure_nearness(reference, outcome.release, Run())
    by_table = _utilities(reference, outcome.release, nearness)
    shown = {_name(reference, *cell): _shown(reference, outcome.release, *cell) for cell in asked}
    weight = sum(u.cells for u in by_table.values())
    utility = sum(u.utility * u.cells for u in by_table.values()) / weight
    return Point(name, utility, nearness.mean, nearness.too_near, by_table, shown, seconds)


def _utilities(reference: Requirements, release: Release, nearness: Nearness) -> dict[str, Utility]:
    tables = reference.tables
    ends = np.where(np.isfinite(nearness.upper), nearness.upper, nearness.lower)
    guess = (nearness.lower + ends) / 2
    return {
        table.name: measure_utility(table, release[table.name], guess[cells])
        for table, cells in zip(tables.tables, tables.cells_of, strict=True)
    }


def _ends(reference: Requirements, asked: Sequence[tuple[str, int]]) -> tuple[Point, Point]:
    """Return the ends of the map: the original data, and no data."""
    unsafe = int(reference.primary.sum())
    shown = {_name(reference, table, row): f"{reference.tables[table].value[row]:g}" for table, row in asked}
    return (
        Point(EVERYTHING, 1.0, 1.0 if unsafe else 0.0, unsafe, {}, shown, 0.0),
        Point(NOTHING, 0.0, 0.0, 0, {}, {}, 0.0),
    )


def _cell(assessed: Assessment, text: str) -> tuple[str, int]:
    table, colon, cell = text.partition(":")
    if not colon:
        raise InputError(f"the cell {text!r} is written as `table: cell`, for instance `t: A/North`")
    here = assessed.findings[table.strip()].table
    return here.name, here.find(cell.strip())


def _name(reference: Requirements, table: str, row: int) -> str:
    return f"{table}: {reference.tables[table].cell_name(row)}"


def _shown(reference: Requirements, release: Release, table: str, row: int) -> str:
    unpublished = reference.tables[table].unpublished
    if unpublished[row]:
        return "not in the release"
    place = int((~unpublished[:row]).sum())
    return release[table].value[place] or "suppressed"


def _without_nones(data: object) -> Any:  # noqa: ANN401
    if isinstance(data, Mapping):
        return {key: _without_nones(value) for key, value in data.items() if value is not None}
    return [_without_nones(value) for value in data] if isinstance(data, list) else data
