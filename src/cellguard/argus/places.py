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


class MissingFile(InputError):
    """A file that is in none of the places; ``name`` is what the batch or the metadata call it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the file {name!r} could not be found; put it beside the batch, or correct its path")
        self.name = name


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

    def refuse_foreign(self, path: Path, endings: frozenset[str]) -> None:
        """Refuse to write a file outside of the folders of the batch, unless its name has one of these endings."""
        own = [folder.resolve() for folder in (self.batch, self.data) if folder]
        real = path.resolve()
        if path.suffix.lower() in endings or any(folder in real.parents for folder in own):
            return
        raise InputError(
            f"{path} is outside of the folder of the batch, and its name does not end as such files do; write beside "
            f"the batch, or end it with one of {', '.join(sorted(endings))}"
        )

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
        raise MissingFile(name)

    def target(self, name: str) -> Path:
        """Return the path of a file that is written."""
        last = steps(name)[-1].strip()
        if last in {"", ".", ".."} or last.endswith(":") or "\0" in name:
            raise InputError(f"{name!r} names no file; add the name of one")
        if _FOREIGN.search(name):
            path = self.batch / last
            self.tell(f"{name} cannot be written here; {path} is")
            return path
        if ".." in steps(name) and not Path(name).is_absolute():
            raise InputError(f"{name!r} leads out of the folder of the batch; name the folder in full")
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
