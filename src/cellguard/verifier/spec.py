"""certificate.json as checked values: tables, grains, the attacker's knowledge and what is claimed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from cellguard.verifier.numbers import fraction
from cellguard.verifier.stages import Refused

CERTIFICATE = "certificate.json"
OFFICERS_PAGE = "internal/report.html"
FORMAT = 2
KEYS = frozenset(
    {"format", "claim", "tables", "equations", "attack", "known", "world", "crossing", "grains", "witnesses"}
    | {"insiders", "sums", "trusted", "files", "digest"}
)
# Words for people, which prove nothing.
WORDS = frozenset({"headline", "not_checked"})
TABLE_KEYS = frozenset(
    {"name", "by", "response", "population", "decimals", "count", "zeros", "tolerance", "rules", "release"}
)
HERE, NOWHERE, LATENT, FITTED, SUMS, EARLIER = "here", "nowhere", "latent", "fitted", "sums", "earlier"
PLACES = (HERE, NOWHERE, LATENT, FITTED, SUMS, EARLIER)
MOST_DECIMALS = 30
MOST_TOGETHER = 4

Group = tuple[str, str]
Sum = tuple[tuple[int, int], ...]  # cells, as position of the table and row


@dataclass(frozen=True)
class TableSpec:
    """What the certificate says of one table."""

    name: str
    by: tuple[str, ...]
    response: str
    population: str
    decimals: int
    count: bool
    zeros: str
    tolerance: Fraction
    rules: tuple[Mapping[str, Any], ...]
    where: str

    @property
    def released(self) -> bool:
        """Whether the release of the folder has the table."""
        return self.where == HERE

    @property
    def group(self) -> Group:
        """Response and population: tables of one group may share cells."""
        return self.response, self.population

    def headed(self, fixed: Sequence[str]) -> list[str]:
        """Return the header of a file with these columns behind those of the dimensions.

        A dimension that is called like one of them, or begins with ``by:``, has ``by:`` in front of its name.
        """
        return [f"by:{d}" if d in fixed or d.startswith("by:") else d for d in self.by] + list(fixed)

    @property
    def internal(self) -> str:
        """The confidential file's name."""
        return f"internal/{self.name}.csv"

    @property
    def release(self) -> str:
        """The published file's name."""
        return f"release/{self.name}.csv"

    @property
    def parquet(self) -> str:
        """The published file's name in Parquet, if there is one."""
        return f"release/{self.name}.parquet"

    @property
    def facts(self) -> str:
        """The name of the file of facts."""
        return f"internal/facts/{self.name}.parquet"


@dataclass(frozen=True)
class Attack:
    """What an attacker knows of every cell beforehand; None where there is no bound."""

    lower: Fraction | None
    upper: Fraction | None
    percent: Fraction | None


@dataclass(frozen=True)
class Cluster:
    """Tables (by position) that one piece of the world lies behind, its partitions and the cluster that it hangs on."""

    tables: tuple[int, ...]
    parts: Mapping[str, int]
    parent: int | None


@dataclass(frozen=True)
class ToldSums:
    """Sums of cells that readers know and the rules call safe: the name of their facts, its one column, their rules."""

    name: str
    by: str
    rules: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Spec:
    """A certificate whose form is right."""

    tables: tuple[TableSpec, ...]
    equations: tuple[str, ...]
    attack: Attack
    known: tuple[Sum, ...]
    world: Mapping[Group, tuple[Cluster, ...]]
    crossing: bool
    grains: Mapping[Group, int]
    witnesses: int
    inside: int | None
    linked: bool
    coalition: int
    trusted: tuple[str, ...]
    told: tuple[ToldSums, ...] | None = None

    @property
    def released(self) -> tuple[TableSpec, ...]:
        """The tables that the release has."""
        return tuple(t for t in self.tables if t.released)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """All dimensions, in the order in which the tables name them."""
        return tuple(dict.fromkeys(d for t in self.tables for d in t.by))

    @property
    def groups(self) -> tuple[Group, ...]:
        """All pairs of response and population, in the order in which the tables name them."""
        return tuple(dict.fromkeys(t.group for t in self.tables))


