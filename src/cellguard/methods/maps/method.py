"""Confidential maps as jobs know them: points, hexagons, redistribution, release."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import BaseModel

from cellguard.errors import NotProtected
from cellguard.job.jobfile import Job
from cellguard.job.specs import Spec
from cellguard.methods.maps.algorithms import ALGORITHMS
from cellguard.methods.maps.capping import Cap
from cellguard.methods.maps.contributors import Contributors
from cellguard.methods.maps.files.job_points import Located, read_map
from cellguard.methods.maps.files.map_files import write_moved, write_shown
from cellguard.methods.maps.magnitudes import Values, redistribute_values, without_unresolved
from cellguard.methods.maps.mapping import Plan, Redistribution, can_be_filled, redistribute
from cellguard.methods.maps.outlying import find_outliers
from cellguard.methods.maps.places import Hexagons, large_enough
from cellguard.methods.maps.result import MapResult
from cellguard.methods.maps.screen import assessed_words, map_words
from cellguard.methods.maps.spec import RedistributeSpec, table_of
from cellguard.randomness import fresh_seed
from cellguard.rules.rule import fewest_of
from cellguard.run_context import Run, timed
from cellguard.seam.look import Look
from cellguard.seam.method import Method
from cellguard.seam.outcome import Outcome
from cellguard.seam.screen import Screen, counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TABLE = {"name", "by", "value", "response", "population", "decimals", "cells", "rules", "protect"}
_TEXT = ("delimiter", "decimal", "encoding")
_COUNTS = "count"
_FARTHEST = 45.0  # percent; totals may be shown as little as a tenth of the largest value then
_MOST_COMPARED = 400_000  # places, empty ones included; ways across wider maps take long to optimise
_FLAT = 1 / 3  # of the shown hexagons
_MOST_DRAWN = 5_000  # hexagons in an SVG file


@dataclass(frozen=True, eq=False)
class Redistribute(Method[Located, MapResult]):
    """Fill up hexagons with too few records from hexagons nearby, and pass on what dominates a hexagon."""

    name: ClassVar[str] = "redistribute"
    participle: ClassVar[str] = "redistributed"
    settings: ClassVar[type[Spec] | None] = RedistributeSpec
    keeps_internal: ClassVar[bool] = True
    tabular: ClassVar[bool] = False
    surveyed: ClassVar[bool] = False
    look: ClassVar[Look] = Look("shown", public="Records were moved between hexagons; those not listed are not shown.")
    robustness: ClassVar[str] = (
        "The number of records on the map stays; who knows that records were moved learns where few were."
    )
    flexibility: ClassVar[str] = "Maps of other hexagons of the same records must not be published beside it."

    @property
    def repeats(self) -> bool:
        """Whether another run gives the same map: counts draw nothing, and values the same from a seed."""
        return table_of(self.job).value == _COUNTS or RedistributeSpec.of(self.job).seed is not None

    @classmethod
    def fault(cls, job: Job) -> str | None:
        """Describe what a map cannot have, or what the job says in vain."""
        if len(job.tables) > 1:
            return "a job makes one map; put further tables into jobs of their own"
        table = table_of(job)
        if key := _said_in_vain(job, {"version", "microdata", "tables", "settings", "output"}):
            return f"`{key}` is not looked at when a map is redistributed; leave it out"
        if key := _said_in_vain(table, _TABLE):
            return f"table {table.name!r}: `{key}` does not go with a map; leave it out"
        if key := _said_in_vain(table.cells, {"source", "count", *_TEXT}):
            return f"table {table.name!r}: `{key}` of `cells` does not go with a map; leave it out"
        if key := _said_in_vain(job.microdata, {"source", "query", "weight", "missing", *_TEXT}):
            return f"`{key}` of `microdata` is not looked at when a map is made: every point is a record of its own"
        if job.microdata is not None and job.microdata.missing.value == "zero":
            return "`missing: {value: zero}` would put points at 0 that have no place; say error or drop"
        if len(table.by) > 1:
            return f"table {table.name!r}: a map has one dimension, as `by: [hexagon]`"
        return _rule_fault(job)

    def assess(self, run: Run, seconds: dict[str, float]) -> Located:
        """Read the points, and sort them into hexagons."""
        with timed("reading the points", run, seconds):
            return read_map(self.job)

    def protect(self, assessed: Located, run: Run, seconds: dict[str, float]) -> MapResult:
        """Choose hexagons that are large enough, and redistribute."""
        return self.redistributed(assessed, run, seconds)

    def redistributed(
        self, assessed: Located, run: Run, seconds: dict[str, float], *, compared: bool = True
    ) -> MapResult:
        """Return the map redistributed, and ``compared`` with what the other algorithms would do."""
        plan, table = self._plan(), table_of(self.job)
        with timed("choosing hexagons", run, seconds):
            hexagons = self._large_enough(assessed, plan)
        counts: Redistribution | None = None
        values: Values | None = None
        others: dict[str, Redistribution] = {}
        if table.value == _COUNTS and plan is not None:
            with timed("redistributing", run, seconds):
                counts = redistribute(hexagons.space, hexagons.count, plan)
            with timed("comparing algorithms", run, seconds):
                few = compared and hexagons.space.nodes <= _MOST_COMPARED
                names = ALGORITHMS if few else [plan.algorithm]
                others = {name: _with(hexagons, plan, name, counts) for name in names}
        else:
            with timed("redistributing", run, seconds):
                values = self._values(assessed, hexagons, plan)
        decimals = assessed.decimals if table.decimals is None else table.decimals
        notes = (*assessed.notes, *_notes(assessed.hexagons, hexagons, counts, plan))
        return MapResult(
            self.job,
            hexagons,
            assessed.hexagons.grid,
            counts,
            values,
            others,
            decimals,
            notes,
            assessed.inputs,
            assessed.crs,
        )

    def _plan(self) -> Plan | None:
        """Return how counts are raised, if a rule asks for a number of records."""
        said = RedistributeSpec.of(self.job)
        fewest = fewest_of(table_of(self.job).rules)
        if fewest is None or fewest < 2:
            return None
        return Plan(fewest, said.algorithm, said.outliers, said.outlier_distance, said.outlier_cells, said.order)

    def _large_enough(self, assessed: Located, plan: Plan | None) -> Hexagons:
        here = assessed.hexagons
        if plan is None or can_be_filled(here.space, here.count, plan):
            return here
        if assessed.points is None or not RedistributeSpec.of(self.job).coarsen:
            cure = "" if assessed.points is None else ", say `coarsen: true`"
            raise NotProtected(
                f"the map has too few records for {plan.threshold} in every hexagon that has any; choose larger "
                f"hexagons{cure}, or a lower min_frequency"
            )
        return large_enough(assessed.points, here, plan)

    def _values(self, assessed: Located, hexagons: Hexagons, plan: Plan | None) -> Values:
        said, points = RedistributeSpec.of(self.job), assessed.points
        table = table_of(self.job)
        caps = [Cap.of(rule) for rule in table.rules if rule.fewest is None]
        value = np.zeros(0) if points is None or points.value is None else points.value
        contributors = Contributors.of(hexagons.of_point, value, len(hexagons.count))
        seed = fresh_seed() if said.seed is None else said.seed
        away = min(max([said.keep_away, *(cap.near for cap in caps)]), _FARTHEST) if said.keep_away else 0.0
        decimals = assessed.decimals if table.decimals is None else table.decimals
        done = redistribute_values(
            hexagons.space, contributors, caps, plan, keep_away=away, decimals=decimals, seed=seed
        )
        return without_unresolved(done) if said.unresolved == "remove" else done

    def assessed_summary(self, assessed: Located) -> dict[str, Any]:
        """Return how many hexagons have too few records."""
        here, plan = assessed.hexagons, self._plan()
        few = outlying = 0
        if plan is not None:
            few = int(((here.count > 0) & (here.count < plan.threshold)).sum())
            outlying = int(find_outliers(here.space, here.count, plan.threshold, plan.distance, plan.largest).sum())
        about = {"records": int(here.count.sum()), "hexagons": len(here.count), "sensitive": few, "outliers": outlying}
        tables = {table_of(self.job).name: about}
        return {"step": "assess", "method": self.name, "tables": tables, "warnings": list(assessed.notes)}

    def assessed_screen(self, assessed: Located) -> Screen:
        """Return how many hexagons have too few records."""
        return assessed_words(self.assessed_summary(assessed))

    def screen(self, outcome: Outcome[MapResult], folder: Path | None) -> Screen:
        """Return the verdict, the map in figures, and what to know of it."""
        return map_words(outcome.summary, folder)

    def write_internal(self, outcome: Outcome[MapResult], inside: Path) -> None:
        """Write hexagons before and after, transfers, measures, and pictures if pages are wanted."""
        done = outcome.protected
        write_moved(inside, done)
        if not _pictured(outcome):
            return
        from cellguard.methods.maps.report.figures import map_figure, risk_utility_figure

        name, hexagons = table_of(self.job).name, done.hexagons
        most = float(max(done.before.max(initial=1.0), done.after.max(initial=1.0)))
        for word, value, here in (("before", done.before, done.before >= 0), ("after", done.after, done.is_shown)):
            figure = map_figure(hexagons.q[here], hexagons.r[here], value[here], title=word, most=most)
            _draw(inside / f"{name}_{word}", figure, int(here.sum()))
        if done.others:
            figure = risk_utility_figure({key: other.measures for key, other in done.others.items()})
            _draw(inside / f"{name}_risk_utility", figure, 0)

    def write_release(self, outcome: Outcome[MapResult], outside: Path) -> None:
        """Write the shown hexagons with their places, and pictures if pages are wanted."""
        shown = outcome.protected.shown
        write_shown(outside, shown, outcome.job.formats)
        if _pictured(outcome):
            from cellguard.methods.maps.report.figures import map_figure

            figure = map_figure(shown.q, shown.r, shown.table().figures, title=shown.name)
            _draw(outside / shown.name, figure, len(shown))

    def about(self, outcome: Outcome[MapResult], table: str) -> Mapping[str, Any]:
        """Return the method and, if it is known, the coordinate system of the grid."""
        crs = outcome.protected.crs
        return {"method": self.name, **({} if crs is None else {"crs": crs})}

    def pages(self, outcome: Outcome[MapResult]) -> Mapping[str, str]:
        """Return the officer's page with the map before and after and, if there is a release, the public one."""
        from cellguard.methods.maps.report import page
        from cellguard.report import render

        render.require_extra()
        pages = {"internal/report.html": page.internal_map(outcome)}
        if outcome.release is not None:
            pages["release/report.html"] = page.public_map(outcome.protected.shown)
        return pages


