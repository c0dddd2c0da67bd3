"""What the internal and release files say of each row: value, count, status and needs; what was published."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cellguard.verifier.cells import Cells
from cellguard.verifier.numbers import SAFE, Bools, Int64, Ints, bools, grains, grains_or_zero
from cellguard.verifier.released import read_released
from cellguard.verifier.spec import EARLIER, TableSpec
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder, read_csv

STATUSES = ("published", "primary", "secondary", "unpublished")
PUBLISHED, PRIMARY, SECONDARY, UNPUBLISHED = range(4)
FACTS_OF_ROW = (
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


@dataclass(frozen=True)
class Rows:
    """All rows of all tables, one after the other. Values and needs are in grains; a count of -1 is not known."""

    value: tuple[Ints, ...]
    count: Int64
    status: Int64
    lower: Int64
    upper: Int64
    sliding: Int64


@dataclass(frozen=True)
class Published:
    """A release file beside its internal rows: which of these it shows, and the text of value and flag of each."""

    shown: Int64
    value: pa.Array
    flag: pa.Array


def read_internal(folder: Folder, table: TableSpec) -> dict[str, pa.Array]:
    """Return the columns of an internal table as text; dimensions come first and keep their names."""
    columns = read_csv(folder, table.internal, table.headed(FACTS_OF_ROW))
    names = [f"by:{d}" for d in table.by] + list(FACTS_OF_ROW)
    return dict(zip(names, columns, strict=True))


def read_rows(cells: Cells, internal: tuple[dict[str, pa.Array], ...]) -> Rows:
    """Turn the text of the internal tables into numbers."""
    spec = cells.spec
    value, count, status = [], [], []
    needs: dict[str, list[Int64]] = {"need_lower": [], "need_upper": [], "need_sliding": []}
    for table, columns in zip(spec.tables, internal, strict=True):
        decimals = spec.grains[table.group]
        value.append(grains(columns["value"], decimals, f"{table.internal}, value,"))
        count.append(_counts(columns["count"], table))
        status.append(_statuses(columns["status"], table))
        for name, levels in needs.items():
            levels.append(_needs(columns[name], decimals, f"{table.internal}, {name},"))
    lower, upper, sliding = (np.concatenate(levels) for levels in needs.values())
    return Rows(tuple(value), np.concatenate(count), np.concatenate(status), lower, upper, sliding)


def _counts(column: pa.Array, table: TableSpec) -> Int64:
    blank = bools(pc.equal(column, ""))
    counts = _modest(grains_or_zero(column, 0, f"{table.internal}, count,"), f"{table.internal}, count,")
    return np.where(blank, -1, counts)


def _needs(column: pa.Array, decimals: int, where: str) -> Int64:
    return _modest(grains_or_zero(column, decimals, where), where)


def _modest(numbers: Ints, where: str) -> Int64:
    """Refuse negative numbers and those that no stored move could reach."""
    wrong = (numbers < 0) | (numbers >= SAFE)
    if wrong.any():
        raise Refused(f"{where} line {int(np.argmax(wrong)) + 2} is negative or too large")
    return numbers.astype(np.int64)


def _statuses(column: pa.Array, table: TableSpec) -> Int64:
    places = pc.index_in(column, value_set=pa.array(STATUSES, pa.string()))
    if places.null_count:
        row = int(np.argmax(bools(pc.is_null(places))))
        raise Refused(f"{table.internal} line {row + 2} has an unknown status")
    return np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)


def read_release(folder: Folder, cells: Cells, internal: dict[str, pa.Array], index: int) -> Published:
    """Read a release file and match it with the internal rows that are not unpublished, in the same order."""
    table = cells.spec.tables[index]
    if not table.released:
        nothing = pa.array([], pa.string())
        return Published(np.zeros(0, dtype=np.int64), nothing, nothing)
    columns = read_released(folder, table)
    shown = np.flatnonzero(_statuses(internal["status"], table) != UNPUBLISHED)
    if len(columns[0]) != shown.size:
        raise Refused(f"{table.release} has {len(columns[0])} rows, but {table.internal} has {shown.size} to show")
    where = pa.array(shown)
    for name, column in zip(table.by, columns, strict=False):
        differs = ~bools(pc.equal(column, internal[f"by:{name}"].take(where)))
        if differs.any():
            row = int(np.argmax(differs))
            raise Refused(f"{table.release} line {row + 2} is not the row that {table.internal} has there")
    return Published(shown, columns[-2], columns[-1])


def listed(cells: Cells, rows: Rows, table: int) -> Bools:
    """Return the rows of a table that a release lists, suppressed or not; those of earlier releases may all be."""
    return np.asarray((rows.status[cells.rows(table)] != UNPUBLISHED) | (cells.spec.tables[table].where == EARLIER))


def blank(column: pa.Array) -> Bools:
    """Return which texts are empty."""
    return bools(pc.equal(column, ""))
