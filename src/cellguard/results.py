"""What a run gives: what the rules find and protection must achieve, and an audit with what it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np

from cellguard.attack.audit import Audit
from cellguard.attack.derivation import explain
from cellguard.attack.totals import Known
from cellguard.errors import listing
from cellguard.files.jobfile import Job
from cellguard.files.rulespec import taken_on_trust
from cellguard.headline import Headline, headline, no_rule
from cellguard.hierarchy.twins import twin_note
from cellguard.protect.suppress.suppress import Suppression
from cellguard.protection import Requirements
from cellguard.rules.assess import Findings
from cellguard.rules.doubts import doubts, small_percent
from cellguard.table.pattern import STATUS
from cellguard.table.tableset import TableSet


@dataclass(frozen=True, eq=False)
class Assessment:
    """What a job's rules find, and what protection must achieve."""

    job: Job
    findings: Findings
    needs: Requirements
    seconds: Mapping[str, float]
    notes: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Assessment: {self.findings!r}>"

    @property
    def tables(self) -> TableSet:
        """The linked set of tables."""
        return self.findings.tables

    def warnings(self) -> list[str]:
        """Return what a statistician should know before going on."""
        found = [*self.notes, *rule_doubts(self.findings)]
        if self.job.attack.percent is not None and self.job.attack.percent < 1:
            found.append(f"attack: {small_percent('percent', self.job.attack.percent)}")
        for dimension in {d.name: d for t in self.tables.tables for d in t.dimensions}.values():
            pairs = [f"{a} and {b}" for a, b in dimension.overlaps()]
            if pairs:
                found.append(
                    f"dimension {dimension.name!r}: groupings that do not nest overlap ({listing(pairs, 3)}); "
                    "the difference of two published groups may be a small cell"
                )
            # The codes of records were looked at when they were read.
            if not self.counts and int(dimension.level.max()) <= 1:
                rows = max(len(t) for t in self.tables.tables if dimension in t.dimensions)
                found += twin_note(dimension.name, dimension.codes, rows)
        for spec, table in zip(self.job.tables, self.tables.tables, strict=True):
            if spec.decimals is None and (np.isnan(table.rounding) or 0 < table.rounding < 0.49 * table.unit):
                found.append(
                    f"table {table.name!r}: the values have more than the {table.decimals} decimals that will be "
                    "published; say `decimals` if more of them matter"
                )
        bad = np.flatnonzero(self.needs.unprotectable)
        if len(bad):
            names = [self.tables.told_name(int(cell)) for cell in bad[:5]]
            found.append(
                f"{len(bad)} unsafe cells are unprotectable, whatever is hidden, and so the set cannot be released: "
                f"{listing(names)}{' and more' if len(bad) > 5 else ''}"
            )
        return found

    @property
    def headline(self) -> str:
        """What was found in one line: how many cells are unsafe, or that no rule was applied."""
        without = no_rule(self.findings.without_rules, len(self.tables.tables))
        if without:
            return f"{without}, so nothing is known to be safe"
        many = int(self.findings.primary.sum())
        cells = "1 unsafe cell" if many == 1 else f"{many:,} unsafe cells"
        return f"{cells} of {len(self.tables):,}; nothing is protected yet"

    def expected_seconds(self) -> float:
        """Return a rough guess of how long protection takes, from tables measured on one core."""
        cells, unsafe = len(self.tables), int(self.findings.primary.sum())
        return 1.0 + 0.02 * cells if cells < 9_000 else 20.0 + 0.0005 * (cells + unsafe)

    def summary(self) -> dict[str, Any]:
        """Return counts, settings and run facts; nothing confidential in it."""
        return {
            "cellguard": version("cellguard"),
            "step": "assess",
            "headline": self.headline,
            **({"microdata": dict(self.counts)} if self.counts else {}),
            "tables": {t.table.name: self._count(i) for i, t in enumerate(self.findings.by_table)},
            "set": {
                "cells": len(self.tables),
                "relations": int(self.tables.relations.shape[0]),
                "primary": int(self.findings.primary.sum()),
                "unprotectable": int(self.needs.unprotectable.sum()),
            },
            "insiders": "not checked",
            "warnings": self.warnings(),
            "seconds": {step: round(s, 3) for step, s in self.seconds.items()},
        }

    def _count(self, number: int) -> dict[str, Any]:
        here, cells = self.findings.by_table[number], self.tables.cells_of[number]
        return {
            "cells": len(here.table),
            "primary": int(self.findings.primary[cells].sum()),
            "by_rule": {str(r): int((u & here.primary).sum()) for r, u in zip(here.rules, here.unsafe, strict=True)},
            "unprotectable": int(self.needs.unprotectable[cells].sum()),
        }


