"""Sums with noise from cell keys: what may be published, and what an attacker concludes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.inputs.changed_result import ChangedResult
from cellguard.methods.keys.magnitudes.attack import Guessed
from cellguard.methods.keys.magnitudes.headline import verdict_of
from cellguard.methods.keys.magnitudes.noise import Noise, Sums
from cellguard.methods.keys.magnitudes.spec import METHOD, MagnitudeKey
from cellguard.methods.keys.record_keys import Secret
from cellguard.seam.summary import Summary
from cellguard.seam.verdict import Verdict
from cellguard.table.pattern import Release

QUESTION = (
    "how likely an attacker who knows the method, and all other contributions, comes as near to the largest one of an "
    "unsafe cell as the policy's own rules forbid"
)


@dataclass(frozen=True, eq=False)
class Drawn:
    """The noise of all distinct cells and what came of it: ``parts`` has a column per part, ``units`` are published,
    in units of each cell's last decimal.
    """

    sums: Sums
    noise: Noise
    secret: Secret
    parts: FloatArray
    units: LongArray
    fixed: BoolArray


@dataclass(frozen=True, eq=False)
class MagnitudeResult(ChangedResult):
    """Sums with noise. Confidential, all but the release; ``digests`` are those of all files that were read."""

    made: Drawn
    guessed: Guessed
    notes: tuple[str, ...]
    digests: Mapping[str, str]
    accept_no_rules: bool = False

    @property
    def inputs(self) -> Mapping[str, str]:
        """The digests of the files as they were when they were read."""
        return self.digests

    @property
    def question(self) -> str:
        """How likely a contribution is found."""
        return QUESTION

    @cached_property
    def spec(self) -> MagnitudeKey:
        """What the job says of the method."""
        return MagnitudeKey.of(self.job)

    @property
    def over(self) -> BoolArray:
        """Which distinct cells tell too much by their own published value."""
        return np.asarray(self.guessed.alone > self.spec.limit, bool)

    @property
    def open(self) -> BoolArray:
        """Which distinct cells tell too much, or may, to those who also know all other contributions to other sums."""
        return np.asarray(self.guessed.together > self.spec.limit, bool)

    @cached_property
    def published(self) -> FloatArray:
        """The published value of each distinct cell."""
        return np.asarray(self.made.units / self.scale, float)

    @cached_property
    def scale(self) -> FloatArray:
        """How many units of the last decimal make one, for each distinct cell."""
        decimals = np.zeros(len(self.made.units), np.int64)
        for table, cells in zip(self.tables, self.assessed.tables.cells_of, strict=True):
            decimals[cells] = table.decimals
        return np.asarray(10.0**decimals, float)

    @cached_property
    def drawn(self) -> Release:
        """The perturbed tables, whether or not they may be published. Confidential where they may not."""
        return self.with_units(self.made.units)

    @cached_property
    def verdict(self) -> Verdict:
        """What the attack says, and what it does not."""
        return verdict_of(
            self.assessed,
            self.guessed,
            limit=self.spec.limit,
            plain=self.made.secret.lookup == "plain",
            accepted=self.spec.unproven == "accept",
            accept_no_rules=self.accept_no_rules,
        )

    def status(self, number: int) -> list[str]:
        """Return the status of each cell of one table."""
        status = np.where(self.made.sums.sensitive, "sensitive", "noisy")
        status = np.where(self.made.fixed, "fixed", status)
        status = np.where(self.over, "unsafe", status)[self.assessed.tables.cells_of[number]]
        return [str(word) for word in np.where(self.tables[number].unpublished, "unpublished", status)]

    def warnings(self) -> list[str]:
        """Return what a statistician should know of the release."""
        return [*self.assessed.warnings(), *self.notes]

    def summary(self) -> Summary:
        """Return counts, probabilities and the parameters of the noise; no true value, no key, no seed."""
        made, guessed, noise = self.made, self.guessed, self.made.noise
        wanted = made.sums.sensitive
        off = np.abs(self.published - made.sums.value)
        kind = noise.names[0]
        facts: dict[str, Any] = {
            **({"microdata": dict(self.assessed.counts)} if self.assessed.counts else {}),
            "released": self.release is not None,
            "additive": False,
            "perturbation_table": {
                "from": noise.table.name,
                "deviation": noise.table.deviation,
                "variance": noise.table.variance(kind),
            },
            "scaling": noise.scaling,
            "lookup": made.secret.lookup,
            "record_keys": "drawn" if made.secret.drawn else "given",
            "limit": self.spec.limit,
            "largest_alone": float(guessed.alone.max(initial=0.0)),
            "largest_together": float(guessed.together.max(initial=0.0)),
            "not_looked_at": guessed.open,
            "set": {
                "cells": len(wanted),
                "primary": int(wanted.sum()),
                "unsafe": int(self.over.sum()),
                "open": int(self.open.sum()),
                "changed": int((off > 0).sum()),
            },
            "distance": {
                "mean": float(f"{off.mean() if len(off) else 0.0:.9g}"),
                "largest_of_safe": float(f"{off[~wanted].max(initial=0.0):.9g}"),
            },
        }
        return Summary(METHOD, self.verdict, self._about(), self.warnings(), facts)

    def _about(self) -> dict[str, dict[str, Any]]:
        linked = self.assessed.tables
        return {
            table.name: {
                "cells": len(table),
                "primary": int(self.made.sums.sensitive[cells].sum()),
                "over": int(self.over[cells].sum()),
                "open": int(self.open[cells].sum()),
                "largest_alone": float(f"{self.guessed.alone[cells].max(initial=0.0):.6f}"),
                "largest_together": float(f"{self.guessed.together[cells].max(initial=0.0):.6f}"),
            }
            for table, cells in zip(linked.tables, linked.cells_of, strict=True)
        }
