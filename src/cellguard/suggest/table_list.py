"""A list of tables becomes a job: one row per table, as INSEE's metadata for rtauargus have it, in CSV or Excel.

Columns: ``table_name``; ``spanning_1``, ``spanning_2``, ... with ``hrc_spanning_1``, ... (the hierarchy of each, a file
beside the list); ``indicator`` (what is summed) with ``hrc_indicator`` (how indicators add up); ``field`` (over whom).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cellguard.errors import InputError, did_you_mean
from cellguard.hierarchy.hrc import read_hrc
from cellguard.job.jobfile import Job
from cellguard.reading.csvfile import read_list
from cellguard.table.source import open_source

_SPAN = re.compile(r"spanning_?(\d+)")
_NAMES = {
    "table_name": ("table_name", "table", "name"),
    "indicator": ("indicator", "response_var", "response", "value"),
}
_COUNTS = ("", "count", "freq", "frequency")
_NOTHING = ("", "na", "nan", "none", "-")
_RULES = [{"min_frequency": 3}, {"p_percent": 10}]
_HEAD = """\
# A cellguard job, made from {name}: all its tables are one linked set. Run: cellguard protect JOB --out OUT
# Correct the rules, which are guesses, and read what stands behind a #.
"""


@dataclass(frozen=True)
class Listed:
    """A row of the list: a table with its dimensions and their hierarchies, what is summed, and over whom."""

    name: str
    spans: Mapping[str, str]
    indicator: str
    tree: str
    population: str
    row: str


@dataclass
class TableJob:
    """The job of a list: its text, which tables share cells, and what a person should look at."""

    text: str
    groups: list[list[str]]
    notes: list[str] = field(default_factory=list)


def job_of_list(path: Path, folder: Path, records: Path | None = None) -> TableJob:
    """Return the job of a list of tables; paths in it are relative to ``folder``.

    Tables are made from the ``records``; without them each table's cells are in a file of its name beside the list.
    """
    listed = read_tables(path)
    notes: list[str] = []
    spec: dict[str, Any] = {"version": 1}
    if records is not None:
        _refuse_populations(listed, path)
        spec["microdata"] = {"source": _relative(records, folder)}
    dimensions = _dimensions(listed, path.parent, folder, notes)
    if dimensions:
        spec["dimensions"] = dimensions
    equations = _equations(listed, path.parent, notes)
    if equations:
        spec["equations"] = equations
    spec["tables"] = [_table(one, path.parent, folder, records is not None) for one in listed]
    Job.parse(spec, folder=folder, source=f"the job of {path.name}")
    text = yaml.safe_dump(spec, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
    comments = "".join(f"# {note}\n" for note in notes)
    return TableJob(_HEAD.format(name=path.name) + comments + text, _groups(listed, equations), notes)


def read_tables(path: Path) -> list[Listed]:
    """Read the list; what is wrong in it is named with its row."""
    source = open_source(path)
    columns = {name.strip().lower(): name for name in source.names}
    name = _column(columns, "table_name", path)
    spans = sorted((int(found.group(1)), key) for key in columns if (found := _SPAN.fullmatch(key)))
    if not spans:
        raise InputError(
            f"{path.name}: no column spanning_1; a list of tables has spanning_1, spanning_2, ... "
            f"{did_you_mean('spanning_1', list(columns))}"
        )
    texts = {key: _entries(source.text(column).to_pylist()) for key, column in columns.items()}
    indicator = next((key for key in _NAMES["indicator"] if key in columns), None)
    found = []
    for i, table in enumerate(texts[name]):
        row = source.place.row(i)
        by = {texts[key][i]: _entry(texts, f"hrc_{key}", i) for _, key in spans if texts[key][i]}
        if not table or not by:
            raise InputError(f"{row}: {'the table has no name' if not table else 'no spanning variable is named'}")
        if len(by) < sum(bool(texts[key][i]) for _, key in spans):
            raise InputError(f"{row}: table {table!r} names a spanning variable twice")
        said = texts[indicator][i] if indicator else ""
        found.append(Listed(table, by, said, _entry(texts, "hrc_indicator", i), _entry(texts, "field", i), row))
    return found


def _column(columns: Mapping[str, str], wanted: str, path: Path) -> str:
    found = next((key for key in _NAMES[wanted] if key in columns), None)
    if found is None:
        raise InputError(f"{path.name}: no column {wanted}; a list has table_name, spanning_1, ..., indicator")
    return found


def _entries(texts: Sequence[str | None]) -> list[str]:
    entries = [(text or "").strip() for text in texts]
    return ["" if entry.lower() in _NOTHING else entry for entry in entries]


def _entry(texts: Mapping[str, Sequence[str]], key: str, i: int) -> str:
    return texts[key][i] if key in texts else ""


def _refuse_populations(listed: Sequence[Listed], path: Path) -> None:
    fields = dict.fromkeys(one.population for one in listed)
    if len(fields) > 1:
        raise InputError(
            f"{path.name}: the column `field` names {len(fields)} populations, and one file of records has one; leave "
            "the records out, or make a list of each population"
        )


def _dimensions(listed: Sequence[Listed], near: Path, folder: Path, notes: list[str]) -> dict[str, Any]:
    """Return each variable that has a hierarchy, with its file; one variable has one."""
    trees: dict[str, tuple[str, str]] = {}
    for one in listed:
        for variable, tree in one.spans.items():
            known, row = trees.setdefault(variable, (tree, one.row))
            if tree != known:
                raise InputError(
                    f"{one.row}: {variable!r} has the hierarchy {tree or 'none'!r} here and {known or 'none'!r} in "
                    f"{row}; name one for both (`publish` says what a table shows), or make the second an `also`"
                )
    found = {}
    for variable, (tree, _) in trees.items():
        if not tree:
            continue
        file = _file(near, tree)
        if file is None:
            notes.append(f"{variable}: the hierarchy {tree!r} is no file beside the list; its codes stand side by side")
        else:
            found[variable] = {_way(file): _relative(file, folder)}
    return found


def _file(near: Path, name: str) -> Path | None:
    places = [near / f"{name}{ending}" for ending in ("", ".hrc", ".csv")]
    return next((place for place in places if place.is_file()), None)


def _way(file: Path) -> str:
    if file.suffix.lower() == ".hrc":
        return "hrc"
    return "parents" if {"code", "parent"} <= {name.strip() for name in read_list(file).header} else "levels"


def _equations(listed: Sequence[Listed], near: Path, notes: list[str]) -> list[str]:
    """Return how indicators add up, as far as tables of the same population have all of them."""
    found: dict[str, None] = {}
    for name in dict.fromkeys(one.tree for one in listed if one.tree):
        file = _file(near, name)
        if file is None:
            notes.append(f"the hierarchy of indicators {name!r} is no file beside the list; write `equations` yourself")
            continue
        tree = read_hrc(file, total="\0")
        there = {one.indicator for one in listed if one.tree == name}
        for code in tree.codes[1:]:
            parts = tree.children(code)
            if parts and {code, *parts} <= there:
                found[f"{code} = {' + '.join(parts)}"] = None
            elif parts and code in there:
                missing = [part for part in parts if part not in there]
                notes.append(f"{code} is the sum of {', '.join(parts)}, but no table has {', '.join(missing)}")
    return list(found)


def _table(one: Listed, near: Path, folder: Path, made: bool) -> dict[str, Any]:
    counts = one.indicator.lower() in _COUNTS
    table: dict[str, Any] = {"name": one.name, "by": list(one.spans), "value": "count" if counts else one.indicator}
    if one.population and not made:
        table["population"] = one.population
    if not made:
        table["cells"] = {"source": _relative(near / f"{one.name}.csv", folder)}
    return table | {"rules": _RULES[:1] if counts else [dict(rule) for rule in _RULES]}


def _groups(listed: Sequence[Listed], equations: Sequence[str]) -> list[list[str]]:
    """Return the tables that share cells, or are tied by an equation: of one population, and one indicator or sum."""
    tied = {}
    for equation in equations:
        total, _, parts = equation.partition(" = ")
        tied |= dict.fromkeys(parts.split(" + "), total)
    group: dict[tuple[str, str], list[str]] = {}
    for one in listed:
        group.setdefault((one.population, _root(one.indicator, tied)), []).append(one.name)
    return list(group.values())


def _root(indicator: str, tied: Mapping[str, str]) -> str:
    """Return the sum at the top of the equations that an indicator is in."""
    while indicator in tied:
        indicator = tied[indicator]
    return indicator


def _relative(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()
