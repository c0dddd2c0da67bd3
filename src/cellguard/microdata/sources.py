"""Where records come from: files and frames, which DuckDB reads, and databases and clusters that are engines."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.errors import InputError, file_name
from cellguard.microdata.address import is_remote
from cellguard.microdata.engine_duckdb import DuckEngine
from cellguard.microdata.opened import Opened as Opened
from cellguard.microdata.remote import open_remote
from cellguard.microdata.sql import Sql
from cellguard.reading.dialect import Dialect, read_header
from cellguard.reading.encodings import FALLBACK, UTF8, check_readable, checked_encoding, recode_text
from cellguard.reading.features import GEOGRAPHIC, GEOJSON, read_features
from cellguard.reading.frames import from_mapping
from cellguard.reading.office import is_office, read_office

_DATABASE = {".duckdb", ".ddb", ".db"}
_PARQUET = {".parquet", ".pq"}


@dataclass(frozen=True)
class Layout:
    """The columns of a text file without a header line: their names, and for fixed width (start from 1, width)."""

    names: tuple[str, ...]
    fields: tuple[tuple[int, int], ...] = ()
    delimiter: str | None = None


def open_records(
    data: object,
    *,
    name: str = "the records",
    query: str | None = None,
    layout: Layout | None = None,
    dialect: Dialect | None = None,
    remote: str | None = None,
) -> Opened:
    """Open records: a path (CSV, Parquet, DuckDB with a query, text with a layout), a mapping of columns or a frame.

    A frame is anything with the Arrow interface (pandas, polars, pyarrow). A text that starts with ``postgresql://`` or
    ``spark:`` is an address, see `cellguard.microdata.address`.
    """
    dialect = dialect or Dialect()
    if isinstance(data, str) and is_remote(data):
        return open_remote(data, query=query, remote=remote, decimal=dialect.decimal)
    if remote is not None:
        raise InputError("`remote` is the address of a Spark cluster; it goes with a source `spark:TABLE`")
    engine = DuckEngine.start()
    try:
        if isinstance(data, (str, Path)):
            opened = _open_path(engine, Path(data), query, layout, dialect)
        elif isinstance(data, Mapping):
            opened = _open_frame(engine, from_mapping(data), name, dialect)
        elif hasattr(data, "__arrow_c_stream__"):
            opened = _open_frame(engine, pa.table(data), name, dialect)
        else:
            raise InputError(
                f"cannot read {type(data).__name__}; give a path, a mapping of columns, or a frame that speaks Arrow"
            )
    except BaseException:
        engine.close()
        raise
    weakref.finalize(opened, engine.close)
    return opened


def _open_path(engine: DuckEngine, path: Path, query: str | None, layout: Layout | None, dialect: Dialect) -> Opened:
    check_readable(path)
    suffix = path.suffix.lower()
    if query is not None:
        return _open_query(engine, path, query, dialect)
    if suffix in _DATABASE:
        raise InputError(f'{file_name(path)}: a database needs a `query`, for instance query: "select * from firms"')
    if suffix in _PARQUET:
        return _open_parquet(engine, path, dialect)
    if is_office(path):
        return _open_frame(engine, read_office(path), file_name(path), dialect)
    if suffix in GEOJSON | GEOGRAPHIC:
        return _open_frame(engine, read_features(path), file_name(path), dialect)
    return _open_text(engine, path, layout, dialect)


def _open_frame(engine: DuckEngine, frame: pa.Table, name: str, dialect: Dialect) -> Opened:
    columns = tuple(frame.column_names)
    engine.connection.register("frame", frame.rename_columns([f"c{i}" for i in range(len(columns))]))
    return _opened(engine, name, columns, "frame", decimal=dialect.decimal)


def _open_parquet(engine: DuckEngine, path: Path, dialect: Dialect) -> Opened:
    try:
        columns = tuple(pq.read_schema(path).names)
    except (pa.ArrowInvalid, OSError):
        raise InputError(f"{file_name(path)}: not a Parquet file") from None
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


def _open_text(engine: DuckEngine, path: Path, layout: Layout | None, dialect: Dialect) -> Opened:
    encoding = checked_encoding(path, dialect.encoding)
    text = recode_text(path, encoding, engine.scratch.path / "utf8.txt")
    name = file_name(path)
    notes: tuple[str, ...] = ()
    if not dialect.encoding and encoding == FALLBACK:
        notes = (f"{name} is not UTF-8 and was read as {encoding}; say `encoding` if its letters look wrong",)
    if layout and layout.fields:
        return _open_fixed(engine, text, name, layout, dialect.decimal, notes)
    if layout:
        columns, delimiter = layout.names, layout.delimiter or dialect.delimiter or ";"
    else:
        with text.open(encoding=UTF8, newline="") as lines:
            header, delimiter = read_header(lines, name, dialect.delimiter)
        columns = tuple(header)
    kinds = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(columns)))
    how = f"auto_detect=false, header={layout is None}, delim={quoted(delimiter)}, quote='\"', escape='\"'"
    call = f"read_csv({_file(text)}, {how}, max_line_size=16000000, columns={{{kinds}}}"
    return _opened(
        engine,
        name,
        columns,
        f"{call})",
        noting=f"{call}, store_rejects=true, rejects_limit=100)",
        decimal=dialect.decimal,
        text=text,
        header=layout is None,
        delimiter=delimiter,
        notes=notes,
    )


def _open_fixed(
    engine: DuckEngine,
    text: Path,
    name: str,
    layout: Layout,
    decimal: str | None,
    notes: tuple[str, ...],
) -> Opened:
    """Cut each line at fixed places. Blanks in front of an entry belong to it, blanks behind it do not."""
    how = "auto_detect=false, header=false, delim='\x01', quote='', escape='', columns={'line': 'VARCHAR'}"
    lines = f"read_csv({_file(text)}, {how}, max_line_size=16000000)"
    cuts = ", ".join(f"rtrim(substr(line, {s}, {w})) AS c{i}" for i, (s, w) in enumerate(layout.fields))
    scan = f"(SELECT {cuts} FROM {lines} WHERE trim(line) <> '')"
    counted = f"(SELECT line, row_number() OVER () - 1 AS nr FROM {lines})"
    numbered = f"(SELECT {cuts}, nr FROM {counted} WHERE trim(line) <> '')"
    return Opened(engine, name, layout.names, scan, scan, numbered, decimal, text, header=False, notes=notes)


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
