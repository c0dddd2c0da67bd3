"""Multi-resolution maps as jobs know them: squares or areas, merged where there are too few records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cellguard.arrays import FloatArray, LongArray
from cellguard.errors import InputError
from cellguard.geometry.areas import Areas
from cellguard.geometry.squaregrid import Squares
from cellguard.io.write import csv_text
from cellguard.job.jobfile import Job
from cellguard.job.specs import Spec
from cellguard.methods.maps.capping import Cap
from cellguard.methods.maps.common import draw_map, map_fault, pictured, publish_map, rules_fault
from cellguard.methods.maps.contributors import Contributors
from cellguard.methods.maps.files.job_points import Located, read_map
from cellguard.methods.maps.merging.known import Known
from cellguard.methods.maps.merging.merge import merge
from cellguard.methods.maps.merging.result import MergeResult
from cellguard.methods.maps.merging.screen import assessed_words, merged_words
from cellguard.methods.maps.merging.tree import Tree, levels_to_one, pairing, quadtree
from cellguard.methods.maps.spec import MergeSpec, table_of
from cellguard.run_context import Run, timed
from cellguard.seam.look import Look
from cellguard.seam.method import Method
from cellguard.seam.outcome import Outcome
from cellguard.seam.screen import Screen


@dataclass(frozen=True, eq=False)
class Merge(Method[Located, MergeResult]):
    """Merge squares, or areas, into larger ones where they have too few records or somebody dominates them."""

    name: ClassVar[str] = "merge"
    participle: ClassVar[str] = "merged"
    settings: ClassVar[type[Spec] | None] = MergeSpec
    keeps_internal: ClassVar[bool] = True
    tabular: ClassVar[bool] = False
    surveyed: ClassVar[bool] = False
    look: ClassVar[Look] = Look(
        "shown", public="Cells with too few records were merged; those not listed are not shown."
    )
    robustness: ClassVar[str] = "Figures are true; what is merged tells that a part of it has too few records."
    flexibility: ClassVar[str] = "Maps of other cells of the same records must not be published beside it."

    @classmethod
    def fault(cls, job: Job) -> str | None:
        """Describe what a map cannot have, or what the job says in vain."""
        if why := map_fault(job, cls.participle) or rules_fault(job):
            return why
        if "merge" not in job.settings:
            return "`merge` must say what is merged, as `merge: {grid: squares, size: 1000}`"
        for rule in table_of(job).rules:
            if rule.fewest is None and rule.ceiling is None:
                return (
                    f"table {table_of(job).name!r}: a map cannot be merged by the rule {rule}; use min_frequency, "
                    "max_share, dominance or p_percent"
                )
        return None

    def assess(self, run: Run, seconds: dict[str, float]) -> Located:
        """Read the points, and sort them into cells."""
        with timed("reading the points", run, seconds):
            return read_map(self.job)

    def protect(self, assessed: Located, run: Run, seconds: dict[str, float]) -> MergeResult:
        """Merge what is unsafe, and look at what differences tell."""
        table = table_of(self.job)
        with timed("merging", run, seconds):
            tree, leaf, value = self._tree(assessed), *self._records(assessed)
            known = self._known(tree, leaf, value, counted=assessed.value is None)
            merged = merge(tree, known, table.rules)
        decimals = assessed.decimals if table.decimals is None else table.decimals
        done = MergeResult(self.job, assessed, decimals, merged, leaf, value)
        with timed("looking at differences", run, seconds):
            _ = done.audit
        return done

    def _tree(self, assessed: Located) -> Tree:
        """Return what may be merged into what, which the places alone decide."""
        spec, tiles = MergeSpec.of(self.job), assessed.tiles
        if isinstance(tiles.grid, Areas):
            return pairing(tiles.grid, spec.most_areas)
        if not isinstance(tiles.grid, Squares):
            raise AssertionError("only squares and areas can be merged")
        if spec.largest is None:
            return quadtree(tiles.q, tiles.r, levels_to_one(tiles.q, tiles.r) if len(tiles.q) else 0)
        size = tiles.grid.size
        levels = math.log2(spec.largest / size)
        if abs(levels - round(levels)) > 1e-9 or levels < 0:
            raise InputError(
                f"`largest: {spec.largest:g}` cannot be reached by doubling {size:g}; say {2 * size:g} or {4 * size:g}"
            )
        return quadtree(tiles.q, tiles.r, round(levels))

    def _records(self, assessed: Located) -> tuple[LongArray, FloatArray]:
        """Return leaf and value of each record; a count that came ready-made is so many records of 1."""
        tiles = assessed.tiles
        cell = tiles.of_point if len(tiles.of_point) else np.repeat(np.arange(len(tiles.count)), tiles.count)
        leaf = tiles.q[cell] if isinstance(tiles.grid, Areas) else cell.astype(np.int64)
        return leaf, np.ones(len(leaf)) if assessed.value is None else assessed.value

    def _known(self, tree: Tree, leaf: LongArray, value: FloatArray, *, counted: bool) -> Known:
        """Return what rules look at, of each leaf."""
        if counted:
            return Known.of_counts(np.bincount(leaf, minlength=tree.leaves))
        caps = [Cap.of(rule) for rule in table_of(self.job).rules if rule.fewest is None]
        ranks = max([1, *(max(cap.n, cap.m) for cap in caps)])
        return Known.of_leaves(Contributors.of(leaf, value, tree.leaves), ranks)

    def assessed_summary(self, assessed: Located) -> dict[str, Any]:
        """Return how many cells are unsafe as they are."""
        leaf, value = self._records(assessed)
        leaves = len(assessed.tiles.grid.names) if isinstance(assessed.tiles.grid, Areas) else len(assessed.tiles.count)
        plain = Tree(np.full(leaves, -1), leaves, *(np.zeros(leaves, np.int64) for _ in range(3)))
        known = self._known(plain, leaf, value, counted=assessed.value is None)
        unsafe = int(known.unsafe(table_of(self.job).rules).sum())
        about = {"records": len(leaf), "cells": len(assessed.tiles.count), "unsafe": unsafe}
        grid, notes = dict(assessed.tiles.grid.about()), list(assessed.notes)
        return {
            "step": "assess",
            "method": self.name,
            "grid": grid,
            "tables": {table_of(self.job).name: about},
            "warnings": notes,
        }

    def assessed_screen(self, assessed: Located) -> Screen:
        """Return how many cells are unsafe as they are."""
        return assessed_words(self.assessed_summary(assessed))

    def screen(self, outcome: Outcome[MergeResult], folder: Path | None) -> Screen:
        """Return the verdict, the map in figures, and what to know of it."""
        return merged_words(outcome.summary, folder)

    def write_internal(self, outcome: Outcome[MergeResult], inside: Path) -> None:
        """Write every cell before, with the cell that it is shown in, and pictures if pages are wanted."""
        done, table = outcome.protected, table_of(self.job)
        tiles, merged = done.tiles, done.merged
        leaves = done.leaves_with_records
        code = dict(zip(merged.shown.tolist(), done.shown.codes, strict=True))
        into = merged.tree.roots_of(merged.shown)[leaves].tolist()
        shown_in = [code.get(node, "") for node in into]
        value = merged.known.total[leaves]
        columns = {
            table.by[0]: tiles.codes,
            "value": [f"{one + 0.0:.{done.decimals}f}" for one in value.tolist()],
            "shown": [f"{one + 0.0:.{done.decimals}f}" for one in done.after.tolist()],
            "count": tiles.count.tolist(),
            "status": ["published" if seen else "unpublished" for seen in done.is_shown.tolist()],
            "shown_in": shown_in,
        }
        rows = zip(*columns.values(), strict=True)
        (inside / f"{table.name}.csv").write_text(csv_text(list(columns), rows), encoding="utf-8")
        if pictured(outcome):
            look: dict[str, Any] = {"whole": done.decimals == 0, "crs": done.located.crs}
            draw_map(inside / f"{table.name}_before", tiles.grid, (tiles.q, tiles.r), value, title="before", **look)

    @classmethod
    def explain(cls, folder: Path, table: str, row: Mapping[str, str]) -> Sequence[str]:
        """Say in which larger cell this one is shown."""
        code, into = next(iter(row.values())), row["shown_in"]
        if not into:
            return ["It is left out: at its largest size it is unsafe, or beside a cell that is."]
        return [] if into == code else [f"It is shown as a part of {into}."]

    def write_release(self, outcome: Outcome[MergeResult], outside: Path) -> None:
        """Write the shown cells with their places, and pictures if pages are wanted."""
        publish_map(outside, outcome.protected.shown, outcome)

    def about(self, outcome: Outcome[MergeResult], table: str) -> Mapping[str, Any]:
        """Return the method and, if it is known, the coordinate system."""
        crs = outcome.protected.located.crs
        return {"method": self.name, **({} if crs is None else {"crs": crs})}

    def pages(self, outcome: Outcome[MergeResult]) -> Mapping[str, str]:
        """Return the officer's page and, if there is a release, the public one."""
        from cellguard.methods.maps.merging import page
        from cellguard.report import render

        render.require_extra()
        pages = {"internal/report.html": page.internal_merged(outcome)}
        if outcome.release is not None:
            pages["release/report.html"] = page.public_merged(outcome.protected.shown)
        return pages
