"""The job that is stored beside the certificate, and whether both speak of the same tables, rules and attacker."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from cellguard.verifier.categories import Axes
from cellguard.verifier.cells import Cells
from cellguard.verifier.facts import SECONDARY as SAID_SECONDARY
from cellguard.verifier.facts import UNPUBLISHED, Facts
from cellguard.verifier.numbers import Bools
from cellguard.verifier.relations import parse_equation
from cellguard.verifier.requirements import axes_of
from cellguard.verifier.rows import PRIMARY, PUBLISHED, SECONDARY, Rows
from cellguard.verifier.rule_words import parse_rule
from cellguard.verifier.rules import InRows
from cellguard.verifier.spec import CERTIFICATE, EARLIER, FITTED, HERE, LATENT, NOWHERE, SUMS, Group, Spec, TableSpec
from cellguard.verifier.stages import Refused, attempt
from cellguard.verifier.stored import Folder, read_bytes

NAME = "internal/job.yaml"
KEYS = ("version", "microdata", "dimensions", "equations", "tables", "attack", "known", "previous")
ATTACK_KEYS = ("lower", "upper", "percent", "insiders", "coalition")
TABLE_KEYS = (
    "name", "by", "value", "response", "population", "where", "decimals", "zeros", "impossible", "publish", "tolerance",
    "cells", "survey", "apriori", "rules",
)  # fmt: skip
SAID = ("status", "cost", "lower", "upper", "need_lower", "need_upper")
CELLS_KEYS = ("source", "count", "holdings", "top", *SAID)
RECORDS_KEYS = ("source", "rda", "weight", "waiver", "request")
_UNRELEASED = {"nothing": NOWHERE, "latent": LATENT, "fitted": FITTED, "sums": SUMS}
_MADE = (FITTED, SUMS)  # tables of which a job says nothing, in this order behind all others
_WEIGHTED_TOTAL = ("virtual", "handbook", "published_weights")


@dataclass(frozen=True)
class Job:
    """The stored job, all of whose keys that the claim depends on are there; ``words`` is all that it says."""

    words: Mapping[str, Any]
    earlier: tuple[Mapping[str, Any], ...] = ()

    @property
    def tables(self) -> list[Mapping[str, Any]]:
        """What it says of each table, and then what an earlier job said of those that it only names by their folder."""
        return [*self.words["tables"], *self.earlier]

    def records(self, table: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return what it says of the records that a table is made from, None for a table of ready-made cells."""
        records: Mapping[str, Any] | None = None if table["cells"] else self.words["microdata"]
        return records


def _plain(data: bytes) -> Any:  # noqa: ANN401
    """Return YAML as plain data; libyaml parses it where it is there, which is quicker, and Python composes.

    libyaml's own composer calls itself for each level, so a text that is nested deeply would end the process.
    """
    if not yaml.__with_libyaml__:
        return yaml.safe_load(data)
    from yaml._yaml import CParser

    class Quick(Composer, CParser, SafeConstructor, Resolver):
        def __init__(self) -> None:
            CParser.__init__(self, data)
            for part in (Composer, SafeConstructor, Resolver):
                part.__init__(self)

    return Quick().get_single_data()


def read_job(folder: Folder) -> Job:
    """Read the stored job; a key that is not there is refused, since a default would be a guess."""
    words = attempt(NAME, lambda: _plain(read_bytes(folder, NAME)))
    _has_keys(words, KEYS, "")
    _has_keys(words["attack"], ATTACK_KEYS, "attack")
    if words["microdata"] is not None:
        _has_keys(words["microdata"], RECORDS_KEYS, "microdata")
    if not isinstance(words["tables"], list):
        raise Refused(f"{NAME} has no list of tables")
    for number, table in enumerate(words["tables"]):
        _has_keys(table, TABLE_KEYS, f"tables[{number}]")
        if table["cells"] is not None:
            _has_keys(table["cells"], CELLS_KEYS, f"tables[{number}].cells")
        elif words["microdata"] is None:
            raise Refused(f"{NAME}: tables[{number}] has neither cells nor records")
    return Job(words)


def with_earlier(job: Job, spec: Spec) -> Job:
    """Return the job with the tables of earlier releases, of fitted counts and of sums, which come last.

    Of these the certificate says it all.
    """
    own = len(job.words["tables"])
    if any(table.where in (EARLIER, *_MADE) for table in spec.tables[:own]):
        raise Refused(f"{NAME} has a table of its own that the certificate calls an earlier release, fitted, or sums")
    made = [table for place in _MADE for table in spec.tables[own:] if table.where == place]
    more = spec.tables[own : len(spec.tables) - len(made)]
    if [*more, *made] != list(spec.tables[own:]):
        raise Refused(f"{NAME}: the tables of fitted counts, and then those of sums, do not come last")
    named = [entry for entry in job.words["previous"] or () if entry["period"] == "same"]
    if more and not named:
        raise Refused(f"{NAME} does not have the tables of the certificate")
    if any(table.where == HERE for table in more):
        raise Refused(f"{NAME} does not have all tables that are released here")
    return Job(job.words, tuple(_as_said(table) for table in [*more, *made]))