def read_spec(document: Mapping[str, Any]) -> Spec:
    """Check the form of a certificate and return what it says."""
    if not _is_int(document.get("format")) or document["format"] != FORMAT:
        raise Refused(
            f"{CERTIFICATE}: was written by another version of cellguard (its format is not {FORMAT}, which this one "
            "reads); verify it with that version, which summary.json names, or protect the job again"
        )
    _same_keys({key: value for key, value in document.items() if key not in WORDS}, KEYS, CERTIFICATE)
    if document["claim"] != "outsider":
        raise Refused(f"{CERTIFICATE}: claim is not 'outsider', the only one known")
    if document["crossing"] not in ("checked", "not_checked"):
        raise Refused(f"{CERTIFICATE}: crossing is neither 'checked' nor 'not_checked'")
    tables = tuple(_table(t, i) for i, t in enumerate(_list(document["tables"], "tables")))
    names = [t.name for t in tables]
    if not names or len(set(names)) != len(names):
        raise Refused(f"{CERTIFICATE}: tables is empty or names a table twice")
    return Spec(
        tables=tables,
        equations=_words(document["equations"], "equations"),
        attack=_attack(document["attack"]),
        known=tuple(_sum(given, i) for i, given in enumerate(_list(document["known"], "known"))),
        world=_world(document["world"], tables),
        crossing=document["crossing"] == "checked",
        grains=_grains(document["grains"], tables),
        witnesses=_whole(document["witnesses"], "witnesses", 2**31),
        inside=_inside(document["insiders"]),
        linked=_inside(document["insiders"]) is not None and document["insiders"]["respondents"] == "records",
        coalition=_coalition(document["insiders"]),
        trusted=_words(document["trusted"], "trusted"),
        told=_told(document["sums"], tables),
    )


def _told(given: object, tables: tuple[TableSpec, ...]) -> tuple[ToldSums, ...] | None:
    """Return the sums that are said to be told and safe; None if the certificate claims nothing of sums."""
    own = [table.name for table in tables if table.where == SUMS]
    if given is None:
        if own:
            raise Refused(f"{CERTIFICATE}: sums is nothing, but tables has sums")
        return None
    claim = _same_keys(given, frozenset({"tables", "told", "beyond"}), "sums")
    if claim["tables"] != own:
        raise Refused(f"{CERTIFICATE}: sums does not name exactly the tables of sums")
    _words(claim["beyond"], "sums.beyond")
    told = []
    for i, entry in enumerate(_list(claim["told"], "sums.told")):
        said = _same_keys(entry, frozenset({"name", "by", "rules"}), f"sums.told[{i}]")
        rules = _list(said["rules"], f"sums.told[{i}].rules")
        if not all(isinstance(rule, dict) and len(rule) == 1 for rule in rules):
            raise Refused(f"{CERTIFICATE}: sums.told[{i}].rules is not a list of rules")
        name, by = (_file_word(said[key], f"sums.told[{i}].{key}") for key in ("name", "by"))
        told.append(ToldSums(name, by, tuple(rules)))
    names_of = [t.name for t in told] + [t.name for t in tables]
    if len(set(names_of)) != len(names_of):
        raise Refused(f"{CERTIFICATE}: sums.told names something twice")
    return tuple(told)


