"""The files that a batch writes: where they go is checked before any work, and all appear at the end, or none.

A batch may come from anybody, and its lines end up in the logbook. So nothing that it reads is written over, a logbook
is only added to a logbook, and outside of its own folders files are written only where their names end as tables do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from cellguard.argus.places import Places
from cellguard.errors import InputError
from cellguard.io.write import check_file
from cellguard.scratch import Scratch, scratch_in

LOGBOOKS = frozenset({".log", ".txt"})
_TABLES = frozenset({".csv", ".txt", ".tab", ".sbs", ".jj", ".frq", ".hst", ".rda", ".hrc", ".dat", ".out", ".prn"})
_STAMP = re.compile(r"\s*\d{1,2}-\S{2,12}-\d{4} \d\d:\d\d:\d\d ?:")
_OWNER, _ALL = 0o600, 0o644


@dataclass(frozen=True)
class Output:
    """A file, its text, whether it shows values of suppressed cells, and what the logbook says of it."""

    path: Path
    text: str
    confidential: bool
    words: str = ""


@dataclass
class Outputs:
    """What a batch writes, in the order of its commands; ``own`` is the folder that it makes for job and proof."""

    places: Places
    own: Path
    files: list[Output] = field(default_factory=list)
    taken: dict[Path, str] = field(default_factory=dict)

    def place(self, name: str, what: str) -> Path:
        """Return the path of a file that is to be written, if it may be; ``what`` names the command."""
        path = self.places.target(name)
        self._take(path, what)
        return path

    def add(self, output: Output, what: str) -> None:
        """Take a file that a command writes at the end; one beside a named file is checked here."""
        self._take(output.path, what)
        self.files.append(output)

    def reserve(self, path: Path, what: str) -> None:
        """Keep a path for something that is no output, such as the logbook."""
        self.taken.setdefault(_real(path), what)

    def _take(self, path: Path, what: str) -> None:
        before = self.taken.setdefault(_real(path), what)
        if before != what:
            raise InputError(f"{path.name} is used by {before}, too; choose another name")
        if _real(path).is_relative_to(_real(self.own)):
            raise InputError(f"{self.own.name} is the folder of the job and its proof; write to another one")
        self.places.refuse_read(path)
        self.places.refuse_foreign(path, _TABLES)
        check_file(path, force=True)

    def check_read(self) -> None:
        """Refuse all paths of files that have been read since."""
        for output in self.files:
            self.places.refuse_read(output.path)

    def write(self, tell: Callable[[str], None]) -> None:
        """Write all files under temporary names, and then give each its own."""
        with ExitStack() as stack:
            folders: dict[Path, Scratch] = {}
            made: list[tuple[Path, Output]] = []
            try:
                for number, output in enumerate(self.files):
                    parent = output.path.parent
                    if parent not in folders:
                        folders[parent] = stack.enter_context(scratch_in(parent))
                    new = folders[parent].path / f"{number}"
                    new.write_bytes(output.text.encode())
                    new.chmod(_OWNER if output.confidential else _ALL)
                    made.append((new, output))
                for new, output in made:
                    new.replace(output.path)
            except OSError as error:
                raise InputError(f"cannot write {output.path}: {error.strerror}; make room, or name another") from None
        for output in self.files:
            tell(output.words or f"{output.path} has been written")


def refuse_no_logbook(path: Path) -> None:
    """Refuse to add to a file that is no logbook.

    >>> bool(_STAMP.match("26-jul-2018 14:00:52 : Log for batch run"))
    True
    """
    if path.is_dir():
        raise InputError(f"the logbook {str(path)!r} is a folder; name a file")
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb") as file:
        first = file.read(200).decode("utf-8", "replace")
    if not _STAMP.match(first):
        raise InputError(f"{path.name} exists and is no logbook, so nothing is added to it; name another file")


def _real(path: Path) -> Path:
    """Return what tells one file from others; the last part may be a link that is replaced."""
    return path.parent.resolve() / path.name


def endings(path: Path, texts: Sequence[str]) -> dict[str, Path]:
    """Return the paths of a file and of those beside it, by the endings that writers give them.

    >>> [p.name for p in endings(Path("t.x"), ("", ".frq", ".rda", "_1.hrc")).values()]
    ['t.x', 't.x.frq', 't.rda', 't_1.hrc']
    """
    found = {}
    for ending in texts:
        if ending == ".rda":
            found[ending] = path.with_suffix(ending)
        else:
            found[ending] = path.with_name((path.name if ending in {"", ".frq"} else path.stem) + ending)
    return found
