"""A register in a PostgreSQL database, for workers on several machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

from cellguard.errors import InputError, MissingExtra
from cellguard.register.entry import FIRST, Entry
from cellguard.register.register import COLUMNS, FORMAT, before_of, check_owner, entries_of, row_of

_OWNER = "create table if not exists cellguard_owner (what text primary key, digest text not null)"
_KINDS = {"number": "bigint", "rank": "bigint"}
_ANSWERS = "create table if not exists cellguard_answers ({}, primary key (number))".format(
    ", ".join(f'"{name}" {_KINDS.get(name, "text")} not null' for name in COLUMNS)
)
_ALL = ", ".join(f'"{name}"' for name in COLUMNS)


class PostgresRegister:
    """A register in a database; the URL names it, user and password are found as every client finds them."""

    def __init__(self, url: str) -> None:
        self.name = "the register in PostgreSQL"
        self._url, self._lock = url, Lock()
        self._connection: Any = None
        with self._at_work(lock=False) as cursor:
            cursor.execute("select pg_advisory_xact_lock(4713)")  # several workers may be the first
            cursor.execute(_OWNER)
            cursor.execute(_ANSWERS)

    def claim(self, owner: Mapping[str, str]) -> None:
        """Write down whose register this is, if it is new; refuse one of another source."""
        with self._at_work() as cursor:
            cursor.execute("select what, digest from cellguard_owner")
            known = dict(cursor.fetchall())
            if not known:
                known = {**owner, "format": FORMAT}
                for what, digest in known.items():
                    cursor.execute("insert into cellguard_owner values ($1, $2)", [what, digest])
        check_owner(known, owner, self.name)

    def since(self, number: int, digest: str | None = None) -> list[Entry]:
        """Return the entries after a number, in order."""
        with self._at_work(lock=False) as cursor:
            cursor.execute(f"select {_ALL} from cellguard_answers where number > $1 order by number", [number])  # noqa: S608
            rows = cursor.fetchall()
        return entries_of(rows, before_of(number, digest), self.name)

    def append(self, entry: Entry) -> bool:
        """Write an entry durably; return False, and write nothing, if it does not follow the last one."""
        with self._at_work() as cursor:
            cursor.execute("select number, digest from cellguard_answers order by number desc limit 1")
            last = cursor.fetchone()
            if (tuple(last) if last else (0, FIRST)) != (entry.number - 1, entry.previous):
                return False
            marks = ", ".join(f"${i}" for i in range(1, len(COLUMNS) + 1))
            cursor.execute(f"insert into cellguard_answers ({_ALL}) values ({marks})", row_of(entry))  # noqa: S608
        return True

    def close(self) -> None:
        """Let go of the database."""
        with self._lock, suppress(Exception):
            if self._connection is not None:
                self._connection.close()

    @contextmanager
    def _at_work(self, *, lock: bool = True) -> Iterator[Any]:
        with self._lock:
            connection = self._connected()
            try:
                with connection.cursor() as cursor:
                    if lock:
                        cursor.execute("lock table cellguard_answers in exclusive mode")
                    yield cursor
                connection.commit()
            except InputError:
                connection.rollback()
                raise
            except Exception as error:  # whatever the driver makes of a fault
                with suppress(Exception):
                    connection.rollback()
                with suppress(Exception):
                    connection.close()
                self._connection = None
                raise InputError(
                    f"{self.name} cannot be used ({type(error).__name__}); without it nothing is answered"
                ) from None

    def _connected(self) -> Any:  # noqa: ANN401
        if self._connection is None:
            try:
                import adbc_driver_postgresql.dbapi as driver
            except ImportError:
                raise MissingExtra(
                    "a register in PostgreSQL needs an extra; get it with: pip install 'cellguard[postgres]'"
                ) from None
            try:
                self._connection = driver.connect(self._url)
            except Exception as error:
                raise InputError(
                    f"{self.name} cannot be reached ({type(error).__name__}); without it nothing is answered"
                ) from None
        return self._connection
