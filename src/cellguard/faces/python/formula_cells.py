"""The cells of a formula where each row stands for several respondents: summed for each of its tables, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

import pyarrow as pa

from cellguard.errors import InputError
from cellguard.microdata.opened import Opened


def summed(opened: Opened, by: Sequence[str], numbers: Sequence[str]) -> pa.Table:
    """Return the sums of some columns over the codes of others, as texts with all their decimals.

    >>> from cellguard.microdata.sources import open_records
    >>> rows = {"a": ["x", "x", "y"], "b": ["p", "q", "p"], "n": [1, 2, 4], "v": [0.1, 0.2, 5]}
    >>> summed(open_records(rows), ["a"], ["n", "v"]).to_pydict()
    {'a': ['x', 'y'], 'n': ['3', '4'], 'v': ['0.3', '5.0']}
    """
    for name in numbers:
        opened.column(name)
    frame = opened.to_arrow()
    codes = [frame.column(name).to_pylist() for name in by]
    columns = [frame.column(name).to_pylist() for name in numbers]
    sums: dict[tuple[object, ...], list[Decimal]] = {}
    for row in range(len(frame)):
        key = tuple(column[row] for column in codes)
        found = sums.setdefault(key, [Decimal()] * len(numbers))
        for i, column in enumerate(columns):
            found[i] += _number(column[row], opened, row, numbers[i])
    keys = [pa.array([key[i] for key in sums], frame.schema.field(name).type) for i, name in enumerate(by)]
    texts = [pa.array([f"{found[i]:f}" for found in sums.values()]) for i in range(len(numbers))]
    return pa.table([*keys, *texts], names=[*by, *numbers])


def _number(entry: object, opened: Opened, row: int, column: str) -> Decimal:
    try:
        number = Decimal(str(entry).strip())
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise InputError(f"{opened.row(row)}, column {column}: there is no number; each row needs one")
    return number