def _as_said(table: TableSpec) -> dict[str, Any]:
    """Return what a job would say of a table of an earlier release, of fitted counts, or of sums, made from records."""
    said: dict[str, Any] = {"name": table.name, EARLIER: table.where}
    said |= {"by": list(table.by), "where": None, "value": "count" if table.count else "x", "response": table.response}
    said |= {"population": table.population, "decimals": table.decimals, "zeros": table.zeros, "impossible": None}
    said |= {
        "publish": {where: word for word, where in _UNRELEASED.items()}.get(table.where),
        "tolerance": table.tolerance,
    }
    told = (
        {"cells": None, "apriori": None} if table.where == SUMS else {"cells": {"source": EARLIER}, "apriori": EARLIER}
    )
    return said | told | {"survey": None, "rules": table.rules}


def _has_keys(entry: object, keys: Sequence[str], where: str) -> None:
    if not isinstance(entry, dict):
        raise Refused(f"{NAME} is not a job: {where or 'it'} is not a mapping")
    for key in keys:
        if key not in entry:
            place = f"{where}.{key}".lstrip(".")
            raise Refused(f"{NAME} does not have {place}, and what the certificate claims depends on it")


def check_job(job: Job, spec: Spec) -> None:
    """Refuse a certificate that does not say what the stored job says."""
    if [table["name"] for table in job.tables] != [table.name for table in spec.tables]:
        raise Refused(f"{NAME} does not have the tables of the certificate")
    for entry, table in zip(job.tables, spec.tables, strict=True):
        attempt(NAME, lambda entry=entry, table=table: _check_table(entry, table, job.records(entry)))  # type: ignore[misc]
    if attempt(NAME, lambda: _equations(job.words["equations"], spec)) != _equations(spec.equations, spec):
        raise Refused(f"{NAME} does not have the equations of the certificate")
    if bool(job.words["known"]) != bool(spec.known):
        raise Refused(f"{NAME} and the certificate differ on whether totals are known from elsewhere")
    attempt(NAME, lambda: _check_attack(job.words["attack"], spec))
    _check_crossing(job.words["attack"], spec)


def made_from_records(job: Job) -> Bools:
    """Return which tables are made from the records."""
    return np.array([job.records(entry) is not None for entry in job.tables], dtype=bool)


def check_judged(job: Job, spec: Spec) -> None:
    """Refuse a certificate without sums where some table is made from records: a run judges them there."""
    if spec.told is None and any(job.records(entry) is not None for entry in job.tables):
        raise Refused(f"{CERTIFICATE} has no sums of suppressed cells, although a table is made from records")


def _equations(texts: Sequence[str], spec: Spec) -> list[dict[str, int]]:
    return [parse_equation(text, sorted({t.response for t in spec.tables})) for text in texts]


def _check_table(entry: Mapping[str, Any], table: TableSpec, records: Mapping[str, Any] | None) -> None:
    zeros = "possible" if entry["impossible"] else entry["zeros"] or ("possible" if table.count else "known")
    decimals = table.decimals if entry["decimals"] is None else entry["decimals"]
    said = {
        "by": ([*entry["by"], *(entry["where"] or {})], list(table.by)),
        "release": (_UNRELEASED.get(str(entry["publish"])) or entry.get(EARLIER, HERE), table.where),
        "response": (entry["response"] or entry["value"], table.response),
        "population": (entry["population"], table.population),
        "decimals": (decimals, table.decimals),
        "zeros": (zeros, table.zeros),
        "tolerance": (_number(entry["tolerance"] or 0), table.tolerance),
        "rules": ([parse_rule(rule) for rule in entry["rules"]], [parse_rule(rule) for rule in table.rules]),
    }
    for key, (here, there) in said.items():
        if here != there or isinstance(here, bool):
            raise Refused(f"{NAME}, table {table.name}, does not have the certificate's {key}")
    if table.count not in _frequencies(entry, records):
        raise Refused(f"{NAME}, table {table.name}, and the certificate differ on whether it has frequencies")


def _frequencies(entry: Mapping[str, Any], records: Mapping[str, Any] | None) -> tuple[bool, ...]:
    """Return whether a table may have frequencies, or not: weighted counts are estimates, and need not be whole."""
    if entry["value"] != "count":
        return (False,)
    if records is None:
        return (True,)
    if records["weight"]:
        return (False,)
    return (True, False) if records["rda"] else (True,)


