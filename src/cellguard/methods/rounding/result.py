"""Rounded tables, attacked: what may be published, and what somebody who knows the method concludes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cellguard.arrays import BoolArray
from cellguard.inputs.changed_result import ChangedResult
from cellguard.methods.rounding.attacked import Attacked
from cellguard.methods.rounding.headline import verdict_of
from cellguard.methods.rounding.measures import Distance, distance
from cellguard.methods.rounding.rounded import Rounded
from cellguard.methods.rounding.spec import options_of
from cellguard.seam.method import Concluded
from cellguard.seam.summary import Summary
from cellguard.seam.verdict import Verdict
from cellguard.table.pattern import Release

_LISTED = 100  # open cells that a summary names


@dataclass(frozen=True, eq=False)
class RoundingResult(ChangedResult):
    """Rounded tables with the attack on them. Confidential, all but the release.

    ``doublings`` is how often the base was doubled, ``mended`` the cells that were hidden since they were too well
    known; ``seed`` is None where nothing was drawn.
    """

    rounded: Rounded
    attacked: Attacked
    seed: int | None
    doublings: int
    mended: BoolArray
    accept_no_rules: bool = False

    @cached_property
    def drawn(self) -> Release:
        """The rounded tables, whether or not they may be published. Confidential where they may not."""
        return self.rounded.release()

    @cached_property
    def verdict(self) -> Verdict:
        """What the attack proves, and what nobody looked at."""
        repaired = self.doublings > 0 or bool(self.mended.any())
        chosen = self.rounded.plan.kind == "small_counts"
        accepted = self.accept_no_rules
        return verdict_of(self.assessed, self.attacked, chosen=chosen, repaired=repaired, accepted=accepted)

    @property
    def question(self) -> str:
        """What somebody who knows the method can conclude."""
        return (
            "whether somebody who knows how the tables are rounded can conclude an unsafe cell more closely than the "
            "policy's own rules allow"
        )

    @property
    def concluded(self) -> Concluded:
        """What attackers who know the method conclude of every distinct cell."""
        return Concluded(self.attacked.lower, self.attacked.upper, self.attacked.open)

    @cached_property
    def distance(self) -> Distance:
        """How far the published values are from the true ones."""
        size = self.rounded.plan.grains.size()
        return distance(self.rounded.plan.value * size, self.rounded.value * size, self.rounded.seen)

    def status(self, number: int) -> list[str]:
        """Return the status of each cell of one table: ``unsafe`` are those that forbid the release."""
        cells = self.assessed.tables.cells_of[number]
        table, plan = self.tables[number], self.rounded.plan
        status = np.where(self.assessed.needs.primary[cells], "protected", "rounded")
        status = np.where(plan.kept[cells], "kept", status)
        status = np.where(self.rounded.hidden[cells], "suppressed", status)
        status = np.where(self.attacked.open[cells], "unsafe", status)
        return [str(s) for s in np.where(table.unpublished | ~plan.shown[cells], "unpublished", status)]

    def bases(self) -> dict[str, float]:
        """Return the base of each table as it was used."""
        specs = [spec for spec in self.job.tables if self.assessed.tables[spec.name].release == "here"]
        bases = {spec.name: options_of(spec.protect).base * 2**self.doublings for spec in specs}
        return {name: int(base) if base == int(base) else base for name, base in bases.items()}

    def words(self, table: str) -> dict[str, Any]:
        """Return what the release's metadata says of how a table is rounded."""
        said = options_of(next(spec for spec in self.job.tables if spec.name == table).protect)
        about: dict[str, Any] = {"kind": said.kind, "base": self.bases()[table], "additive": self.rounded.is_additive}
        about |= {"steps": said.steps} if said.kind == "controlled" else {}
        return about | ({} if said.suppress_below is None else {"suppress_below": said.suppress_below})

    def warnings(self) -> list[str]:
        """Return what a statistician should know of the release."""
        texts = list(self.assessed.warnings())
        if self.doublings:
            texts.append(f"the base was doubled {self.doublings} times, since unsafe cells were too well known")
        if self.mended.any():
            texts.append(f"{int(self.mended.sum()):,} cells are suppressed, since unsafe cells were too well known")
        if (self.attacked.open & self.rounded.plan.kept).any():
            texts.append("`keep` names cells that are unsafe, or that give unsafe ones away")
        if not self.rounded.is_additive:
            texts.append(f"{int((self.rounded.gaps != 0).sum()):,} sums of published values do not add up")
        return texts

    def summary(self) -> Summary:
        """Return counts and findings; no suppressed or true value of a cell, and no seed."""
        set_, needs = self.assessed.tables, self.assessed.needs
        seen, attacked = self.rounded.seen, self.attacked
        counts = {
            table.name: {
                "release": table.release,
                "cells": len(table),
                "primary": int(needs.primary[cells].sum()),
                "suppressed": int(self.rounded.hidden[cells].sum()),
                "unsafe": int(attacked.open[cells].sum()),
                "known": int((attacked.known & self.rounded.plan.shown)[cells].sum()),
                **(self.words(table.name) if table.release == "here" and table.name in self.bases() else {}),
            }
            for table, cells in zip(set_.tables, set_.cells_of, strict=True)
        }
        at = np.flatnonzero(attacked.open)[:_LISTED].tolist()
        return Summary(
            "round",
            self.verdict,
            counts,
            self.warnings(),
            {
                **({"microdata": dict(self.assessed.counts)} if self.assessed.counts else {}),
                "released": self.release is not None,
                "set": {
                    "cells": len(set_),
                    "relations": int(set_.relations.shape[0]),
                    "primary": int(needs.primary.sum()),
                    "unsafe": int(attacked.open.sum()),
                    "shown": int(seen.sum()),
                    "narrowed": int((attacked.narrowed & seen).sum()),
                    "intervals": "exact" if attacked.exact else "outer bounds",
                },
                "sums": {"published": len(self.rounded.gaps), "off": int((self.rounded.gaps != 0).sum())},
                "distance": self.distance.plain(),
                **({} if (search := self.rounded.search) is None else {"search": {"gap": round(search.gap, 6)}}),
                "attack": {"effort": options_of(self.job.tables[0].protect).effort, "ended": not attacked.spent},
                "open": [set_.message_name(int(cell)) for cell in at],
            },
        )
