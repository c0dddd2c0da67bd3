"""How a text file is written: its delimiter, decimal mark and encoding. What is not said is found out."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from cellguard.errors import InputError, listing
from cellguard.reading.vocabulary import is_number

DELIMITERS = ",;\t|"
_SAMPLE = 50


@dataclass(frozen=True)
class Dialect:
    """How a file is written; None means: find out. ``columns`` name those of a file without a header line.

    With ``fields`` its lines are cut at fixed places: each column has its start, from 1, and its width.
    """

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    columns: tuple[str, ...] = ()
    fields: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise InputError("`delimiter` must be one character, such as ';' (a tab is written \"\\t\")")
        if self.decimal not in {".", ",", None}:
            raise InputError("`decimal` must be '.' or ','")


def find_delimiter(lines: Sequence[str], name: str) -> str:
    r"""Return what separates the fields of a file: it cuts its first lines into equally many, and the first into most.

    >>> find_delimiter(['"a, b";c', "1;2,5"], "cells.csv"), find_delimiter(["code,label (x;y)", "A,b"], "labels.csv")
    (';', ',')
    """
    widths = {mark: _widths(lines, mark) for mark in DELIMITERS}
    cutting = [mark for mark in DELIMITERS if widths[mark][0] > 1]
    steady = [mark for mark in cutting if len(set(widths[mark])) == 1] or cutting
    most = max((widths[mark][0] for mark in steady), default=1)
    best = [mark for mark in steady if widths[mark][0] == most]
    if len(best) > 1:
        raise InputError(
            f"{name} line 1: the columns may be separated by {' or by '.join(map(repr, best))}; put names that hold "
            "such a character in quotes, or say `delimiter`"
        )
    return best[0] if best else ","


def read_header(lines: Iterable[str], name: str, delimiter: str | None = None) -> tuple[list[str], str]:
    """Return the column names of a file with a header line, and its delimiter."""
    sample = list(islice(lines, _SAMPLE))
    if not sample or not sample[0].removeprefix("\ufeff").strip():
        raise InputError(f"{name}: the file is empty; it needs a header line and rows")
    sample[0] = sample[0].removeprefix("\ufeff")
    found = delimiter or find_delimiter(sample, name)
    header = _fields(sample, found)[0]
    other = max(DELIMITERS, key=sample[0].count)
    if len(header) == 1 and other in header[0] and delimiter:
        raise InputError(
            f"{name}: the delimiter looks wrong: split at {delimiter!r} the header has one column, but it holds "
            f"{other!r}; say `delimiter: {other!r}`, or leave it out to have it found"
        )
    twice = sorted({column for column in header if header.count(column) > 1})
    if twice:
        if any(map(is_number, header)):
            raise InputError(f"{name}: the first line holds an entry twice, and numbers; does it have a header line?")
        raise InputError(f"{name}: the header names {listing(twice)} twice; give each column a name of its own")
    return header, found


def read_first(lines: Iterable[str], name: str, columns: Sequence[str], delimiter: str | None = None) -> str:
    """Return the delimiter of a file without a header line whose columns have these names, or refuse other rows."""
    sample = list(islice(lines, _SAMPLE))
    found = delimiter or find_delimiter(sample, name)
    fields = len(_fields(sample, found)[0])
    if fields != len(columns):
        raise InputError(f"{name} line 1: {fields} fields, but `columns` names {len(columns)}; name each column once")
    twice = sorted({column for column in columns if list(columns).count(column) > 1})
    if twice:
        raise InputError(f"{name}: `columns` names {listing(twice)} twice; give each column a name of its own")
    return found


def _widths(lines: Sequence[str], delimiter: str) -> list[int]:
    """Return the number of fields of each row; the last row may go on behind the sample, so it says nothing."""
    rows = [len(fields) for fields in _fields(lines, delimiter) if fields]
    return rows[:-1] if len(lines) == _SAMPLE and len(rows) > 1 else rows or [1]


def _fields(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    rows = []
    try:
        for row in csv.reader(lines, delimiter=delimiter):
            rows.append(row)
    except csv.Error:  # a field beyond all measure: what was read so far must do
        pass
    return rows or [[""]]
