"""The engine within: DuckDB, which reads files and frames, and loads nothing from elsewhere."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from cellguard.errors import InputError
from cellguard.microdata.engine import EngineFault
from cellguard.microdata.sql import Sql
from cellguard.scratch import Scratch, sweep

_MEMORY = "1280MiB"
_BATCH = 1 << 18


@dataclass(frozen=True, eq=False)
class DuckEngine:
    """A database in memory; large sorts go to a private folder."""

    connection: duckdb.DuckDBPyConnection
    scratch: Scratch
    sql: Sql = field(default_factory=Sql)

    @classmethod
    def start(cls) -> DuckEngine:
        """Start one."""
        place = Path(tempfile.gettempdir())
        sweep(place)
        try:
            scratch = Scratch(place)
        except OSError as error:
            cure = "name another folder in TMPDIR"
            raise InputError(f"cannot write to {str(place)!r} ({error.strerror}); {cure}") from None
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": _MEMORY,
            "temp_directory": str(scratch.path / "spill"),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        connection = duckdb.connect(config=settings)
        connection.execute("SET enable_progress_bar = false")  # which would go to stdout
        return cls(connection, scratch)

    def close(self) -> None:
        """End it, and leave nothing behind."""
        self.connection.close()
        self.scratch.remove()

    def columns(self, origin: str) -> Sequence[str]:
        """Return the names of the columns of what stands behind FROM."""
        return list(self.connection.sql(f"SELECT * FROM {origin} LIMIT 0").columns)

    def kinds(self, scan: str) -> Sequence[str]:
        """Return the types of the columns."""
        return [str(kind) for kind in self.connection.sql(f"SELECT * FROM {scan} LIMIT 0").types]

    def rows(self, question: str) -> list[tuple[Any, ...]]:
        """Return a short answer."""
        try:
            return self.connection.sql(question).fetchall()
        except duckdb.Error as error:
            # The library's own message may quote the data, so it must not get out.
            raise EngineFault(type(error).__name__) from None

    def stream(self, question: str) -> Iterator[pa.RecordBatch]:
        """Return a long answer in batches, in its order."""
        try:
            yield from self.connection.sql(question).arrow(_BATCH)
            # Saying it again returns what is freed to the system, which would stand beside the tables otherwise.
            self.connection.execute(f"SET memory_limit = '{_MEMORY}'")
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise EngineFault(type(error).__name__) from None

    def number(self, codes: Sequence[str], labels: Mapping[int, Sequence[str]]) -> list[str]:
        """Make each dimension's codes an enumeration, so that rows carry numbers and not text."""
        for i, known in labels.items():
            self.connection.execute(f"CREATE OR REPLACE TYPE codes{i} AS ENUM ({self.sql.listed(known)})")
        return [f"CAST(enum_code(CAST({code} AS codes{i})) AS INTEGER)" for i, code in enumerate(codes)]
