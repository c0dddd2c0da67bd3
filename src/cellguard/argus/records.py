"""Microdata as their metadata describe them: columns of text, numbers where numbers are wanted."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from cellguard.argus.spanning import padded
from cellguard.arrays import FloatArray
from cellguard.errors import InputError, file_name
from cellguard.microdata.rda import Metadata, Variable
from cellguard.reading.csvfile import BROKEN_QUOTES
from cellguard.reading.encodings import read_text

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


def plain_text(path: Path) -> str:
    r"""Return the text of a file whose lines end with ``\n``, however they do there, ``\r\r\n`` included."""
    return read_text(path).replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n")


def read_fields(path: Path, metadata: Metadata) -> pa.Table:
    """Return the fields of a text as their metadata cut them: a column of text per variable."""
    text = plain_text(path)
    if not text.strip():
        raise InputError(f"{file_name(path)}: there are no records; the file is empty")
    if metadata.delimiter is None:
        return _fixed(text, metadata)
    return _free(text, metadata, file_name(path))


def _fixed(text: str, metadata: Metadata) -> pa.Table:
    lines = pa.array([line for line in text.split("\n") if line.strip()], pa.string())
    columns = [pc.utf8_slice_codeunits(lines, v.start - 1, v.start - 1 + v.width) for v in metadata.variables]
    return pa.table(columns, names=[v.name for v in metadata.variables])


def _free(text: str, metadata: Metadata, name: str) -> pa.Table:
    delimiter = metadata.delimiter or ";"
    names = [v.name for v in metadata.variables]
    first = next(csv.reader([next(line for line in text.split("\n") if line.strip())], delimiter=delimiter))
    if len(first) < len(names):
        raise InputError(
            f"{name} line 1: {len(first)} fields, but {metadata.source} describes {len(names)}; correct <SEPARATOR>, "
            "or the variables"
        )
    every = [*names, *(f"field {i}" for i in range(len(names), len(first)))]
    short: list[int] = []

    def odd(row: pa_csv.InvalidRow) -> str:
        if row.text.strip():
            short.append(row.number or 0)
        return "skip"

    try:
        table = pa_csv.read_csv(
            pa.BufferReader(text.encode()),
            read_options=pa_csv.ReadOptions(use_threads=False, column_names=every),
            parse_options=pa_csv.ParseOptions(delimiter=delimiter, invalid_row_handler=odd),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(every, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        raise InputError(f"{name}: cannot be read: {BROKEN_QUOTES.replace('here', 'somewhere')}") from None
    if short:
        raise InputError(f"{name} line {short[0]}: has another number of fields than the first line, {len(first)}")
    return table.select(names)


def codes_of(fields: pa.Table, variable: Variable, free: bool) -> tuple[list[str], pa.Array]:
    """Return the different codes of a spanning variable, as its width has them, and the place of each record's."""
    column = fields.column(variable.name).combine_chunks().dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    written = [padded(code, variable.width) if free else code for code in column.dictionary.to_pylist()]
    codes = list(dict.fromkeys(written))
    place = {code: i for i, code in enumerate(codes)}
    index = pa.array([place[code] for code in written], pa.int32())
    return codes, index.take(column.indices)


def numbers_of(column: pa.ChunkedArray, missing: Sequence[str], where: str, name: str) -> tuple[FloatArray, int]:
    """Return a column as numbers, and how many are missing: blank, or a code for missing. They count as 0."""
    text = pc.replace_substring(pc.utf8_trim_whitespace(column), ",", ".")
    absent = pc.is_in(text, pa.array(["", ".", "-", *(code.strip().replace(",", ".") for code in missing)]))
    bad = pc.invert(pc.or_(pc.match_substring_regex(text, _NUMBER), absent))
    if pc.any(bad).as_py():
        row = int(np.flatnonzero(bad.to_numpy())[0])
        raise InputError(f"{where} line {row + 1}, variable {name!r}: not a number; correct it")
    numbers = pc.if_else(absent, "0", text).cast(pa.float64()).to_numpy().astype(float)
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise InputError(f"{where} line {row + 1}, variable {name!r}: the number is too large; correct it")
    return numbers, int(pc.sum(absent).as_py() or 0)
