"""Policies compared: each protects the same tables by its own method and rules, and all are held to one measure.

Risk is what outsiders, and respondents, can work out of the cells that the *job's own* rules call unsafe, whatever
rules a policy uses; utility is what the release still tells. A policy's verdict asks another question, by its own
rules; only what it calls safe can be recommended.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from time import process_time
from typing import Any

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.errors import CellguardError, InputError
from cellguard.evaluate.candidates import Policy, repeatable
from cellguard.evaluate.map_policies import compare_maps
from cellguard.evaluate.outsider_risk import Attackers, Nearness, measure_nearness, noise_needed
from cellguard.evaluate.risk_utility import Point, RiskUtility, ends
from cellguard.evaluate.utility import Utility, measure_utility
from cellguard.inputs.assessing import read_known_totals
from cellguard.inputs.assessment import Assessment
from cellguard.job.jobfile import Job
from cellguard.job.registry import declared
from cellguard.pipeline import assess_job, run
from cellguard.protection import Requirements
from cellguard.run_context import Run
from cellguard.seam.outcome import Outcome
from cellguard.table.contributions import Contributions, contributions_of
from cellguard.table.pattern import Release


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
    for policy in policies:
        policy.check()
    if not declared(job.method).tabular:
        if cells:
            raise InputError("chosen cells are those of tables, and the job makes a map; leave them out")
        return compare_maps(job, policies, tolerated, within)
    reference = Reference.of(job, cells, within)
    work = [(str(policy), _made(policy, job)) for policy in policies]
    points = _at_once(job, cells, work, within) if within.threads > 1 and len(work) > 1 else []
    if not points:
        for number, (name, one) in enumerate(work, 1):
            within.tell(f"policy {number} of {len(work)}: {name}", number - 1, len(work))
            points.append(_place(reference, name, one))
    return RiskUtility((*points, *_ends(reference)), int(reference.needs.primary.sum()), tolerated)


def _made(policy: Policy, job: Job) -> Job | str:
    """Return the job of a policy, or why there is none."""
    try:
        return policy.of(job)
    except CellguardError as error:
        return str(error).split("\n")[0]


def _at_once(job: Job, cells: Sequence[str], work: Sequence[tuple[str, Job | str]], within: Run) -> list[Point]:
    """Place policies in processes of their own."""
    points: dict[str, Point] = {}
    with ProcessPoolExecutor(within.threads, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(_in_process, job, cells, name, one): name for name, one in work}
        for number, done in enumerate(as_completed(running), 1):
            points[running[done]] = done.result()
            within.tell(f"{number} of {len(work)} policies done: {running[done]}", number, len(work))
    return [points[name] for name, _ in work]


def _in_process(reference: Job, cells: Sequence[str], name: str, job: Job | str) -> Point:
    return _place(Reference.of(reference, cells, Run()), name, job)


@dataclass(frozen=True, eq=False)
class Reference:
    """What all policies are held to: the protection levels of the job's own rules, who attacks, and the cells
    asked for. ``noise`` is how much noise each cell must have by these rules."""

    needs: Requirements
    attackers: Attackers
    asked: tuple[tuple[str, int], ...]
    noise: FloatArray

    @property
    def insiders(self) -> Contributions | None:
        """The respondents, if the tables tell them."""
        return self.attackers.insiders

    @classmethod
    def of(cls, job: Job, cells: Sequence[str], within: Run) -> Reference:
        """Assess a job, with its respondents as far as its tables tell them."""
        telling = job.attack.model_copy(update={"insiders": True})
        assessed = assess_job(job.model_copy(update={"attack": telling}), within=within)
        known = contributions_of(assessed.tables)
        asked = tuple(_cell(assessed, text) for text in cells)
        attackers = Attackers(known if known.told.any() else None, read_known_totals(assessed).sums)
        return cls(assessed.needs, attackers, asked, _noise_needed(assessed, job))

    def nearness(self, outcome: Outcome[Any], release: Release) -> Nearness:
        """Attack what a policy gives. Cells that a method suppresses are so, however the others are rounded."""
        made = outcome.protected
        attackers = replace(self.attackers, hints=made.hints)
        told = {"hidden": made.hidden, "concluded": made.concluded, "noise": self.noise}
        return measure_nearness(self.needs, release, Run(), attackers, **told)


def _noise_needed(assessed: Assessment, job: Job) -> FloatArray:
    """Return how much noise each distinct cell must have.

    NaN is a cell that a rule calls unsafe which does not tell that, such as `min_frequency`. With weights the rest of a
    cell is not what its largest contributions leave of the total: nothing is told then.
    """
    tables = assessed.needs.tables
    needed = np.full(len(tables), np.nan)
    if job.microdata is not None and job.microdata.weight:
        return needed
    for here, cells in zip(assessed.findings.by_table, tables.cells_of, strict=True):
        needed[cells] = np.fmax(needed[cells], noise_needed(here.rules, here.table.facts))
    for here, cells in zip(assessed.findings.by_table, tables.cells_of, strict=True):
        for rule, unsafe in zip(here.rules, here.unsafe, strict=True):
            if rule.noise is None:
                needed[cells[unsafe]] = np.nan
    return needed


def _place(reference: Reference, name: str, job: Job | str) -> Point:
    start = process_time()
    try:
        if isinstance(job, str):
            raise InputError(job)
        outcome = run(job, **repeatable(job))
    except CellguardError as error:
        return Point.failed(name, process_time() - start, str(error).split("\n")[0])
    seconds = process_time() - start
    fault = "" if outcome.release is not None else outcome.verdict.text
    # What is not released all the same has a risk and a utility, which tell why.
    release = outcome.release if outcome.protected.drawn is None else outcome.protected.drawn
    if release is None:
        return Point.failed(name, seconds, fault, verdict=outcome.verdict.kind)
    nearness = reference.nearness(outcome, release)
    by_table = _utilities(reference.needs, release, nearness)
    shown = {_name(reference.needs, *c): _shown(reference.needs, release, *c) for c in reference.asked}
    weight = sum(u.cells for u in by_table.values())
    return Point(
        name,
        sum(u.utility * u.cells for u in by_table.values()) / weight,
        nearness.mean,
        nearness.disclosed,
        by_table,
        shown,
        seconds,
        fault,
        inside_risk=nearness.inside_mean,
        disclosed_to_insiders=nearness.disclosed_to_insiders,
        open=tuple(a.name for a in outcome.verdict.not_checked if a.key != "insiders" or reference.insiders is None),
        verdict=outcome.verdict.kind,
        said=outcome.verdict.text,
        asks=outcome.protected.question,
        figures=outcome.protected.figures,
    )


def _utilities(reference: Requirements, release: Release, nearness: Nearness) -> dict[str, Utility]:
    tables, names = reference.tables, {released.name for released in release.tables}
    return {
        table.name: measure_utility(table, release[table.name], nearness.known.take(cells))
        for table, cells in zip(tables.tables, tables.cells_of, strict=True)
        if table.name in names  # neither of an earlier release, nor kept back
    }


def _ends(reference: Reference) -> tuple[Point, Point]:
    """Return the ends of the map: the original data, and no data."""
    needs = reference.needs
    shown = {_name(needs, table, row): f"{needs.tables[table].value[row]:g}" for table, row in reference.asked}
    return ends(int(needs.primary.sum()), shown)


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
