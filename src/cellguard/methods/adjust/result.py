"""Adjusted tables: what may be published, and what is claimed of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cellguard.inputs.assessment import Assessment
from cellguard.job.jobfile import Job
from cellguard.methods.adjust.headline import verdict_of
from cellguard.methods.adjust.search import Adjusted
from cellguard.methods.adjust.spec import options_of
from cellguard.seam.method import Result
from cellguard.seam.summary import Summary
from cellguard.seam.verdict import Verdict
from cellguard.table.pattern import Release, ReleasedTable
from cellguard.table.table import Table


@dataclass(frozen=True, eq=False)
class AdjustmentResult(Result):
    """Adjusted tables. Confidential, all but the release."""

    assessed: Assessment
    adjusted: Adjusted
    accept_no_rules: bool = False

    @property
    def job(self) -> Job:  # type: ignore[override]
        """The job with all tables that were looked at."""
        return self.assessed.job

    @property
    def tables(self) -> Sequence[Table]:
        """The true tables."""
        return self.assessed.tables.tables

    @cached_property
    def release(self) -> Release | None:
        """The adjusted tables, if the verdict allows a release."""
        return self.drawn if self.verdict.allows_release else None

    @cached_property
    def drawn(self) -> Release:
        """The adjusted tables, whether or not they may be published. Confidential where they may not."""
        set_, released = self.assessed.tables, []
        for table, cells in zip(set_.tables, set_.cells_of, strict=True):
            if table.release != "here":
                continue
            rows = np.flatnonzero(~table.unpublished)
            at = cells[rows]
            told = self.adjusted.value[at] * self.adjusted.plan.grid[at]
            units: Sequence[int | None] = [int(x) for x in told.tolist()]
            codes = tuple(
                np.array(d.codes, object)[c[rows]] for d, c in zip(table.dimensions, table.codes, strict=True)
            )
            names, gone = tuple(d.name for d in table.dimensions), np.zeros(len(rows), bool)
            head = (table.name, names, codes, units, gone, table.response, table.population, table.decimals)
            released.append(ReleasedTable(*head))
        return Release.of(released, {d.name: d for table in set_.tables for d in table.dimensions})

    @cached_property
    def verdict(self) -> Verdict:
        """What is claimed, and what nobody proved."""
        unproven = options_of(self.job.tables[0].protect).unproven == "accept"
        return verdict_of(self.assessed, accept_no_rules=self.accept_no_rules, unproven=unproven)

    @property
    def question(self) -> str:
        """What is claimed of adjusted tables."""
        return "whether each unsafe cell is published at least its protection level away from its true value"

    @property
    def inputs(self) -> Mapping[str, str]:
        """The digests of the files that were read."""
        return self.assessed.inputs

    @property
    def moved(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """How far each distinct cell is from its true value."""
        plan = self.adjusted.plan
        told = self.adjusted.value * plan.grid * 10.0 ** -plan.decimals.astype(float)
        return np.abs(told - plan.grains.value * plan.grains.size())

    def status(self, number: int) -> list[str]:
        """Return the status of each cell of one table."""
        cells, plan = self.assessed.tables.cells_of[number], self.adjusted.plan
        moved = self.adjusted.value != plan.start
        status = np.where(moved, "adjusted", "unchanged")
        status = np.where(plan.kept, "kept", status)
        status = np.where(plan.primary, "protected", status)[cells]
        return [str(s) for s in np.where(self.tables[number].unpublished | ~plan.shown[cells], "unpublished", status)]

    def words(self) -> dict[str, Any]:
        """Return what the release's metadata says of how tables are adjusted; not which cells, nor how far."""
        return {"additive": True, "weights": options_of(self.job.tables[0].protect).weights}

    def names(self) -> list[str]:
        """Return the names of the tables that are published."""
        return [spec.name for spec in self.job.tables if self.assessed.tables[spec.name].release == "here"]

    def warnings(self) -> list[str]:
        """Return what a statistician should know of the release."""
        texts = list(self.assessed.warnings())
        if self.adjusted.gap > 1e-6:
            texts.append(f"an adjustment may be up to {self.adjusted.gap:.1%} cheaper than the one that was found")
        return texts

    def summary(self) -> Summary:
        """Return counts and findings; no true value of a cell, and no side."""
        set_, plan, moved = self.assessed.tables, self.adjusted.plan, self.moved
        counts = {
            table.name: {
                "release": table.release,
                "cells": len(table),
                "primary": int(plan.primary[cells].sum()),
                "adjusted": int((self.adjusted.value != plan.start)[cells].sum()),
                "kept": int(plan.kept[cells].sum()),
            }
            for table, cells in zip(set_.tables, set_.cells_of, strict=True)
        }
        others = plan.shown & ~plan.primary
        return Summary(
            "adjust",
            self.verdict,
            counts,
            self.warnings(),
            {
                **({"microdata": dict(self.assessed.counts)} if self.assessed.counts else {}),
                "released": self.release is not None,
                "set": {
                    "cells": len(set_),
                    "relations": int(set_.relations.shape[0]),
                    "primary": int(plan.primary.sum()),
                    "shown": int(plan.shown.sum()),
                    "adjusted": int((plan.shown & (self.adjusted.value != plan.start)).sum()),
                },
                "distance": {
                    "total": float(f"{moved[plan.shown].sum():.9g}"),
                    "mean": float(f"{moved[plan.shown].mean() if plan.shown.any() else 0.0:.9g}"),
                    "largest_of_safe": float(f"{moved[others].max(initial=0.0):.9g}"),
                },
                "search": {"gap": round(self.adjusted.gap, 6)},
            },
        )
