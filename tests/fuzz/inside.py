"""Every respondent as an attacker of a release: what it adds to the cells that tables list, and what others must keep.

Respondent h knows its own part y of every listed cell: the cell is y or more, and known if nobody else is in it. Of an
unsafe cell of value v whose largest other respondent gives x it must not come nearer to x than the rules allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.attack import Attack, Disclosure, Goal
from fuzz.cases import Case
from fuzz.judge import Unsafe, amounts, has_holdings, make_attack, members, unsafe_cells
from fuzz.public import Axis, Codes, read_shown
from fuzz.rules import PERCENT
from fuzz.worlds import ALL, Facts, Knowledge, Rows, gather, make_space, response


def respondents(case: Case) -> list[str]:
    """Who each record belongs to: its holding, or itself."""
    return list(case.records.holding) if has_holdings(case) else [str(i) for i in range(len(case.records))]


def inside_disclosures(
    case: Case,
    release: Path,
    know: Knowledge = ALL,
    *,
    most: int = 12,
    size: int = 1,
    unsafe: Sequence[Unsafe] | None = None,
) -> list[Disclosure]:
    """What some respondents, those with most listed cells, can work out of others and must not; ``size`` together.

    ``unsafe`` are the cells that the release claims to protect, all of them unless said.
    """
    unsafe = unsafe_cells(case) if unsafe is None else unsafe
    tables = read_shown(case, release)
    if not unsafe:
        return []
    space = make_space(tables, [(cell.axes, cell.codes) for cell in unsafe], know)
    facts, truth = gather(space, tables), make_attack(case, tables, unsafe, know)[0].truth
    hidden = [(t, codes) for t in tables for codes, value in t.rows.items() if value is None]
    parts = [_parts(case, t.axes, codes, t.response_key.column) for t, codes in hidden]
    many: dict[str, int] = {}
    for part in parts:
        for who in part:
            many[who] = many.get(who, 0) + 1
    found = []
    for together in combinations(sorted(many, key=lambda h: (-many[h], h))[:most], size):
        known: dict[str, list[tuple[np.ndarray, float, float]]] = {}
        for (table, codes), part in zip(hidden, parts, strict=True):
            own = [part[who] for who in together if who in part]
            if own:
                cell = space.cell(table.axes, [a.below[c] for a, c in zip(table.axes, codes, strict=True)])
                alone = len(part) == len(own)
                known.setdefault(response(table.response_key, know), []).append(
                    (cell, sum(own), sum(own) if alone else np.inf)
                )
        goals = [goal for cell in unsafe if (goal := _goal(case, cell, together, space, know)) is not None]
        found += Attack(_with(facts, known), truth).disclosures(goals)
    return found


def is_told(case: Case) -> bool:
    """Whether the records tell all that respondents know, and nothing is said of single cells beforehand."""
    return not any("apriori" in spec or "cells" in spec for spec in case.job["tables"])


def _parts(case: Case, axes: Sequence[Axis], codes: Codes, column: str) -> dict[str, int]:
    """What each respondent gives to a cell."""
    owner, worth = respondents(case), amounts(case.records, column)
    parts: dict[str, int] = {}
    for i in members(case.records, axes, codes):
        parts[owner[i]] = parts.get(owner[i], 0) + worth[i]
    return parts


def _with(facts: Facts, known: Mapping[str, list[tuple[np.ndarray, float, float]]]) -> Facts:
    sums = dict(facts.sums)
    for name, more in known.items():
        cells, lower, upper = zip(*more, strict=True)
        old = sums[name]
        sums[name] = Rows(
            np.concatenate([old.matrix, np.array(cells)]),
            np.concatenate([old.lower, lower]),
            np.concatenate([old.upper, upper]),
        )
    return replace(facts, sums=sums)


def _goal(case: Case, cell: Unsafe, together: Sequence[str], space: Any, know: Knowledge) -> Goal | None:
    """What an unsafe cell needs against some respondents together; None if nobody else is in it."""
    parts, who = _parts(case, cell.axes, cell.codes, cell.response_key.column), " and ".join(together)
    own, others = sum(parts.get(h, 0) for h in together), [x for h, x in parts.items() if h not in together]
    if not others:
        return None
    goal = cell.goal(space, know)
    if cell.response_key.is_count:
        return replace(goal, name=f"{goal.name} by {who}", lower=min(goal.lower, cell.value - own))
    level = max(own + (1 + _accuracy(case, cell) / 100) * max(others) - cell.value, 0)
    lower = min(level, cell.value - own)
    sliding = 1.0 if max(level, lower) < 1 - 1e-9 else 0.0
    return replace(goal, name=f"{goal.name} by {who}", lower=lower, upper=level, sliding=sliding)


def _accuracy(case: Case, cell: Unsafe) -> float:
    """The least that the rules of a cell's table ask for: p, or 10 % where a rule has none."""
    spec = next((s for s in case.job["tables"] if s["name"] == cell.table), None)
    shares = [rule["p_percent"] for rule in (spec or {"rules": []})["rules"] if "p_percent" in rule]
    values = [share["p"] if isinstance(share, Mapping) else share for share in shares]
    return min([PERCENT, *values])
