"""Perturbation tables as files: those of the R package ptable, for τ-ARGUS, SAS or cellKey, and those of ONS.

ptable: a line per count ``i`` and published count ``j``, with the change ``v`` and the upper end ``p_int_ub`` (also
``p_ub`` or ``kum_p_o``) of its share of all keys; the separator is a semicolon, and the decimal mark a point or comma.
ONS: a line per count ``pcv`` and key ``ckey``, with the change ``pvalue``; counts above the last line take the last 250
lines by turns.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cellguard.errors import InputError, file_name
from cellguard.io.write import csv_text
from cellguard.methods.keys.perturbation_table import PerturbationTable

_UPPER = ("p_int_ub", "p_ub", "kum_p_o", "ub")
_ONS = ("pcv", "ckey", "pvalue")
_ONS_PERIOD = 250
_MOST_LINES = 2_000_000


def read_table(path: Path) -> PerturbationTable:
    """Read a perturbation table of counts, whatever tool it is from; a fault is told with its line."""
    name = file_name(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the perturbation table {name!r}: {error}") from None
    head = text.partition("\n")[0]
    separator = ";" if ";" in head else "\t" if "\t" in head else ","
    rows = list(csv.reader(text.splitlines(), delimiter=separator))
    header = [word.strip().strip('"').lower() for word in rows[0]] if rows else []
    if len(rows) > _MOST_LINES:
        raise InputError(f"{name}: a perturbation table has at most {_MOST_LINES:,} lines")
    if set(_ONS) <= set(header):
        return _ons(name, header, rows[1:])
    upper = next((word for word in _UPPER if word in header), None)
    if upper is None or not {"i", "v"} <= set(header):
        raise InputError(
            f"{name}: a perturbation table has the columns i, j, p, v and p_int_ub (of ptable and τ-ARGUS), or pcv, "
            f"ckey and pvalue (of ONS); this file has {', '.join(header) or 'none'}"
        )
    return _ptable(name, header, upper, rows[1:])


def table_text(table: PerturbationTable) -> str:
    """Return a table as ptable writes it for τ-ARGUS, with all digits."""
    rows = [
        (count, count + int(change), repr(float(p)), int(change), repr(float(upper)))
        for count, (changes, ends) in enumerate(zip(table.changes, table.upper, strict=True))
        for change, p, upper in zip(changes, np.diff(ends, prepend=0.0), ends, strict=True)
    ]
    return csv_text(("i", "j", "p", "v", "p_int_ub"), rows).replace(",", ";")


def _ptable(name: str, header: Sequence[str], upper: str, rows: Sequence[Sequence[str]]) -> PerturbationTable:
    if "type" in header:
        kinds = {row[header.index("type")].strip().strip('"') for row in rows if row}
        if kinds != {"all"}:
            raise InputError(
                f"{name}: this is a perturbation table of sums (`type` {', '.join(sorted(kinds))}), not of counts"
            )
    lines: dict[int, list[tuple[float, int]]] = {}
    for number, row in enumerate(rows, 2):
        if not row:
            continue
        count, change = (_whole(name, number, header, row, column) for column in ("i", "v"))
        lines.setdefault(count, []).append((_number(name, number, header, row, upper), change))
        if "j" in header and _whole(name, number, header, row, "j") != count + change:
            raise InputError(f"{name} line {number}: j is not i + v")
    return _of_lines(name, {count: sorted(line) for count, line in lines.items()}, period=1)


def _ons(name: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> PerturbationTable:
    said = [
        tuple(_whole(name, number, header, row, column) for column in _ONS) for number, row in enumerate(rows, 2) if row
    ]
    if not said:
        raise InputError(f"{name}: there are no lines")
    keys = max(key for _, key, _ in said) + 1
    lines: dict[int, list[tuple[float, int]]] = {}
    for count, key, change in sorted(said):
        line = lines.setdefault(count, [])
        if key != len(line):
            raise InputError(f"{name}: count {count} has no line, or two, for the key {len(line)}")
        line.append(((key + 1) / keys, change))
    short = next((count for count, line in lines.items() if len(line) != keys), None)
    if short is not None:
        raise InputError(f"{name}: count {short} has {len(lines[short])} of {keys} keys")
    return _of_lines(name, {0: [(1.0, 0)], **lines}, period=_ONS_PERIOD if max(lines) > _ONS_PERIOD else 1)


def _of_lines(name: str, lines: dict[int, list[tuple[float, int]]], *, period: int) -> PerturbationTable:
    counts = sorted(lines)
    if counts != list(range(len(counts))):
        missing = next(count for count in range(len(counts)) if count not in lines)
        raise InputError(f"{name}: there is no line for the count {missing}")
    changes = tuple(np.array([change for _, change in lines[count]], np.int64) for count in counts)
    upper = tuple(np.array([min(end, 1.0) for end, _ in lines[count]]) for count in counts)
    return PerturbationTable(changes, upper, name, period)


def _cell(name: str, number: int, header: Sequence[str], row: Sequence[str], column: str) -> str:
    if len(row) != len(header):
        raise InputError(f"{name} line {number}: {len(row)} entries, but the header has {len(header)}")
    return row[header.index(column)].strip().strip('"')


def _whole(name: str, number: int, header: Sequence[str], row: Sequence[str], column: str) -> int:
    value = _number(name, number, header, row, column)
    if value != int(value):
        raise InputError(f"{name} line {number}, column {column!r}: not a whole number")
    return int(value)


def _number(name: str, number: int, header: Sequence[str], row: Sequence[str], column: str) -> float:
    text = _cell(name, number, header, row, column)
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        raise InputError(f"{name} line {number}, column {column!r}: not a number") from None
    if not np.isfinite(value):
        raise InputError(f"{name} line {number}, column {column!r}: not a finite number")
    return value
