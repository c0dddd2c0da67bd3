"""A register in a file of SQLite, written through to the disk before an answer leaves."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from cellguard.errors import InputError
from cellguard.register.entry import FIRST, Entry
from cellguard.register.register import COLUMNS, FORMAT, before_of, check_owner, entries_of, row_of

_WAIT = 30  # seconds for another process to finish
_MADE = f"""
create table if not exists owner (what text primary key, digest text not null);
create table if not exists answers ({
    ", ".join(f"{name} {'integer' if name in {'number', 'rank'} else 'text'} not null" for name in COLUMNS)
}, primary key (number));
create index if not exists asked on answers (asked);
"""


class SqliteRegister:
    """A register in a file."""

    def __init__(self, path: Path) -> None:
        self.name = f"the register {path.name}"
        self._lock = Lock()
        try:
            new = not path.exists()
            self._database = sqlite3.connect(path, timeout=_WAIT, check_same_thread=False, isolation_level=None)
            if new:
                path.chmod(0o600)
            self._database.execute("pragma journal_mode = wal")
            self._database.execute("pragma synchronous = full")
            self._database.executescript(_MADE)
        except (sqlite3.Error, OSError) as error:
            raise self._fault(error) from None

    def claim(self, owner: Mapping[str, str]) -> None:
        """Write down whose register this is, if it is new; refuse one of another source."""
        with self._at_work():
            known = dict(self._database.execute("select what, digest from owner").fetchall())
            if not known:
                known = {**owner, "format": FORMAT}
                self._database.executemany("insert into owner values (?, ?)", known.items())
        check_owner(known, owner, self.name)

    def since(self, number: int, digest: str | None = None) -> list[Entry]:
        """Return the entries after a number, in order."""
        said = f"select {', '.join(COLUMNS)} from answers where number > ? order by number"  # noqa: S608
        with self._lock:
            try:
                rows = self._database.execute(said, [number]).fetchall()
            except sqlite3.Error as error:
                raise self._fault(error) from None
        return entries_of(rows, before_of(number, digest), self.name)

    def append(self, entry: Entry) -> bool:
        """Write an entry durably; return False, and write nothing, if it does not follow the last one."""
        with self._at_work():
            last = self._database.execute("select number, digest from answers order by number desc limit 1").fetchone()
            if (last or (0, FIRST)) != (entry.number - 1, entry.previous):
                return False
            marks = ", ".join("?" * len(COLUMNS))
            self._database.execute(f"insert into answers values ({marks})", row_of(entry))  # noqa: S608
        return True

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._database.close()

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        with self._lock:
            try:
                self._database.execute("begin immediate")
                try:
                    yield
                except BaseException:
                    self._database.execute("rollback")
                    raise
                self._database.execute("commit")
            except sqlite3.Error as error:
                raise self._fault(error) from None

    def _fault(self, error: Exception) -> InputError:
        return InputError(f"{self.name} cannot be used ({type(error).__name__}); without it nothing is answered")