@dataclass(frozen=True, eq=False)
class Audited:
    """An audit with what it was made from; ``job`` is None for a folder.

    ``inputs`` are the digests of the files as they were when they were read.
    """

    findings: Findings
    audit: Audit
    seconds: Mapping[str, float]
    known: Known | None = None
    job: Job | None = None
    suppression: Suppression | None = None
    notes: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Audited: {self.audit!r}>"

    @cached_property
    def headline(self) -> Headline:
        """What is proven, and what was not checked."""
        return headline(self.findings, self.audit)

    def may_be_released(self, *, accept_no_rules: bool = False) -> bool:
        """Whether every need is proven, and every table has rules unless it is accepted that some have none."""
        return self.audit.verdict == "safe" and (accept_no_rules or not self.findings.without_rules)

    def summary(self) -> dict[str, Any]:
        """Return verdict, counts and what gives cells away; no hidden value, but what an attacker would find."""
        found, tables = self.audit, self.audit.needs.tables
        return {
            "cellguard": version("cellguard"),
            "step": "audit" if self.suppression is None else "protect",
            "verdict": self.headline.kind,
            **self.headline.plain(),
            **({"microdata": dict(self.counts)} if self.counts else {}),
            "tables": {t.name: self._count(i) for i, t in enumerate(tables.tables)},
            "set": {
                "cells": len(tables),
                "relations": int(tables.relations.shape[0]),
                "primary": int(found.needs.primary.sum()),
                "secondary": int((found.pattern.secondary & ~found.pattern.unpublished).sum()),
                "failing": int(found.failing.sum()),
                "undecided": int(found.undecided.sum()),
                "witnesses": len(found.decided.moves),
            },
            **self._cost(),
            "failing": self.failures(),
            "insiders": "not checked",
            "trusted": taken_on_trust(rule for here in self.findings.by_table for rule in here.rules),
            "warnings": list(self.notes),
            "settings": {} if self.job is None else self.job.model_dump(),
            "inputs": dict(self.inputs),
            "versions": {name: version(name) for name in ("cellguard", "highspy", "numba", "numpy", "scipy")},
            "seed": None if self.suppression is None else "fixed",
            "seconds": {step: round(s, 3) for step, s in self.seconds.items()},
        }

    def failures(self, most: int = 100) -> list[dict[str, Any]]:
        """Return the cells that are not protected, how near an attacker comes, and through which relations."""
        found, tables = self.audit, self.audit.needs.tables
        world = found.needs.world
        relations = world.relations_with(None if self.known is None else self.known.sums)
        unknown = found.pattern.unknown & ~world.ties.empty
        wanted = np.flatnonzero(found.failing | found.undecided)[:most].tolist()
        reasons = explain(world.ties, relations, unknown, found.lower, found.upper, wanted)
        return [
            {
                "cell": tables.cell_name(cell),
                "lower": _finite(found.lower[cell]),
                "upper": _finite(found.upper[cell]),
                "undecided": bool(found.undecided[cell]),
                "how": how,
            }
            for cell, how in zip(wanted, reasons, strict=True)
        ]

    def _cost(self) -> dict[str, Any]:
        """Return what the secondaries cost, and how far that may be from the least possible."""
        if self.suppression is None:
            return {}
        found = self.suppression
        return {"cost": found.cost, "lower_bound": found.bound, "gap": found.gap, "deterministic": found.finished}

    def _count(self, number: int) -> dict[str, Any]:
        status = self.audit.pattern.status(number)
        cells = self.audit.needs.tables.cells_of[number]
        counts = {word: int((status == word).sum()) for word in STATUS}
        hidden = np.isin(status, STATUS[1:3])
        return {
            "cells": len(status),
            **counts,
            "failing": int(self.audit.failing[cells].sum()),
            "suppressed_value": float(self.audit.needs.tables.value[cells][hidden].sum()),
        }


def rule_doubts(findings: Findings) -> list[str]:
    """Return the questions about the parameters of all rules."""
    return [text for here in findings.by_table for text in doubts(here.table.name, here.rules)]


def _finite(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None
