"""The decimal mark of a file that does not say it, found in the numbers themselves.

``12,5`` can only be a decimal comma. ``1,234`` may be 1.234 or one thousand and more, and where some numbers have a
point and others a comma, one of the two separates thousands: nobody can tell, so nobody guesses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mark = Literal[".", ","]
_POWER = r"([eE][+-]?[0-9]+)?"
WITH_POINT = rf"^[+-]?([0-9]+\.[0-9]*|\.[0-9]+){_POWER}$"
WITH_COMMA = rf"^[+-]?([0-9]+,[0-9]*|,[0-9]+){_POWER}$"
MAYBE_THOUSANDS = r"^[+-]?[1-9][0-9]{0,2},[0-9]{3}$"
NO_SEPARATORS = "write numbers without thousands separators, units or signs of suppression"


@dataclass(frozen=True)
class Marks:
    """How many numbers of a file have a point, how many a comma, and how many of those may mean thousands by it."""

    points: int = 0
    commas: int = 0
    maybe_thousands: int = 0

    @property
    def decimal(self) -> Mark | None:
        """The decimal mark, or None if it cannot be told. Numbers without any mark have a point.

        >>> Marks(points=3).decimal, Marks(commas=3, maybe_thousands=1).decimal
        ('.', ',')
        >>> Marks(commas=1, maybe_thousands=1).decimal, Marks(points=1, commas=1).decimal
        (None, None)
        """
        if not self.commas:
            return "."
        return None if self.points or self.commas == self.maybe_thousands else ","

    @property
    def doubt(self) -> str:
        """What to add to the message about a number, where the decimal mark cannot be told."""
        if self.points:
            return "; some numbers have a '.' and some a ',': write one decimal mark, and no thousands separators"
        return "; ',' may separate thousands here: write numbers without separators, or say `decimal: ','`"


def other_mark(decimal: str) -> Mark:
    """Return the mark that is not the decimal one."""
    return "," if decimal == "." else "."


def hint(decimal: str, *, other_seen: bool) -> str:
    """Return what to add to the message about an entry that is no number: perhaps the other decimal mark is meant."""
    if not other_seen:
        return f"; {NO_SEPARATORS}"
    other = other_mark(decimal)
    return f"; if {other!r} is the decimal mark of the file, say `decimal: {other!r}`"