def _table(given: object, position: int) -> TableSpec:
    where = f"tables[{position}]"
    table = _same_keys(given, TABLE_KEYS, where)
    name = _file_word(table["name"], f"{where}.name")
    if not re.fullmatch(r"[\w.-]+", name):
        raise Refused(f"{CERTIFICATE}: {where}.name is not a table's name")
    by = tuple(_file_word(d, f"{where}.by") for d in _list(table["by"], f"{where}.by"))
    if not by or len(set(by)) != len(by):
        raise Refused(f"{CERTIFICATE}: {where}.by is empty or names a dimension twice")
    if not isinstance(table["count"], bool) or table["zeros"] not in ("known", "possible"):
        raise Refused(f"{CERTIFICATE}: {where} has a wrong count or zeros")
    if table["release"] not in PLACES:
        raise Refused(f"{CERTIFICATE}: {where}.release is none of {', '.join(map(repr, PLACES))}")
    rules = _list(table["rules"], f"{where}.rules")
    if not all(isinstance(rule, dict) and len(rule) == 1 for rule in rules):
        raise Refused(f"{CERTIFICATE}: {where}.rules is not a list of rules")
    return TableSpec(
        name=name,
        by=by,
        response=_word(table["response"], f"{where}.response"),
        population=_word(table["population"], f"{where}.population"),
        decimals=_whole(table["decimals"], f"{where}.decimals", MOST_DECIMALS),
        count=table["count"],
        zeros=table["zeros"],
        tolerance=_tolerance(table["tolerance"], f"{where}.tolerance"),
        rules=tuple(rules),
        where=table["release"],
    )


def _tolerance(given: object, where: str) -> Fraction:
    """Return how far a relation may be off, 0 if nothing is said."""
    if given is None:
        return Fraction(0)
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given < float("inf"):
        raise Refused(f"{CERTIFICATE}: {where} is not a number from 0")
    return Fraction(str(given))


def _attack(given: object) -> Attack:
    attack = _same_keys(given, frozenset({"lower", "upper", "percent"}), "attack")

    def bound(key: str) -> Fraction | None:
        return None if attack[key] == "unbounded" else fraction(attack[key], f"{CERTIFICATE}: attack.{key}")

    percent = None if attack["percent"] is None else fraction(attack["percent"], f"{CERTIFICATE}: attack.percent")
    if percent is not None and percent <= 0:
        raise Refused(f"{CERTIFICATE}: attack.percent is not above 0")
    return Attack(bound("lower"), bound("upper"), percent)


def _inside(given: object) -> int | None:
    """Return the first witness of the claim about insiders; None if there is no such claim, or none that is one."""
    if not isinstance(given, dict) or set(given) - {"coalition"} != {"witness", "respondents"}:
        return None
    if _coalition(given) < 1:
        return None
    known = given["respondents"] in ("records", "cells") and _is_int(given["witness"]) and given["witness"] >= 0
    return int(given["witness"]) if known else None


def _coalition(given: object) -> int:
    """Return how many respondents are claimed to find out nothing together; 0 if that is no claim."""
    if not isinstance(given, dict) or "coalition" not in given:
        return 1
    size = given["coalition"]
    several = _is_int(size) and 2 <= size <= MOST_TOGETHER and given.get("respondents") == "records"
    return int(size) if several else 0


def _sum(given: object, position: int) -> Sum:
    where, most = f"known[{position}]", 2**62
    terms = [_list(term, where) for term in _list(given, where)]
    if not terms or any(len(term) != 2 for term in terms):
        raise Refused(f"{CERTIFICATE}: {where} is not a list of [table, row]")
    return tuple((_whole(table, where, most), _whole(row, where, most)) for table, row in terms)


def _world(given: object, tables: tuple[TableSpec, ...]) -> dict[Group, tuple[Cluster, ...]]:
    """Read the clusters of every response; each table of a response is in exactly one of them."""
    world: dict[Group, tuple[Cluster, ...]] = {}
    for i, entry in enumerate(_list(given, "world")):
        where = f"world[{i}]"
        part = _same_keys(entry, frozenset({"response", "population", "clusters"}), where)
        group = _word(part["response"], where), _word(part["population"], where)
        entries = _list(part["clusters"], f"{where}.clusters")
        clusters = tuple(_cluster(c, j, len(entries), group, tables) for j, c in enumerate(entries))
        own = sorted(t for cluster in clusters for t in cluster.tables if tables[t].group == group)
        if group in world or own != [t for t, table in enumerate(tables) if table.group == group] or not own:
            raise Refused(f"{CERTIFICATE}: {where} does not have each table of its response in exactly one cluster")
        world[group] = clusters
    if set(world) != {t.group for t in tables}:
        raise Refused(f"{CERTIFICATE}: world does not have exactly the responses and populations of the tables")
    return world


