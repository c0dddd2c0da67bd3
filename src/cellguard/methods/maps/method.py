"""Confidential maps as jobs know them: points, cells, redistribution, release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cellguard.errors import NotProtected
from cellguard.job.jobfile import Job
from cellguard.job.specs import Spec
from cellguard.methods.maps.algorithms import ALGORITHMS
from cellguard.methods.maps.capping import Cap
from cellguard.methods.maps.common import COUNTS, draw, draw_map, map_fault, pictured, publish_map, rules_fault
from cellguard.methods.maps.contributors import Contributors
from cellguard.methods.maps.files.job_points import Located, read_map
from cellguard.methods.maps.files.map_files import write_moved
from cellguard.methods.maps.magnitudes import Values, redistribute_values, without_unresolved
from cellguard.methods.maps.mapping import Plan, Redistribution, can_be_filled, redistribute
from cellguard.methods.maps.outlying import find_outliers
from cellguard.methods.maps.places import Tiles, large_enough
from cellguard.methods.maps.report.drawn import starts_of
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

_FARTHEST = 45.0  # percent; totals may be shown as little as a tenth of the largest value then
_MOST_COMPARED = 400_000  # places, empty ones included; ways across wider maps take long to optimise
_FLAT = 1 / 3  # of the shown cells


@dataclass(frozen=True, eq=False)
class Redistribute(Method[Located, MapResult]):
    """Fill up cells with too few records from cells nearby, and pass on what dominates a cell."""

    name: ClassVar[str] = "redistribute"
    participle: ClassVar[str] = "redistributed"
    settings: ClassVar[type[Spec] | None] = RedistributeSpec
    keeps_internal: ClassVar[bool] = True
    tabular: ClassVar[bool] = False
    surveyed: ClassVar[bool] = False
    look: ClassVar[Look] = Look("shown", public="Records were moved between cells; those not listed are not shown.")
    robustness: ClassVar[str] = (
        "The number of records on the map stays, but for outliers that are removed; an attacker who knows that records "
        "were moved learns where few were."
    )
    flexibility: ClassVar[str] = "Maps of other cells of the same records must not be published beside it."

    @property
    def repeats(self) -> bool:
        """Whether another run gives the same map: counts draw nothing, and values the same from a seed."""
        return table_of(self.job).value == COUNTS or RedistributeSpec.of(self.job).seed is not None

    @classmethod
    def fault(cls, job: Job) -> str | None:
        """Describe what a map cannot have, or what the job says in vain."""
        said = RedistributeSpec.of(job)
        if table_of(job).value != COUNTS and (said.algorithm, said.order) != ("group", "smallest"):
            return (
                "`algorithm` and `order` are for counts; values are filled up from the nearest cells, smallest "
                "contributor first: leave them out"
            )
        return map_fault(job, cls.participle) or rules_fault(job) or _cap_fault(job)

    def assess(self, run: Run, seconds: dict[str, float]) -> Located:
        """Read the points, and sort them into cells."""
        with timed("reading the points", run, seconds):
            return read_map(self.job)

    def protect(self, assessed: Located, run: Run, seconds: dict[str, float]) -> MapResult:
        """Choose cells that are large enough, and redistribute."""
        return self.redistributed(assessed, run, seconds)

    def redistributed(
        self, assessed: Located, run: Run, seconds: dict[str, float], *, compared: bool = True
    ) -> MapResult:
        """Return the map redistributed, and ``compared`` with what the other algorithms would do."""
        plan, table = self._plan(), table_of(self.job)
        with timed("choosing the grid", run, seconds):
            tiles = self._large_enough(assessed, plan)
        counts: Redistribution | None = None
        values: Values | None = None
        others: dict[str, Redistribution] = {}
        if table.value == COUNTS and plan is not None:
            with timed("redistributing", run, seconds):
                counts = redistribute(tiles.space, tiles.count, plan)
            with timed("comparing algorithms", run, seconds):
                few = compared and tiles.space.nodes <= _MOST_COMPARED
                names = ALGORITHMS if few else [plan.algorithm]
                others = {name: _with(tiles, plan, name, counts) for name in names}
        else:
            with timed("redistributing", run, seconds):
                values = self._values(assessed, tiles, plan)
        decimals = assessed.decimals if table.decimals is None else table.decimals
        notes = (*assessed.notes, *_notes(assessed.tiles, tiles, counts, plan))
        return MapResult(
            self.job,
            tiles,
            assessed.tiles.grid,
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

    def _large_enough(self, assessed: Located, plan: Plan | None) -> Tiles:
        here = assessed.tiles
        if plan is None or can_be_filled(here.space, here.count, plan):
            return here
        if assessed.points is None or not assessed.can_be_sized or not RedistributeSpec.of(self.job).coarsen:
            cure = ", say `coarsen: true`" if assessed.can_be_sized else ""
            raise NotProtected(
                f"the map has too few records for {plan.threshold} in every {here.grid.word} that has any; choose "
                f"larger {here.grid.word}s{cure}, or a lower min_frequency"
            )
        return large_enough(assessed.points, here, plan)

    def _values(self, assessed: Located, tiles: Tiles, plan: Plan | None) -> Values:
        said = RedistributeSpec.of(self.job)
        table = table_of(self.job)
        caps = [Cap.of(rule) for rule in table.rules if rule.fewest is None]
        value = np.zeros(0) if assessed.value is None else assessed.value
        contributors = Contributors.of(tiles.of_point, value, len(tiles.count))
        seed = fresh_seed() if said.seed is None else said.seed
        away = min(max([said.keep_away, *(cap.near for cap in caps)]), _FARTHEST) if said.keep_away else 0.0
        decimals = assessed.decimals if table.decimals is None else table.decimals
        done = redistribute_values(tiles.space, contributors, caps, plan, keep_away=away, decimals=decimals, seed=seed)
        return without_unresolved(done) if said.unresolved == "remove" else done

    def assessed_summary(self, assessed: Located) -> dict[str, Any]:
        """Return how many cells have too few records."""
        here, plan = assessed.tiles, self._plan()
        few = outlying = 0
        if plan is not None:
            few = int(((here.count > 0) & (here.count < plan.threshold)).sum())
            outlying = int(find_outliers(here.space, here.count, plan.threshold, plan.distance, plan.largest).sum())
        about = {"records": int(here.count.sum()), "hexagons": len(here.count), "sensitive": few, "outliers": outlying}
        tables = {table_of(self.job).name: about}
        grid, notes = dict(here.grid.about()), list(assessed.notes)
        return {"step": "assess", "method": self.name, "grid": grid, "tables": tables, "warnings": notes}

    def assessed_screen(self, assessed: Located) -> Screen:
        """Return how many cells have too few records."""
        return assessed_words(self.assessed_summary(assessed))

    def screen(self, outcome: Outcome[MapResult], folder: Path | None) -> Screen:
        """Return the verdict, the map in figures, and what to know of it."""
        return map_words(outcome.summary, folder)

    def write_internal(self, outcome: Outcome[MapResult], inside: Path) -> None:
        """Write cells before and after, transfers, measures, and pictures if pages are wanted."""
        done = outcome.protected
        write_moved(inside, done)
        if not pictured(outcome):
            return
        from cellguard.methods.maps.report.figures import risk_utility_figure

        name, tiles = table_of(self.job).name, done.tiles
        look: dict[str, Any] = {"starts": starts_of(done), "whole": done.decimals == 0, "crs": done.crs}
        draw_map(inside / f"{name}_before", tiles.grid, (tiles.q, tiles.r), done.before, title="before", **look)
        here = done.is_shown
        raised = (done.after > done.before)[here]
        place = (tiles.q[here], tiles.r[here])
        draw_map(inside / f"{name}_after", tiles.grid, place, done.after[here], title="after", raised=raised, **look)
        if done.others:
            figure = risk_utility_figure({key: other.measures for key, other in done.others.items()})
            draw(inside / f"{name}_risk_utility", figure, 0)

    def write_release(self, outcome: Outcome[MapResult], outside: Path) -> None:
        """Write the shown cells with their places, and pictures if pages are wanted."""
        publish_map(outside, outcome.protected.shown, outcome)

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


def _cap_fault(job: Job) -> str | None:
    """Describe which rule values cannot be capped by."""
    for rule in table_of(job).rules:
        try:
            if rule.fewest is None:
                Cap.of(rule)
        except ValueError as error:
            return f"table {table_of(job).name!r}: {error}"
    return None


def _with(tiles: Tiles, plan: Plan, algorithm: str, done: Redistribution) -> Redistribution:
    """Return what another algorithm would do."""
    if algorithm == plan.algorithm:
        return done
    return redistribute(tiles.space, tiles.count, replace(plan, algorithm=algorithm))


def _notes(asked: Tiles, used: Tiles, counts: Redistribution | None, plan: Plan | None) -> list[str]:
    """Return what an officer should know beyond the verdict."""
    notes = []
    if asked.grid != used.grid:
        notes.append(
            f"the {asked.grid.word}s were made larger, from {asked.grid.size:g} to {used.grid.size:g} wide: smaller "
            "ones had too few records"
        )
    if plan is not None and plan.threshold == 2:
        notes.append(
            f"with min_frequency 2, an attacker who learns that a {asked.grid.word} was raised knows that it had 1 "
            "record"
        )
    if counts is not None:
        notes += _flattened(counts, asked.grid.word)
    if counts is not None and counts.lost:
        notes.append(
            f"outliers were removed, and {counted(counts.lost, 'record')} with them: an attacker who knows the true "
            "total can conclude how many, and where if only one place is possible"
        )
    return notes


def _flattened(done: Redistribution, word: str) -> list[str]:
    """Return a warning where so many cells were raised to the threshold that the map tells little of them."""
    shown, threshold = done.after > 0, done.plan.threshold
    raised = int((shown & (done.before < threshold)).sum())
    if raised < _FLAT * shown.sum():
        return []
    most = int(shown.sum())
    return [
        f"{raised:,} of {most:,} shown {word}s ({raised / most:.0%}) were raised to exactly {threshold}: the map is "
        f"flat where there are few records; choose larger {word}s"
    ]
