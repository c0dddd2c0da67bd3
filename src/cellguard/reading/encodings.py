"""Encodings: a mark at the start says UTF-8 or UTF-16; without one a file is UTF-8, or else Windows-1252."""

from __future__ import annotations

import codecs
import shutil
from collections.abc import Iterator
from glob import has_magic
from pathlib import Path

from cellguard.errors import InputError, file_name

UTF8 = "utf-8"
FALLBACK = "cp1252"
_MARKS = {codecs.BOM_UTF8: UTF8, codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_CHUNK = 1 << 22
_OTHERS = {
    b"%PDF-": ("a PDF file", "save its table as CSV or Excel"),
    b"PK\x03\x04": ("a zip file", "unpack it, and name a file of it; of a workbook the name ends in .xlsx"),
    b"\x1f\x8b": ("a gzip file", "unpack it first"),
    b"\xd0\xcf\x11\xe0": ("an old Office file", "save it as .xlsx or CSV"),
    b"\x89PNG": ("a picture", "name a file of records or cells"),
    b"PAR1": ("a Parquet file", "give it a name that ends in .parquet"),
}

_SEVERAL = (
    "; one file is read here: make one of several, as DuckDB does by COPY (FROM '*.parquet') TO 'all.parquet', or ask "
    "in Python, where cg.protect takes the pattern itself"
)


def check_readable(path: Path) -> None:
    """Refuse what is no file that can be read: not there, a folder, a link that leads nowhere, or forbidden."""
    try:
        if path.is_dir():
            raise InputError(f"{str(path)!r} is a folder, not a file; name a file in it")
        if path.is_symlink() and not path.exists():
            raise InputError(f"{str(path)!r} is a link that leads nowhere; check where its file is")
        if not path.is_file():
            home = "; ~ is not taken for your home folder here, so write that out" if "~" in Path(path).parts else ""
            cure = _SEVERAL if has_magic(str(path)) else home
            raise InputError(f"no file {str(path)!r}; check its name and its folder{cure}")
        path.open("rb").close()
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}; check its permissions") from None


def find_encoding(path: Path) -> str:
    """Return the encoding that a file's first bytes name; else UTF-8 if it is written in it, else Windows-1252."""
    with path.open("rb") as file:
        start = file.read(4096)
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding
    for mark, (kind, cure) in _OTHERS.items():
        if start.startswith(mark):
            raise InputError(f"{file_name(path)}: this is {kind}, and no table; {cure}")
    if b"\0" in start:
        raise InputError(f"{file_name(path)}: no text file, or in an unknown encoding; save it in UTF-8")
    if _broken_at(path, UTF8) is None:
        return UTF8
    broken = _broken_at(path, FALLBACK)
    if broken is None:
        return FALLBACK
    where = f"{file_name(path)} line {line_at(path, broken)}"
    raise InputError(f"{where}: written neither in UTF-8 nor in Windows-1252; save it in UTF-8")


def checked_encoding(path: Path, encoding: str | None) -> str:
    """Return the encoding that is said, if the file is written in it, or the one that is found."""
    if not encoding:
        return find_encoding(path)
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise InputError(
            f"{file_name(path)}: no such encoding {encoding!r}; common ones are utf-8, latin-1 and cp1252"
        ) from None
    broken = _broken_at(path, encoding)
    if broken is not None:
        raise InputError(
            f"{file_name(path)} line {line_at(path, broken)}: not written in {encoding}; name its encoding, for "
            "instance `encoding: latin-1`, or leave it out to have it found"
        )
    return codecs.lookup(encoding).name


def read_text(path: str | Path, encoding: str | None = None) -> str:
    """Return the text of a file that fits into memory, without a byte order mark; line breaks stay as they are."""
    path = Path(path)
    check_readable(path)
    return path.read_bytes().decode(checked_encoding(path, encoding)).removeprefix("\ufeff")


def recode_text(path: Path, encoding: str, target: Path) -> Path:
    """Return a file's UTF-8 version: the file itself, or for another encoding a copy at ``target``."""
    name = file_name(path)
    if codecs.lookup(encoding).name == UTF8:
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


def line_at(path: Path, position: int) -> int:
    """Return the line in which a byte of a file stands."""
    left, line = position, 1
    for part in _parts(path):
        line += part[:left].count(b"\n")
        left -= len(part)
        if left <= 0:
            break
    return line


def _no_copy(name: str, target: Path, why: str) -> InputError:
    return InputError(
        f"{name}: its UTF-8 version cannot be written to {str(target.parent.parent)!r} ({why}); make room, name "
        "another folder in TMPDIR, or give the file in UTF-8"
    )


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
    except UnicodeError as error:
        return done - pending + getattr(error, "start", 0)
    return None


def _parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while part := file.read(_CHUNK):
            yield part
