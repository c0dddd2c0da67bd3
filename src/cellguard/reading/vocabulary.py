"""The words and numbers of text files: what means missing, yes, no, suppressed; what a number looks like.

All words are compared in small letters and without blanks at their ends. They hold for values and statements. A code is
missing only where it is blank: NA is a country, and `none` may be a class.
"""

from __future__ import annotations

import re

MISSING = ("", "nan", "na", "n/a", "null", "none", ".")
YES = ("1", "true", "yes", "y", "t")
NO = ("0", "false", "no", "n", "f", "")
HIDDEN = (*MISSING, "x", "c", "..", "...", "-", "*", "n.a.", ":")
YES_OR_NO = "expected yes or no (true/false, 1/0)"

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
INFINITE = r"(?i)^[+-]?inf(inity)?$"

_LIKE_A_NUMBER = re.compile(r"[\s€$£%+.,-]*\d[\d.,'_\s]*([eE][+-]?\d+)?[\s€$£%+-]*")


def is_missing(word: str | None) -> bool:
    """Return whether the entry of a value or a statement says nothing.

    >>> [is_missing(word) for word in (None, " ", "NA", ".", "0")]
    [True, True, True, True, False]
    """
    return word is None or word.strip().casefold() in MISSING


def is_number(text: str) -> bool:
    """Return whether a text is a number, however it is written; a class of sizes is none.

    >>> [is_number(text) for text in ("1 234,50", "-3e5", "01", "10-49", "A1", "")]
    [True, True, True, False, False, False]
    """
    return bool(_LIKE_A_NUMBER.fullmatch(text))
