"""What the rules find in a job's tables, and what protection must achieve: all that is known before a method starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np

from cellguard.errors import listing
from cellguard.hierarchy.lookalike_codes import lookalike_note
from cellguard.job.jobfile import Job
from cellguard.protection import Requirements
from cellguard.rules.assess import Findings
from cellguard.rules.doubts import job_doubts, small_percent
from cellguard.rules.notices import notices
from cellguard.table.contributions import Contributions, contributions_of
from cellguard.table.fact import Requested, Unwaived
from cellguard.table.sums import RecordSums
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet


@dataclass(frozen=True, eq=False)
class Assessment:
    """What the rules of a job find, and the protection levels that follow; `assess_job` returns it.

    Parameters
    ----------
    job
        The job.
    findings
        Which cells are unsafe, and why.
    needs
        The protection levels of the unsafe cells.
    seconds
        How long each step took.
    notes
        Warnings about the data.
    counts
        How many records were read.
    inputs
        The digests of the files that were read.
    sums
        The records behind the tables, by which sums of their cells are judged, if there are any.

    Examples
    --------
    >>> import cellguard as cg
    >>> table = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 2, 7]}, by=["r"], value="x", count="n")
    >>> job = cg.Job.parse({"version": 1, "tables": [{"name": "table", "by": ["r"], "value": "x",
    ...                     "cells": {"source": "t.csv"}, "rules": [{"min_frequency": 3}]}]})
    >>> findings = cg.assess(table, cg.MinFrequency(3))
    >>> cg.Assessment(job, findings, cg.require(findings), {}).headline
    '1 unsafe cell of 3; nothing is protected yet'
    """

    job: Job
    findings: Findings
    needs: Requirements
    seconds: Mapping[str, float]
    notes: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    sums: RecordSums | None = None

    def __repr__(self) -> str:
        return f"<Assessment: {self.findings!r}>"

    @property
    def tables(self) -> TableSet:
        """The linked set of tables."""
        return self.findings.tables

    def warnings(self) -> list[str]:
        """Return what a statistician should know before going on."""
        warnings = [*self.notes, *unused_columns(self.job), *rule_doubts(self.findings)]
        warnings += [text for here in self.findings.by_table if not here.table.is_added for text in notices(here)]
        if self.job.attack.percent is not None and self.job.attack.percent < 1:
            warnings.append(f"attack: {small_percent('percent', self.job.attack.percent)}")
        for dimension in self.tables.dimensions.values():
            pairs = [f"{a} and {b}" for a, b in dimension.overlaps()]
            if pairs:
                warnings.append(
                    f"dimension {dimension.name!r}: groupings that do not nest overlap ({listing(pairs, 3)}); "
                    "the difference of two published groups may be a small cell"
                )
            # The codes of records were looked at when they were read.
            if not self.counts and int(dimension.level.max()) <= 1:
                rows = max(len(t) for t in self.tables.tables if dimension in t.dimensions)
                warnings += lookalike_note(dimension.name, dimension.codes, rows)
        fine = [
            table
            for spec, table in zip(self.job.tables, self.tables.tables, strict=False)  # earlier releases come last
            if spec.decimals is None
            and not table.is_added
            and (np.isnan(table.rounding) or 0 < table.rounding < 0.49 * table.unit)
        ]
        if fine:
            warnings.append(
                f"{_tables(fine)}: the values have more than the {fine[0].decimals} decimals that will be published; "
                "say `decimals` if more of them matter"
            )
        bad = np.flatnonzero(self.needs.unprotectable)
        if len(bad):
            names = [self.tables.message_name(int(cell)) for cell in bad[:5]]
            warnings.append(
                f"{len(bad)} unsafe cells are unprotectable, whatever is suppressed, and so the set cannot be "
                "released: "
                f"{listing(names)}{' and more' if len(bad) > 5 else ''}{self._cures()}"
            )
        return warnings

    def _cures(self) -> str:
        """Describe what helps the unprotectable cells, as far as their rules know."""
        cures: list[str] = []
        for here, cells in zip(self.findings.by_table, self.tables.cells_of, strict=True):
            bad = self.needs.unprotectable[cells]
            cures += [
                r.cure for r, unsafe in zip(here.rules, here.unsafe, strict=True) if r.cure and (unsafe & bad).any()
            ]
        return "".join(f". {cure[:1].upper()}{cure[1:]}" for cure in dict.fromkeys(cures))

    @cached_property
    def contributions(self) -> Contributions:
        """Who contributes what to the cells, worked out once, for the search and its audit. Confidential."""
        return contributions_of(self.tables)

    @property
    def headline(self) -> str:
        """What was found in one line: how many cells are unsafe, or that no rule was applied."""
        without = no_rule(self.findings.without_rules, len(self.tables.tables))
        if without:
            return f"{without}, so nothing is known to be safe"
        unsafe = int(self.findings.primary.sum())
        cells = "1 unsafe cell" if unsafe == 1 else f"{unsafe:,} unsafe cells"
        return f"{cells} of {len(self.tables):,}; nothing is protected yet"

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
            "release": here.table.release,
            "cells": len(here.table),
            "primary": int(self.findings.primary[cells].sum()),
            "by_rule": {str(r): int((u & here.primary).sum()) for r, u in zip(here.rules, here.unsafe, strict=True)},
            "unprotectable": int(self.needs.unprotectable[cells].sum()),
        }


def unused_columns(job: Job) -> list[str]:
    """Return a warning if the job names the column of waivers or of requests, and none of its rules looks at it."""
    records, facts = job.microdata, {type(fact) for t in job.tables for rule in t.rules for fact in rule.facts}
    asked = {
        "waiver": (Unwaived, "say `waivers: true` in `p_percent` or `prior_posterior`"),
        "request": (Requested, "add the rule `request`"),
    }
    return [
        f"microdata: `{key}: {column}` is named, but no rule looks at it; {cure}, or leave it out"
        for key, (fact, cure) in asked.items()
        if (column := getattr(records, key, None)) is not None and fact not in facts
    ]


def rule_doubts(findings: Findings) -> list[str]:
    """Return the questions about the parameters of all rules; what looks like a share, their job has confirmed.

    Tables that cellguard added have the rules of those that the job lists.
    """
    asked: dict[str, list[Table]] = {}
    for here in (here for here in findings.by_table if not here.table.is_added):
        for doubt in (doubt for rule in here.rules for doubt in job_doubts(rule)):
            asked.setdefault(doubt, []).append(here.table)
    return [f"{_tables(tables)}: {doubt}" for doubt, tables in asked.items()]


def _tables(tables: Sequence[Table]) -> str:
    """Name tables at the start of a warning, which is reported once for all of them."""
    return f"table{'s' if len(tables) > 1 else ''} {listing([table.name for table in tables])}"


def no_rule(without: Sequence[str], tables: int) -> str:
    """Say to which tables no rule was applied; '' if there is none.

    >>> no_rule(["a"], 2), no_rule(["a"], 1)
    ("No rule was applied to 'a'", 'No rule was applied')
    """
    if not without:
        return ""
    return "No rule was applied" + (f" to {listing(without)}" if len(without) < tables else "")
