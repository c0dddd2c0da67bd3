"""Adjusted tables: what may be published, and what is claimed of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cellguard.inputs.changed_result import ChangedResult
from cellguard.methods.adjust.headline import verdict_of
from cellguard.methods.adjust.search import Adjusted
from cellguard.methods.adjust.spec import options_of
from cellguard.seam.summary import Summary
from cellguard.seam.verdict import Verdict
from cellguard.table.pattern import Release


@dataclass(frozen=True, eq=False)
class AdjustmentResult(ChangedResult):
    """Adjusted tables. Confidential, all but the release."""

    adjusted: Adjusted
    accept_no_rules: bool = False

    @cached_property
    def drawn(self) -> Release:
        """The adjusted tables, whether or not they may be published. Confidential where they may not."""
        return self.with_units(self.adjusted.value * self.adjusted.plan.grid)

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
        said = options_of(self.job.tables[0].protect)
        return {"additive": True, "weights": said.weights, "distance": said.distance}

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
