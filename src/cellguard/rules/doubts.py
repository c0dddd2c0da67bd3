"""Parameters that are allowed but look like a mistake: a percentage below 1 is mostly a share."""

from __future__ import annotations

from collections.abc import Iterable

from cellguard.rules.rule import Rule, parts, percent

_PERCENTAGES = ("p", "q", "k", "protection_percent")


def doubts(table: str, rules: Iterable[Rule]) -> list[str]:
    """Ask whether percentages below 1 are meant in the rules of a table.

    >>> from cellguard.rules.linear import Dominance, PPercent
    >>> doubts("t", [PPercent(0.1), Dominance(1, 85)])
    ["table 't': the rule p_percent 0.1: p is 0.1 %; did you mean 10 %?"]
    """
    return [
        f"table {table!r}: the rule {part}: {small_percent(name, value)}"
        for rule in rules
        for part in parts(rule)
        for name in _PERCENTAGES
        if 0 < (value := getattr(part, name, 1.0)) < 1
    ]


def small_percent(name: str, value: float) -> str:
    """Return the question about a percentage below 1.

    >>> small_percent("k", 0.85)
    'k is 0.85 %; did you mean 85 %?'
    """
    return f"{name} is {percent(value)} %; did you mean {percent(100 * value)} %?"
