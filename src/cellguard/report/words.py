"""Numbers, rules and shares as people write them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cellguard.rules.linear import Dominance, PPercent, PriorPosterior
from cellguard.rules.rule import All, Rule, parts
from cellguard.rules.simple import Given, MaxShare, MinFrequency, Request


def number(value: float, decimals: int = 0) -> str:
    """Write a number with separators between thousands.

    >>> number(1234567.5, 1), number(float("inf"))
    ('1,234,567.5', 'no end')
    """
    if np.isnan(value):
        return "–"
    return "no end" if np.isinf(value) else f"{value:,.{decimals}f}"


def short(value: float) -> str:
    """Write a number with about four digits that count, and never with an exponent.

    >>> short(22_241.7), short(0.012345), short(0.0)
    ('22,242', '0.01235', '0')
    """
    if value == 0 or not np.isfinite(value):
        return number(value)
    return number(value, max(3 - int(np.floor(np.log10(abs(value)))), 0))


def share(part: float, whole: float) -> str:
    """Write a share in percent; a share of nothing is a dash, and a small one is not rounded to nothing.

    >>> share(1, 8), share(0, 0), share(1, 100_000), share(99_999, 100_000)
    ('12.5 %', '–', '< 0.1 %', '> 99.9 %')
    """
    if not whole:
        return "–"
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "< 0.1 %"
    if 99.9 < percent < 100:
        return "> 99.9 %"
    return f"{percent:.1f} %"


def many(count: int, one: str, more: str | None = None) -> str:
    """Write how many there are of something.

    >>> many(1, "cell"), many(1200, "cell"), many(0, "entry", "entries")
    ('1 cell', '1,200 cells', '0 entries')
    """
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def seconds(amount: float) -> str:
    """Write a time: short ones with two decimals, long ones in minutes.

    >>> seconds(0.004), seconds(12.34), seconds(150)
    ('< 0.01 s', '12.3 s', '2 min 30 s')
    """
    if amount < 0.01:
        return "< 0.01 s"
    if amount < 10:
        return f"{amount:.2f} s"
    return f"{amount:.1f} s" if amount < 120 else f"{amount // 60:.0f} min {amount % 60:.0f} s"


def rule_in_words(rule: Rule) -> str:
    """Say when a rule calls a cell unsafe; a rule without words of its own by its name.

    >>> rule_in_words(PPercent(10))
    'the runner-up can estimate the largest respondent to within 10 %'
    """
    match rule:
        case All(rules=rules):
            return ", and ".join(rule_in_words(part) for part in rules)
        case MinFrequency(n=n, inclusive=inclusive):
            return f"{n} or fewer respondents" if inclusive else f"fewer than {n} respondents"
        case Dominance(n=n, k=k):
            return f"the {n} largest respondents make up more than {k:g} % of the value"
        case MaxShare(k=k):
            return f"the largest respondent makes up more than {k:g} % of the value"
        case PPercent(p=p, coalition=1):
            return f"the runner-up can estimate the largest respondent to within {p:g} %"
        case PPercent(p=p, coalition=coalition):
            return f"the {coalition} next largest together can estimate the largest respondent to within {p:g} %"
        case PriorPosterior(p=p, q=q):
            return f"knowing all others to within {q:g} %, one can estimate the largest respondent to within {p:g} %"
        case Request(k=k):
            return f"the largest respondent asked for protection and makes up more than {k:g} % of the value"
        case Given(column=column):
            return f"marked in the column {column}"
        case _:
            return str(rule)


def promise_of_counts(rules: Iterable[Rule]) -> str:
    """Say what an attacker cannot find out about the unsafe counts of a table.

    >>> promise_of_counts([MinFrequency(3, hide="small")])
    'nobody can tell that an unsafe count is below 3'
    """
    enough = [p.enough for rule in rules for p in parts(rule) if isinstance(p, MinFrequency) and p.hide == "small"]
    if enough:
        return f"nobody can tell that an unsafe count is below {max(enough)}"
    return "nobody can tell an unsafe count exactly; that it is small, 1 or 2, may show (hide: small hides that too)"
