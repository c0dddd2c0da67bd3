"""The record of decisions on a job: a file to which lines are added and never changed, each tied to the one before.

A line is a JSON object with its number, time, author and what was decided, and the digest of the line before it. So a
line that is changed, left out or put in between is noticed; lines cut off at the end are not, unless a copy is kept.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cellguard.errors import InputError

FIRST = "0" * 64
_KEYS = ("number", "at", "what", "who", "role", "account", "said", "previous")
_LONGEST = 10_000_000  # bytes of one line


@dataclass(frozen=True)
class Entry:
    """One line: its number, when, what was done, by whom in which role and from which account, and what was said."""

    number: int
    at: str
    what: str
    who: str
    role: str
    account: str
    said: Mapping[str, Any]
    previous: str

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {key: getattr(self, key) for key in _KEYS}


@dataclass(frozen=True)
class Record:
    """The file of a job's decisions.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as here:
    ...     record = Record(Path(here, "job.decisions.jsonl"))
    ...     _ = record.add("comment", who="Ada", role="maker", said={"text": "ready"})
    ...     [(entry.number, entry.what, entry.who) for entry in record.entries()]
    [(1, 'comment', 'Ada')]
    """

    path: Path

    def entries(self) -> list[Entry]:
        """Return all lines, oldest first; a record whose lines do not follow from each other is refused."""
        try:
            lines = self.path.read_bytes().split(b"\n")[:-1] if self.path.exists() else []
        except OSError as error:
            raise InputError(f"cannot read {self.path.name}: {error.strerror}") from None
        return [entry for _, entry in self._read(lines)]

    def add(self, what: str, *, who: str, role: str, said: Mapping[str, Any]) -> Entry:
        """Add a line; two programs that do so at the same time wait for each other."""
        with self._held() as handle:
            lines = _content(handle).split(b"\n")
            if lines.pop():
                raise InputError(f"{self.path.name} ends in the middle of a line; repair it, or set it aside")
            known = self._read(lines)
            previous = known[-1][0] if known else FIRST
            moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            entry = Entry(len(known) + 1, moment, what, who, role, _account(), said, previous)
            line = json.dumps(entry.plain(), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            if len(line) > _LONGEST:
                raise InputError("too much for one line of the record of decisions; do it in parts")
            os.write(handle, line)
            os.fsync(handle)
        return entry

    def _read(self, lines: list[bytes]) -> list[tuple[str, Entry]]:
        found, previous = list[tuple[str, Entry]](), FIRST
        for number, line in enumerate(lines, 1):
            try:
                entry = Entry(**json.loads(line))
                good = entry.number == number and entry.previous == previous
            except (ValueError, TypeError):
                good = False
            if not good:
                raise InputError(
                    f"{self.path.name} line {number}: the record of decisions was changed; nothing is decided until "
                    "somebody finds out by whom, and sets the file aside"
                )
            previous = hashlib.sha256(line).hexdigest()
            found.append((previous, entry))
        return found

    @contextmanager
    def _held(self) -> Iterator[int]:
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise InputError(f"cannot write {self.path.name}: {error.strerror}") from None
        try:
            if sys.platform != "win32":
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX)
            yield handle
        finally:
            os.close(handle)


def _content(handle: int) -> bytes:
    os.lseek(handle, 0, os.SEEK_SET)
    parts = list[bytes]()
    while part := os.read(handle, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
