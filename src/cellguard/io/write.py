"""Writing files: whole or not at all, and confidential ones readable by their owner only."""

from __future__ import annotations

import csv
import json
import math
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

from cellguard.errors import InputError
from cellguard.scratch import Scratch, scratch_in, sweep

_LEAST_ROOM = 20_000_000  # bytes that must be free for the smallest of results
_ROOM_PER_CELL = 500  # bytes that a cell takes in all files of an output folder together, the pages included


def check_file(path: str | Path, *, force: bool) -> None:
    """Refuse a file that could not be written, before any work is done; the folders around it are made if need be."""
    path = Path(path)
    try:
        if path.is_dir():
            raise InputError(f"{str(path)!r} is a folder; name a file")
        if path.exists() and not force:
            raise InputError(f"{str(path)!r} exists already; choose another name, or add --force to replace it")
        path.parent.mkdir(parents=True, exist_ok=True)
        _check_access(path.parent, f"cannot write {str(path)!r}")
        sweep(path.parent)
    except OSError as error:
        raise _cannot_write(path, error) from None


def write_text(path: str | Path, text: str, *, force: bool = False, confidential: bool = False) -> None:
    """Write a file under a temporary name and rename it, so that nobody ever sees half of it."""
    path = Path(path)
    check_file(path, force=force)
    try:
        with scratch_in(path.parent) as work:
            new = work.path / "new"
            new.write_bytes(text.encode())
            new.chmod(0o600 if confidential else 0o644)
            new.replace(path)
    except OSError as error:
        raise _cannot_write(path, error) from None


def check_folder(folder: str | Path, *, force: bool) -> None:
    """Refuse an output folder that could not be written, before any work is done.

    Only another output folder is ever replaced; the folder around it must be there, allow writing and have some room.
    What killed runs left there is removed.
    """
    folder = Path(folder)
    try:
        _check_place(folder)
        _check_free(folder, force=force)
    except OSError as error:
        raise _cannot_write(folder, error) from None


def check_room(folder: str | Path, cells: int = 0, *, more: int = 0) -> None:
    """Refuse an output folder for so many cells, and so many bytes ``more``, if the disk has no room for them."""
    parent = Path(folder).absolute().parent
    needed, free = _LEAST_ROOM + _ROOM_PER_CELL * cells + more, shutil.disk_usage(parent).free
    if free < needed:
        raise InputError(
            f"there is no room for {str(folder)!r}: about {needed / 1e6:,.0f} MB are needed, and {free / 1e6:,.0f} MB "
            "are free; make room, or choose another folder"
        )


def _check_free(folder: Path, *, force: bool) -> None:
    """Refuse a folder where something is that must not be replaced, or cannot be."""
    if not folder.exists() and not folder.is_symlink():
        return
    if folder.is_symlink() or not folder.is_dir() or not _is_output(folder):
        raise InputError(f"{str(folder)!r} exists and is no output folder, so nothing replaces it; choose another")
    if not force:
        raise InputError(f"the folder {str(folder)!r} exists already; choose another, or add --force to replace it")
    for inner in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        _check_access(inner, f"{str(folder)!r} cannot be replaced")


def _check_place(folder: Path) -> None:
    """Refuse a folder whose parent is not there, cannot be written to, or has no room."""
    parent = folder.absolute().parent
    if not parent.is_dir():
        raise InputError(
            f"cannot write {str(folder)!r}: there is no folder {str(folder.parent)!r}; make it first, or correct the "
            "path"
        )
    _check_access(parent, f"cannot write {str(folder)!r}")
    sweep(parent)
    Scratch(parent).remove()
    check_room(folder)


def _check_access(folder: Path, what: str) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            f"{what}: you may not write to the folder {str(folder)!r}; change its permissions, or choose another"
        )


def _is_output(folder: Path) -> bool:
    """Return whether a folder holds what a run writes, and nothing else."""
    names = {path.name for path in folder.iterdir()}
    session = (folder / "results.json").is_file() and (folder / "proof").is_dir() and "checksums" in names
    return not names or session or (names <= {"release", "internal"} and (folder / "internal" / "job.yaml").is_file())


@contextmanager
def whole_folder(folder: str | Path, *, force: bool) -> Iterator[Path]:
    """Give a folder to write into, which takes its place when all is done; what is internal is its owner's only."""
    check_folder(folder, force=force)
    folder = Path(folder)
    try:
        with scratch_in(folder.absolute().parent) as work:
            made = work.path / "new"
            made.mkdir()
            yield made
            for path in (made / "internal").rglob("*"):
                path.chmod(0o700 if path.is_dir() else 0o600)
            made.chmod(0o755)
            if folder.exists():
                work.set_aside(folder)
            made.replace(folder)
    except OSError as error:
        raise _cannot_write(folder, error) from None


def _cannot_write(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot write {str(path)!r}: {error.strerror or type(error).__name__}")


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV text, with quotes where needed."""
    out = _Lines()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(rows)
    return "".join(out)


def write_json(path: Path, content: object) -> None:
    """Write plain data as JSON."""
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def plain(number: Decimal) -> str:
    """Write a decimal without an exponent and without zeros that say nothing."""
    text = f"{number:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def plain_number(value: float) -> str:
    """Write a number as `plain` does; infinite ends are inf and -inf."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return plain(Decimal(repr(float(value))))


class _Lines(list[str]):
    """The lines of a CSV text. The writer only quotes what is in its line end, and a lone CR needs quotes too."""

    def write(self, line: str) -> None:
        """Take a line that ends with CR LF, and end it with LF."""
        self.append(line[:-2] + "\n")
