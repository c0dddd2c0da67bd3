"""The release in further formats, beside its CSV files: typed Parquet columns and an Excel workbook."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.errors import InputError
from cellguard.io import layout
from cellguard.io.writers.excel import write_workbook
from cellguard.table.pattern import Release, ReleasedTable

WORKBOOK = "tables.xlsx"
_MOST_DIGITS = 38


def write_formats(folder: Path, published: Release, formats: frozenset[str]) -> None:
    """Write the formats that are asked for besides CSV; as a `Release` is all it gets, no hidden value can get out."""
    if "parquet" in formats:
        for table in published.tables:
            pq.write_table(released_columns(table), folder / f"{table.name}.parquet")
    if "xlsx" in formats:
        write_workbook(folder / WORKBOOK, published)


def released_columns(table: ReleasedTable) -> pa.Table:
    """Return a released table as typed columns: codes as text, exact decimals (null where suppressed), and the flag."""
    digits = max((len(text.lstrip("-").replace(".", "")) for text in table.value), default=0)
    if digits > _MOST_DIGITS:
        raise InputError(
            f"table {table.name!r}: Parquet holds numbers of up to {_MOST_DIGITS} digits, and this table has longer "
            "ones; publish fewer decimals, or leave parquet out of `formats`"
        )
    columns = [pa.array(codes.tolist(), pa.string()) for codes in table.codes]
    values = [Decimal(text) if text else None for text in table.value]
    columns.append(pa.array(values, pa.decimal128(max(digits, table.decimals + 1, 18), table.decimals)))
    columns.append(pa.array(np.where(table.suppressed, "c", "").tolist(), pa.string()))
    return pa.table(columns, names=layout.released(table.by))