def _check_crossing(attack: object, spec: Spec) -> None:
    """Only a job that says so itself may leave crossing tables unchecked."""
    said = attack.get("crossing") or "checked" if isinstance(attack, dict) else "checked"
    if said != ("checked" if spec.crossing else "not_checked"):
        raise Refused(f"{NAME} does not have the certificate's crossing")


def _check_attack(entry: Mapping[str, Any], spec: Spec) -> None:
    for key in ("lower", "upper", "percent"):
        if _number(entry[key]) != getattr(spec.attack, key):
            raise Refused(f"{NAME} does not have the certificate's attack.{key}")
    if entry["insiders"] is not (spec.inside is not None):
        raise Refused(f"{NAME} and the certificate do not agree on whether there is a claim about insiders")
    if entry["coalition"] != spec.coalition:
        raise Refused(f"{NAME} and the certificate do not agree on how many respondents work together")


def _number(entry: object) -> Fraction | None:
    if entry is None or entry == "unbounded" or (isinstance(entry, float) and math.isinf(entry)):
        return None
    return Fraction(str(entry))


def given_axes(job: Job, cells: Cells, number: int, facts: Facts) -> Axes:
    """Return the codes of a table's rows, how many groupings the job gives, and which rows are not to be published."""
    said = attempt(
        NAME, lambda: {name: len(words.get("also") or ()) for name, words in job.words["dimensions"].items()}
    )
    entry = job.tables[number]
    return replace(
        axes_of(cells, number),
        groupings={name: 1 + many for name, many in said.items()},
        unpublished=facts.state == UNPUBLISHED,
        said=bool(entry["apriori"] or (entry["cells"] or {}).get("status")),
    )


def _added(axes: Axes, table: TableSpec) -> Bools:
    """Return the rows that a table has for its rules only: these may be unpublished though nobody says so."""
    rules = [parse_rule(rule) for rule in table.rules]
    nothing = np.zeros(axes.unpublished.size, dtype=bool)
    return np.logical_or.reduce([nothing, *(rule.added(axes) for rule in rules if isinstance(rule, InRows))])


def check_origins(job: Job, cells: Cells, facts: Sequence[Facts]) -> None:
    """Refuse facts that a table cannot have.

    What the job states of single cells must come from an a-priori file or a column of the cells; only tables from
    records have contributions without a waiver and requests, and only weighted ones a base.
    """
    spec = cells.spec
    for number, (entry, table, here) in enumerate(zip(job.tables, spec.tables, facts, strict=True)):
        columns, added = entry["cells"] or {}, _added(given_axes(job, cells, number, here), table)
        for key, column in zip(SAID, here.said, strict=True):
            said = column & ~(added & (here.state == UNPUBLISHED)) if key == "status" else column
            if said.any() and not entry["apriori"] and not columns.get(key):
                raise Refused(
                    f"{table.facts} row {int(np.argmax(said))}: {key} was said of it, but {NAME} names neither an "
                    "a-priori file nor a column of the cells that could have said it"
                )
        if EARLIER in entry:
            continue
        records = job.records(entry)
        if records is None and (here.unwaived is not None or here.requested is not None):
            raise Refused(f"{table.facts} has facts that only tables from records have")
        if records is None and here.signs and not (columns.get("positive") and columns.get("negative")):
            raise Refused(f"{table.facts} has sums of either sign, but {NAME} names no columns of them")
        if records is None and any((here.extremes, here.squares, here.middle)):
            raise Refused(f"{table.facts} has facts that only tables from records have")
        _check_sizes(entry, table, here)
        weighted = records is not None and bool(records["weight"] or records["rda"])
        if not weighted and (here.base is not None or here.excess or here.counted is not None):
            raise Refused(f"{table.facts} has facts that only weighted tables have")
        if here.base is not None and (entry["survey"] or "virtual") in _WEIGHTED_TOTAL:
            apart = np.abs(here.base - here.total) > 1e-9 * np.abs(here.total) + 10.0 ** -spec.grains[table.group]
            if apart.any():
                raise Refused(f"{table.facts} row {int(np.argmax(apart))}: base is not the total of the survey mode")


def _check_sizes(entry: Mapping[str, Any], table: TableSpec, facts: Facts) -> None:
    """Refuse sums of sizes that nobody asked for, or that are not those of the treatment that the job names."""
    columns = entry["cells"] or {}
    treatment, column = entry.get("negative"), columns.get("sizes")
    signs = columns.get("positive") and columns.get("negative")
    if (facts.sizes is not None) != bool(treatment or column or signs):
        raise Refused(f"{table.facts} and {NAME} differ on what rules see of negative contributions")
    if facts.sizes is None or column:
        return
    if not facts.signs:
        raise Refused(f"{table.facts} has sums of sizes, but not the sums of either sign")
    shift = treatment.get("shift") if isinstance(treatment, dict) else None
    wanted = facts.signs[0] - facts.signs[1] if shift is None else facts.total + float(shift) * facts.count
    apart = np.abs(facts.sizes - wanted) > 1e-9 * np.maximum(np.abs(wanted), 1)
    if apart.any():
        raise Refused(f"{table.facts} row {int(np.argmax(apart))}: sizes are not those that {NAME} asks for")


