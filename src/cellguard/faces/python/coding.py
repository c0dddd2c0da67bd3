"""Columns of any kind as codes: text in a fixed order, and back to what the column held."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cellguard.errors import InputError
from cellguard.job.names import dimension_fault, plain_name

BLANK = "(blank)"
MISSING = "Missing"  # the category of missing codes, as jobs call it


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as codes: its name in the job, what people call it, one code per record (null where missing).

    ``codes`` are the different codes in their order, ``labels`` what each of them was in the column.
    """

    name: str
    title: object
    column: pa.Array
    codes: tuple[str, ...]
    labels: Mapping[str, object]


def code_column(values: Any, name: str, title: object) -> Coded:  # noqa: ANN401
    """Return a column as codes: categories and intervals in their order, all else sorted.

    >>> coded = code_column([True, False, None, True], "old", "old")
    >>> coded.codes, coded.labels, coded.column.to_pylist()
    (('False', 'True'), {'False': False, 'True': True}, ['True', 'False', None, 'True'])
    """
    places, uniques = _factors(values, title)
    texts = [_text(value, title) for value in uniques]
    twice = sorted({text for text in texts if texts.count(text) > 1})
    if twice:
        raise InputError(
            f"the column {title!r} has two values that both read {twice[0]!r}; make them one, or rename one"
        )
    used = np.zeros(len(texts), bool)
    used[places[places >= 0]] = True
    index = pa.array(np.where(places < 0, 0, places), pa.int32(), mask=places < 0)
    column = pa.DictionaryArray.from_arrays(index, pa.array(texts, pa.string())).cast(pa.string())
    codes = tuple(text for text, there in zip(texts, used.tolist(), strict=True) if there)
    return Coded(name, title, column, codes, dict(zip(texts, uniques, strict=True)))


def _factors(values: Any, title: object) -> tuple[np.ndarray[Any, Any], list[Any]]:  # noqa: ANN401
    """Return for each record which of the sorted different values it has, -1 where it is missing."""
    if type(values).__module__.split(".")[0] == "pandas":
        return _of_pandas(values)
    try:
        array = pa.array(values) if not hasattr(values, "to_arrow") else values.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        array = pa.array([None if v is None or v != v else str(v) for v in values])
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    listed = pa.types.is_dictionary(array.type)  # of polars: categories in their order
    encoded = array if listed else array.dictionary_encode()
    uniques = encoded.dictionary.to_pylist()
    gone = np.array([value is None or value != value for value in uniques], bool)
    places = np.asarray(encoded.indices.cast(pa.int64()).fill_null(-1), np.int64)
    if not listed:
        order = sorted(np.flatnonzero(~gone).tolist(), key=lambda i: _sortable(uniques[i]))
        rank = np.full(len(uniques) + 1, -1, np.int64)
        rank[order] = np.arange(len(order))
        places, uniques = rank[places], [uniques[i] for i in order]
    if not len(places):
        raise InputError(f"the column {title!r} has no rows")
    return places, uniques


def _of_pandas(series: Any) -> tuple[np.ndarray[Any, Any], list[Any]]:  # noqa: ANN401
    import pandas as pd

    series = pd.Series(series)
    if isinstance(series.dtype, pd.CategoricalDtype):
        return series.cat.codes.to_numpy(np.int64), list(series.cat.categories)
    try:
        places, uniques = pd.factorize(series, sort=True)
    except TypeError:  # of several kinds
        places, uniques = pd.factorize(series)
        order = sorted(range(len(uniques)), key=lambda i: _sortable(uniques[i]))
        rank = np.full(len(uniques) + 1, -1, np.int64)
        rank[order] = np.arange(len(order))
        return rank[places], [uniques[i] for i in order]
    return np.asarray(places, np.int64), list(uniques)


def _sortable(value: object) -> tuple[int, Any]:
    if isinstance(value, (bool, int, float)):
        return 0, value
    if isinstance(value, (dt.date, dt.datetime)):
        return 1, value.isoformat()
    return 2, str(value)


def _text(value: Any, title: object) -> str:  # noqa: ANN401
    """Return a value as a code; a number with decimals is no code."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (float, np.floating)):
        if value != int(value):
            raise InputError(
                f"the column {title!r} holds decimal numbers, so nearly each record would be a cell of its own; group "
                "them first with pandas.cut, or make them text with .astype(str) if they are codes"
            )
        return str(int(value))
    if isinstance(value, dt.datetime) and (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0):
        return value.date().isoformat()
    if isinstance(value, (dt.date, dt.datetime)):
        return value.isoformat()
    return str(value).strip() or BLANK


def named_columns(
    given: Any,  # noqa: ANN401
    word: str,
    names: Sequence[object] | None,
    taken: Sequence[str],
) -> list[tuple[str, Any, Any]]:
    """Return one or several columns, each with its name in the job, what it is called, and its values.

    ``names`` go before the columns' own; one without a name is ``row_0`` or ``col_0``, as pandas has it.
    """
    several = isinstance(given, (list, tuple)) and bool(given) and all(map(is_column, given))
    columns = list(given) if several else [given]
    if names is not None and (isinstance(names, str) or len(names) != len(columns)):
        raise InputError(f"`{word}names` must be a list of {len(columns)}, one name per column, not {names!r}")
    found: list[tuple[str, Any, Any]] = []
    for number, column in enumerate(columns):
        if not is_column(column):
            raise InputError(
                f"`{'index' if word == 'row' else 'columns'}` must be a column, or a list of columns, as frame.region "
                f"or frame['region'], not {column!r}; for names of columns take cg.pivot_table(frame, index=..., "
                "columns=...)"
            )
        own = getattr(column, "name", None)
        title = names[number] if names is not None else f"{word}_{number}" if own is None else own
        used = [*taken, *(name for name, _, _ in found)]
        found.append((free_name(str(title), used), title, column))
    return found


def free_name(title: str, taken: Sequence[str]) -> str:
    """Return a name that a dimension can have, and none of the others has.

    >>> free_name("size/class", ["size_class"])
    'size_class_2'
    """
    plain = title if dimension_fault(title) is None else plain_name(title)
    lower = {name.lower() for name in taken}
    return next(n for i in range(1, len(lower) + 3) if (n := plain if i == 1 else f"{plain}_{i}").lower() not in lower)


def is_column(data: object) -> bool:
    """Return whether something is a column of values."""
    return not isinstance(data, (str, bytes, int, float, Mapping)) and hasattr(data, "__len__") and data is not None
