"""Which cells are unsafe by the rules of a batch, and how far they must be protected.

The rules are applied in the order (n,k), p %, request, frequency, zero: the first that holds names the status, and the
largest level of all counts, in the proportion of the response to what the rules look at. References: the manual of
τ-ARGUS 4.1, sections 2.2 and 2.5; Hundepool et al. (2012), *Statistical Disclosure Control*, table 4.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cellguard.argus.own_table import FREQ, MANUAL, REQUEST, RULE, SAFE, UNSAFE, ZERO, ArgusTable, Status
from cellguard.argus.safety_rule import Level, SafetyRule
from cellguard.arrays import BoolArray, FloatArray
from cellguard.rules.linear import Dominance, PPercent
from cellguard.rules.simple import Request as LargestShare
from cellguard.table.fact import Requested
from cellguard.table.facts import Facts


@dataclass(frozen=True, eq=False)
class Looked:
    """What the rules look at for one kind of contributor; ``freq`` is weighted if the rules are.

    ``asked`` are for each of the two codes of requests the cells whose largest contributor asked, ``any_asked`` those
    with anybody who did.
    """

    facts: Facts
    freq: FloatArray
    asked: Mapping[int, BoolArray] = field(default_factory=dict)
    any_asked: BoolArray | None = None


@dataclass(frozen=True, eq=False)
class Judged:
    """Status and protection levels of the cells."""

    status: Status
    lower: FloatArray
    upper: FloatArray


def judge(
    rule: SafetyRule,
    value: FloatArray,
    unit: float,
    looked: Looked | None,
    holdings: Looked | None,
    contributors: FloatArray,
) -> Judged:
    """Apply the rules to the cells of a table."""
    kinds = [
        (level, seen)
        for level, seen in ((rule.respondents, looked), (rule.holdings, holdings))
        if seen is not None and level.applies
    ]
    status = np.full(len(value), SAFE, np.int8)
    level = np.zeros(len(value))
    for kind, unsafe, wanted in [*_found(kinds, value)]:
        status[unsafe & (status == SAFE)] = kind
        level = np.where(unsafe, np.maximum(level, wanted), level)
    lower, upper = level.copy(), level
    if rule.zero is not None:
        zero = (value == 0) & (contributors > 0)
        status[zero & (status == SAFE)] = ZERO
        upper = np.where(zero, np.maximum(upper, rule.zero), upper)
    return Judged(status, *floored(status, lower, upper, unit))


def floored(status: Status, lower: FloatArray, upper: FloatArray, unit: float) -> tuple[FloatArray, FloatArray]:
    """Return levels of unsafe cells, a unit of the last decimal at least, but none below unsafe zeros; 0 elsewhere."""
    unsafe = np.isin(status, UNSAFE)
    up = np.where(unsafe, np.maximum(upper, unit), 0.0)
    down = np.where(unsafe & (status != ZERO), np.maximum(lower, unit), 0.0)
    return down, up


def manual_levels(table: ArgusTable, rows: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return the levels of a table with those of some rows set by the margin for cells that are unsafe by hand."""
    level = np.maximum(np.abs(table.value) * table.rule.manual / 100, table.unit)
    return np.where(rows, level, table.lower), np.where(rows, level, table.upper)


def _found(kinds: list[tuple[Level, Looked]], value: FloatArray) -> list[tuple[int, BoolArray, FloatArray]]:
    """Return for each rule, in their order, its status, the unsafe cells and their level."""
    found: list[tuple[int, BoolArray, FloatArray]] = []
    for level, seen in kinds:
        found += [_linear(Dominance(d.n, d.k), seen, value) for d in level.dominants if d.k < 100]
    for level, seen in kinds:
        found += [_linear(PPercent(100 * p.p / p.q, p.n), seen, value) for p in level.percents]
    for level, seen in kinds:
        found += _requests(level, seen, value)
    for level, seen in kinds:
        if level.frequent:
            few = (seen.freq > 0) & (seen.freq < level.frequent.n)
            found.append((FREQ, few, np.abs(value) * level.frequent.percent / 100))
    return found


def _linear(rule: Dominance | PPercent, seen: Looked, value: FloatArray) -> tuple[int, BoolArray, FloatArray]:
    """Return what a rule about the largest contributions finds; levels go with the response."""
    unsafe = rule.unsafe(seen.facts) & (seen.freq > 0)
    published = np.abs(seen.facts.total)
    share = np.divide(np.abs(value), published, out=np.ones(len(value)), where=published > 0)
    return RULE, unsafe, np.maximum(np.nan_to_num(rule.upper(seen.facts)), 0.0) * share


def _requests(level: Level, seen: Looked, value: FloatArray) -> list[tuple[int, BoolArray, FloatArray]]:
    if not level.requested:
        return []
    asked, unsafe = level.requested, np.zeros(len(value), bool)
    for number, percent in ((0, asked.first), (1, asked.second)):
        if number in seen.asked and 0 < percent < 100:
            unsafe |= LargestShare(percent).unsafe(seen.facts.plus({Requested(): seen.asked[number]}))
    if seen.any_asked is not None and asked.fewest > 0:
        unsafe |= seen.any_asked & (seen.freq > 0) & (seen.freq < asked.fewest)
    return [(REQUEST, unsafe, np.abs(value) * asked.percent / 100)]


__all__ = ["MANUAL", "Judged", "Looked", "floored", "judge", "manual_levels"]
