"""Perturbation tables of sums as files: those that the R package ptable writes, for τ-ARGUS or cellKey.

A line per figure ``i`` and published figure ``j``, with the change ``v``, the upper end ``p_int_ub`` of its share of
all keys, and the ``type`` of cells: all, or even and odd; small_cells (or small) beside them.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from cellguard.errors import InputError, file_name
from cellguard.io.write import csv_text
from cellguard.methods.keys.magnitudes.noise_table import ALL, EVEN, ODD, SMALL, NoiseTable, Row, Rows

_UPPER = ("p_int_ub", "p_ub", "kum_p_o", "ub")
_NAMES = {ALL: ALL, EVEN: EVEN, ODD: ODD, SMALL: SMALL, "small": SMALL}
_MOST_LINES = 500_000
HEADER = ("i", "j", "p", "v", "p_int_ub", "type")


def read_noise_table(path: Path) -> NoiseTable:
    """Read a perturbation table of sums; a fault is told with its line."""
    name = file_name(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the perturbation table {name!r}: {error}") from None
    head = text.partition("\n")[0]
    separator = ";" if ";" in head else "\t" if "\t" in head else ","
    lines = list(csv.reader(text.splitlines(), delimiter=separator))
    header = [word.strip().strip('"').lower() for word in lines[0]] if lines else []
    if len(lines) > _MOST_LINES:
        raise InputError(f"{name}: a perturbation table has at most {_MOST_LINES:,} lines")
    upper = next((word for word in _UPPER if word in header), "")
    if not upper or not {"i", "v"} <= set(header):
        raise InputError(
            f"{name}: a perturbation table of sums has the columns i, j, p, v, p_int_ub and type; this file has "
            f"{', '.join(header) or 'none'}"
        )
    found: dict[str, dict[float, list[tuple[float, float]]]] = {}
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        if len(line) != len(header):
            raise InputError(f"{name} line {number}: {len(line)} entries, but the header has {len(header)}")
        said = {column: entry.strip().strip('"') for column, entry in zip(header, line, strict=True)}
        kind = _NAMES.get(said.get("type", ALL))
        if kind is None:
            raise InputError(f"{name} line {number}: the type is all, even, odd or small_cells, not {said['type']!r}")
        figure, change, end = (_number(name, number, column, said[column]) for column in ("i", "v", upper))
        found.setdefault(kind, {}).setdefault(figure, []).append((end, change))
    kinds = {kind: _rows(rows) for kind, rows in found.items()}
    return NoiseTable(kinds, name)


def noise_table_text(table: NoiseTable) -> str:
    """Return a table as ptable writes it, with all digits."""
    rows = [
        (f"{row.figure!r}", repr(row.figure + float(v)), repr(float(p)), repr(float(v)), repr(float(upper)), kind)
        for kind in sorted(table.kinds)
        for row in table.kinds[kind].rows
        for v, p, upper in zip(row.changes, np.diff(row.upper, prepend=0.0), row.upper, strict=True)
    ]
    return csv_text(HEADER, rows).replace(",", ";")


def _rows(found: dict[float, list[tuple[float, float]]]) -> Rows:
    rows, steps = [], []
    for figure in sorted(found):
        line = sorted(found[figure])
        # Changes of no probability share their upper end with the one before; their order then is that of the changes.
        changes, upper = np.array([v for _, v in line], float), np.array([min(u, 1.0) for u, _ in line], float)
        some = np.diff(upper, prepend=0.0) > 0
        rows.append(Row(figure, changes[some], upper[some]))
        steps += np.diff(changes[some]).tolist()
    return Rows(tuple(rows), float(min((s for s in steps if s > 0), default=1.0)))


def _number(name: str, number: int, column: str, text: str) -> float:
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        raise InputError(f"{name} line {number}, column {column!r}: not a number") from None
    if not np.isfinite(value):
        raise InputError(f"{name} line {number}, column {column!r}: not a finite number")
    return value
