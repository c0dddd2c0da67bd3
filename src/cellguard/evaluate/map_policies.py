"""Policies for a map compared: records moved between hexagons, or sensitive hexagons left out, by one measure.

A map has hexagons and no sums, and what is left out looks like an empty hexagon, so it cannot be worked out; what is
changed protects as far as it was changed. The worst insider is the runner-up, whom the rules themselves think of: both
risks are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import process_time

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.errors import CellguardError, InputError
from cellguard.evaluate.candidates import Policy
from cellguard.evaluate.insider_risk import missing
from cellguard.evaluate.risk_utility import Point, RiskUtility, ends
from cellguard.evaluate.utility import measure_loss
from cellguard.geometry.tiling import Tiling
from cellguard.job.jobfile import Job
from cellguard.job.registry import declared
from cellguard.methods.maps.contributors import Contributors
from cellguard.methods.maps.files.job_points import read_map
from cellguard.methods.maps.result import QUESTION, MapResult
from cellguard.methods.maps.spec import table_of
from cellguard.pipeline import run
from cellguard.rules.rule import Rule
from cellguard.run_context import Run
from cellguard.seam.outcome import Outcome
from cellguard.table.fact import Count, Total
from cellguard.table.facts import Facts

_LEFT_OUT = "NOT CHECKED: hexagons are left out for comparison, by no method that could prove it"
_LARGEST = 4  # contributions of a hexagon that rules may look at


def compare_maps(job: Job, policies: Sequence[Policy], tolerated: float, within: Run) -> RiskUtility:
    """Place policies for a map on the R-U map; to suppress is to leave out what the policy's rules call unsafe."""
    truth = Truth.of(job)
    needs = truth.needs(table_of(job).rules)
    points = []
    for number, policy in enumerate(policies, 1):
        within.tell(f"policy {number} of {len(policies)}: {policy}", number - 1, len(policies))
        points.append(_place(policy, job, truth, needs))
    unsafe = int((needs > 0).sum())
    return RiskUtility((*points, *ends(unsafe, {})), unsafe, tolerated)


@dataclass(frozen=True, eq=False)
class Truth:
    """The cells of a job's map as they are: their grid, what rules look at, the unit of their values. Confidential."""

    grid: Tiling
    facts: Facts
    unit: float
    counted: bool

    @classmethod
    def of(cls, job: Job) -> Truth:
        """Read the points of a job."""
        located = read_map(job)
        count = located.tiles.count.astype(float)
        if located.value is None:
            return cls(located.tiles.grid, Facts({Total(): count, Count(): count}), 1.0, True)
        values = Contributors.of(located.tiles.of_point, located.value, len(count))
        return cls(located.tiles.grid, values.facts(_LARGEST), 10.0**-located.decimals, False)

    def needs(self, rules: Sequence[Rule]) -> FloatArray:
        """Return how far hexagons must be changed: 0 where no rule calls one unsafe, else one unit at the least."""
        needs = np.zeros(len(self.facts.total))
        for rule in rules:
            share = 0.0 if self.counted else rule.protection_percent / 100
            level = np.where(np.isnan(rule.upper(self.facts)), share * self.facts.total, rule.upper(self.facts))
            needs = np.maximum(needs, np.where(rule.unsafe(self.facts), np.maximum(level, self.unit), 0.0))
        return needs


def _place(policy: Policy, job: Job, truth: Truth, needs: FloatArray) -> Point:
    start, name = process_time(), str(policy)
    outcome: Outcome[MapResult] | None = None
    try:
        if declared(policy.method).attacked:
            figures = truth.facts.total
            shown = truth.needs(table_of(job).rules if policy.rules is None else policy.rules) == 0
        else:
            outcome = _moved(policy.of(job), truth)
            figures, shown = outcome.protected.after, outcome.protected.is_shown
    except CellguardError as error:
        return Point.failed(name, process_time() - start, str(error).split("\n")[0])
    true, unsafe = truth.facts.total, needs > 0
    risk = np.where(shown, missing(np.abs(figures - true), needs), 0.0)[unsafe]
    loss = measure_loss(true, np.where(shown, figures, 0.0), ~shown, unit=truth.unit)
    mean, near = float(risk.mean()) if unsafe.any() else 0.0, int((risk > 1e-6).sum())
    by_table, seconds = {table_of(job).name: loss}, process_time() - start
    point = Point(name, loss.utility, mean, near, by_table, {}, seconds, inside_risk=mean, disclosed_to_insiders=near)
    if outcome is None:
        return replace(point, verdict="not checked", said=_LEFT_OUT, asks=QUESTION)
    verdict = outcome.verdict
    return replace(
        point,
        fault="" if outcome.release is not None else verdict.text,
        open=tuple(attack.name for attack in verdict.not_checked),
        verdict=verdict.kind,
        said=verdict.text,
        asks=QUESTION,
    )


def _moved(job: Job, truth: Truth) -> Outcome[MapResult]:
    """Return a redistributed map with its verdict."""
    outcome = run(job)
    if outcome.method.tabular:
        raise InputError(f"what is {outcome.method.participle} is no map")
    if outcome.protected.tiles.grid != truth.grid:
        raise InputError("the map needs larger hexagons than the job asks for, so it cannot be held against its own")
    return outcome
