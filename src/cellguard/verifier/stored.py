"""Reading the stored files strictly: text columns of CSV files, columns of Parquet files, JSON without surprises."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from cellguard.verifier.numbers import texts
from cellguard.verifier.stages import Refused, attempt


@dataclass(frozen=True)
class Folder:
    """Where the two halves of an output folder are, and what messages call their files."""

    release: Path
    internal: Path

    def path(self, name: str) -> Path:
        """Return where the file is that the certificate calls ``name``, as ``release/turnover.csv``."""
        half, _, rest = name.partition("/")
        return (self.release if half == "release" else self.internal) / rest


def read_bytes(folder: Folder, name: str) -> bytes:
    """Return a file's content."""
    path = folder.path(name)
    if not path.is_file():
        raise Refused(f"{name} is missing")
    return attempt(name, path.read_bytes)


def read_csv(folder: Folder, name: str, columns: Sequence[str]) -> list[pa.Array]:
    """Return the columns of a CSV file as text, in the order asked for; refuse any other header.

    A file that says the same in other bytes, with a mark of its encoding or other quotes and line ends, is refused,
    too: there is more than one way to write a row, and so room for what nobody sees.
    """
    data = read_bytes(folder, name)
    table = attempt(name, lambda: _parse_csv(data, columns))
    if table is None:
        raise Refused(f"{name} does not have exactly the columns {', '.join(columns)}")
    read = [texts(table.column(i)) for i in range(len(columns))]
    if data != csv_bytes(columns, read):
        raise Refused(f"{name} is not written as CSV files of a folder are: quotes where needed only, and line feeds")
    return read


def csv_bytes(header: Sequence[str], columns: Sequence[pa.Array]) -> bytes:
    r"""Return a CSV file: commas, quotes around what holds a comma, a quote or a line end, and a line feed after a row.

    >>> csv_bytes(["a", "b"], [pa.array(["x", 'a "y" b']), pa.array(["1,5", ""])])
    b'a,b\nx,"1,5"\n"a ""y"" b",\n'
    """
    heads = [pa.array([name], pa.string()) for name in header]
    lines = [
        line for part in (heads, columns) for line in pc.binary_join_element_wise(*map(_quoted, part), ",").to_pylist()
    ]
    return "".join(f"{line}\n" for line in lines).encode("utf-8")


def _quoted(column: pa.Array) -> pa.Array:
    special = pc.match_substring_regex(column, '[",\r\n]')
    if not pc.any(special).as_py():
        return column
    inner = pc.replace_substring(column, '"', '""')
    return pc.if_else(special, pc.binary_join_element_wise('"', inner, '"', ""), column)


def _parse_csv(data: bytes, columns: Sequence[str]) -> pa.Table | None:
    parse = pacsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
    kinds = pacsv.ConvertOptions(
        column_types={c: pa.string() for c in columns}, strings_can_be_null=False, quoted_strings_can_be_null=False
    )
    # Threads that still hold the bytes when the interpreter ends abort the process, and with it the exit status.
    alone = pacsv.ReadOptions(use_threads=False)
    table = pacsv.read_csv(pa.BufferReader(data), alone, parse_options=parse, convert_options=kinds)
    return table if table.schema.names == list(columns) else None


def read_parquet(folder: Folder, name: str) -> pa.Table:
    """Return a Parquet file; refuse a column name that occurs twice."""
    data = read_bytes(folder, name)
    table = attempt(name, lambda: pq.ParquetFile(pa.BufferReader(data), pre_buffer=False).read(use_threads=False))
    attempt(name, lambda: table.validate(full=True))
    if len(set(table.schema.names)) != len(table.schema.names):
        raise Refused(f"{name} has a column twice")
    return table


def read_json(data: bytes, name: str) -> dict[str, Any]:
    """Return a JSON object; refuse repeated keys and numbers that are not finite."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            raise Refused(f"{name} has a key twice")
        return dict(pairs)

    def finite(text: str) -> float:
        number = float(text)
        if not math.isfinite(number):
            raise Refused(f"{name} holds a number that is not finite")
        return number

    def read() -> object:
        return json.loads(data.decode("utf-8"), object_pairs_hook=unique, parse_float=finite, parse_constant=finite)

    document = attempt(name, read)
    if not isinstance(document, dict):
        raise Refused(f"{name} is not a JSON object")
    return document
