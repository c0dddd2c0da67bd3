"""Columns that are in memory already: a mapping of lists or arrays as an Arrow table."""

from __future__ import annotations

from collections.abc import Mapping, Sized

import pyarrow as pa

from cellguard.errors import InputError


def is_dataset(data: object) -> bool:
    """Tell whether data are an Arrow data set, without loading what makes them.

    >>> is_dataset({"x": [1]})
    False
    """
    return any(kind.__module__ == "pyarrow._dataset" and kind.__name__ == "Dataset" for kind in type(data).__mro__)


def from_mapping(data: Mapping[str, object]) -> pa.Table:
    """Return a mapping of columns as an Arrow table; columns of mixed kinds become text."""
    columns = {}
    for name, values in data.items():
        if isinstance(values, str) or not isinstance(values, Sized):
            raise InputError(f"column {name!r} must be a list or an array, one entry a row")
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            columns[name] = pa.array([None if v is None else str(v) for v in list(values)])  # type: ignore[call-overload]
    if len({len(values) for values in columns.values()}) > 1:
        raise InputError("the columns must be lists or arrays of one length")
    return pa.table(columns)
