"""The release in Parquet: whether each file shows exactly what the CSV file of its table shows, and nothing else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cellguard.verifier.numbers import bools, texts
from cellguard.verifier.released import RELEASED, read_released
from cellguard.verifier.spec import TableSpec
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder, read_parquet


def check_parquet(folder: Folder, table: TableSpec) -> None:
    """Compare a Parquet file with the CSV file of the same table: text of codes, exact values, flags."""
    header = table.headed(RELEASED)
    stored = read_parquet(folder, table.parquet)
    if stored.schema.names != header:
        raise Refused(f"{table.parquet} does not have exactly the columns {', '.join(header)}")
    if stored.schema.metadata or any(field.metadata for field in stored.schema):
        raise Refused(f"{table.parquet} holds more than columns")
    value = stored.schema.field("value").type
    if not pa.types.is_decimal(value) or value.scale != table.decimals:
        raise Refused(f"{table.parquet}: value is not a decimal of {table.decimals} decimals")
    for name, expected in zip(header, read_released(folder, table), strict=True):
        column = stored.column(name)
        if name != "value" and not pa.types.is_string(column.type):
            raise Refused(f"{table.parquet}: {name} is not text")
        text = texts(column)
        there = pc.fill_null(text, "") if name == "value" else text
        if len(there) != len(expected) or there.null_count:
            raise Refused(f"{table.parquet} does not have the rows of {table.release}")
        differs = ~bools(pc.equal(there, expected))
        if differs.any():
            raise Refused(f"{table.parquet} row {int(np.argmax(differs)) + 1}, {name}, is not what {table.release} has")
