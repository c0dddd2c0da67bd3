"""Files of other programs as Arrow tables: Excel sheets, and SPSS, Stata and SAS files. Each kind needs an extra.

Such files say what is a number and what is text, but most keep whole numbers as decimals: columns of which all
numbers are whole become whole numbers, so that codes are read as 1 and not as 1.0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa

from cellguard.errors import InputError, MissingExtra, file_name
from cellguard.reading.excel import read_excel
from cellguard.reading.frames import from_mapping

_OLD_EXCEL = {".xls", ".xlsb", ".ods"}


def read_office(path: Path) -> pa.Table:
    """Return the columns of an Excel sheet (the first one) or of an SPSS, Stata or SAS file."""
    suffix, name = path.suffix.lower(), file_name(path)
    if suffix in _OLD_EXCEL:
        raise InputError(f"{name}: {suffix} files are not read; save it as .xlsx or CSV")
    try:
        columns = _READERS[suffix](path)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # whatever the libraries raise may quote the data, so only its kind is reported
        raise InputError(f"{name}: cannot be read ({type(error).__name__}); is it a whole {suffix} file?") from None
    return from_mapping({column: _plain(values) for column, values in columns.items()})


def value_labels(path: Path) -> Mapping[str, Mapping[str, str]]:
    """Return what an SPSS, Stata or SAS file calls the codes of each column; of any other file nothing."""
    if _READERS.get(path.suffix.lower()) is not _read_statistics:
        return {}
    columns = _statistics_reader(path)(str(path), metadataonly=True)[1].variable_value_labels
    return {
        name: {str(code): str(label) for code, label in zip(_plain(list(said)), said.values(), strict=True)}
        for name, said in columns.items()
    }


def _read_statistics(path: Path) -> Mapping[str, Sequence[Any]]:
    columns, _ = _statistics_reader(path)(str(path), output_format="dict")
    return {name: list(values) for name, values in columns.items()}


def _statistics_reader(path: Path) -> Callable[..., Any]:
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtra(
            f"{file_name(path)}: SPSS, Stata and SAS files need an extra: pip install 'cellguard[statfiles]'; or save "
            "it as CSV"
        ) from None
    reader = {".sav": "sav", ".zsav": "sav", ".por": "por", ".dta": "dta", ".sas7bdat": "sas7bdat", ".xpt": "xport"}
    read: Callable[..., Any] = getattr(pyreadstat, f"read_{reader[path.suffix.lower()]}")
    return read


_READERS: Mapping[str, Callable[[Path], Mapping[str, Sequence[Any]]]] = {
    ".xlsx": read_excel,
    ".xlsm": read_excel,
    **dict.fromkeys((".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt"), _read_statistics),
}
OFFICE = frozenset({*_READERS, *_OLD_EXCEL})


def _plain(values: Sequence[Any]) -> list[Any]:
    """Return a column with blanks as None, whole decimals as whole numbers if all are, and dates as text.

    >>> _plain([1.0, 2.0, float("nan")]), _plain([1.5, 2.0, ""]), _plain(["a", 1.0])
    ([1, 2, None], [1.5, 2.0, None], ['a', '1'])
    """
    plain = [None if v is None or v == "" or (isinstance(v, float) and math.isnan(v)) else _item(v) for v in values]
    filled = [v for v in plain if v is not None]
    if all(v.is_integer() for v in filled if isinstance(v, float)):
        plain = [int(v) if isinstance(v, float) else v for v in plain]
    if any(isinstance(v, str) for v in filled):
        return [None if v is None else str(v) for v in plain]
    return plain


def _item(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, date):
        return value.isoformat()
    return value.item() if hasattr(value, "item") else value
