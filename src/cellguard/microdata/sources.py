"""Where records come from: files and frames, which DuckDB reads, and databases and clusters that are engines."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from cellguard.errors import InputError, file_name
from cellguard.microdata.address import is_remote
from cellguard.microdata.engine_duckdb import DuckEngine
from cellguard.microdata.opened import Opened as Opened
from cellguard.microdata.remote import open_remote
from cellguard.microdata.sql import Sql
from cellguard.reading.dialect import Dialect
from cellguard.reading.encodings import FALLBACK, UTF8, check_readable, checked_encoding, recode_text
from cellguard.reading.files import PARQUET, as_frame, columns_of_text, kind_of, parquet_names
from cellguard.reading.frames import is_dataset


def open_records(
    data: object,
    *,
    name: str = "the records",
    query: str | None = None,
    dialect: Dialect | None = None,
    remote: str | None = None,
) -> Opened:
    """Open records: a path (text, Parquet, a DuckDB file with a query, ...), a mapping of columns or a frame.

    A frame is anything with the Arrow interface (pandas, polars, pyarrow), or an Arrow data set. A text that starts
    with ``postgresql://`` or ``spark:`` is an address, see `cellguard.microdata.address`.
    """
    dialect = dialect or Dialect()
    if isinstance(data, str) and is_remote(data):
        return open_remote(data, query=query, remote=remote, decimal=dialect.decimal)
    if remote is not None:
        raise InputError("`remote` is the address of a Spark cluster; it goes with a source `spark:TABLE`")
    engine = DuckEngine.start()
    try:
        if isinstance(data, (str, Path)):
            opened = _open_path(engine, Path(data), query, dialect)
        elif is_dataset(data):
            opened = _open_dataset(engine, data, name, dialect)
        else:
            opened = _open_frame(engine, as_frame(data), name, dialect)
    except BaseException:
        engine.close()
        raise
    weakref.finalize(opened, engine.close)
    return opened


def _open_path(engine: DuckEngine, path: Path, query: str | None, dialect: Dialect) -> Opened:
    check_readable(path)
    if query is not None:
        return _open_query(engine, path, query, dialect)
    kind = kind_of(path)
    if kind is None:
        return _open_text(engine, path, dialect)
    if kind is PARQUET:
        return _open_parquet(engine, path, dialect)
    return _open_frame(engine, kind.read(path), file_name(path), dialect)


def _open_frame(engine: DuckEngine, frame: pa.Table, name: str, dialect: Dialect) -> Opened:
    columns = tuple(frame.column_names)
    engine.connection.register("frame", frame.rename_columns([f"c{i}" for i in range(len(columns))]))
    return _opened(engine, name, columns, "frame", decimal=dialect.decimal)


def _open_dataset(engine: DuckEngine, data: Any, name: str, dialect: Dialect) -> Opened:  # noqa: ANN401
    """Open an Arrow data set, of which only the columns are read that a question is about."""
    columns = tuple(data.schema.names)
    engine.connection.register("frame", data)
    return _opened(engine, name, columns, f"frame{_renamed(columns)}", decimal=dialect.decimal)


def _open_parquet(engine: DuckEngine, path: Path, dialect: Dialect) -> Opened:
    columns = parquet_names(path)
    if columns is None:
        return _open_frame(engine, PARQUET.read(path), file_name(path), dialect)
    scan = f"read_parquet({_file(path)}){_renamed(columns)}"
    return _opened(engine, file_name(path), columns, scan, decimal=dialect.decimal)


def _open_query(engine: DuckEngine, path: Path, query: str, dialect: Dialect) -> Opened:
    """Run a query on a DuckDB file, which is opened read-only, and keep what it returns."""
    name, connection = file_name(path), engine.connection
    try:
        connection.execute(f"ATTACH {quoted(str(path))} AS source (READ_ONLY)")
    except duckdb.Error:
        raise InputError(f"{name}: not a DuckDB file, or one that another program has opened for writing") from None
    try:
        statements = connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise InputError(f"{name}: `query` must be a single SELECT")
        connection.execute("SET enable_external_access = false")
        connection.execute("USE source")
        connection.execute(f"CREATE TEMP TABLE chosen AS {query}")
        connection.execute("USE memory")
    except (
        duckdb.ParserException,
        duckdb.BinderException,
        duckdb.CatalogException,
        duckdb.PermissionException,
    ) as error:
        raise InputError(f"{name}: the query fails: {str(error).splitlines()[0]}") from None
    except duckdb.Error as error:
        # Errors while data are read may quote them.
        raise InputError(f"{name}: the query fails while it runs ({type(error).__name__}); try it in DuckDB") from None
    columns = tuple(connection.sql("SELECT * FROM temp.chosen LIMIT 0").columns)
    return _opened(engine, name, columns, f"temp.chosen{_renamed(columns)}", decimal=dialect.decimal)


def _open_text(engine: DuckEngine, path: Path, dialect: Dialect) -> Opened:
    encoding = checked_encoding(path, dialect.encoding)
    text = recode_text(path, encoding, engine.scratch.path / "utf8.txt")
    name = file_name(path)
    notes: tuple[str, ...] = ()
    if not dialect.encoding and encoding == FALLBACK:
        notes = (f"{name} is not UTF-8 and was read as {encoding}; say `encoding` if its letters look wrong",)
    if dialect.fields:
        return _open_fixed(engine, text, name, dialect, notes)
    with text.open(encoding=UTF8, newline="") as lines:
        columns, delimiter = columns_of_text(lines, name, dialect)
    header = not dialect.columns
    kinds = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(columns)))
    how = f"auto_detect=false, header={header}, delim={quoted(delimiter)}, quote='\"', escape='\"'"
    call = f"read_csv({_file(text)}, {how}, max_line_size=16000000, columns={{{kinds}}}"
    return _opened(
        engine,
        name,
        tuple(columns),
        f"{call})",
        noting=f"{call}, store_rejects=true, rejects_limit=100)",
        decimal=dialect.decimal,
        text=text,
        header=header,
        delimiter=delimiter,
        notes=notes,
    )


def _open_fixed(
    engine: DuckEngine,
    text: Path,
    name: str,
    dialect: Dialect,
    notes: tuple[str, ...],
) -> Opened:
    """Cut each line at fixed places. Blanks in front of an entry belong to it, blanks behind it do not."""
    how = "auto_detect=false, header=false, delim='\x01', quote='', escape='', columns={'line': 'VARCHAR'}"
    lines = f"read_csv({_file(text)}, {how}, max_line_size=16000000)"
    cuts = ", ".join(f"rtrim(substr(line, {s}, {w})) AS c{i}" for i, (s, w) in enumerate(dialect.fields))
    scan = f"(SELECT {cuts} FROM {lines} WHERE trim(line) <> '')"
    counted = f"(SELECT line, row_number() OVER () - 1 AS nr FROM {lines})"
    numbered = f"(SELECT {cuts}, nr FROM {counted} WHERE trim(line) <> '')"
    return Opened(engine, name, dialect.columns, scan, scan, numbered, dialect.decimal, text, header=False, notes=notes)


def _opened(
    engine: DuckEngine,
    name: str,
    columns: tuple[str, ...],
    scan: str,
    *,
    noting: str | None = None,
    decimal: str | None = None,
    text: Path | None = None,
    header: bool = True,
    delimiter: str | None = None,
    notes: tuple[str, ...] = (),
) -> Opened:
    numbered = f"(SELECT *, row_number() OVER () - 1 AS nr FROM {scan})"
    return Opened(engine, name, columns, scan, noting or scan, numbered, decimal, text, header, delimiter, notes)


def _renamed(columns: Sequence[str]) -> str:
    return f" AS renamed({', '.join(f'c{i}' for i in range(len(columns)))})"


def _file(path: Path) -> str:
    """Return the SQL for one file, whose name may hold what DuckDB takes for wild cards."""
    return quoted("".join(f"[{c}]" if c in "*?[" else c for c in str(path)))


quoted = Sql().quoted