def check_decimals(job: Job, cells: Cells, rows: Rows) -> None:
    """Refuse published decimals that nobody asked for: without a word of the job, values that are not whole have 2."""
    for number, (entry, table) in enumerate(zip(job.tables, cells.spec.tables, strict=True)):
        records = job.records(entry)
        if entry["decimals"] is not None or (records is not None and records["rda"]):
            continue
        whole = not (rows.value[number] % 10 ** cells.spec.grains[table.group]).any()
        if table.decimals not in ((0, 2) if whole else (2,)):
            raise Refused(f"{table.name} is published with {table.decimals} decimals, which {NAME} does not ask for")


def check_together(job: Job, cells: Cells, rows: Rows) -> None:
    """Refuse a row that is published though the job has it suppressed with a response whose cell of these codes is
    suppressed.

    An empty row may be one of which readers know that it is, and such rows are not suppressed.
    """
    hidden = np.zeros(cells.count, dtype=bool)
    hidden[cells.cell[(rows.status == PRIMARY) | (rows.status == SECONDARY)]] = True
    for number, (said, table) in enumerate(zip(job.tables, cells.spec.tables, strict=True)):
        options = said.get("protect") or {}
        for response in attempt(NAME, lambda options=options: list(options.get("hide_with") or ())):  # type: ignore[misc]
            if (response, table.population) not in cells.spec.groups:
                raise Refused(f"{NAME} hides {table.name} with {response}, which no table of its population has")
            group = cells.spec.groups.index((response, table.population))
            own = cells.cell[cells.rows(number)]
            leader = cells.find(group, cells.combination[own])
            shown = (rows.status[cells.rows(number)] == PUBLISHED) & (rows.value[number] != 0)
            wrong = shown & (leader >= 0) & hidden[np.maximum(leader, 0)]
            if wrong.any():
                row = int(cells.offsets[number]) + int(np.argmax(wrong))
                raise Refused(f"{cells.row_name(row)} is published, although {NAME} suppresses it with {response}")


def never_negative(job: Job, spec: Spec) -> frozenset[Group]:
    """Return the responses that are numbers of records, or sums of their weights: whatever values are, these are not
    below 0."""
    counted = (table.group for said, table in zip(job.tables, spec.tables, strict=True) if said["value"] == "count")
    return frozenset({*counted, *(table.group for table in spec.tables if table.count)})


def judged_between(job: Job, spec: Spec) -> frozenset[Group]:
    """Return the responses whose latent cells can be judged: those made from records, and those that are fitted."""
    pairs = zip(job.tables, spec.tables, strict=True)
    return frozenset(table.group for said, table in pairs if not said["cells"] or table.where == FITTED)


def was_chosen(job: Job, cells: Cells, rows: Rows, facts: Sequence[Facts]) -> bool:
    """Whether a program chose secondaries: some that neither the job says to be so, nor follow what it hides.

    What a method of somebody else's chooses is not known to follow from the tables.
    """
    for number, (said, table, here) in enumerate(zip(job.tables, cells.spec.tables, facts, strict=True)):
        options = attempt(NAME, lambda said=said: dict(said.get("protect") or {}))  # type: ignore[misc]
        if table.released and options.get("method", "suppress") == "suppress" and not options.get("hide_with"):
            secondary = rows.status[cells.rows(number)] == SECONDARY
            if (secondary & (here.state != SAID_SECONDARY)).any():
                return True
    return False


def not_shown(job: Job, cells: Cells, facts: Sequence[Facts]) -> Bools:
    """Return the rows that are not to be published: said to be so, or of a level that the job does not show."""
    hidden = [here.state == UNPUBLISHED for here in facts]
    for number, (said, table) in enumerate(zip(job.tables, cells.spec.tables, strict=True)):
        if isinstance(said["publish"], str):
            hidden[number] = np.ones(hidden[number].size, dtype=bool)
            continue
        for name, levels in (said["publish"] or {}).items():
            if name not in table.by:
                raise Refused(f"{NAME} speaks of levels of a dimension that {table.name} does not have")
            axis = cells.spec.dimensions.index(name)
            level = cells.dimensions[axis].levels()[cells.row_codes[cells.rows(number), axis]]
            hidden[number] = hidden[number] | ~np.isin(level, list(levels))
    return np.concatenate(hidden)
