"""`CellCard`: all that is known of one cell before it is protected, as data for a page. Confidential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellguard.protection import Requirements
from cellguard.rules.assess import Findings, TableFindings
from cellguard.table.apriori import State

_MOST = 5


@dataclass(frozen=True)
class RuleFigure:
    """What a rule says of a cell: the rule, what its figure is, and on which side of the limit it is."""

    rule: str
    meaning: str
    figure: str
    unsafe: bool

    @classmethod
    def of(cls, here: TableFindings, number: int, position: int) -> RuleFigure:
        """Return what one of a table's rules says of a cell."""
        rule, unsafe = here.rules[number], bool(here.unsafe[number][position])
        return cls(str(rule), rule.words(), rule.figures(here.table, np.array([position]))[0], unsafe)


@dataclass(frozen=True)
class CellCard:
    """One cell: its codes, value and contributors, the figures of its rules, what it needs, what is said of it."""

    table: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]
    value: str
    count: int | None
    contributions: tuple[tuple[str, str], ...]
    rules: tuple[RuleFigure, ...]
    unsafe: bool
    reasons: tuple[str, ...]
    levels: Mapping[str, str]
    state: str
    cost: str
    exposed: tuple[str, float] | None

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            **{name: getattr(self, name) for name in self.__dataclass_fields__ if name != "rules"},
            "rules": [{k: getattr(rule, k) for k in rule.__dataclass_fields__} for rule in self.rules],
        }


def cell_card(findings: Findings, needs: Requirements, table: str, position: int) -> CellCard:
    """Return what is known of a cell of a table.

    ``exposed`` is what an attacker could do if it were published: "alone" reads the value of the only respondent,
    "two" leaves each of two with the other's, "near" says within how many percent the second largest respondent could
    estimate the largest.
    """
    here = findings[table]
    number = findings.tables.index(table)
    cell = int(findings.tables.cells_of[number][position])
    facts, own = here.table.facts, here.table
    said = own.apriori
    levels = {"lower": needs.lower, "upper": needs.upper, "sliding": needs.sliding}
    unsafe = bool(needs.primary[cell])
    codes = tuple(d.codes[c[position]] for d, c in zip(own.dimensions, own.codes, strict=True))
    return CellCard(
        table,
        codes,
        tuple(d.labels.get(code, "") for d, code in zip(own.dimensions, codes, strict=True)),
        f"{own.value[position]:,.{own.decimals}f}",
        None if facts.count is None else int(facts.count[position]),
        _contributions(here, position),
        tuple(RuleFigure.of(here, i, position) for i in range(len(here.rules))),
        unsafe,
        tuple(here.why(position) or (["unsafe in a linked table"] if unsafe else [])),
        {name: _amount(float(level[cell])) for name, level in levels.items() if unsafe and level[cell] > 0},
        State(int(said.state[position])).name if said.state[position] else "",
        _amount(float(said.cost[position])),
        _exposed(here, position),
    )


def _contributions(here: TableFindings, position: int) -> tuple[tuple[str, str], ...]:
    """Return the largest contributions with their shares of what they relate to, as far as they are known."""
    facts = here.table.facts
    if facts.tops is None or here.table.is_count:
        return ()
    whole, known = float(facts.basis[position]), facts.tops[position, :_MOST].tolist()
    found = [(amount, f"{100 * amount / whole:.1f} %" if whole > 0 else "") for amount in known if amount]
    return tuple((f"{amount:,.{here.table.decimals}f}", share) for amount, share in found)


def _exposed(here: TableFindings, position: int) -> tuple[str, float] | None:
    facts = here.table.facts
    many = None if facts.count is None else int(facts.count[position])
    if many == 1:
        return "alone", 0.0
    if here.table.is_count or facts.known_tops < 2:
        return None
    if many == 2:
        return "two", 0.0
    first, second = facts.top(1)[position], facts.top(2)[position]
    rest = float(facts.basis[position] - first - second)
    return ("near", 100 * max(rest, 0.0) / float(first)) if first > 0 else None


def _amount(value: float) -> str:
    return "" if np.isnan(value) else f"{value:,.10g}"
