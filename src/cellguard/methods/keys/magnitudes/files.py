"""Perturbation tables of sums as files: those that the R package ptable writes, for τ-ARGUS or cellKey.

A line per figure ``i`` and published figure ``j``, with the change ``v``, the upper end ``p_int_ub`` of its share of
all keys, and the ``type`` of cells: all, or even and odd; small_cells (or small) beside them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cellguard.errors import InputError
from cellguard.io.write import csv_text
from cellguard.methods.keys.files.table_lines import read_lines
from cellguard.methods.keys.magnitudes.noise_table import ALL, EVEN, ODD, SMALL, NoiseTable, Row, Rows

_NAMES = {ALL: ALL, EVEN: EVEN, ODD: ODD, SMALL: SMALL, "small": SMALL}
_MOST_LINES = 500_000
HEADER = ("i", "j", "p", "v", "p_int_ub", "type")


def read_noise_table(path: Path) -> NoiseTable:
    """Read a perturbation table of sums; a fault is told with its line."""
    lines = read_lines(path, _MOST_LINES)
    if lines.upper is None:
        raise InputError(
            f"{lines.name}: a perturbation table of sums has the columns i, j, p, v, p_int_ub and type; this file has "
            f"{', '.join(lines.header) or 'none'}"
        )
    found: dict[str, dict[float, list[tuple[float, float]]]] = {}
    for number, row in enumerate(lines.rows, 2):
        if not row:
            continue
        said = lines.entry(number, row, "type") if "type" in lines.header else ALL
        kind = _NAMES.get(said)
        if kind is None:
            raise InputError(f"{lines.name} line {number}: the type is all, even, odd or small_cells, not {said!r}")
        figure, change, end = (lines.number(number, row, column) for column in ("i", "v", lines.upper))
        found.setdefault(kind, {}).setdefault(figure, []).append((end, change))
    kinds = {kind: _rows(rows) for kind, rows in found.items()}
    return NoiseTable(kinds, lines.name)


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
