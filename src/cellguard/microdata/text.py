"""Text files of records or cells: encoding, delimiter, header, and the line of each row."""

from __future__ import annotations

import codecs
import csv
import shutil
from collections.abc import Iterator, Mapping, Sized
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from cellguard.errors import InputError, file_name, listing
from cellguard.hierarchy.hush import is_number

_CHUNK = 1 << 22
_FALLBACK = "cp1252"


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written; a delimiter that is not given is found in the header line."""

    delimiter: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise InputError("`delimiter` must be one character, such as ';' (a tab is written \"\\t\")")
        if self.decimal not in {".", ","}:
            raise InputError("`decimal` must be '.' or ','")


def check_readable(path: Path) -> None:
    """Refuse what is no file that can be read: not there, a folder, a link that leads nowhere, or forbidden."""
    try:
        if path.is_dir():
            raise InputError(f"{str(path)!r} is a folder, not a file; name a file in it")
        if path.is_symlink() and not path.exists():
            raise InputError(f"{str(path)!r} is a link that leads nowhere; check where its file is")
        if not path.is_file():
            raise InputError(f"no file {str(path)!r}; check its name and its folder")
        path.open("rb").close()
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}; check its permissions") from None


def read_header(path: Path, dialect: Dialect) -> tuple[list[str], str]:
    """Return the column names of a CSV file and its delimiter."""
    name = file_name(path)
    try:
        with path.open(encoding=dialect.encoding, newline="") as lines:
            first = lines.readline().removeprefix("\ufeff")
    except (UnicodeDecodeError, LookupError):
        raise wrong_encoding(name, dialect.encoding) from None
    if not first.strip():
        raise InputError(f"{name}: the file is empty; it needs a header line and rows")
    delimiter = dialect.delimiter or max(",;\t|", key=first.count)
    header = next(csv.reader([first], delimiter=delimiter))
    other = max(",;\t|", key=first.count)
    if len(header) == 1 and other in header[0]:
        raise InputError(
            f"{name}: the delimiter looks wrong: split at {delimiter!r} the header has one column, but it holds "
            f"{other!r}; say `delimiter: {other!r}`, or leave it out to have it found"
        )
    twice = sorted({column for column in header if header.count(column) > 1})
    if twice:
        if any(map(is_number, header)):
            raise InputError(f"{name}: the first line holds an entry twice, and numbers; does it have a header line?")
        raise InputError(f"{name}: the header names {listing(twice)} twice; give each column a name of its own")
    return header, delimiter


def wrong_encoding(name: str, encoding: str, line: int | None = None) -> InputError:
    """Return the error about a file that is not written in the encoding that was said."""
    where = f"{name} line {line}" if line else name
    return InputError(f"{where}: not written in {encoding}; name its encoding, for instance `encoding: latin-1`")


def line_numbers(path: Path, dialect: Dialect, rows: int, *, header: bool = True) -> tuple[int, ...]:
    """Return the rows' line numbers if blank lines or quoted line breaks make them other than consecutive."""
    if _count_lines(path) == rows + header:
        return ()
    delimiter = dialect.delimiter or read_header(path, dialect)[1]
    with path.open(encoding=dialect.encoding, newline="") as lines:
        reader = csv.reader(lines, delimiter=delimiter)
        numbers, before = [], 0
        for row in reader:
            if row:
                numbers.append(before + 1)
            before = reader.line_num
    return tuple(numbers[header:])


def line_at(path: Path, position: int) -> int:
    """Return the line in which a byte of a file stands."""
    left, line = position, 1
    for part in _parts(path):
        line += part[:left].count(b"\n")
        left -= len(part)
        if left <= 0:
            break
    return line


def find_encoding(path: Path) -> str:
    """Return ``utf-8`` if a file is written in it, else the western European code page that it probably has."""
    return "utf-8" if _broken_at(path, "utf-8") is None else _FALLBACK


def recode_text(path: Path, encoding: str, target: Path) -> Path:
    """Return a file's UTF-8 version: the file itself, or for another encoding a copy at ``target``."""
    name = file_name(path)
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise InputError(f"{name}: no such encoding {encoding!r}; common ones are utf-8, latin-1 and cp1252") from None
    broken = _broken_at(path, encoding)
    if broken is not None:
        raise wrong_encoding(name, encoding, line_at(path, broken))
    if codecs.lookup(encoding).name == "utf-8":
        return path
    decode = codecs.getincrementaldecoder(encoding)()
    if shutil.disk_usage(target.parent).free < path.stat().st_size:
        raise _no_copy(name, target, "no room")
    try:
        with target.open("wb") as copy:
            for part in _parts(path):
                copy.write(decode.decode(part).encode())
            copy.write(decode.decode(b"", final=True).encode())
    except OSError as error:
        raise _no_copy(name, target, str(error.strerror)) from None
    return target


def _no_copy(name: str, target: Path, why: str) -> InputError:
    return InputError(
        f"{name}: its UTF-8 version cannot be written to {str(target.parent.parent)!r} ({why}); make room, name "
        "another folder in TMPDIR, or give the file in UTF-8"
    )


def from_mapping(data: Mapping[str, object]) -> pa.Table:
    """Return a mapping of columns as an Arrow table; columns of mixed kinds become text."""
    columns = {}
    for name, values in data.items():
        if isinstance(values, str) or not isinstance(values, Sized):
            raise InputError(f"column {name!r} must be a list or an array, one entry a row")
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            columns[name] = pa.array([None if v is None else str(v) for v in list(values)])  # type: ignore[call-overload]
    if len({len(values) for values in columns.values()}) > 1:
        raise InputError("the columns must be lists or arrays of one length")
    return pa.table(columns)


def _broken_at(path: Path, encoding: str) -> int | None:
    """Return the first byte that is not of the encoding, or None."""
    decode, done = codecs.getincrementaldecoder(encoding)(), 0
    pending = 0
    try:
        for part in _parts(path):
            decode.decode(part)
            done += len(part)
            pending = len(decode.getstate()[0])
        decode.decode(b"", final=True)
    except UnicodeDecodeError as error:
        return done - pending + error.start
    return None


def _count_lines(path: Path) -> int:
    lines, last = 0, b"\n"
    for part in _parts(path):
        lines += part.count(b"\n")
        last = part[-1:]
    return lines + (last != b"\n")


def _parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while part := file.read(_CHUNK):
            yield part
