"""Hierarchies and labels from CSV files: level columns, parent list, labels. τ-ARGUS ``.hrc`` is in `hrc`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cellguard.errors import HierarchyError, InputError, file_name
from cellguard.hierarchy.build import TOTAL, from_levels, from_parents
from cellguard.hierarchy.confidential_codes import named, suggested_column
from cellguard.hierarchy.hierarchy import NOTHING, Hierarchy
from cellguard.reading.csvfile import Listed, read_list


def read_levels(path: str | Path, *, total: str = TOTAL, labels: Mapping[str, str] = NOTHING) -> Hierarchy:
    """Read a CSV file with one column per level, coarsest first, and a header line."""
    _refuse_hrc(path, "levels")
    listed = read_list(path)
    if {name.strip().casefold() for name in listed.header} == {"code", "parent"}:
        raise HierarchyError(f"{listed.place.name}: has the columns code and parent; say `parents`, not `levels`")
    return from_levels(listed.rows, total=total, source=listed.place.name, lines=listed.place.lines, labels=labels)


def read_parents(path: str | Path, *, total: str | None = None, labels: Mapping[str, str] = NOTHING) -> Hierarchy:
    """Read a CSV file with columns ``code`` and ``parent``; the total is the code with a blank parent."""
    _refuse_hrc(path, "parents")
    listed = read_list(path)
    if not {"code", "parent"} & {name.strip().casefold() for name in listed.header} and len(listed.header) > 1:
        raise HierarchyError(
            f"{listed.place.name}: has no columns code and parent; a file with one column per level goes into `levels`"
        )
    code, parent = (_column(listed, name) for name in ("code", "parent"))
    pairs = ((row[code], row[parent]) for row in listed.rows)
    hierarchy = from_parents(pairs, source=listed.place.name, lines=listed.place.lines, labels=labels)
    if total is not None and hierarchy.total != total:
        known = named(hierarchy.total, file_name(path)) or "a number"
        raise HierarchyError(
            f"{file_name(path)}: the total is {known} (the code with a blank parent), not {total!r}; "
            f"write `total: {hierarchy.total if named(hierarchy.total, 'x') else 'CODE'}` or change the file"
        )
    return hierarchy


def read_labels(path: str | Path) -> Mapping[str, str]:
    """Read a CSV file with columns ``code`` and ``label``. Codes that no hierarchy has are allowed."""
    listed = read_list(path)
    code, label = (_column(listed, name) for name in ("code", "label"))
    return {row[code]: row[label] for row in listed.rows}


def _refuse_hrc(path: str | Path, key: str) -> None:
    """Refuse a file of τ-ARGUS where a CSV file is wanted."""
    if str(path).lower().endswith(".hrc"):
        raise HierarchyError(f"{file_name(path)}: a .hrc file goes into `hrc`, not into `{key}`")


def _column(listed: Listed, name: str) -> int:
    if name not in listed.header:
        raise InputError(f"{listed.place.name}: no column {name!r}{suggested_column(name, listed.header)}")
    return listed.header.index(name)
