"""The parts of a batch between two ``<CLEAR>``: data, tables, what is said of them, what is asked for.

Commands of one part take effect in the order that τ-ARGUS means, wherever they stand: variables are recoded before
cells are looked at, and all tables are written when all of them are protected, so that a batch with a fault writes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from cellguard.argus import commands as c
from cellguard.argus.safety_rule import SafetyRule


@dataclass
class Specified:
    """One table as the batch specifies it; ``number`` counts from 1."""

    number: int
    spec: c.SpecifyTable
    data: str
    metadata: str
    rule: SafetyRule = field(default_factory=SafetyRule)
    apriori: list[c.Apriori] = field(default_factory=list)
    nonstructural: bool = False
    singletons: bool = False


@dataclass
class Block:
    """Everything that a batch, by its name, asks of one set of data."""

    name: str
    micro: bool = True
    tables: list[Specified] = field(default_factory=list)
    read: c.ReadTable | None = None
    recodes: list[c.Recode] = field(default_factory=list)
    suppress: list[c.Suppress] = field(default_factory=list)
    writes: list[c.WriteTable | c.Own] = field(default_factory=list)

    def tables_of(self, number: int) -> list[Specified]:
        """Return the table of a number, or all of them for 0."""
        return self.tables if number == 0 else [self.tables[number - 1]]


@dataclass
class Settings:
    """What the extensions say of the whole batch."""

    classical: bool = False
    effort: str = ""
    insiders: bool | None = None
    alternatives: bool = False
    previous: list[c.Own] = field(default_factory=list)
    plain_keys: bool = False
    unproven: bool = False


@dataclass
class Plan:
    """A batch, sorted."""

    blocks: list[Block]
    settings: Settings
    logbook: c.Named | None = None
    version_files: list[c.Named] = field(default_factory=list)


def plan_of(commands: Iterable[c.Command], name: str) -> Plan:
    """Sort the commands of a batch, whose order has been checked."""
    plan = Plan([Block(name)], Settings())
    data = metadata = ""
    for command in commands:
        block = plan.blocks[-1]
        match command:
            case c.Named(keyword="OPENMICRODATA" | "OPENTABLEDATA", file=file):
                data, block.micro = file, command.keyword == "OPENMICRODATA"
            case c.Named(keyword="OPENMETADATA", file=file):
                metadata = file
            case c.Named(keyword="LOGBOOK"):
                plan.logbook = command
            case c.Named(keyword="VERSIONINFO"):
                plan.version_files.append(command)
            case c.SpecifyTable():
                block.tables.append(Specified(len(block.tables) + 1, command, data, metadata))
            case c.Rules(rule=rule):
                block.tables[-1].rule = rule
            case c.ReadTable():
                block.read = command
            case c.Apriori(table=table):
                block.tables[table - 1].apriori.append(command)
            case c.Recode():
                block.recodes.append(command)
            case c.Suppress():
                block.suppress.append(command)
            case c.WriteTable():
                block.writes.append(command)
            case c.Own():
                _take(plan, block, command)
            case c.Plain(keyword="CLEAR"):
                plan.blocks.append(Block(name))
    plan.blocks = [block for block in plan.blocks if block.tables]
    return plan


def _take(plan: Plan, block: Block, own: c.Own) -> None:
    settings, (first, *_) = plan.settings, own.args
    match own.word:
        case "METHODS":
            settings.classical = first == "classical"
        case "EFFORT":
            settings.effort = first
        case "INSIDERS":
            settings.insiders = first == "on"
        case "TABLES":
            settings.alternatives = first == "alternatives"
        case "KEYS":
            settings.plain_keys = first == "plain"
        case "UNPROVEN":
            settings.unproven = first == "accept"
        case "PREVIOUS":
            settings.previous.append(own)
        case "NONSTRUCTURAL":
            block.tables[int(first) - 1].nonstructural = True
        case "SINGLETONS":
            block.tables[int(first) - 1].singletons = True
        case _:
            block.writes.append(own)
