"""Writing files: whole or not at all, and confidential ones readable by their owner only."""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cellguard.errors import InputError


def write_text(path: str | Path, text: str, *, force: bool = False, confidential: bool = False) -> None:
    """Write a file under a temporary name and rename it, so that nobody ever sees half of it."""
    path = Path(path)
    if path.exists() and not force:
        raise InputError(f"{str(path)!r} exists already; choose another name, or say --force to replace it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(temporary).chmod(0o600 if confidential else 0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def check_folder(folder: str | Path, *, force: bool) -> None:
    """Refuse to write an output folder where something else is: only another output folder is ever replaced."""
    folder = Path(folder)
    if not folder.exists() and not folder.is_symlink():
        return
    if folder.is_symlink() or not folder.is_dir() or not _is_output(folder):
        raise InputError(f"{str(folder)!r} exists and is no output folder, so nothing replaces it; choose another")
    if not force:
        raise InputError(f"the folder {str(folder)!r} exists already; choose another, or say --force to replace it")


def _is_output(folder: Path) -> bool:
    """Tell whether a folder holds what a run writes, and nothing else."""
    found = {path.name for path in folder.iterdir()}
    return not found or (found <= {"release", "internal"} and (folder / "internal" / "job.yaml").is_file())


@contextmanager
def whole_folder(folder: str | Path, *, force: bool) -> Iterator[Path]:
    """Give a folder to write into, which takes its place when all is done; what is internal is its owner's only."""
    check_folder(folder, force=force)
    folder = Path(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    except OSError as error:
        raise InputError(f"cannot write {str(folder)!r}: {error.strerror}") from None
    try:
        yield made
        for path in (made / "internal").rglob("*"):
            path.chmod(0o700 if path.is_dir() else 0o600)
        made.chmod(0o755)
        _take_place(made, folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _take_place(made: Path, folder: Path) -> None:
    if folder.exists():
        old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.old."))
        folder.replace(old / "old")
        made.replace(folder)
        shutil.rmtree(old)
    else:
        made.replace(folder)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV text, with quotes where needed."""
    out = _Lines()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(rows)
    return "".join(out)


class _Lines(list[str]):
    """The lines of a CSV text. The writer only quotes what is in its line end, and a lone CR needs quotes too."""

    def write(self, line: str) -> None:
        """Take a line that ends with CR LF, and end it with LF."""
        self.append(line[:-2] + "\n")
