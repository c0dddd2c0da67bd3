"""How large a file is once it is read: a small one that is packed may be very large inside."""

from __future__ import annotations

import zipfile
from pathlib import Path


def unpacked_size(path: Path) -> int:
    """Return how many bytes a packed file (as of Excel) says to hold; 0 for any other file."""
    if not zipfile.is_zipfile(path):
        return 0
    try:
        with zipfile.ZipFile(path) as packed:
            return sum(part.file_size for part in packed.infolist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        return 0  # its reader says what is wrong with it
