"""The fixed columns of the files in an output folder, and what a dimension's column is called beside them."""

from __future__ import annotations

from collections.abc import Sequence

from cellguard.table.columns import MARK, all_headed

RELEASED = ("value", "flag")
CELLS = (
    "value",
    "count",
    "status",
    "reasons",
    "cost",
    "need_lower",
    "need_upper",
    "need_sliding",
    "interval_lower",
    "interval_upper",
)
INTERVAL = CELLS[-2:]


def released(by: Sequence[str]) -> list[str]:
    """Return the header of a released table.

    >>> released(["region", "value"])
    ['region', 'by:value', 'value', 'flag']
    """
    return [*all_headed(by, RELEASED), *RELEASED]


def cells(by: Sequence[str]) -> list[str]:
    """Return the header of a confidential table of cells."""
    return [*all_headed(by, CELLS), *CELLS]


def facts(by: Sequence[str]) -> list[str]:
    """Return what the dimensions' columns are called in a file of facts, which has columns named after the data."""
    return [MARK + name for name in by]
