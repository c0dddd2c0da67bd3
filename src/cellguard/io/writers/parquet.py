"""One Parquet file per table, with typed columns: codes as text, exact decimals, flags. A `Release` is all it gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.errors import InputError
from cellguard.io import layout
from cellguard.table.pattern import Release, ReleasedTable

name = "parquet"
extra: Mapping[str, str] = {}
_MOST_DIGITS = 38
_LEAST_DIGITS = 18


def files(release: Release) -> list[str]:
    """Return the names of the files of a release."""
    return [f"{table.name}.parquet" for table in release.tables]


def write(release: Release, folder: Path) -> None:
    """Write the files of a release."""
    for table in release.tables:
        pq.write_table(released_columns(table), folder / f"{table.name}.parquet")


def released_columns(table: ReleasedTable) -> pa.Table:
    """Return a released table as typed columns: codes as text, exact decimals (null where suppressed), and the flag."""
    longest = max((abs(units) for units in table.units if units is not None), default=0)
    digits = max(len(str(longest)), table.decimals + 1)
    if digits > _MOST_DIGITS:
        raise InputError(
            f"table {table.name!r}: Parquet holds numbers of up to {_MOST_DIGITS} digits, and this table has longer "
            "ones; publish fewer decimals, or leave parquet out of `formats`"
        )
    columns = [pa.array(codes.tolist(), pa.string()) for codes in table.codes]
    columns.append(_decimals(table.units, max(digits, _LEAST_DIGITS), table.decimals))
    columns.append(pa.array(np.where(table.suppressed, "c", "").tolist(), pa.string()))
    return pa.table(columns, names=layout.released(table.by))


def _decimals(units: Sequence[int | None], digits: int, decimals: int) -> pa.Array:
    """Return exact decimals by their units, which is how Arrow keeps them: whole numbers of 128 bits."""
    there = pa.array([value is not None for value in units]).buffers()[1] if len(units) else None
    data = b"".join((value or 0).to_bytes(16, "little", signed=True) for value in units)
    return pa.Array.from_buffers(pa.decimal128(digits, decimals), len(units), [there, pa.py_buffer(data)])
