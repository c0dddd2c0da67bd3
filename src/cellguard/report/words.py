"""Numbers, promises and shares as people write them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cellguard.rules.all_of import parts
from cellguard.rules.rule import Rule


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


def told_count(low: float, high: float) -> str:
    """Describe what an attacker can tell of a count, all of whose possible values lie between two whole
    numbers.

    >>> [told_count(*ends) for ends in ((3, 3), (1, 2), (0, 4), (2, 9), (5, np.inf), (0, np.inf))]
    ['exactly 3', '1 or 2', 'at most 4', '2 to 9', 'at least 5', 'nothing']
    """
    if low == high:
        return f"exactly {number(low)}"
    if high == low + 1:
        return f"{number(low)} or {number(high)}"
    if np.isinf(high):
        return f"at least {number(low)}" if low > 0 else "nothing"
    return f"at most {number(high)}" if low <= 0 else f"{number(low)} to {number(high)}"


def promise_of_counts(rules: Iterable[Rule]) -> str:
    """Describe what an attacker cannot find out about the unsafe counts of a table.

    >>> from cellguard.rules.simple import MinFrequency
    >>> promise_of_counts([MinFrequency(3, hide="small")])
    'an attacker cannot conclude that an unsafe count is below 3'
    """
    every = [part for rule in rules for part in parts(rule)]
    enough = [part.hides_below for part in every if part.hides_below is not None]
    if enough:
        promise = f"an attacker cannot conclude that an unsafe count is below {max(enough)}"
    else:
        promise = (
            "an attacker cannot conclude an unsafe count exactly; that it is small, 1 or 2, may show (hide: small "
            "protects that too)"
        )
    return "; ".join([promise, *dict.fromkeys(part.promise for part in every if part.promise)])
