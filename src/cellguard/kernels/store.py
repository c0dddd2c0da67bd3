"""Where code that is compiled as it runs is kept for the next run."""

from __future__ import annotations

import functools
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path


@functools.cache
def store(stamp: str) -> Path | None:
    """Return the folder for code compiled from sources with this digest; None if there is nowhere to write.

    It is the one that NUMBA_CACHE_DIR names; else one in the user's cache folder; else one in the system's folder for
    temporary files. What lies there is run, so a folder of ours belongs to this user and nobody else may write to it.
    """
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        return Path(given) if _can_write(Path(given)) else None
    for base in (_user_folder(), _shared_folder()):
        if base is not None and _is_own(base) and _is_own(base / stamp) and _can_write(base / stamp):
            return base / stamp
    return None


def _user_folder() -> Path | None:
    named = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    home = os.environ.get("HOME")
    base = Path(named) if named else Path(home, ".cache") if home else None
    return base / "cellguard" if base is not None and base.is_absolute() else None


def _shared_folder() -> Path:
    return Path(tempfile.gettempdir(), f"cellguard-{os.getuid() if hasattr(os, 'getuid') else 'kernels'}")


def _is_own(folder: Path) -> bool:
    """Make a folder unless it is there; tell whether it is one of this user's to which nobody else may write."""
    with suppress(OSError):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
        if not hasattr(os, "getuid"):
            return stat.S_ISDIR(found.st_mode)
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
    return False


def _can_write(folder: Path) -> bool:
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    return False
