"""Writing files: whole or not at all, and confidential ones readable by their owner only."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Iterable, Sequence
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


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV text, with quotes where needed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()
