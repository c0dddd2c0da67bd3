"""Private folders for work in progress: they vanish with the run that made them, or with the next one if it was killed.

Each holds a lock file that its run has locked as long as it lives, however it ends. So a folder whose lock is free was
left behind. What was set aside in it, to make room for something new that never came, is put back.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = ".cellguard-"
_LOCK, _OLD, _PLACE = "lock", "old", "place"

if sys.platform == "win32":

    def _locked(handle: int) -> bool:
        return False  # and so nothing is ever taken for left behind

else:
    import fcntl

    def _locked(handle: int) -> bool:
        """Lock an open file, unless another process has; a file system without locks never does."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


class Scratch:
    """A private folder, ``path``, which nobody else removes before its run has ended."""

    def __init__(self, parent: Path) -> None:
        self.path = Path(tempfile.mkdtemp(dir=parent, prefix=PREFIX))
        self._handle = self._take_lock()

    def _take_lock(self) -> int:
        # The lock appears under its name only when it is locked, so that nobody finds it free before.
        new = self.path / "new-lock"
        handle = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        if _locked(handle):
            new.rename(self.path / _LOCK)
        return handle

    def set_aside(self, folder: Path) -> None:
        """Move a folder beside this one into it; `remove` puts it back if nothing has taken its place."""
        (self.path / _PLACE).write_text(folder.name, encoding="utf-8")
        folder.replace(self.path / _OLD)

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        _remove(self.path)
        with suppress(OSError):
            os.close(self._handle)


@contextmanager
def scratch_in(parent: Path) -> Iterator[Scratch]:
    """Give a private folder inside another, and remove it at the end."""
    scratch = Scratch(parent)
    try:
        yield scratch
    finally:
        scratch.remove()


def sweep(parent: Path) -> None:
    """Remove the private folders that killed runs of the same user left in a folder."""
    try:
        left = [path for path in parent.iterdir() if path.name.startswith(PREFIX)]
    except OSError:
        return
    for path in left:
        _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    if sys.platform == "win32":
        return
    try:
        about = path.lstat()
        if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
            return
        handle = os.open(path / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if _locked(handle):
            _remove(path)
    finally:
        os.close(handle)


def _remove(path: Path) -> None:
    """Put back what was set aside, then remove all else; the lock goes last, so that what is left can be found."""
    _put_back(path)
    with suppress(OSError):
        for inner in path.iterdir():
            if inner.is_dir() and not inner.is_symlink():
                shutil.rmtree(inner, ignore_errors=True)
            elif inner.name != _LOCK:
                inner.unlink()
    shutil.rmtree(path, ignore_errors=True)


def _put_back(path: Path) -> None:
    with suppress(OSError, ValueError):
        name = (path / _PLACE).read_text(encoding="utf-8")
        place = path.parent / name
        if (path / _OLD).is_dir() and name == Path(name).name and not (place.exists() or place.is_symlink()):
            (path / _OLD).rename(place)
