"""The order of codes that no file puts in order. It never follows the data, since rows are released in this order."""

from __future__ import annotations

import re
from collections.abc import Iterable

_DIGITS = re.compile(r"([0-9]+)")
Key = tuple[list[str | tuple[int, str]], str]


def natural(code: str) -> Key:
    """Return a sorting key that reads runs of digits as numbers.

    >>> sorted(["250+", "10-49", "1-9", "50-249"], key=natural), sorted(["b10", "B2", "a"], key=natural)
    (['1-9', '10-49', '50-249', '250+'], ['a', 'B2', 'b10'])
    """
    # Texts and runs of digits alternate, so that like is always compared with like.
    parts = enumerate(_DIGITS.split(code))
    return [_number(part) if i % 2 else part.casefold() for i, part in parts], code


def in_code_order(codes: Iterable[str], listed: Iterable[str] = ()) -> list[str]:
    """Return different codes in the order of a code list, and those that it does not have behind, in natural order.

    >>> in_code_order(["10", "large", "2", "small"], ["small", "large"])
    ['small', 'large', '2', '10']
    """
    place = {code: i for i, code in enumerate(listed)}
    return sorted(codes, key=lambda code: (place.get(code, len(place)), natural(code)))


def _number(digits: str) -> tuple[int, str]:
    """Return a key of digits that orders them as numbers, however many they are."""
    plain = digits.lstrip("0")
    return len(plain), plain