def _cluster(given: object, position: int, count: int, group: Group, tables: tuple[TableSpec, ...]) -> Cluster:
    where = f"a cluster of {group[0]}"
    cluster = _same_keys(given, frozenset({"tables", "parts", "parent"}), where)
    names = _words(cluster["tables"], where)
    own = [i for i, table in enumerate(tables) if table.name in names]
    if len(own) != len(names) or any(tables[i].population != group[1] for i in own):
        raise Refused(f"{CERTIFICATE}: {where} names a table twice, or one that its population does not have")
    parts, dimensions = cluster["parts"], {d for table in tables for d in table.by}
    if not isinstance(parts, dict) or not set(parts) <= dimensions:
        raise Refused(f"{CERTIFICATE}: {where} divides a dimension that no table has")
    last = position == count - 1
    parent = None if last else _whole(cluster["parent"], f"{where}, parent,", count - 1)
    if (last and cluster["parent"] is not None) or (parent is not None and parent <= position):
        raise Refused(f"{CERTIFICATE}: {where} does not come before the one that it hangs on")
    return Cluster(tuple(own), {d: _whole(n, where, 2**31) for d, n in parts.items()}, parent)


def _grains(given: object, tables: tuple[TableSpec, ...]) -> dict[Group, int]:
    decimals: dict[Group, int] = {}
    for i, entry in enumerate(_list(given, "grains")):
        grain = _same_keys(entry, frozenset({"response", "population", "decimals"}), f"grains[{i}]")
        group = _word(grain["response"], "grains"), _word(grain["population"], "grains")
        if group in decimals:
            raise Refused(f"{CERTIFICATE}: grains names a response and population twice")
        decimals[group] = _whole(grain["decimals"], f"grains[{i}].decimals", MOST_DECIMALS)
    if set(decimals) != {t.group for t in tables}:
        raise Refused(f"{CERTIFICATE}: grains does not have exactly the responses and populations of the tables")
    return decimals


def _same_keys(given: object, keys: frozenset[str], where: str) -> Mapping[str, Any]:
    if not isinstance(given, dict) or set(given) != keys:
        place = where if where == CERTIFICATE else f"{CERTIFICATE}: {where}"
        raise Refused(f"{place} does not have exactly the keys {', '.join(sorted(keys))}")
    return given


def _list(given: object, where: str) -> list[Any]:
    if not isinstance(given, list):
        raise Refused(f"{CERTIFICATE}: {where} is not a list")
    return given


def _words(given: object, where: str) -> tuple[str, ...]:
    return tuple(_word(word, where) for word in _list(given, where))


def _word(given: object, where: str) -> str:
    if not isinstance(given, str) or not given:
        raise Refused(f"{CERTIFICATE}: {where} is not text")
    return given


def _file_word(given: object, where: str) -> str:
    """Return a word that names a file: it must not lead out of its folder."""
    word = _word(given, where)
    if word.startswith(".") or any(c in word for c in "/\\\0"):
        raise Refused(f"{CERTIFICATE}: {where} cannot name a file")
    return word


def _whole(given: object, where: str, most: int) -> int:
    if not _is_int(given) or not 0 <= given <= most:  # type: ignore[operator]
        raise Refused(f"{CERTIFICATE}: {where} is not a whole number from 0 to {most}")
    return int(given)  # type: ignore[call-overload]


def _is_int(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)
