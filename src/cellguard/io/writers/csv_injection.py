"""The guard of codes that a spreadsheet would run as a formula, which the CSV files of a release are written with."""

from __future__ import annotations

import re

from cellguard.table.pattern import ReleasedTable

# The signs that open a formula, those of full width too; apostrophes before one count, so that there is a way back.
_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def guarded(code: str) -> str:
    """Return a code as a release writes it: with an apostrophe in front if a spreadsheet would run it.

    >>> guarded("=1+1"), guarded("-5"), guarded("North"), guarded("'s-Hertogenbosch")
    ("'=1+1", "'-5", 'North', "'s-Hertogenbosch")
    """
    return "'" + code if _FORMULA.match(code) else code


def unguarded(text: str) -> str:
    """Return the code that a guarded text stands for; a code that itself begins with '= is written as ''=.

    >>> unguarded("'=1+1"), unguarded(guarded("'=1+1")), unguarded("'s-Hertogenbosch")
    ('=1+1', "'=1+1", "'s-Hertogenbosch")
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def written_codes(table: ReleasedTable, *, raw: bool) -> tuple[list[list[str]], list[str]]:
    """Return the code columns of a release as they are written, and the dimensions in which a code is guarded."""
    columns = [column.tolist() for column in table.codes]
    if raw:
        return columns, []
    safe = [[guarded(code) for code in column] for column in columns]
    return safe, [name for name, old, new in zip(table.by, columns, safe, strict=True) if old != new]
