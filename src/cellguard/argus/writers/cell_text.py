"""What all formats have in common: cells in the order of their codes; how codes, values and statuses are written."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cellguard.argus.own_table import EMPTY, SECONDARIES, UNSAFE, ArgusTable

_HIDDEN = frozenset((*UNSAFE, *SECONDARIES))


def all_cells(table: ArgusTable, *, skip_empty: bool = False) -> Iterator[tuple[tuple[int, ...], int]]:
    """Return the codes of each cell, as positions, and its row; -1 for an empty cell."""
    if skip_empty:
        for row in np.argsort(table.keys, kind="stable").tolist():
            if table.freq[row] > 0 or table.value[row] != 0:
                yield tuple(table.codes[row].tolist()), row
        return
    for key, index in enumerate(np.ndindex(*table.shape)):
        yield index, table.row_of.get(key, -1)


def labels(table: ArgusTable, *, quotes: bool) -> list[list[str]]:
    """Return how the codes of each variable are written; quotes in a code become apostrophes."""
    mark = '"' if quotes else ""
    return [[f"{mark}{code.replace(chr(34), chr(39))}{mark}" for code in s.tree.codes] for s in table.spanning]


def status_of(table: ArgusTable, row: int) -> int:
    """Return the status of a cell, empty ones included."""
    return EMPTY if row < 0 else int(table.status[row])


def number(value: float, decimals: int) -> str:
    """Return a number with so many decimals; there is no negative zero.

    >>> number(-0.001, 2), number(12.345, 1)
    ('0.00', '12.3')
    """
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if not text.strip("-0.") else text


def shown(table: ArgusTable, row: int, *, unsafe: bool) -> str:
    """Return the value of a cell: ``x`` if it is suppressed, unless ``unsafe`` asks for it; ``-`` if it is empty."""
    status = status_of(table, row)
    if status == EMPTY:
        return "-"
    if status in _HIDDEN and not unsafe:
        return "x"
    return number(float(table.value[row]), table.written)
