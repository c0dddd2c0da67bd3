"""Columns of a file or data frame, checked while they are read: text and numbers, with the place of every fault."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError, Place, file_name
from cellguard.hierarchy.confidential_codes import suggested_column
from cellguard.reading.csvfile import BROKEN_QUOTES, line_numbers, text_lines
from cellguard.reading.decimals import MAYBE_THOUSANDS, WITH_COMMA, WITH_POINT, Marks, hint
from cellguard.reading.dialect import Dialect
from cellguard.reading.encodings import check_readable, read_text
from cellguard.reading.files import as_frame, columns_of_text, kind_of
from cellguard.reading.sdmx_csv import as_cells, is_sdmx_csv
from cellguard.reading.status_letters import EMPTY, suppressed_statuses
from cellguard.reading.vocabulary import HIDDEN, INFINITE, MISSING, NO, NUMBER, YES, YES_OR_NO


@dataclass(frozen=True, eq=False)
class Source:
    """Columns that may still hold faults, and the place to name in messages. See `settled` for no decimal mark."""

    columns: pa.Table
    place: Place
    decimal: str | None = None
    doubt: str = ""

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    def __repr__(self) -> str:
        return f"<Source {self.place.name!r}: {len(self)} rows, columns {', '.join(self.names)}>"

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns.column_names)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return a column, or raise an error that names the nearest ones."""
        if name not in self.names:
            raise InputError(f"{self.place.name}: no column {name!r}{suggested_column(name, self.names)}")
        return self.columns.column(name)

    def settled(self, numbers: Iterable[str | None]) -> Source:
        """Return the source with the decimal mark of its columns of numbers found out, if it is not said.

        A mark that cannot be told leaves a doubt, which goes into the message about the first number that needs it.
        """
        if self.decimal is not None:
            return self
        kinds = (WITH_POINT, WITH_COMMA, MAYBE_THOUSANDS)
        counts = [0, 0, 0]
        for name in dict.fromkeys(n for n in numbers if n is not None):
            column = self.column(name)
            if _is_text(column.type):
                text = pc.utf8_trim_whitespace(column.cast(pa.string()))
                for i, pattern in enumerate(kinds):
                    counts[i] += pc.sum(pc.match_substring_regex(text, pattern)).as_py() or 0
        marks = Marks(*counts)
        return replace(self, decimal=marks.decimal or ".", doubt="" if marks.decimal else marks.doubt)

    def text(self, name: str) -> pa.ChunkedArray:
        """Return a column as text; whole numbers become their digits."""
        column = self.column(name)
        kind = column.type
        if pa.types.is_dictionary(kind):
            column, kind = _decoded(column), kind.value_type
        if pa.types.is_floating(kind):
            raise InputError(
                f"{self.place.name}: column {name!r} holds decimal numbers, but codes are text; turn it into text"
            )
        return column.cast(pa.string())

    def codes(self, name: str) -> tuple[list[str], npt.NDArray[np.int64]]:
        """Return the different codes of a column in order of appearance, and each row's position among them."""
        text = self.text(name)
        blank = pc.or_kleene(pc.is_null(text), pc.equal(pc.utf8_trim_whitespace(text), ""))
        self._refuse(blank, name, "the code is blank; give every row a code")
        encoded = text.combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)

    def numbers(self, name: str, *, blank_is_nan: bool = False, infinite: bool = False) -> FloatArray:
        """Return a column as numbers; text, missing and (unless allowed) infinite ones are errors."""
        column = self.column(name)
        if _is_text(column.type):
            return self._parse(column.cast(pa.string()), name, blank_is_nan, infinite)
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or _is_decimal(column.type)):
            raise InputError(f"{self.place.name}: column {name!r} holds {column.type}, not numbers")
        numbers = column.cast(pa.float64(), safe=False).to_numpy().astype(float)
        if pa.types.is_integer(column.type):
            self._refuse(np.abs(numbers) > 2.0**53, name, "too large to be exact; give it in thousands or millions")
        return self._finite(numbers, name, blank_is_nan, infinite)

    def marks(self, name: str) -> BoolArray:
        """Return a yes-or-no column: true/false, yes/no, 1/0 or blank for no."""
        column = self.column(name)
        if pa.types.is_boolean(column.type):
            return np.asarray(pc.fill_null(column, False).to_numpy(), bool)
        words = _words(pc.fill_null(column.cast(pa.string()), ""))
        yes = pc.is_in(words, pa.array(YES))
        known = pc.or_(yes, pc.is_in(words, pa.array(NO)))
        self._refuse(pc.invert(known), name, YES_OR_NO)
        return np.asarray(yes.to_numpy(), bool)

    def flagged(self, name: str, value: str, wanted: Collection[str] = ()) -> BoolArray:
        """Return which rows a column of flags marks: those with a wanted entry, or those that must be meant.

        Those are rows with yes, where it says yes and no; with a status that means suppressed, where the statuses are
        those of a known tool; else with any entry.
        """
        words = self._words_of(name)
        said = set(pc.unique(words).to_pylist())
        plain = {*YES, "0", "no", "false"}
        if wanted:
            meant = {word.strip().casefold() for word in wanted}
            if not meant & said:
                raise InputError(f"{self.place.name}: no entry of the column {name!r} is one that --suppressed names")
        elif said <= {*YES, *NO, *MISSING} and plain & said:
            meant = {*YES}
        else:
            shown = set(pc.unique(words.filter(pa.array(~self.hidden(value)))).to_pylist())
            meant = {*suppressed_statuses(said - {*MISSING}, blanks=bool(said & {*MISSING}), shown=shown)}
        return np.asarray(pc.is_in(words, pa.array(sorted(meant), pa.string())).to_numpy(), bool)

    def empty(self, flag: str, value: str) -> BoolArray:
        """Return which rows have a status of empty cells, and no number."""
        status = pc.is_in(self._words_of(flag), pa.array(sorted(EMPTY)))
        return np.asarray(status.to_numpy(), bool) & self.hidden(value)

    def _words_of(self, name: str) -> pa.ChunkedArray:
        return _words(pc.fill_null(self.column(name).cast(pa.string()), ""))

    def hidden(self, name: str) -> BoolArray:
        """Return which values of a published table are none: blanks, and the usual marks of suppressed cells."""
        return np.asarray(pc.is_in(self._words_of(name), pa.array(HIDDEN)).to_numpy(), bool)

    def fault(self, index: int, column: str, what: str) -> InputError:
        """Return the error about one field."""
        return InputError(f"{self.place.row(index)}, column {column!r}: {what}")

    def _parse(self, text: pa.ChunkedArray, name: str, blank_is_nan: bool, infinite: bool) -> FloatArray:
        text = pc.utf8_trim_whitespace(text)
        written = text
        if self.decimal == ",":
            # A point is no decimal mark here, so it must not be taken for one.
            text = pc.replace_substring(pc.replace_substring(text, ".", "?"), ",", ".")
        missing = pc.or_kleene(pc.is_null(text), pc.is_in(_words(written), pa.array(MISSING)))
        endless = pc.match_substring_regex(text, INFINITE)
        good = pc.match_substring_regex(text, NUMBER)
        fault = pc.invert(pc.or_(pc.or_(good, endless), missing))
        if pc.any(fault).as_py():
            self._refuse(fault, name, f"not a number{self.doubt or self._hint(written, good)}")
        plain = pc.if_else(missing, "nan", text)
        return self._finite(plain.cast(pa.float64()).to_numpy().astype(float), name, blank_is_nan, infinite)

    def _finite(self, numbers: FloatArray, name: str, blank_is_nan: bool, infinite: bool) -> FloatArray:
        if not blank_is_nan:
            self._refuse(np.isnan(numbers), name, "the value is missing (blank or NaN); give it or delete the row")
        if not infinite:
            self._refuse(np.isinf(numbers), name, "the value is infinite; give a finite one")
        return numbers

    def _hint(self, text: pa.ChunkedArray, good: pa.ChunkedArray) -> str:
        other = WITH_POINT if self.decimal == "," else WITH_COMMA
        odd = pc.fill_null(pc.match_substring_regex(text, other), False)
        seen = pc.any(pc.and_(odd, pc.invert(pc.fill_null(good, False)))).as_py()
        return hint(self.decimal or ".", other_seen=bool(seen))

    def _refuse(self, fault: Any, name: str, what: str) -> None:  # noqa: ANN401
        bad = np.asarray(fault if isinstance(fault, np.ndarray) else pc.fill_null(fault, True).to_numpy(), bool)
        if bad.any():
            rows = np.flatnonzero(bad)
            more = f" ({len(rows)} rows have this fault)" if len(rows) > 1 else ""
            raise self.fault(int(rows[0]), name, what + more)


