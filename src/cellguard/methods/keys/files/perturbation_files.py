"""Perturbation tables as files: those of the R package ptable, for τ-ARGUS, SAS or cellKey, and those of ONS.

ptable: a line per count ``i`` and published count ``j``, with the change ``v`` and the upper end ``p_int_ub`` (also
``p_ub`` or ``kum_p_o``) of its share of all keys; the separator is a semicolon, and the decimal mark a point or comma.
ONS: a line per count ``pcv`` and key ``ckey``, with the change ``pvalue``; counts above the last line take the last 250
lines by turns.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cellguard.errors import InputError
from cellguard.io.write import csv_text
from cellguard.methods.keys.files.table_lines import TableLines, read_lines
from cellguard.methods.keys.perturbation_table import PerturbationTable

_ONS = ("pcv", "ckey", "pvalue")
_ONS_PERIOD = 250
_MOST_LINES = 2_000_000


def read_table(path: Path) -> PerturbationTable:
    """Read a perturbation table of counts, whatever tool it is from; a fault is told with its line."""
    lines = read_lines(path, _MOST_LINES)
    if set(_ONS) <= set(lines.header):
        return _ons(lines)
    if lines.upper is None:
        raise InputError(
            f"{lines.name}: a perturbation table has the columns i, j, p, v and p_int_ub (of ptable and τ-ARGUS), or "
            f"pcv, ckey and pvalue (of ONS); this file has {', '.join(lines.header) or 'none'}"
        )
    return _ptable(lines, lines.upper)


def table_text(table: PerturbationTable) -> str:
    """Return a table as ptable writes it for τ-ARGUS, with all digits."""
    rows = [
        (count, count + int(change), repr(float(p)), int(change), repr(float(upper)))
        for count, (changes, ends) in enumerate(zip(table.changes, table.upper, strict=True))
        for change, p, upper in zip(changes, np.diff(ends, prepend=0.0), ends, strict=True)
    ]
    return csv_text(("i", "j", "p", "v", "p_int_ub"), rows).replace(",", ";")


def _ptable(said: TableLines, upper: str) -> PerturbationTable:
    if "type" in said.header:
        kinds = {said.entry(number, row, "type") for number, row in enumerate(said.rows, 2) if row}
        if kinds != {"all"}:
            raise InputError(
                f"{said.name}: this is a perturbation table of sums (`type` {', '.join(sorted(kinds))}), not of counts"
            )
    lines: dict[int, list[tuple[float, int]]] = {}
    for number, row in enumerate(said.rows, 2):
        if not row:
            continue
        count, change = (said.whole(number, row, column) for column in ("i", "v"))
        lines.setdefault(count, []).append((said.number(number, row, upper), change))
        if "j" in said.header and said.whole(number, row, "j") != count + change:
            raise InputError(f"{said.name} line {number}: j is not i + v")
    return _of_lines(said.name, {count: sorted(line) for count, line in lines.items()}, period=1)


def _ons(all_lines: TableLines) -> PerturbationTable:
    name = all_lines.name
    said = [
        tuple(all_lines.whole(number, row, column) for column in _ONS)
        for number, row in enumerate(all_lines.rows, 2)
        if row
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
