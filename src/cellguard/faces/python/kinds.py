"""Frames of any library at the border: into Arrow, and back to the kind that came in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from cellguard.errors import InputError
from cellguard.reading.frames import from_mapping, is_dataset


def kind_of(data: object) -> str:
    """Return the library that a frame is of: pandas, polars, duckdb, or pyarrow for all else."""
    library = type(data).__module__.split(".")[0].removeprefix("_")
    return library if library in {"pandas", "polars", "duckdb"} else "pyarrow"


def to_arrow(data: object) -> Any:  # noqa: ANN401
    """Return a frame as an Arrow table: pandas, polars, Arrow, a DuckDB relation or a mapping of columns. An Arrow data
    set stays what it is.

    >>> to_arrow({"region": ["N", "S"], "year": [1, 2]}).column_names
    ['region', 'year']
    """
    if is_dataset(data):
        return data
    if isinstance(data, Mapping):
        return from_mapping(data)
    if kind_of(data) == "pandas":
        return _from_pandas(data)
    if hasattr(data, "to_arrow_table"):  # a DuckDB relation
        return data.to_arrow_table()
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    raise InputError(
        f"cannot read {type(data).__name__}; give a pandas, polars or Arrow frame, a DuckDB relation, a mapping of "
        "columns, or a path"
    )


def _from_pandas(frame: Any) -> pa.Table:  # noqa: ANN401
    if not hasattr(frame, "columns"):
        raise InputError(f"this is a {type(frame).__name__} of pandas; give the whole frame, and name its columns")
    names = [str(name) for name in frame.columns]
    if not names:
        raise InputError("the frame has no columns; is it the right one?")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"the frame has the column {twice[0]!r} twice; rename one of them")
    return from_mapping({name: _column(frame.iloc[:, i]) for i, name in enumerate(names)})


def _column(series: Any) -> Any:  # noqa: ANN401
    """Return a column of a pandas frame; whole numbers that pandas holds as decimals because of gaps are whole."""
    try:
        column = pa.array(series, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return [None if _is_missing(value) else str(value) for value in series]
    if pa.types.is_dictionary(column.type):
        if isinstance(column.type.value_type, pa.BaseExtensionType):  # intervals of pandas.cut, as they read
            return [None if _is_missing(value) else str(value) for value in series]
        column = column.cast(column.type.value_type)
    return column


def _is_missing(value: object) -> bool:
    return value is None or value != value


def as_kind(table: pa.Table, kind: str) -> Any:  # noqa: ANN401
    """Return an Arrow table as a frame of a library."""
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars

        return polars.from_arrow(table)
    if kind == "duckdb":
        import duckdb

        return duckdb.from_arrow(table)
    return table


def released_frame(table: pa.Table, kind: str, *, counted: bool) -> Any:  # noqa: ANN401
    """Return a released table as a frame; counts are whole numbers, also beside missing ones."""
    if not counted:
        return as_kind(table, kind)
    place = table.column_names.index("value")
    table = table.set_column(place, "value", table["value"].cast(pa.int64()))
    if kind != "pandas" or not table["value"].null_count:
        return as_kind(table, kind)
    import pandas as pd

    return table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)


def is_path(data: object) -> bool:
    """Return whether data are named by a path."""
    return isinstance(data, (str, Path))
