"""What a page is about, and what a part of it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cellguard.attack.audit import Audit
from cellguard.headline import Headline, headline
from cellguard.protect.suppress.explain import Explanations
from cellguard.report.edge import Intervals, exact_intervals
from cellguard.rules.assess import Findings
from cellguard.table.pattern import STATUS
from cellguard.table.table import Table


@dataclass(frozen=True, eq=False)
class Case:
    """What a page is about: findings, audit and summary of a run, and perhaps why cells are hidden. Confidential.

    ``known`` counts the totals that the attacker was given, ``made`` says when the run was.
    """

    findings: Findings
    audit: Audit
    summary: Mapping[str, Any]
    explained: Explanations | None = None
    known: int = 0
    made: str = ""

    @cached_property
    def headline(self) -> Headline:
        """What is proven, and what was not checked."""
        return headline(self.findings, self.audit)

    @cached_property
    def intervals(self) -> Intervals | None:
        """The attacker's exact intervals, unless they are too many to work out for a page."""
        return exact_intervals(self.audit)

    def cell(self, cell: int) -> dict[str, str]:
        """Return a distinct cell as people read it: its table, its codes and what these are called."""
        tables = self.audit.needs.tables
        at, position = (int(a[cell]) for a in tables.first)
        return name_cell(tables.tables[at], position)

    def decimals(self, cell: int) -> int:
        """Return how many decimals a distinct cell is published with."""
        tables = self.audit.needs.tables
        return tables.tables[int(tables.first[0][cell])].decimals

    def status(self, cell: int) -> str:
        """Return the status of a distinct cell."""
        return STATUS[1] if self.audit.pattern.primary[cell] else STATUS[2]

    def reasons(self, cell: int) -> str:
        """Return the rules that make a distinct cell unsafe in the table that shows it first."""
        at, position = (int(a[cell]) for a in self.audit.needs.tables.first)
        return "; ".join(self.findings.by_table[at].why(position)) or "unsafe in a linked table"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page: where links lead, its heading, the template that shows it, and plain data for it."""

    name: str
    title: str
    data: Mapping[str, Any]

    @property
    def template(self) -> str:
        """The template's file."""
        return f"{self.name}.html"


def name_cell(table: Table, position: int) -> dict[str, str]:
    """Return a cell's table, codes and labels."""
    codes = [d.codes[c[position]] for d, c in zip(table.dimensions, table.codes, strict=True)]
    labels = [d.labels.get(code, "") for d, code in zip(table.dimensions, codes, strict=True)]
    return {"table": table.name, "codes": " / ".join(codes), "labels": " / ".join(filter(None, labels))}
