"""What a dimension's column is called in a file that has columns of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable

MARK = "by:"


def headed(dimension: str, fixed: Collection[str]) -> str:
    """Return the header of a dimension's column in a file whose other columns are called ``fixed``.

    It is the dimension's name, with ``by:`` in front if another column has that name. Two dimensions never get the same
    header, and none gets that of a fixed column.

    >>> headed("region", ("value", "flag")), headed("value", ("value", "flag")), headed("by:value", ("value", "flag"))
    ('region', 'by:value', 'by:by:value')
    """
    return MARK + dimension if dimension in fixed or dimension.startswith(MARK) else dimension


def all_headed(dimensions: Iterable[str], fixed: Collection[str]) -> list[str]:
    """Return the headers of several dimensions' columns, as `headed`."""
    return [headed(dimension, fixed) for dimension in dimensions]
