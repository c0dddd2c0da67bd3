"""`Opened`: records within reach of SQL, not read yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from cellguard.errors import InputError, Place
from cellguard.hierarchy.confidential_codes import suggested_column
from cellguard.microdata.engine import Engine, EngineFault
from cellguard.reading.csvfile import BROKEN_QUOTES, line_numbers
from cellguard.reading.encodings import line_at

CHANGED = "has it changed meanwhile?"


@dataclass(frozen=True, eq=False)
class Opened:
    """Records within reach of SQL. The columns are named c0, c1, ... there, so no name needs quoting.

    ``scan`` stands behind FROM; ``noting`` is the same, but broken lines are noted (see `refuse_broken_lines`) instead
    of stopping the scan; ``numbered`` has the number of the row, from 0, as a further column ``nr``. A ``decimal`` mark
    of None is found out when the numbers are checked.

    Records of a database have no order, and nobody could look up a row by its number: ``origin`` is what the user calls
    them in SQL, and messages show a query instead. Their ``numbered`` goes by what the records hold.
    """

    engine: Engine
    name: str
    columns: tuple[str, ...]
    scan: str
    noting: str
    numbered: str
    decimal: str | None = None
    text: Path | None = None
    header: bool = True
    delimiter: str | None = None
    notes: tuple[str, ...] = ()
    origin: str = ""

    @cached_property
    def types(self) -> Mapping[str, str]:
        """The type of each column, in DuckDB's words."""
        return dict(zip(self.columns, self.engine.kinds(self.scan), strict=False))

    @property
    def located(self) -> str:
        """The records with the number of each row that a message can name, 0 where there are no numbers."""
        return f"(SELECT *, 0 AS nr FROM {self.scan}) AS located" if self.origin else self.numbered

    def column(self, name: str) -> str:
        """Return what SQL calls a column, or raise an error that names the nearest ones."""
        if name not in self.columns:
            raise InputError(f"{self.name}: no column {name!r}{suggested_column(name, self.columns)}")
        return f"c{self.columns.index(name)}"

    def rows(self, question: str, cure: str = CHANGED) -> list[tuple[Any, ...]]:
        """Return the short answer to a question."""
        try:
            return self.engine.rows(question)
        except EngineFault as fault:
            raise self._fault(fault, cure) from None

    def stream(self, question: str) -> Iterator[pa.RecordBatch]:
        """Return the long answer to a question in batches."""
        try:
            yield from self.engine.stream(question)
        except EngineFault as fault:
            raise self._fault(fault, CHANGED) from None

    def to_arrow(self) -> pa.Table:
        """Return all records under their own column names, entries as they are."""
        batches = list(self.stream(f"SELECT * FROM {self.scan}"))
        if not batches:
            raise InputError(f"{self.name}: there are no rows; the data are empty")
        return pa.Table.from_batches(batches).rename_columns(list(self.columns))

    @cached_property
    def place(self) -> Place:
        """How to name a row: by its line in a text file. Reads the file, so it is for faults only."""
        if self.text is None:
            return Place(self.name, unit="row")
        rows = self.rows(f"SELECT count(*) FROM {self.scan}")[0][0]
        lines: tuple[int, ...] = ()
        if self.delimiter is not None:
            with self.text.open("rb") as file:
                lines = line_numbers(file, self.delimiter, rows, header=self.header)
        return Place(self.name, first=1 + self.header, lines=lines)

    def row(self, nr: int) -> str:
        """Name a row; where rows have no numbers, all records."""
        return self.name if self.origin else self.place.row(nr)

    def see(self, condition: str) -> str:
        """Return how to see the records of a condition: nothing where the row was named, else a query."""
        if not self.origin:
            return ""
        return f"; see them with: SELECT * FROM {self.origin} WHERE {self.engine.sql.original(condition, self.columns)}"

    def see_entries(self, entry: str) -> str:
        """Return how to see all entries of a column, as `see`; the message itself shows none."""
        if not self.origin:
            return ""
        told = self.engine.sql.original(entry, self.columns)
        return f"; see its entries with: SELECT {told}, count(*) FROM {self.origin} GROUP BY {told}"

    def refuse_broken_lines(self) -> None:
        """Refuse lines that have too few or too many fields or a broken quote; call it after the `noting` scan."""
        if self.delimiter is None or self.text is None:
            return
        faults = self.rows("SELECT line_byte_position, error_type FROM reject_errors ORDER BY 1 LIMIT 1")
        if not faults:
            return
        line = line_at(self.text, int(faults[0][0]))
        raise InputError(f"{self.name} line {line}: {_BROKEN.get(faults[0][1], _BROKEN_OTHERWISE)}")

    def _fault(self, fault: EngineFault, cure: str) -> InputError:
        return InputError(f"{self.name}: {fault.said or f'cannot be read ({fault.kind}); {cure}'}")


_BROKEN = {
    "MISSING COLUMNS": "fewer fields than columns; give each line one field a column",
    "TOO MANY COLUMNS": "more fields than columns; give each line one field a column",
    "UNQUOTED VALUE": BROKEN_QUOTES,
    "INVALID ENCODING": "not written in UTF-8; name the file's `encoding`, for instance latin-1",
}
_BROKEN_OTHERWISE = "the line cannot be read; check its quotes and its length"