def _said_in_vain(part: BaseModel | None, known: Collection[str]) -> str | None:
    """Return a key of a part of the job that says something, but that a map does not know."""
    if part is None:
        return None
    others = {key: field for key, field in type(part).model_fields.items() if key not in known}
    said = (k for k, f in others.items() if getattr(part, k) != f.get_default(call_default_factory=True))
    return next(said, None)


def _pictured(outcome: Outcome[MapResult]) -> bool:
    """Return whether pictures are wanted and can be drawn."""
    return "html" in outcome.job.formats and find_spec("matplotlib") is not None


def _draw(path: Path, figure: Figure, hexagons: int) -> None:
    """Write a picture as PNG, and as SVG unless it has too many hexagons for that."""
    from cellguard.methods.maps.report.figures import picture

    for kind in ("png", *(["svg"] if hexagons <= _MOST_DRAWN else [])):
        path.with_name(f"{path.name}.{kind}").write_bytes(picture(figure, kind))


def _rule_fault(job: Job) -> str | None:
    table = table_of(job)
    others = [rule for rule in table.rules if rule.fewest is None]
    if why := next((rule.only_suppressed for rule in table.rules if rule.only_suppressed), ""):
        return f"table {table.name!r}: {why}; leave it out"
    if table.value == _COUNTS and (others or (fewest_of(table.rules) or 0) < 2):
        return (
            f"table {table.name!r}: a map of counts has the one rule `min_frequency` of 2 or more, as "
            "`rules: [{min_frequency: 3}]`"
        )
    if not any(rule.can_fire for rule in table.rules):
        return f"table {table.name!r}: a map needs `rules` that can fire, as [{{min_frequency: 3}}, {{p_percent: 10}}]"
    for rule in others:
        try:
            Cap.of(rule)
        except ValueError as error:
            return f"table {table.name!r}: {error}"
    return None


