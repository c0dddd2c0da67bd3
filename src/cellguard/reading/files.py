"""Files and frames that hold cells or records: the one place that knows which kinds there are, and how each is
reported.

Columns of any kind but text are read into memory here. Text is read by who wants it: cells with the places of their
faults (`cellguard.table.source`), records by DuckDB, which need not fit into memory (`cellguard.microdata.sources`).
What separates and names the columns of a text is found out here for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.errors import InputError, file_name
from cellguard.reading.dialect import Dialect, read_first, read_header
from cellguard.reading.features import FEATURES, read_features
from cellguard.reading.frames import from_mapping
from cellguard.reading.geoparquet import PARQUET_ENDINGS, places_in, read_points
from cellguard.reading.office import OFFICE, read_office
from cellguard.reading.px import PX, read_px


@dataclass(frozen=True)
class Kind:
    """A kind of file: the endings of its name, and how its columns are read into memory; text is no such kind."""

    endings: frozenset[str]
    read: Callable[[Path], pa.Table]


def _read_parquet(path: Path) -> pa.Table:
    try:
        places = places_in(pq.read_schema(path))
        return pq.read_table(path) if places is None else read_points(path, places)
    except (pa.ArrowException, OSError):
        raise _no_parquet(path) from None


def _refuse_database(path: Path) -> pa.Table:
    example = 'query: "select * from firms"'
    raise InputError(f"{file_name(path)}: a database needs a `query`, for instance {example}")


PARQUET = Kind(PARQUET_ENDINGS, _read_parquet)
DATABASE = Kind(frozenset({".duckdb", ".ddb", ".db"}), _refuse_database)
KINDS = (PARQUET, DATABASE, Kind(OFFICE, read_office), Kind(FEATURES, read_features), Kind(PX, read_px))


def kind_of(path: Path) -> Kind | None:
    """Return the kind of a file, by its ending; None for text.

    >>> kind_of(Path("firms.CSV")), kind_of(Path("firms.PQ")) is PARQUET
    (None, True)
    """
    return next((kind for kind in KINDS if path.suffix.lower() in kind.endings), None)


def parquet_names(path: Path) -> tuple[str, ...] | None:
    """Return the names of the columns of a Parquet file, whose rows may not fit into memory.

    None if it is a file of points (GeoParquet), which is read whole to have their coordinates.
    """
    try:
        schema = pq.read_schema(path)
        return None if places_in(schema) is not None else tuple(schema.names)
    except (pa.ArrowException, OSError):
        raise _no_parquet(path) from None


def as_frame(data: object) -> pa.Table:
    """Return what is in memory as columns: a mapping of lists or arrays, or any frame that speaks Arrow."""
    if isinstance(data, Mapping):
        return from_mapping(data)
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    raise InputError(
        f"cannot read {type(data).__name__}; give a path, a mapping of columns, or a frame that speaks Arrow"
    )


def columns_of_text(lines: Iterable[str], name: str, dialect: Dialect) -> tuple[list[str], str]:
    """Return the columns of a text file and what separates them: its header line names them, or else the dialect."""
    if dialect.columns:
        return list(dialect.columns), read_first(lines, name, dialect.columns, dialect.delimiter)
    return read_header(lines, name, dialect.delimiter)


def _no_parquet(path: Path) -> InputError:
    return InputError(f"{file_name(path)}: not a Parquet file, or a damaged one")
