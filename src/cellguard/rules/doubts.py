"""Parameters that are allowed but look like a mistake: a percentage below 1 is mostly a share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cellguard.rules.rule import Rule


def doubts(table: str, rules: Iterable[Rule]) -> list[str]:
    """Return what the rules of a job's table ask about their own parameters.

    >>> from cellguard.rules.linear import Dominance, PPercent
    >>> doubts("t", [PPercent(0.1), Dominance(1, 85)])
    ["table 't': the rule p_percent 0.1: p is 0.1 %; did you mean 10 %? (the job confirms it)"]
    """
    return [f"table {table!r}: {doubt}" for rule in rules for doubt in job_doubts(rule)]


def job_doubts(rule: Rule) -> list[str]:
    """Return what a rule of a job asks: a percentage below 1 gets there only if the job confirms it."""
    return [f"{doubt} (the job confirms it)" if doubt.endswith("%?") else doubt for doubt in rule.doubts()]


def small_percent(name: str, value: float) -> str:
    """Return the question about a percentage below 1.

    >>> small_percent("k", 0.85)
    'k is 0.85 %; did you mean 85 %?'
    """
    return f"{name} is {value:g} %; did you mean {100 * value:g} %?"