def _is_decimal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _words(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return words as the vocabulary compares them."""
    return pc.utf8_lower(pc.utf8_trim_whitespace(text))


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a dictionary-encoded column as plain values."""
    parts = [part.dictionary.cast(pa.string()).take(part.indices) for part in column.chunks]
    return pa.chunked_array(parts, pa.string())


def open_source(data: object, dialect: Dialect | None = None, *, name: str = "the data") -> Source:
    """Open a file (CSV, Parquet, Excel, SPSS, Stata, SAS), a mapping of columns, or anything that speaks Arrow."""
    dialect = dialect or Dialect()
    if isinstance(data, (str, Path)):
        source = _open_file(Path(data), dialect)
    else:
        source = Source(as_frame(data), Place(name, unit="row"), dialect.decimal)
    if not len(source):
        raise InputError(f"{source.place.name}: there are no rows; the data are empty")
    return source


def _open_file(path: Path, dialect: Dialect) -> Source:
    check_readable(path)
    kind = kind_of(path)
    if kind is None:
        return _open_csv(path, dialect)
    return Source(kind.read(path), Place(file_name(path), unit="row"), dialect.decimal)


def _open_csv(path: Path, dialect: Dialect) -> Source:
    name = file_name(path)
    text = read_text(path, dialect.encoding)
    header, delimiter = columns_of_text(text_lines(text), name, dialect)
    data = text.encode() if text.endswith("\n") else f"{text}\n".encode()  # a header alone needs its end
    broken: list[tuple[int | None, int]] = []

    def remember(row: pa_csv.InvalidRow) -> str:
        if row.text.strip():
            broken.append((row.number, row.actual_columns))
        return "skip"

    try:
        columns = pa_csv.read_csv(
            pa.BufferReader(data),
            # Rows are only numbered when one thread reads them.
            read_options=pa_csv.ReadOptions(use_threads=False, column_names=list(dialect.columns) or None),
            parse_options=pa_csv.ParseOptions(
                delimiter=delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(header) == 1,
                invalid_row_handler=remember,
            ),
            convert_options=pa_csv.ConvertOptions(
                column_types={column: pa.string() for column in header}, strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        # The library's own message quotes the data, so it must not get out.
        raise InputError(f"{name}: cannot be read as CSV: {BROKEN_QUOTES.replace('here', 'somewhere')}") from None
    if broken:
        number, fields = broken[0]
        raise InputError(
            f"{name} line {number}: {fields} fields, but the header has {len(header)}; "
            "give each line one field a column"
        )
    has_header = not dialect.columns
    if has_header and is_sdmx_csv(header):
        columns = as_cells(columns, name)
    lines = line_numbers(io.BytesIO(data), delimiter, len(columns), header=has_header)
    return Source(columns, Place(name, first=1 + has_header, lines=lines), dialect.decimal)
