"""What a terminal shows: lines of text, and tables of words and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Board:
    """A table on a terminal; the columns in ``numbers`` are aligned to the right."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Sequence[int] = ()


Screen = Sequence[str | Board]


def counted(number: int, one: str) -> str:
    """Return a number with the word for what is counted, in the singular where there is one.

    >>> counted(1, "relation"), counted(2000, "witness"), counted(0, "cell")
    ('1 relation', '2,000 witnesses', '0 cells')
    """
    word = one if number == 1 else one + ("es" if one.endswith("s") else "s")
    return f"{number:,} {word}"
