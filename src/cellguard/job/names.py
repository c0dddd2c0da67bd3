"""Names that files get: of tables and of dimensions. What is a plain name here is one on every file system."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

from cellguard.errors import InputError

if TYPE_CHECKING:
    from cellguard.table.table import Table

TABLE = r"^\w[\w.-]*$"  # what the schema of the job file says of a table's name
LONGEST = 100
_LONGEST_BYTES = 200
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
_OWN = {"hierarchies"}  # a file of the output folder itself


def name_fault(name: str, *, blanks: bool = False) -> str | None:
    """Explain why a name cannot name a file, or None if it can; ``blanks`` allows single ones between words.

    >>> name_fault("turnover_2024"), name_fault("size class", blanks=True)
    (None, None)
    >>> name_fault("../evil")
    "it must be letters, digits, '_', '.' and '-', and begin with a letter, a digit or '_'"
    >>> name_fault("aux.1")
    'some systems keep this name for a device'
    """
    words = name.split(" ") if blanks else [name]
    if not all(re.fullmatch(r"[\w.-]+", word) for word in words) or not re.match(r"\w", name):
        blank = " and single blanks between words" if blanks else ""
        return f"it must be letters, digits, '_', '.' and '-'{blank}, and begin with a letter, a digit or '_'"
    if name.endswith("."):
        return "it must not end with a point"
    if len(name) > LONGEST or len(name.encode()) > _LONGEST_BYTES:
        return f"it is too long; {LONGEST} letters are the most"
    if _same(name).split(".")[0].strip() in _DEVICES:
        return "some systems keep this name for a device"
    return None


def table_fault(name: str) -> str | None:
    """Explain why a table cannot have this name, or None if it can."""
    if _same(name) in _OWN:
        return "a file of the output folder has this name"
    return name_fault(name)


def dimension_fault(name: str) -> str | None:
    """Explain why a dimension cannot have this name, or None if it can; says how to keep the column's
    name.
    """
    fault = name_fault(name, blanks=True)
    if fault is None:
        return None
    return (
        f"the dimension {name!r} names a file, and {fault}; call it something else, and name its column: "
        f"`dimensions: {{{plain_name(name)}: {{column: {name!r}}}}}`"
    )


def collision(names: Iterable[str]) -> tuple[str, str] | None:
    """Return two different names that are one file on systems that do not tell capitals from small letters."""
    seen: dict[str, str] = {}
    for name in names:
        if seen.setdefault(_same(name), name) != name:
            return seen[_same(name)], name
    return None


def collision_fault(what: str, names: Iterable[str]) -> str | None:
    """Describe which two of the names would be one file, or None."""
    pair = collision(names)
    if pair is None:
        return None
    first, second = map(repr, pair)
    return f"the {what} {first} and {second} would be one file where capitals do not count; rename one of them"


def check_names(tables: Iterable[Table]) -> None:
    """Refuse tables of whose names, or of whose dimensions' names, files cannot be made."""
    tables = list(tables)
    for table in tables:
        if fault := table_fault(table.name):
            raise InputError(f"the table {table.name!r} names a file, and {fault}; rename it")
    check_dimension_names(dict.fromkeys(d.name for table in tables for d in table.dimensions))
    if clash := collision_fault("tables", [table.name for table in tables]):
        raise InputError(clash)


def check_dimension_names(names: Iterable[str]) -> None:
    """Refuse dimensions of whose names files cannot be made."""
    names = list(names)
    fault = next(filter(None, map(dimension_fault, names)), None) or collision_fault("dimensions", names)
    if fault:
        raise InputError(fault)


def check_stored_names(folder: object, names: Iterable[object]) -> None:
    """Refuse names in an output folder, however it was made, that would lead out of it."""
    for name in names:
        if not isinstance(name, str) or name.startswith(".") or set(name) & set("/\\\0"):
            raise InputError(f"{str(folder)!r} is damaged: it names files outside of it; see `cellguard verify`")


def plain_name(text: str, otherwise: str = "dimension") -> str:
    """Return a text as a name that a file can have.

    >>> plain_name("my table (1)"), plain_name("../evil"), plain_name("con")
    ('my_table_1', 'evil', 'con_')
    """
    name = re.sub(r"[^\w.-]+", "_", text)[:LONGEST].strip("_.-") or otherwise
    while len(name.encode()) > _LONGEST_BYTES:
        name = name[:-1]
    return name if table_fault(name) is None else f"{name.partition('.')[0]}_"


def _same(name: str) -> str:
    """Return what a name has in common with those that may be the same file."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
