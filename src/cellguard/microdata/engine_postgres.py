"""The engine PostgreSQL, through ADBC: results come as Arrow, and all questions see one state of the database."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from cellguard.errors import MissingExtra
from cellguard.microdata.engine import EngineFault
from cellguard.microdata.sql import Sql, StandardSql

_TIMEOUT = "10"
_ENDED = ("08", "57P")  # no connection, or the server ends it
_LOST = "the connection to the database was lost; run again"
_KINDS = {
    **dict.fromkeys(("int2", "int4", "int8"), "BIGINT"),
    **dict.fromkeys(("float4", "float8"), "DOUBLE"),
    "numeric": "DECIMAL",
    "bool": "BOOLEAN",
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "citext"), "VARCHAR"),
}


class PostgresSql(StandardSql):
    """The words of PostgreSQL."""

    double = "double precision"

    def text(self, entry: str) -> str:
        """Return an entry as text; order and case of letters are those of no language."""
        return f'(CAST({entry} AS text) COLLATE "C")'

    def matches(self, text: str, pattern: str) -> str:
        """Return the condition that some part of a text has the pattern."""
        return f"({text} ~ {self.quoted(pattern)})"

    def different(self, code: str) -> str:
        """Return the list of the different entries of a column."""
        return f"array_agg(DISTINCT {code})"


@dataclass(frozen=True, eq=False)
class PostgresEngine:
    """A connection that reads only, within one transaction."""

    connection: Any
    sql: Sql = field(default_factory=PostgresSql)

    @classmethod
    def connect(cls, address: str) -> PostgresEngine:
        """Connect; user and password are found as every PostgreSQL client finds them."""
        try:
            import adbc_driver_postgresql.dbapi as driver
        except ImportError:
            raise MissingExtra(
                "PostgreSQL needs an extra; install it with: pip install 'cellguard[postgres]'"
            ) from None
        os.environ.setdefault("PGCONNECT_TIMEOUT", _TIMEOUT)
        try:
            connection = driver.connect(address)
        except driver.Error as error:
            raise EngineFault(type(error).__name__, f"no connection: {_why(error)}") from None
        engine = cls(connection)
        engine.rows("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        return engine

    def close(self) -> None:
        """Leave the database as it is; a connection that is lost is closed too."""
        with suppress(EngineFault), self._told():
            self.connection.rollback()
        with suppress(EngineFault), self._told():
            self.connection.close()

    def columns(self, origin: str) -> Sequence[str]:
        """Return the names of the columns of what stands behind FROM."""
        return list(self._schema(f"SELECT * FROM {origin} LIMIT 0").names)

    def kinds(self, scan: str) -> Sequence[str]:
        """Return what the columns hold, in DuckDB's words for types."""
        return [_kind(each) for each in self._schema(f"SELECT * FROM {scan} LIMIT 0")]

    def rows(self, question: str) -> list[tuple[Any, ...]]:
        """Return a short answer."""
        with self._told(), self.connection.cursor() as cursor:
            cursor.execute(question)
            return list(cursor.fetchall()) if cursor.description else []

    def stream(self, question: str) -> Iterator[pa.RecordBatch]:
        """Return a long answer in batches, in its order."""
        with self._told(), self.connection.cursor() as cursor:
            cursor.execute(question)
            yield from cursor.fetch_record_batch()

    def number(self, codes: Sequence[str], labels: Mapping[int, Sequence[str]]) -> list[str]:
        """Return codes as they are: whoever receives them numbers them."""
        return list(codes)

    def _schema(self, question: str) -> pa.Schema:
        with self._told(), self.connection.cursor() as cursor:
            cursor.execute(question)
            return cursor.fetch_arrow_table().schema

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Report what goes wrong, without the words of the database where these may quote records."""
        from adbc_driver_manager import Error

        try:
            yield
        except Error as error:
            raise EngineFault(type(error).__name__, _said(error)) from None
        except (pa.ArrowException, OSError) as error:
            raise EngineFault(type(error).__name__, _LOST) from None


def _kind(column: pa.Field) -> str:
    name = (column.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
    text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    return _KINDS.get(name, "VARCHAR" if text else name.upper())


def _said(error: Exception) -> str:
    """Return what may be told: of a wrong query the first line, of anything else its kind only."""
    state = str(getattr(error, "sqlstate", None) or "")
    if state.startswith("42"):
        return f"the query fails: {_why(error)}"
    if state.startswith("22"):
        return f"the query fails on an entry that it cannot read (SQLSTATE {state}); try it in psql"
    if not state or state.startswith(_ENDED):
        return _LOST
    return f"the query fails while it runs (SQLSTATE {state}); try it in psql"


def _why(error: Exception) -> str:
    """Return the first line of what the database says."""
    line = str(error).splitlines()[0]
    for mark in ("ERROR:", "FATAL:", "failed:"):
        if mark in line:
            return line.rpartition(mark)[2].strip()
    return line.rpartition("] ")[2].strip()
