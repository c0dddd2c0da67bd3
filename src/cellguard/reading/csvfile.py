"""Lists in CSV files that fit into memory, and the line of each row of any CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from cellguard.errors import InputError, Place, file_name
from cellguard.reading.dialect import Dialect, read_header
from cellguard.reading.encodings import read_text

BROKEN_QUOTES = "a quotation mark opens here and is not closed, or text follows it; correct the quotes"
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Listed:
    """A list as text: the names of its columns, its rows, and where each stands."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    place: Place


def read_list(path: str | Path, dialect: Dialect | None = None) -> Listed:
    """Read a CSV file with a header line; blank lines are passed over, every other has one field a column."""
    name, dialect = file_name(path), dialect or Dialect()
    text = read_text(path, dialect.encoding)
    header, delimiter = read_header(text_lines(text), name, dialect.delimiter)
    numbered = [(line, row) for line, row in _numbered(text, delimiter, name) if len(row) > 1 or "".join(row).strip()]
    while not any(numbered[-1][1]):
        numbered.pop()
    for line, row in numbered:
        if len(row) != len(header):
            raise InputError(
                f"{name} line {line}: {len(row)} fields, but the header has {len(header)}; "
                "give each line one field a column"
            )
    if len(numbered) == 1:
        raise InputError(f"{name}: no rows below the header")
    lines, rows = zip(*numbered[1:], strict=True)
    return Listed(tuple(header), rows, Place(name, first=2, lines=lines))


def text_lines(text: str) -> Iterator[str]:
    """Return the lines of a text as files have them: at line feeds and carriage returns, at no other character."""
    return iter(io.StringIO(text, newline=""))


def line_numbers(file: BinaryIO, delimiter: str, rows: int, *, header: bool = True) -> tuple[int, ...]:
    """Return the rows' line numbers if blank lines or quoted line breaks make them other than consecutive.

    The file is closed.
    """
    if _count_lines(file) == rows + header:
        return ()
    file.seek(0)
    numbers, before = [], 0
    with io.TextIOWrapper(file, "utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, delimiter=delimiter)
        for row in reader:
            if row:
                numbers.append(before + 1)
            before = reader.line_num
    return tuple(numbers[header:])


def _numbered(text: str, delimiter: str, name: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    reader = csv.reader(text_lines(text), delimiter=delimiter, strict=True)
    before = 0
    try:
        for row in reader:
            yield before + 1, tuple(row)
            before = reader.line_num
    except csv.Error:
        # The library's own message may quote the data, so it must not get out.
        raise InputError(f"{name} line {before + 1}: {BROKEN_QUOTES}") from None


def _count_lines(file: BinaryIO) -> int:
    lines, last = 0, b"\n"
    while part := file.read(_CHUNK):
        lines += part.count(b"\n")
        last = part[-1:]
    return lines + (last != b"\n")
