"""The commands of a batch as values: what each says, and in which line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cellguard.argus.safety_rule import SafetyRule


@dataclass(frozen=True, slots=True)
class Command:
    """A command, with its line and its text for the logbook."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Named(Command):
    """A command that names a file: LOGBOOK, VERSIONINFO, OPENMICRODATA, OPENTABLEDATA, OPENMETADATA."""

    keyword: str
    file: str


@dataclass(frozen=True, slots=True)
class Plain(Command):
    """A command without arguments: READMICRODATA, CLEAR, GOINTERACTIVE, or one that changes nothing here."""

    keyword: str


@dataclass(frozen=True, slots=True)
class SpecifyTable(Command):
    """A table: its spanning variables, its response, and what rules and costs look at."""

    by: tuple[str, ...]
    response: str
    shadow: str = ""
    cost: str = ""
    power: float = 1.0

    @property
    def is_count(self) -> bool:
        """Whether it counts records."""
        return self.response.upper() == "<FREQ>"


@dataclass(frozen=True, slots=True)
class Rules(Command):
    """The rules of the table before it."""

    rule: SafetyRule


@dataclass(frozen=True, slots=True)
class ReadTable(Command):
    """Read ready-made tables: 0 as they are, 1 with totals that are missing or wrong computed, 2 even if not additive.

    ``keep`` says that computed totals are safe whatever the rules say.
    """

    totals: int = 0
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Apriori(Command):
    """Statements about cells of a table."""

    file: str
    table: int
    separator: str
    ignore: bool = True
    expand: bool = False


@dataclass(frozen=True, slots=True)
class Recode(Command):
    """A coarser version of a variable: by a file, or down to a level."""

    table: int
    variable: str
    file: str = ""
    level: int = 0


@dataclass(frozen=True, slots=True)
class Suppress(Command):
    """Protect a table, or with 0 all of them as linked tables."""

    method: str
    table: int
    args: tuple[float, ...]
    file: str = ""


@dataclass(frozen=True, slots=True)
class WriteTable(Command):
    """Write a table in one of the formats 1 to 7."""

    table: int
    kind: int
    options: Mapping[str, bool]
    file: str


@dataclass(frozen=True, slots=True)
class Own(Command):
    """An extension of our own: its first word and the others."""

    word: str
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """All commands of a batch, in order."""

    name: str
    commands: tuple[Command, ...]
