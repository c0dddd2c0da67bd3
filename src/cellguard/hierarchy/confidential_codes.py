"""Which entries of the data a message may show: codes, but neither values nor names of respondents.

A column may be taken for a dimension by mistake, and then its entries are confidential. So an entry is shown only where
there is evidence that its column holds codes: most of its entries are in a hierarchy, or nearly; or its total is a
word, which no column of values has; or its entries are few words, or few whole numbers, each of which comes often. A
number needs more evidence than a word. Where there is none, messages tell the line and the column only.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cellguard.errors import did_you_mean
from cellguard.reading.vocabulary import is_number

_MOSTLY, _NEARLY_ALL = 0.5, 0.9
_SAMPLE, _KNOWN, _NEAR = 10, 5_000, 0.6
_FEW_WORDS = 5
_MOST_NUMBERS = 1_000
_TIMES, _TIMES_EQUAL = 20, 3  # how often a number that is a code comes on average; the same, if all have as many digits


def named(code: str, where: str) -> str:
    """Return a code of a hierarchy's file in quotes; nothing for a number, which is reported by the file's line only.

    The file may be one of data by mistake, and then its numbers are values.

    >>> named("A1", "nace.csv line 4"), named("4711", "nace.csv line 4"), named("4711", "")
    ("'A1'", '', "'4711'")
    """
    return "" if where and is_number(code) else repr(code)


@dataclass(frozen=True)
class Evidence:
    """Whether the words, and whether the numbers, of a column may be shown."""

    words: bool = False
    numbers: bool = False

    def tell(self, text: str, otherwise: str) -> str:
        """Return an entry in quotes if it may be shown, else what to say in its place."""
        return repr(text) if (self.numbers if is_number(text) else self.words) else otherwise


def evidence(entries: Sequence[str], rows: int, known: Sequence[str]) -> Evidence:
    """Return what the known codes, the total first, say of the different entries of a column of so many rows.

    >>> evidence(["North", "South", "Nord"], 3, ["Total", "North", "South"])
    Evidence(words=True, numbers=False)
    >>> evidence(["60", "40", "5"], 22, ["Total", "foo"])
    Evidence(words=False, numbers=False)
    """
    if not entries or not known:
        return Evidence()
    if known[0] in entries and not is_number(known[0]):
        return Evidence(True, True)
    codes = set(known)
    share = sum(entry in codes for entry in entries) / len(entries)
    words = share >= _MOSTLY or not may_be_values(entries, rows)
    if not words:
        strange = [entry for entry in entries if entry not in codes][:_SAMPLE]
        near = [not is_number(e) and bool(difflib.get_close_matches(e, known[:_KNOWN], 1, _NEAR)) for e in strange]
        words = share + (1 - share) * sum(near) / len(near) >= _MOSTLY
    return Evidence(words, share >= _NEARLY_ALL)


def may_be_values(codes: Collection[str], rows: int, total: str = "") -> bool:
    """Return whether what was taken for codes, in a column of so many rows, may be values or names of respondents.

    If the ``total`` is among them and is a word, they are codes.

    >>> may_be_values(["60", "40", "5"], 22), may_be_values(["2023", "2024"], 22), may_be_values(["N", "S"], 2)
    (True, False, False)
    """
    if total and total in codes and not is_number(total):
        return False
    numbers = [code for code in codes if is_number(code)]
    if 2 * len(numbers) <= len(codes):
        return len(codes) > _FEW_WORDS and 2 * len(codes) > rows
    times = _TIMES_EQUAL if len({len(code) for code in numbers}) == 1 else _TIMES
    whole = all(code.isdecimal() for code in numbers)
    return not whole or len(numbers) > _MOST_NUMBERS or times * len(codes) > rows


def suggestion(word: str, entries: Collection[str], rows: int) -> str:
    """Return 'did you mean' among the different entries of a column, if they may be shown."""
    return "" if may_be_values(entries, rows) else did_you_mean(word, entries)


def suggested_column(name: str, columns: Sequence[str]) -> str:
    """Return 'did you mean' among columns; if some are called like numbers, these may be the first row of the data."""
    if any(map(is_number, columns)):
        return "; some columns are called like numbers, so none is shown here: does the file have a header line?"
    return did_you_mean(name, columns)
