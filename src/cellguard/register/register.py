"""`Register`: entries in a database, one after the other; several processes may share it.

An entry is appended only after the one that its writer knew as the last: whoever checked an answer against fewer
answers than there are now must check it again. What `append` returned True for is on the disk.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from cellguard.errors import InputError
from cellguard.register.entry import FIRST, Entry

COLUMNS = (
    "number",
    "time",
    "who",
    "kind",
    "method",
    "question",
    "asked",
    "shown",
    "rank",
    "figures",
    "about",
    "previous",
    "digest",
)
FORMAT = "1"


class Register(Protocol):
    """Where entries are kept."""

    name: str

    def claim(self, owner: Mapping[str, str]) -> None:
        """Write down whose register this is, if it is new; refuse one of another source."""

    def since(self, number: int, digest: str | None = None) -> list[Entry]:
        """Return the entries after a number, in order; ``digest`` is that of the entry with this number, if known."""

    def append(self, entry: Entry) -> bool:
        """Write an entry durably; return False, and write nothing, if it does not follow the last one."""

    def close(self) -> None:
        """Let go of the database."""


def open_register(place: str, folder: Path) -> Register:
    """Open a register: a file in a folder, or a PostgreSQL database by its URL."""
    if place.startswith(("postgresql://", "postgres://")):
        from cellguard.register.postgres import PostgresRegister

        return PostgresRegister(place)
    if "://" in place:
        raise InputError("`register` must be a file name or postgresql://...; other databases are not known")
    from cellguard.register.sqlite import SqliteRegister

    return SqliteRegister(folder / place)


def row_of(entry: Entry) -> list[Any]:
    """Return an entry as a row of `COLUMNS`."""
    plain = {**entry.__dict__, "question": json.dumps(dict(entry.question), ensure_ascii=False, sort_keys=True)}
    return [plain[name] for name in COLUMNS]


def entries_of(rows: Sequence[Sequence[Any]], before: str | None, name: str) -> list[Entry]:
    """Return rows as entries; a chain that is broken is refused. ``before`` is the digest before the first of them."""
    entries = list[Entry]()
    for row in rows:
        plain = dict(zip(COLUMNS, row, strict=True))
        try:
            entry = Entry(**{**plain, "question": json.loads(plain["question"])})
        except (TypeError, ValueError):
            raise _broken(name, plain["number"]) from None
        if entry.told() != entry.digest or (before is not None and entry.previous != before):
            raise _broken(name, entry.number)
        entries.append(entry)
        before = entry.digest
    return entries


def before_of(number: int, digest: str | None) -> str | None:
    """Return the digest that the entry after a number must name, if it is known."""
    return FIRST if number == 0 else digest


def check_owner(known: Mapping[str, str], owner: Mapping[str, str], name: str) -> None:
    """Refuse a register that belongs to another source, or is of another format."""
    if known.get("format") != FORMAT:
        raise InputError(
            f"{name} has the format {known.get('format')}; this version of cellguard reads format {FORMAT}"
        )
    wrong = [what for what, digest in owner.items() if known.get(what) != digest]
    if wrong:
        raise InputError(
            f"{name} belongs to other {' and '.join(wrong)}: what it holds was answered from them. Use those again, or "
            "name a new register for a source that was never asked"
        )


def _broken(name: str, number: object) -> InputError:
    return InputError(
        f"{name}: entry {number} was changed since it was written, or one before it is gone. Nothing is answered from "
        "a register that does not hold together; restore it from its copy"
    )
