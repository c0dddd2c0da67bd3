"""Smoothed maps as jobs know them: a baseline, released only if somebody answers for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cellguard.geometry.squaregrid import Squares
from cellguard.io.write import csv_text
from cellguard.job.jobfile import Job
from cellguard.job.specs import Spec
from cellguard.methods.maps.common import map_fault, publish_map
from cellguard.methods.maps.contributors import Contributors
from cellguard.methods.maps.files.job_points import Located, read_map
from cellguard.methods.maps.screen import written
from cellguard.methods.maps.smoothing.kernel_smoothing import Raster, reach
from cellguard.methods.maps.smoothing.result import SmoothResult
from cellguard.methods.maps.spec import SmoothSpec, table_of
from cellguard.run_context import Run, timed
from cellguard.seam.look import Look
from cellguard.seam.method import Method
from cellguard.seam.outcome import Outcome
from cellguard.seam.screen import Board, Screen

_DECIMALS = 2  # of smoothed figures, if nobody says


@dataclass(frozen=True, eq=False)
class Smooth(Method[Located, SmoothResult]):
    """Replace the figures of squares by weighted means of their surroundings."""

    name: ClassVar[str] = "smooth"
    participle: ClassVar[str] = "smoothed"
    settings: ClassVar[type[Spec] | None] = SmoothSpec
    keeps_internal: ClassVar[bool] = True
    tabular: ClassVar[bool] = False
    surveyed: ClassVar[bool] = False
    look: ClassVar[Look] = Look("shown", public="Every figure is a weighted mean of its surroundings.")
    robustness: ClassVar[str] = "None: who knows the kernel can undo the smoothing up to rounding."
    flexibility: ClassVar[str] = "Maps smoothed by other kernels must not be published beside it."

    @classmethod
    def fault(cls, job: Job) -> str | None:
        """Describe what a map cannot have, or what the job says in vain."""
        if why := map_fault(job, cls.participle):
            return why
        spec = job.settings.get("smooth")
        if not isinstance(spec, SmoothSpec) or spec.grid != "squares" or spec.files:
            return "only squares can be smoothed; say `smooth: {grid: squares, size: 1000}`"
        others = [rule for rule in table_of(job).rules if rule.fewest is None]
        if others:
            return f"`smooth` measures risk by `risk` and `max_risk`, not by the rule {others[0]}; leave it out"
        return None

    def assess(self, run: Run, seconds: dict[str, float]) -> Located:
        """Read the points, and sort them into squares."""
        with timed("reading the points", run, seconds):
            return read_map(self.job)

    def protect(self, assessed: Located, run: Run, seconds: dict[str, float]) -> SmoothResult:
        """Smooth the map."""
        said, table, tiles = SmoothSpec.of(self.job), table_of(self.job), assessed.tiles
        if not isinstance(tiles.grid, Squares):
            raise AssertionError("only squares can be smoothed")
        bandwidth = 1.0 if said.bandwidth is None else said.bandwidth / tiles.grid.size
        with timed("smoothing", run, seconds):
            cell = tiles.of_point if len(tiles.of_point) else np.repeat(np.arange(len(tiles.count)), tiles.count)
            value = np.ones(len(cell)) if assessed.value is None else assessed.value
            values = Contributors.of(cell, value, len(tiles.count))
            before = Raster.of(tiles.q, tiles.r, values, reach(bandwidth))
            after = before.smoothed(bandwidth)
        decimals = _DECIMALS if table.decimals is None else table.decimals
        return SmoothResult(self.job, assessed, decimals, tiles.grid, before, after, bandwidth * tiles.grid.size)

    def assessed_summary(self, assessed: Located) -> dict[str, Any]:
        """Return how many squares there are."""
        about = {"records": int(assessed.tiles.count.sum()), "squares": len(assessed.tiles.count)}
        tables = {table_of(self.job).name: about}
        return {"step": "assess", "method": self.name, "tables": tables, "warnings": list(assessed.notes)}

    def assessed_screen(self, assessed: Located) -> Screen:
        """Return how many squares there are."""
        summary = self.assessed_summary(assessed)
        rows = [[name, f"{a['records']:,}", f"{a['squares']:,}"] for name, a in summary["tables"].items()]
        return [
            Board(["map", "records", "squares"], rows, (1, 2)),
            *(f"Warning: {warning}" for warning in summary["warnings"]),
            "Nothing is smoothed yet: this map must not be published as it is.",
        ]

    def screen(self, outcome: Outcome[SmoothResult], folder: Path | None) -> Screen:
        """Return the verdict, the measures of risk, and where the map was written."""
        summary = outcome.summary
        (name, about), *_ = summary["tables"].items()
        shares = [f"{about[key]:,}" for key in ("squares", "sensitive", "shown", "still_sensitive")]
        return [
            f"{summary['headline'].rstrip('.')}.",
            Board(["map", "squares", "sensitive", "shown", "still sensitive"], [[name, *shares]], range(1, 5)),
            *(f"Warning: {warning}" for warning in summary["warnings"]),
            *written(folder, bool(summary["released"])),
            summary["caveat"],
        ]

    def write_internal(self, outcome: Outcome[SmoothResult], inside: Path) -> None:
        """Write every square that has records, before and after."""
        done, table = outcome.protected, table_of(self.job)
        before = done.before.total[done.tiles.q - done.before.left, done.tiles.r - done.before.low]
        columns = {
            table.by[0]: done.tiles.codes,
            "value": [f"{one:.{done.decimals}f}" for one in before.tolist()],
            "shown": [f"{one:.{done.decimals}f}" for one in done.after.tolist()],
            "count": done.tiles.count.tolist(),
            "status": ["published"] * len(before),
        }
        rows = zip(*columns.values(), strict=True)
        (inside / f"{table.name}.csv").write_text(csv_text(list(columns), rows), encoding="utf-8")

    def write_release(self, outcome: Outcome[SmoothResult], outside: Path) -> None:
        """Write the squares with their places, and pictures if pages are wanted."""
        publish_map(outside, outcome.protected.shown, outcome)

    def about(self, outcome: Outcome[SmoothResult], table: str) -> Mapping[str, Any]:
        """Return the method and, if it is known, the coordinate system."""
        crs = outcome.protected.located.crs
        return {"method": self.name, **({} if crs is None else {"crs": crs})}

    def pages(self, outcome: Outcome[SmoothResult]) -> Mapping[str, str]:
        """Return the officer's page and, if there is a release, the public one."""
        from cellguard.methods.maps.smoothing import page
        from cellguard.report import render

        render.require_extra()
        pages = {"internal/report.html": page.internal_smoothed(outcome)}
        if outcome.release is not None:
            pages["release/report.html"] = page.public_smoothed(outcome.protected.shown)
        return pages
