"""Earlier releases of the same respondents at the same time: their tables join the set, and are not released again.

What they show stays known, whatever the job would suppress; what they suppress stays to be protected, by the rules of
then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cellguard.arrays import Positions
from cellguard.errors import CellguardError, InputError, JobError
from cellguard.inputs.records import column_of
from cellguard.io.folder import OutputFolder
from cellguard.io.linked_folders import ReadFolder, frozen, on_dimensions, read_folder, unite_dimensions
from cellguard.job.jobfile import Job
from cellguard.job.names import LONGEST
from cellguard.job.yamlfile import read_yaml
from cellguard.rules.rule import Rule
from cellguard.table.apriori import State
from cellguard.table.table import Table


@dataclass(frozen=True, eq=False)
class Earlier:
    """A table of an earlier release, with the rules by which its unsafe cells were found."""

    table: Table
    rules: tuple[Rule, ...]


@dataclass(frozen=True, eq=False)
class Memory:
    """Tables that were shown before, in memory: what a job may name as ``previous`` in place of a folder."""

    shown: tuple[Earlier, ...]

    @staticmethod
    def of(table: Table, seen: Positions, rules: Sequence[Rule], name: str) -> Earlier:
        """Return a table as its release left it; ``seen`` are the cells that were shown."""
        return Earlier(_fixed(replace(table, name=name), seen), tuple(rules))


def output_folder(path: Path) -> Path:
    """Return an output folder, of which also the release may be named."""
    return path.parent if path.name == "release" and (path.parent / "internal").is_dir() else path


def earlier_files(job: Job) -> dict[str, Path]:
    """Return the files of earlier releases that a job looks at, by the name that the job gives the folder."""
    files = {}
    for spec in job.previous:
        if spec.folder in job.held:
            continue
        folder = output_folder(job.path(spec.folder))
        for path in sorted([*folder.glob("release/*.csv"), *folder.glob("internal/**/*.*")]):
            if path.suffix in {".csv", ".json", ".yaml"} or path.parent.name == "facts":
                files[f"{spec.folder}/{path.relative_to(folder).as_posix()}"] = path
    return files


def read_earlier(job: Job) -> list[Earlier]:
    """Return the tables of all earlier releases of the same time and of the job's populations."""
    tables, populations = [], {spec.population for spec in job.tables}
    for number, name in enumerate((spec.folder for spec in job.previous if spec.period == "same"), start=1):
        held = job.held.get(name)
        if isinstance(held, Memory):
            tables += [one for one in held.shown if one.table.population in populations]
            continue
        read = _read(job, name)
        _check_columns(job, name, read)
        for place, (table, rules, seen) in enumerate(zip(read.tables, read.rules, read.seen, strict=True)):
            if table.population not in populations:
                continue
            if not any(rule.can_fire for rule in rules):
                raise InputError(
                    f"previous: no rule was applied to the table {table.name!r} of {name!r}, so it is not known "
                    "which of its suppressed cells are unsafe"
                )
            called = f"earlier{number}.{table.name}"
            called = called if len(called) <= LONGEST else f"earlier{number}.{place}"
            tables.append(Earlier(_fixed(replace(table, name=called), seen), tuple(rules)))
    return _on_one(tables)


def _on_one(earlier: list[Earlier]) -> list[Earlier]:
    """Return tables over the union of their codes: each release has those of its own populations."""
    united = unite_dimensions([[one.table] for one in earlier])
    return [replace(one, table=on_dimensions(one.table, united)) for one in earlier]


def _read(job: Job, name: str) -> ReadFolder:
    folder = output_folder(job.path(name))
    certificate = OutputFolder(folder).certificate()
    try:
        return read_folder(folder, certificate)
    except CellguardError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise InputError(
            f"previous: {name!r} is damaged: its files do not fit together; see `cellguard verify`"
        ) from None


def _fixed(table: Table, seen: Positions) -> Table:
    """Return a table every cell of which is as its release left it: published for good, or not seen.

    A cell that must be suppressed stays unsafe. Of one that was suppressed although its contributors allow publication
    the attacker is taken to know more than the attacker does.
    """
    if table.is_unreleased:
        return frozen(table)
    shown = np.zeros(len(table), bool)
    shown[seen] = True
    keeps = table.apriori.has(State.must_suppress) | table.apriori.has(State.waived)
    state = np.where(shown, State.must_publish, np.where(keeps, table.apriori.state, State.unpublished))
    said = replace(table.apriori, state=state.astype(np.int8))
    return replace(table, apriori=said, levels=None, release="earlier", origin="records")


def join_earlier(tables: Sequence[Table], earlier: Sequence[Earlier]) -> tuple[list[Table], list[Earlier]]:
    """Return the tables of a job and the earlier ones over the union of their codes."""
    united = unite_dimensions([tables, [one.table for one in earlier]])
    moved = [replace(one, table=on_dimensions(one.table, united)) for one in earlier]
    return [on_dimensions(table, united) for table in tables], moved


def _check_columns(job: Job, name: str, read: ReadFolder) -> None:
    """Refuse a column, of dimensions or of values, that has another name in the job than in an earlier one."""
    words, _ = read_yaml(read.path / "internal" / "job.yaml")
    old = words if isinstance(words, dict) else {}
    columns = {column_of(job, d): d for spec in job.tables for d in spec.dimensions}
    for dimension in dict.fromkeys(d.name for table in read.tables for d in table.dimensions):
        said = (old.get("dimensions") or {}).get(dimension) or {}
        column = said.get("column") or dimension
        if columns.get(column, dimension) != dimension:
            raise JobError(
                f"the column {column!r} is the dimension {columns[column]!r} here and {dimension!r} in {name!r}; call "
                "it the same, so that its cells are tied"
            )
    _check_population(job, name, old)
    called = {spec.value: spec.response or spec.value for spec in job.tables if spec.cells is None}
    for entry in _from_records(old):
        response = entry.get("response") or entry.get("value")
        if called.get(entry.get("value", ""), response) != response:
            raise JobError(
                f"the value {entry['value']!r} is the response {called[entry['value']]!r} here and {response!r} in "
                f"{name!r}; give it the same `response`"
            )


def _check_population(job: Job, name: str, old: Mapping[str, Any]) -> None:
    """Refuse records that are one population here and another in an earlier release."""
    source = (old.get("microdata") or {}).get("source") or ""
    if job.microdata is None or Path(source).name != Path(job.microdata.source).name:
        return
    here = {spec.population for spec in job.tables if spec.cells is None}
    there = {str(entry.get("population")) for entry in _from_records(old)}
    if here != there:
        raise JobError(
            f"the records {job.microdata.source!r} are the population {min(here)!r} here and {min(there)!r} in "
            f"{name!r}; give them the same `population`; `where` says which records a table is about"
        )


def _from_records(words: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [entry for entry in words.get("tables") or () if not entry.get("cells")]
