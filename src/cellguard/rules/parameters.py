"""The parameters of rules: how they are written, and which values are refused."""

from __future__ import annotations

import numpy as np

from cellguard.errors import InputError


def percent(value: float) -> str:
    """Write a parameter as people do: 10, not 10.0."""
    return f"{value:g}"


def options(inclusive: bool = False, zero_unsafe: bool = False) -> str:
    """Write the switches that differ from the default."""
    return (", inclusive" if inclusive else "") + (", zeros unsafe" if zero_unsafe else "")


def whole_number(value: object) -> object:
    """Return 3 for 3.0 and for a whole number of numpy; anything else as it is.

    >>> whole_number(3.0), whole_number(2.5), whole_number(np.int64(4))
    (3, 2.5, 4)
    """
    if isinstance(value, (float, np.integer)) and np.isfinite(value) and value == int(value):
        return int(value)
    return value


def check_whole(rule: str, name: str, value: int, least: int) -> None:
    """Refuse a parameter that is not a whole number, or too small."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{rule}: {name} must be {least} or more, and whole, not {value!r}")


def check_percent(rule: str, value: float) -> None:
    """Refuse a ``protection_percent`` that protects nothing, or is none."""
    if not 0 < value < np.inf:
        raise InputError(f"{rule}: protection_percent must be above 0 and finite, not {percent(value)}")


def check_share(rule: str, k: float) -> None:
    """Refuse a share that no part of a total can exceed, or every part does."""
    if not 0 < k < 100:
        raise InputError(f"{rule}: k must be above 0 and below 100 percent, not {percent(k)}")
