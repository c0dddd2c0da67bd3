"""Results as Arrow tables, which data frames of any library take: one row per cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cellguard.errors import InputError
from cellguard.table.columns import all_headed

if TYPE_CHECKING:
    import pyarrow as pa

    from cellguard.table.table import Table


class Streams:
    """What speaks Arrow: ``pyarrow.table(x)``, ``polars.DataFrame(x)`` and the like make a frame of it."""

    __slots__ = ()

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def of_cells(names: Sequence[str], codes: Sequence[Any], columns: Mapping[str, Any]) -> pa.Table:
    """Return the dimension columns and others; a dimension named like one of these gets ``by:`` in front."""
    import pyarrow as pa

    by = dict(zip(all_headed(names, (*columns, "table")), codes, strict=True))
    return pa.table({name: pa.array(list(column)) for name, column in by.items()} | dict(columns))


def of_table(table: Table, columns: Mapping[str, Any]) -> pa.Table:
    """Return the codes of a table's cells and columns about them."""
    codes = [column.tolist() for column in table.code_texts()]
    return of_cells([d.name for d in table.dimensions], codes, columns)


def of_all(parts: Mapping[str, pa.Table]) -> pa.Table:
    """Return several tables below one another, with a column ``table`` in front; all must have the same columns."""
    import pyarrow as pa

    names = [part.column_names for part in parts.values()]
    if any(other != names[0] for other in names):
        listed = ", ".join(parts)
        raise InputError(
            f"the tables {listed} have different dimensions, so they do not make one frame; take one at a time, "
            f"for instance [{next(iter(parts))!r}]"
        )
    named = [part.add_column(0, "table", pa.array([name] * len(part))) for name, part in parts.items()]
    return pa.concat_tables(named)
