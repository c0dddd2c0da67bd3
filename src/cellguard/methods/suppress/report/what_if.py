"""What other parameters of the rules would mean: how many cells each would call unsafe, from facts that are known."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, get_type_hints

import numpy as np

from cellguard.errors import InputError
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.report.section import Section
from cellguard.rules.assess import TableFindings
from cellguard.rules.rule import Percent, Rule
from cellguard.seam.outcome import Outcome
from cellguard.table.apriori import State

_MOST_CELLS = 300_000
_FACTORS = (0.5, 1.0, 1.5, 2.0)
_LOOKED_AT = {"p", "k", "n", "s", "limit", "sign_ratio"}


def what_if(outcome: Outcome[SuppressionResult]) -> Section | None:
    """Show for each rule how many cells would be unsafe with parameters around the chosen one, all else as it is."""
    listed = (here for here in outcome.protected.findings.by_table if not here.table.is_added)
    tables = [_table(here) for here in listed if len(here.table) <= _MOST_CELLS]
    tables = [table for table in tables if table["rows"]]
    return Section("what_if", "What if", {"tables": tables}) if tables else None


def _table(here: TableFindings) -> dict[str, Any]:
    rows = []
    for number, rule in enumerate(here.rules):
        for name in _varied(rule):
            variants = [_variant(here, number, rule, name, value) for value in _around(rule, name)]
            told = [variant for variant in variants if variant]
            if len(told) > 1:
                rows.append({"rule": str(rule), "parameter": name, "variants": told})
    return {"name": here.table.name, "rows": rows}


def _varied(rule: Rule) -> list[str]:
    """Return the parameters that are worth a look: percentages, limits and the least number of respondents."""
    if not is_dataclass(rule):
        return []
    hints = get_type_hints(type(rule), include_extras=True)
    return [f.name for f in fields(rule) if f.name in _LOOKED_AT and hints[f.name] in (Percent, float, int)]


def _around(rule: Rule, name: str) -> list[float | int]:
    """Return the chosen value and some around it."""
    now = getattr(rule, name)
    if isinstance(now, int):
        return [now + step for step in (-1, 0, 1, 2) if now + step >= 1]
    if name == "k":
        return [now + step for step in (-10.0, -5.0, 0.0, 5.0) if 0 < now + step < 100]
    return [factor * now for factor in _FACTORS]


def _variant(here: TableFindings, number: int, rule: Rule, name: str, value: float) -> dict[str, Any] | None:
    try:
        other = replace(rule, **{name: value})  # type: ignore[type-var]
        if here.table.facts.missing(other.facts):
            return None
        unsafe = other.look(here.table).unsafe
    except (InputError, IndexError):
        return None
    rest = [u for i, u in enumerate(here.unsafe) if i != number]
    state = here.table.apriori
    said = np.logical_or.reduce([unsafe, *rest, state.has(State.must_suppress)]) & ~state.has(State.waived)
    return {"value": f"{value:g}", "unsafe": f"{int(said.sum()):,}", "chosen": value == getattr(rule, name)}
