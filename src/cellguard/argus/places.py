"""Where the files of a batch are: as it names them, beside it, or in the folder that the command line names.

Batches come from Windows: their paths have backslashes, drives and shares that are not here. Then the file of that name
beside the batch is taken, and the logbook says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cellguard.errors import InputError

_FOREIGN = re.compile(r"^(\\\\|[A-Za-z]:)|\\")


@dataclass(frozen=True)
class Places:
    """The folder of the batch, the data folder of the command line, and who is told of what was taken instead."""

    batch: Path
    data: Path | None = None
    tell: Callable[[str], None] = lambda text: None
    read: set[Path] = field(default_factory=set)

    def find(self, name: str, *others: Path) -> Path:
        """Return the path of a file that is read; ``others`` are folders to look in as well."""
        found = self._find(name, others)
        self.read.add(found.resolve())
        return found

    def refuse_read(self, path: Path) -> None:
        """Refuse to write over a file that was read."""
        if path.resolve() in self.read:
            raise InputError(f"{path.name} is one of the files that the batch reads; write to another name")

    def _find(self, name: str, others: Sequence[Path]) -> Path:
        if not _FOREIGN.search(name):
            for folder in (self.batch, *others, *([self.data] if self.data else [])):
                if (folder / name).is_file():
                    return folder / name
        last = steps(name)[-1]
        for folder in (self.batch, *others, *([self.data] if self.data else [])):
            beside = _of_name(folder, last)
            if beside:
                if len(steps(name)) > 1 or last != beside.name:
                    self.tell(f"{name} is not here; {beside} is taken")
                return beside
        raise InputError(f"the file {name!r} could not be found; put it beside the batch, or correct its path")

    def target(self, name: str) -> Path:
        """Return the path of a file that is written."""
        if _FOREIGN.search(name):
            path = self.batch / steps(name)[-1]
            self.tell(f"{name} cannot be written here; {path} is")
            return path
        if "/" in name:
            path = Path(name) if Path(name).is_absolute() else self.batch / name
        else:
            path = (self.data or self.batch) / name
        if not path.parent.is_dir():
            raise InputError(f"there is no folder {str(path.parent)!r} to write {path.name!r} to; make it first")
        return path


def steps(name: str) -> list[str]:
    r"""Return the parts of a path of any system.

    >>> steps(r"\\server\share\age.hrc")[-1]
    'age.hrc'
    """
    return [step for step in re.split(r"[\\/]+", name) if step] or [name]


def _of_name(folder: Path, name: str) -> Path | None:
    """Return the file of that name, in capitals or small letters."""
    if (folder / name).is_file():
        return folder / name
    if not folder.is_dir():
        return None
    return next((path for path in sorted(folder.iterdir()) if path.name.lower() == name.lower()), None)
