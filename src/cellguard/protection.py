"""Findings -> Requirements: how far from the true value an attacker's interval must reach."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cellguard.errors import InputError
from cellguard.rules.assess import Findings, TableFindings
from cellguard.rules.rule import PROTECTION_PERCENT, All, Rule
from cellguard.table.facts import BoolArray, FloatArray
from cellguard.table.propagate import tighten
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What an attacker knows of every cell beforehand: bounds for all, or the value to within ``percent``.

    The default is that values are not negative and otherwise unbounded. Bounds given for single cells replace these.
    """

    lower: float = 0.0
    upper: float = np.inf
    percent: float | None = None

    def __post_init__(self) -> None:
        if not self.lower < self.upper:
            raise InputError("attack: lower must be below upper")
        if self.percent is not None and not self.percent > 0:
            raise InputError(f"attack: percent must be above 0, not {self.percent:g}")


@dataclass(frozen=True, eq=False)
class Requirements:
    """What protection must achieve, one entry a distinct cell of the set; 0 for cells that are not unsafe.

    An attacker's interval of a primary must reach ``lower`` below and ``upper`` above its value and be ``sliding``
    wide. ``known_lower`` and ``known_upper`` are the attacker's a-priori bounds, which ``knowledge`` implies.
    ``unprotectable`` cells cannot get what they need even if every cell were hidden; a set with any is not released.
    """

    tables: TableSet
    primary: BoolArray
    lower: FloatArray
    upper: FloatArray
    sliding: FloatArray
    known_lower: FloatArray
    known_upper: FloatArray
    unprotectable: BoolArray
    knowledge: Knowledge = field(default_factory=Knowledge)

    def __repr__(self) -> str:
        bad = int(self.unprotectable.sum())
        return f"<Requirements: {int(self.primary.sum())} unsafe of {len(self.tables)} cells, {bad} unprotectable>"


def require(findings: Findings, knowledge: Knowledge | None = None) -> Requirements:
    """Return the protection that the unsafe cells need, capped by what the attacker knows anyway.

    The upper level is the rule's formula, or ``protection_percent`` of the value where it has none; a frequency
    instead needs an interval one wide. The lower level equals the upper one unless given. Several rules or tables on a
    cell: the maximum of each. A cell that would end with less than one unit of its last decimal on every side (a value
    of 0, say) needs an interval one unit wide.

    >>> from cellguard.rules.assess import assess
    >>> from cellguard.rules.linear import PPercent
    >>> from cellguard.table.read import cells
    >>> t = cells({"r": ["Total", "N", "S"], "x": [192, 92, 100], "x1": [81, 81, 30], "x2": [30, 5, 30]},
    ...           by=["r"], value="x", top=["x1", "x2"])
    >>> needs = require(assess(t, [PPercent(10)]))
    >>> needs.upper.round(6).tolist(), needs.lower.round(6).tolist()
    ([0.0, 2.1, 0.0], [0.0, 2.1, 0.0])
    """
    tables = findings.tables
    knowledge = knowledge or Knowledge()
    known_lower, known_upper = _bounds(tables, knowledge)
    lower, upper, sliding = (np.zeros(len(tables)) for _ in range(3))
    for here, cells in zip(findings.by_table, tables.cells_of, strict=True):
        for whole, part in zip((lower, upper, sliding), _needs(here, findings.primary[cells]), strict=True):
            whole[cells] = np.maximum(whole[cells], part)
    primary, value, unit = findings.primary, tables.value, tables.unit
    lower = np.where(primary, np.minimum(lower, value - known_lower), 0.0)
    upper = np.where(primary, np.minimum(upper, known_upper - value), 0.0)
    tiny = primary & (np.maximum(np.maximum(lower, upper), sliding) < unit * (1 - 1e-9))
    sliding = np.where(tiny, unit, np.where(primary, sliding, 0.0))
    least, most = tighten(tables.relations, known_lower, known_upper)
    slack = 1e-9 * np.maximum(np.abs(value), 1)
    too_much = (lower > value - least + slack) | (upper > most - value + slack) | (sliding > most - least + slack)
    bad = primary & too_much
    return Requirements(tables, primary, lower, upper, sliding, known_lower, known_upper, bad, knowledge)


def _needs(findings: TableFindings, primary: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the lower, upper and sliding needs of one table's cells, before any cap; ``primary`` in the whole set."""
    table = findings.table
    said = table.apriori
    upper = np.zeros(len(table))
    plain = findings.primary.copy()  # unsafe by no rule: must_suppress
    for rule, unsafe in zip(findings.rules, findings.unsafe, strict=True):
        for part in _parts(rule):
            upper = np.where(unsafe, np.maximum(upper, _level(part, table)), upper)
        plain &= ~unsafe
    if not table.is_count:
        upper = np.where(plain, PROTECTION_PERCENT / 100 * np.abs(table.value), upper)
    upper = np.where(findings.primary, upper, 0.0)
    upper = np.where(np.isnan(said.need_upper), upper, said.need_upper)
    lower = np.where(np.isnan(said.need_lower), upper, said.need_lower)
    sliding = np.full(len(table), 1.0 if table.is_count else 0.0)
    return np.where(primary, lower, 0.0), np.where(primary, upper, 0.0), np.where(primary, sliding, 0.0)


def _parts(rule: Rule) -> list[Rule]:
    """Return a rule, or the rules that an `all` is made of."""
    return [part for inner in rule.rules for part in _parts(inner)] if isinstance(rule, All) else [rule]


def _level(rule: Rule, table: Table) -> FloatArray:
    """Return a rule's protection level: its formula, or a percentage of the value (none for counts, which slide)."""
    stand_in = 0.0 if table.is_count else rule.protection_percent / 100 * np.abs(table.value)
    formula = rule.upper(table.facts)
    return np.where(np.isnan(formula), stand_in, formula)


def _bounds(tables: TableSet, knowledge: Knowledge) -> tuple[FloatArray, FloatArray]:
    """Return the attacker's a-priori bounds of the distinct cells; of several bounds on a cell the narrowest."""
    lower = np.full(len(tables), -np.inf)
    upper = np.full(len(tables), np.inf)
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        general_lower = np.full(len(table), knowledge.lower)
        general_upper = np.full(len(table), knowledge.upper)
        if knowledge.percent is not None:
            reach = knowledge.percent / 100 * np.abs(table.value)
            general_lower = np.maximum(general_lower, table.value - reach)
            general_upper = np.minimum(general_upper, table.value + reach)
        own_lower = np.where(np.isnan(table.apriori.lower), general_lower, table.apriori.lower)
        own_upper = np.where(np.isnan(table.apriori.upper), general_upper, table.apriori.upper)
        outside = (table.value < own_lower) | (table.value > own_upper)
        if outside.any():
            cell = int(np.flatnonzero(outside)[0])
            raise InputError(
                f"{table.where(cell)}: the value of {table.told_name(cell)} lies outside the bounds that the attacker "
                f"is said to know ({int(outside.sum())} cells do); correct `lower` and `upper`; for negative values "
                "say `attack: {lower: unbounded}`"
            )
        lower[cells] = np.maximum(lower[cells], own_lower)
        upper[cells] = np.minimum(upper[cells], own_upper)
    return lower, upper
