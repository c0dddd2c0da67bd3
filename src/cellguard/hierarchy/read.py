"""Hierarchies from files: level columns, parent list and labels as CSV; τ-ARGUS ``.hrc`` is in `hrc`."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from cellguard.errors import HierarchyError, InputError, file_name
from cellguard.hierarchy.build import TOTAL, from_levels, from_parents
from cellguard.hierarchy.hierarchy import NOTHING, Hierarchy
from cellguard.hierarchy.hush import named, suggested_column


def read_levels(path: str | Path, *, total: str = TOTAL, labels: Mapping[str, str] = NOTHING) -> Hierarchy:
    """Read a CSV file with one column a level, coarsest first, and a header line."""
    _, rows = _read_csv(path)
    return from_levels(rows, total=total, source=file_name(path), first=2, labels=labels)


def read_parents(path: str | Path, *, total: str | None = None, labels: Mapping[str, str] = NOTHING) -> Hierarchy:
    """Read a CSV file with columns ``code`` and ``parent``; the total is the code with a blank parent."""
    header, rows = _read_csv(path)
    code, parent = (_column(path, header, name) for name in ("code", "parent"))
    hierarchy = from_parents(((row[code], row[parent]) for row in rows), source=file_name(path), first=2, labels=labels)
    if total is not None and hierarchy.total != total:
        found = named(hierarchy.total, file_name(path)) or "a number"
        raise HierarchyError(
            f"{file_name(path)}: the total is {found} (the code with a blank parent), not {total!r}; "
            f"write `total: {hierarchy.total if named(hierarchy.total, 'x') else 'CODE'}` or change the file"
        )
    return hierarchy


def read_labels(path: str | Path) -> Mapping[str, str]:
    """Read a CSV file with columns ``code`` and ``label``. Codes that no hierarchy has are allowed."""
    header, rows = _read_csv(path)
    code, label = (_column(path, header, name) for name in ("code", "label"))
    return {row[code]: row[label] for row in rows}


def read_text(path: str | Path) -> str:
    """Return the text of a small file, in UTF-8 with or without a byte order mark, or in Latin-1."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(f"no file {str(path)!r}; check its name and its folder") from None
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _read_csv(path: str | Path) -> tuple[Sequence[str], list[list[str]]]:
    lines = read_text(path).splitlines()
    if not lines or not lines[0].strip():
        raise InputError(f"{file_name(path)}: the file is empty; it needs a header line")
    delimiter = max(",;\t", key=lines[0].count)
    rows = list(csv.reader(lines, delimiter=delimiter))
    header = rows[0]
    while rows and not any(rows[-1]):
        rows.pop()
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise InputError(
                f"{file_name(path)} line {number}: {len(row)} fields, but the header has {len(header)}; "
                "each line needs one field a column"
            )
    if len(rows) == 1:
        raise InputError(f"{file_name(path)}: no rows below the header")
    return header, rows[1:]


def _column(path: str | Path, header: Sequence[str], name: str) -> int:
    if name not in header:
        raise InputError(f"{file_name(path)}: no column {name!r}{suggested_column(name, header)}")
    return header.index(name)
