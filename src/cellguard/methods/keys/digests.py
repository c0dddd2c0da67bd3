"""The digest of a file that a job of this method names."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cellguard.errors import InputError, file_name


def digest_of_file(path: Path) -> str:
    """Return the sha-256 of a file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {file_name(path)!r}: {error.strerror}") from None