def _with(hexagons: Hexagons, plan: Plan, algorithm: str, done: Redistribution) -> Redistribution:
    """Return what another algorithm would do."""
    if algorithm == plan.algorithm:
        return done
    return redistribute(hexagons.space, hexagons.count, replace(plan, algorithm=algorithm))


def _notes(asked: Hexagons, used: Hexagons, counts: Redistribution | None, plan: Plan | None) -> list[str]:
    """Return what an officer should know beyond the verdict."""
    notes = []
    if asked.grid != used.grid:
        notes.append(
            f"the hexagons were made larger, from {asked.grid.dx:g} to {used.grid.dx:g} wide: smaller ones had too few "
            "records"
        )
    if plan is not None and plan.threshold == 2:
        notes.append(
            "with min_frequency 2, an attacker who learns that a hexagon was raised knows that it had 1 record"
        )
    if counts is not None:
        notes += _flattened(counts)
    if counts is not None and counts.lost:
        notes.append(
            f"outliers were removed, and {counted(counts.lost, 'record')} with them: an attacker who knows the true "
            "total can conclude how many, and where if only one place is possible"
        )
    return notes


def _flattened(done: Redistribution) -> list[str]:
    """Return a warning where so many hexagons were raised to the threshold that the map tells little of them."""
    shown, threshold = done.after > 0, done.plan.threshold
    raised = int((shown & (done.before < threshold)).sum())
    if raised < _FLAT * shown.sum():
        return []
    most = int(shown.sum())
    return [
        f"{raised:,} of {most:,} shown hexagons ({raised / most:.0%}) were raised to exactly {threshold}: the map is "
        "flat where there are few records; choose larger hexagons"
    ]
