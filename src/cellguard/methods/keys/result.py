"""Counts with noise from cell keys: what may be published, and what an attacker concludes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.job.jobfile import Job
from cellguard.methods.keys.differencing import still_hidden
from cellguard.methods.keys.perturbation_table import PerturbationTable
from cellguard.methods.keys.perturbing import KeyedCells
from cellguard.methods.keys.posterior import Posterior
from cellguard.methods.keys.record_keys import Secret
from cellguard.methods.keys.simulation import Simulation
from cellguard.methods.keys.spec import METHOD, CellKey
from cellguard.seam.method import Result
from cellguard.seam.screen import counted
from cellguard.seam.summary import Summary
from cellguard.seam.verdict import Kind, NotChecked, Verdict
from cellguard.table.pattern import Release, ReleasedTable
from cellguard.table.table import Table

QUESTION = (
    "how likely an attacker who knows the method, and all that is published, finds the true count of a small cell"
)
_OTHERS = NotChecked("other releases", "other tables of the same records, made with the same keys", "everybody")
_INSIDERS = NotChecked(
    "knowledge", "attackers who know some of the records, or of some cells that they are empty", "insiders"
)
_ZEROS = NotChecked("zeros", "how likely a published 0 is a true one (group disclosure)", "everybody")
_UNLISTED = NotChecked("latent", "cells that tables sum and none lists (latent cells)", "everybody")
_SEVERAL = NotChecked(
    "respondents", "respondents with several records: the attack is on numbers of records", "everybody"
)


@dataclass(frozen=True, eq=False)
class KeysResult(Result):
    """Counts with noise. Confidential, all but the release.

    ``counts`` are the published ones of the distinct cells; ``several`` says that respondents have several records.
    """

    job: Job
    cells: KeyedCells
    table: PerturbationTable
    secret: Secret
    counts: LongArray
    posterior: Posterior
    notes: tuple[str, ...]
    digests: Mapping[str, str]
    simulation: Simulation | None = None
    several: bool = False

    @property
    def tables(self) -> Sequence[Table]:
        """The true tables."""
        return self.cells.tables.tables

    @property
    def inputs(self) -> Mapping[str, str]:
        """The digests of the files as they were when they were read."""
        return self.digests

    @property
    def question(self) -> str:
        """How likely a small count is found."""
        return QUESTION

    @cached_property
    def spec(self) -> CellKey:
        """What the job says of the method."""
        return CellKey.of(self.job)

    @cached_property
    def largest(self) -> FloatArray:
        """For each distinct cell that is published the largest posterior probability of a small count."""
        return np.where(self.cells.shown, self.posterior.largest(self.cells.threshold), 0.0)

    @property
    def worst(self) -> float:
        """The largest posterior probability of all."""
        return float(self.largest.max(initial=0.0))

    @property
    def over(self) -> BoolArray:
        """Which distinct cells an attacker can estimate more closely than allowed."""
        return np.asarray(self.largest > self.spec.limit, bool)

    @cached_property
    def drawn(self) -> Release:
        """The perturbed tables, whether or not they may be published. Confidential where they may not."""
        linked = self.cells.tables
        tables = [
            _released(table, self.counts[cells]) for table, cells in zip(linked.tables, linked.cells_of, strict=True)
        ]
        return Release.of(tables, {d.name: d for table in linked.tables for d in table.dimensions})

    @property
    def release(self) -> Release | None:
        """The tables as published; None if the verdict forbids it."""
        return self.drawn if self.verdict.allows_release else None

    @cached_property
    def verdict(self) -> Verdict:
        """What the attack says, and what it does not."""
        limit, worst = f"{self.spec.limit:.0%}", f"{self.worst:.1%}"
        unlisted = len(self.tables) > 1 or not self.cells.shown.all()
        open_ = (_OTHERS, _INSIDERS, _ZEROS, *([_UNLISTED] if unlisted else []))
        open_ += (_SEVERAL,) if self.several else ()
        if self.over.any():
            many = counted(int(self.over.sum()), "cell")
            text = f"UNSAFE: in {many} a small count is likelier than {limit} to an attacker, at most {worst}"
            return Verdict(Kind.UNSAFE, text, open_)
        accepted = self.spec.unproven == "accept"
        if self.secret.lookup == "plain":
            plain = NotChecked(
                "plain keys",
                "how far the noise of a sum tells that of its parts, whose keys it is the sum of",
                "everybody",
            )
            text = f"NOT PROVEN: plain keys tie the noise of sums to that of their parts; if not, at most {worst}"
            return Verdict(Kind.NOT_PROVEN, text, (plain, *open_), accepted=accepted)
        if self.posterior.long:
            many = counted(self.posterior.long, "relation")
            why = f"{many} of the most parts, or with parts that are not published"
            open_ = (NotChecked("long relations", why, "everybody"), *open_)
        estimated = int((~self.posterior.exact & self.cells.shown).sum())
        if estimated:
            circles = NotChecked(
                "circles", "the exact posterior of cells whose relations go in circles, which is estimated", "everybody"
            )
            text = (
                f"NOT PROVEN: of {counted(estimated, 'cell')} the posterior is estimated, at most {worst} for a small "
                f"count (limit {limit})"
            )
            return Verdict(Kind.NOT_PROVEN, text, (circles, *open_), accepted=accepted)
        text = f"no small count is likelier than {worst} to an attacker who knows the method (limit {limit})"
        return Verdict(Kind.SAFE, text, open_)

    def summary(self) -> Summary:
        """Return counts, probabilities and the parameters of the noise; no true count, no key, no seed."""
        table, shown = self.table, self.cells.shown
        facts: dict[str, Any] = {
            "released": self.release is not None,
            "additive": False,
            "perturbation_table": {
                "from": table.name,
                "deviation": table.deviation,
                "variance": table.variance(table.last),
            },
            "lookup": self.secret.lookup,
            "record_keys": "drawn" if self.secret.drawn else "given",
            "limit": self.spec.limit,
            "prior": self.spec.prior,
            "largest_posterior": self.worst,
            "estimated": int((~self.posterior.exact & self.cells.shown).sum()),
            "long_relations": self.posterior.long,
            "differences": [one.__dict__ for one in still_hidden(table)],
            "noise": {"variance": float(((self.counts - self.cells.count)[shown] ** 2).mean()) if shown.any() else 0.0},
        }
        if self.cells.fixed.any():
            facts["fixed"] = self._fixed()
        if self.simulation is not None:
            facts["simulation"] = self.simulation.__dict__
        return Summary(METHOD, self.verdict, self._about(), self.notes, facts)

    def _fixed(self) -> list[dict[str, Any]]:
        """Name the cells that are published as they are, in every table that shows them."""
        linked = self.cells.tables
        return [
            {"table": table.name, "codes": _codes(table, row)}
            for table, at in zip(linked.tables, linked.cells_of, strict=True)
            for row in np.flatnonzero(self.cells.fixed[at]).tolist()
        ]

    def _about(self) -> dict[str, dict[str, Any]]:
        linked = self.cells.tables
        gone = {table.name: int(table.unpublished.sum()) for table in linked.tables}
        return {
            table.name: {
                "cells": len(table),
                **({"unpublished": gone[table.name]} if gone[table.name] else {}),
                "small": int(self.cells.small[cells].sum()),
                "over": int(self.over[cells].sum()),
                "changed": int(((self.counts != self.cells.count) & self.cells.shown)[cells].sum()),
                "largest_posterior": float(self.largest[cells].max(initial=0.0)),
            }
            for table, cells in zip(linked.tables, linked.cells_of, strict=True)
        }


def _codes(table: Table, row: int) -> list[str]:
    return [d.codes[c[row]] for d, c in zip(table.dimensions, table.codes, strict=True)]


def _released(table: Table, counts: LongArray) -> ReleasedTable:
    return ReleasedTable.of(table, counts[~table.unpublished].tolist(), decimals=0)
