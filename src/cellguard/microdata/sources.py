"""Where records come from: CSV, Parquet, frames, a query on a DuckDB file, fixed-width text. One seam to DuckDB."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.errors import InputError, Place, file_name
from cellguard.hierarchy.hush import suggested_column
from cellguard.microdata.features import GEOGRAPHIC, GEOJSON, read_features
from cellguard.microdata.frames import from_mapping
from cellguard.microdata.office import is_office, read_office
from cellguard.reading.csvfile import BROKEN_QUOTES, line_numbers
from cellguard.reading.dialect import Dialect, read_header
from cellguard.reading.encodings import FALLBACK, UTF8, check_readable, checked_encoding, line_at, recode_text
from cellguard.scratch import Scratch, sweep

_MEMORY = "2GiB"
_DATABASE = {".duckdb", ".ddb", ".db"}
_PARQUET = {".parquet", ".pq"}


@dataclass(frozen=True)
class Layout:
    """The columns of a text file without a header line: their names, and for fixed width (start from 1, width)."""

    names: tuple[str, ...]
    fields: tuple[tuple[int, int], ...] = ()
    delimiter: str | None = None


@dataclass(frozen=True, eq=False)
class Opened:
    """Records within reach of SQL, not read yet. The columns are named c0, c1, ... there, so no name needs quoting.

    ``scan`` stands behind FROM; ``noting`` is the same, but broken lines are noted (see `refuse_broken_lines`) instead
    of stopping the scan; ``numbered`` has the row number, from 0, as a further column ``row``. A ``decimal`` mark of
    None is found out when the numbers are checked.
    """

    connection: duckdb.DuckDBPyConnection
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

    @cached_property
    def types(self) -> Mapping[str, str]:
        """The DuckDB type of each column."""
        first = self.connection.sql(f"SELECT * FROM {self.scan} LIMIT 0")
        return dict(zip(self.columns, map(str, first.types), strict=False))

    def column(self, name: str) -> str:
        """Return what SQL calls a column, or raise an error that names the nearest ones."""
        if name not in self.columns:
            raise InputError(f"{self.name}: no column {name!r}{suggested_column(name, self.columns)}")
        return f"c{self.columns.index(name)}"

    def to_arrow(self) -> pa.Table:
        """Return all records under their own column names, entries as they are."""
        return self.connection.sql(f"SELECT * FROM {self.scan}").to_arrow_table().rename_columns(list(self.columns))

    def place(self) -> Place:
        """Return how to name a row: by its line in a text file. Reads the file, so it is for faults only."""
        if self.text is None:
            return Place(self.name, unit="row")
        rows = self.connection.sql(f"SELECT count(*) FROM {self.scan}").fetchall()[0][0]
        lines: tuple[int, ...] = ()
        if self.delimiter is not None:
            with self.text.open("rb") as file:
                lines = line_numbers(file, self.delimiter, rows, header=self.header)
        return Place(self.name, first=1 + self.header, lines=lines)

    def refuse_broken_lines(self) -> None:
        """Refuse lines that have too few or too many fields or a broken quote; call it after the `noting` scan."""
        if self.delimiter is None or self.text is None:
            return
        faults = self.connection.sql(
            "SELECT line_byte_position, error_type FROM reject_errors ORDER BY 1 LIMIT 1"
        ).fetchall()
        if not faults:
            return
        line = line_at(self.text, int(faults[0][0]))
        raise InputError(f"{self.name} line {line}: {_BROKEN.get(faults[0][1], _BROKEN_OTHERWISE)}")


_BROKEN = {
    "MISSING COLUMNS": "fewer fields than columns; give each line one field a column",
    "TOO MANY COLUMNS": "more fields than columns; give each line one field a column",
    "UNQUOTED VALUE": BROKEN_QUOTES,
    "INVALID ENCODING": "not written in UTF-8; name the file's `encoding`, for instance latin-1",
}
_BROKEN_OTHERWISE = "the line cannot be read; check its quotes and its length"


def open_records(
    data: object,
    *,
    name: str = "the records",
    query: str | None = None,
    layout: Layout | None = None,
    dialect: Dialect | None = None,
) -> Opened:
    """Open records: a path (CSV, Parquet, DuckDB with a query, text with a layout), a mapping of columns or a frame.

    A frame is anything with the Arrow interface (pandas, polars, pyarrow).
    """
    dialect = dialect or Dialect()
    connection, scratch = _connect()
    try:
        if isinstance(data, (str, Path)):
            opened = _open_path(connection, Path(data), scratch.path, query, layout, dialect)
        elif isinstance(data, Mapping):
            opened = _open_frame(connection, from_mapping(data), name, dialect)
        elif hasattr(data, "__arrow_c_stream__"):
            opened = _open_frame(connection, pa.table(data), name, dialect)
        else:
            raise InputError(
                f"cannot read {type(data).__name__}; give a path, a mapping of columns, or a frame that speaks Arrow"
            )
    except BaseException:
        _clean_up(connection, scratch)
        raise
    weakref.finalize(opened, _clean_up, connection, scratch)
    return opened


def _connect() -> tuple[duckdb.DuckDBPyConnection, Scratch]:
    """Return a database in memory that loads nothing from elsewhere; large sorts go to a private folder."""
    place = Path(tempfile.gettempdir())
    sweep(place)
    try:
        scratch = Scratch(place)
    except OSError as error:
        raise InputError(f"cannot write to {str(place)!r} ({error.strerror}); name another folder in TMPDIR") from None
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": _MEMORY,
        "temp_directory": str(scratch.path / "spill"),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    connection = duckdb.connect(config=settings)
    connection.execute("SET enable_progress_bar = false")  # which would go to stdout
    return connection, scratch


def _clean_up(connection: duckdb.DuckDBPyConnection, scratch: Scratch) -> None:
    connection.close()
    scratch.remove()


def _open_path(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    scratch: Path,
    query: str | None,
    layout: Layout | None,
    dialect: Dialect,
) -> Opened:
    check_readable(path)
    suffix = path.suffix.lower()
    if query is not None:
        return _open_query(connection, path, query, dialect)
    if suffix in _DATABASE:
        raise InputError(f'{file_name(path)}: a database needs a `query`, for instance query: "select * from firms"')
    if suffix in _PARQUET:
        return _open_parquet(connection, path, dialect)
    if is_office(path):
        return _open_frame(connection, read_office(path), file_name(path), dialect)
    if suffix in GEOJSON | GEOGRAPHIC:
        return _open_frame(connection, read_features(path), file_name(path), dialect)
    return _open_text(connection, path, scratch, layout, dialect)


def _open_frame(connection: duckdb.DuckDBPyConnection, frame: pa.Table, name: str, dialect: Dialect) -> Opened:
    columns = tuple(frame.column_names)
    connection.register("frame", frame.rename_columns([f"c{i}" for i in range(len(columns))]))
    return _opened(connection, name, columns, "frame", decimal=dialect.decimal)


def _open_parquet(connection: duckdb.DuckDBPyConnection, path: Path, dialect: Dialect) -> Opened:
    try:
        columns = tuple(pq.read_schema(path).names)
    except (pa.ArrowInvalid, OSError):
        raise InputError(f"{file_name(path)}: not a Parquet file") from None
    scan = f"read_parquet({_file(path)}){_renamed(columns)}"
    return _opened(connection, file_name(path), columns, scan, decimal=dialect.decimal)


def _open_query(connection: duckdb.DuckDBPyConnection, path: Path, query: str, dialect: Dialect) -> Opened:
    """Run a query on a DuckDB file, which is opened read-only, and keep what it returns."""
    name = file_name(path)
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
    return _opened(connection, name, columns, f"temp.chosen{_renamed(columns)}", decimal=dialect.decimal)


def _open_text(
    connection: duckdb.DuckDBPyConnection, path: Path, scratch: Path, layout: Layout | None, dialect: Dialect
) -> Opened:
    encoding = checked_encoding(path, dialect.encoding)
    text = recode_text(path, encoding, scratch / "utf8.txt")
    name = file_name(path)
    notes: tuple[str, ...] = ()
    if not dialect.encoding and encoding == FALLBACK:
        notes = (f"{name} is not UTF-8 and was read as {encoding}; say `encoding` if its letters look wrong",)
    if layout and layout.fields:
        return _open_fixed(connection, text, name, layout, dialect.decimal, notes)
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
        connection,
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
    connection: duckdb.DuckDBPyConnection,
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
    counted = f"(SELECT line, row_number() OVER () - 1 AS row FROM {lines})"
    numbered = f"(SELECT {cuts}, row FROM {counted} WHERE trim(line) <> '')"
    return Opened(connection, name, layout.names, scan, scan, numbered, decimal, text, header=False, notes=notes)


def _opened(
    connection: duckdb.DuckDBPyConnection,
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
    numbered = f"(SELECT *, row_number() OVER () - 1 AS row FROM {scan})"
    return Opened(connection, name, columns, scan, noting or scan, numbered, decimal, text, header, delimiter, notes)


def _renamed(columns: Sequence[str]) -> str:
    return f" AS renamed({', '.join(f'c{i}' for i in range(len(columns)))})"


def _file(path: Path) -> str:
    """Return the SQL for one file, whose name may hold what DuckDB takes for wild cards."""
    return quoted("".join(f"[{c}]" if c in "*?[" else c for c in str(path)))


def quoted(text: str) -> str:
    """Return a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"
