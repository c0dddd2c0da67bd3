"""Findings -> Requirements: how far from the true value an attacker's interval must reach."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cellguard.arrays import BoolArray, FloatArray
from cellguard.rules.all_of import parts
from cellguard.rules.assess import Findings, TableFindings
from cellguard.rules.rule import PROTECTION_PERCENT, Judgement, Rule
from cellguard.run_context import UNWATCHED, Run
from cellguard.table.propagate import tighten
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet
from cellguard.world.knowledge import Knowledge
from cellguard.world.world import World, see_world


@dataclass(frozen=True, eq=False)
class Requirements:
    """The protection levels of a set of tables, one entry per distinct cell; 0 for cells that are not unsafe.

    Parameters
    ----------
    world
        What lies behind all published cells, as the attacker models it.
    primary
        Which distinct cells are unsafe.
    lower, upper
        How far below and above the value the feasibility interval must reach.
    sliding
        How wide the feasibility interval must be.
    unprotectable
        Unsafe cells whose levels cannot be met even if every cell were suppressed; a set with any is not released.
    knowledge
        The a-priori bounds.
    accuracy
        How closely, in percent, no respondent may estimate a contribution of another.

    Examples
    --------
    >>> import cellguard as cg
    >>> t = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 2, 7]}, by=["r"], value="x", count="n")
    >>> cg.require(cg.assess(t, cg.MinFrequency(3)))
    <Requirements: 1 unsafe of 3 cells, 0 unprotectable>
    """

    world: World
    primary: BoolArray
    lower: FloatArray
    upper: FloatArray
    sliding: FloatArray
    unprotectable: BoolArray
    knowledge: Knowledge = field(default_factory=Knowledge)
    accuracy: FloatArray = field(default_factory=lambda: np.zeros(0))

    @property
    def tables(self) -> TableSet:
        """The linked set of tables."""
        return self.world.tables

    def __repr__(self) -> str:
        bad = int(self.unprotectable.sum())
        return f"<Requirements: {int(self.primary.sum())} unsafe of {len(self.tables)} cells, {bad} unprotectable>"


def require(findings: Findings, knowledge: Knowledge | None = None, *, run: Run = UNWATCHED) -> Requirements:
    """Return the protection levels of the unsafe cells, capped by the a-priori bounds.

    The upper level is the formula of the rule, or ``protection_percent`` of the value where the rule has none (of the
    sizes of all contributions, where some are negative). An unsafe frequency has a sliding level of one; where the
    rule keeps secret that it is small, the interval must reach a sufficient count. The lower level equals the upper
    one, unless given. Of several rules or tables the largest level holds. A cell whose levels are all below one unit
    of the last decimal gets a sliding level of one unit.

    Parameters
    ----------
    findings
        What the rules found.
    knowledge
        The a-priori bounds; by default values are not negative.
    run
        Progress and a way to stop.

    Returns
    -------
    Requirements
        The protection levels.

    Raises
    ------
    InputError
        If a value lies outside the a-priori bounds.

    References
    ----------
    Hundepool, A. et al. (2012). *Statistical Disclosure Control*. Wiley, section 4.2.2.

    Examples
    --------
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
    world = see_world(tables, knowledge, run=run)
    known_lower, known_upper = (bound[: len(tables)] for bound in (world.lower, world.upper))
    lower, upper, sliding, width = (np.zeros(len(tables)) for _ in range(4))
    hopeless, accuracy = np.zeros(len(tables), bool), np.zeros(len(tables))
    for here, cells in zip(findings.by_table, tables.cells_of, strict=True):
        accuracy[cells] = np.maximum(accuracy[cells], _accuracy(here))
        needs = _needs(here, findings.primary[cells])
        for whole, part in zip((lower, upper, sliding, width), needs[:4], strict=True):
            whole[cells] = np.maximum(whole[cells], part)
        hopeless[cells] |= needs.hopeless
    primary, value, unit = findings.primary, tables.value, tables.unit
    sliding = np.maximum(sliding, np.minimum(width, known_upper - known_lower))
    lower = np.where(primary, np.minimum(lower, value - known_lower), 0.0)
    upper = np.where(primary, np.minimum(upper, known_upper - value), 0.0)
    tiny = primary & (np.maximum(np.maximum(lower, upper), sliding) < unit * (1 - 1e-9))
    sliding = np.where(tiny, unit, np.where(primary, sliding, 0.0))
    least, most = (ends[: len(tables)] for ends in tighten(world.relations, world.lower, world.upper))
    slack = 1e-9 * np.maximum(np.abs(value), 1)
    too_much = (lower > value - least + slack) | (upper > most - value + slack) | (sliding > most - least + slack)
    bad = primary & (too_much | hopeless)
    return Requirements(world, primary, lower, upper, sliding, bad, knowledge, accuracy)


class _Needs(NamedTuple):
    """What one table's cells need before any cap; ``width`` is what rules ask for, ``sliding`` what counts do."""

    lower: FloatArray
    upper: FloatArray
    sliding: FloatArray
    width: FloatArray
    hopeless: BoolArray


def _needs(findings: TableFindings, primary: BoolArray) -> _Needs:
    """Return the protection levels of one table's cells; ``primary`` are those in the whole set."""
    table = findings.table
    said = table.apriori
    level, reach, fall, width = (np.zeros(len(table)) for _ in range(4))
    hopeless = np.zeros(len(table), bool)
    plain = findings.primary.copy()  # unsafe by no rule: must_suppress
    for rule, unsafe in zip(findings.rules, findings.unsafe, strict=True):
        for part in parts(rule):
            judged = part.look(table)
            level = np.where(unsafe, np.maximum(level, _level(part, judged, table)), level)
            reach = np.where(unsafe, np.maximum(reach, judged.reach), reach)
            fall = np.where(unsafe, np.maximum(fall, judged.fall), fall)
            width = np.where(unsafe, np.maximum(width, judged.width), width)
            hopeless |= unsafe & judged.hopeless
        plain &= ~unsafe
    if not table.is_count:
        level = np.where(plain, PROTECTION_PERCENT / 100 * table.facts.gross, level)
    level, reach, fall, width = (np.where(findings.primary, x, 0.0) for x in (level, reach, fall, width))
    upper = np.where(np.isnan(said.need_upper), np.maximum(level, reach), said.need_upper)
    lower = np.where(np.isnan(said.need_upper), np.maximum(level, fall), said.need_upper)
    lower = np.where(np.isnan(said.need_lower), lower, said.need_lower)
    sliding = np.full(len(table), 1.0 if table.is_count else 0.0)
    lower, upper, sliding, width = (np.where(primary, need, 0.0) for need in (lower, upper, sliding, width))
    return _Needs(lower, upper, sliding, width, hopeless & findings.primary)


def _accuracy(findings: TableFindings) -> FloatArray:
    """Return how closely nobody may come to a contribution: what the rules say that make a cell unsafe."""
    accuracy = np.where(findings.primary, PROTECTION_PERCENT, 0.0)
    ruled = np.zeros(len(accuracy))
    for rule, unsafe in zip(findings.rules, findings.unsafe, strict=True):
        ruled = np.where(unsafe, np.maximum(ruled, max(part.accuracy for part in parts(rule))), ruled)
    return np.where(findings.primary & (ruled > 0), ruled, accuracy)


def _level(rule: Rule, judged: Judgement, table: Table) -> FloatArray:
    """Return a rule's protection level: its formula, or a percentage of the value (none for counts, which slide)."""
    stand_in = 0.0 if table.is_count else rule.protection_percent / 100 * table.facts.gross
    return np.where(np.isnan(judged.level), stand_in, judged.level)
