"""A batch as a job of ours: the tables as ready-made cells, with everything that the batch says of them, in files.

The job is complete: `cellguard protect job.yaml` gives the same result again.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from cellguard.argus.own_table import (
    PROTECTED,
    SAFE,
    SAFE_MANUAL,
    SECONDARIES,
    ArgusTable,
)
from cellguard.argus.spanning import Spanning
from cellguard.argus.tabulating import rules_of
from cellguard.errors import InputError
from cellguard.hierarchy.edges import Edge
from cellguard.hierarchy.hierarchy import Hierarchy, grow
from cellguard.job.names import collision, plain_name

_BELOW = 1.5  # how many times the smallest value lies above what the attacker takes for possible


@dataclass(frozen=True)
class Asked:
    """What a job asks for beside its tables; ``changes`` is what tables say whose figures are changed, by number."""

    engine: str | None = None
    effort: str = "normal"
    insiders: bool = False
    previous: Sequence[Path] = ()
    nonstructural: frozenset[int] = field(default_factory=frozenset)
    changes: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)


def write_job(tables: Sequence[ArgusTable], asked: Asked, folder: Path) -> Path:
    """Write the job of some tables and the files that it names into a folder; return its path."""
    dimensions = _dimensions(tables)
    names = _names([name for table in tables for name in dimensions[table.number]])
    job: dict[str, Any] = {"version": 1, "dimensions": {}, "tables": []}
    for table in tables:
        for spanning, name in zip(table.spanning, dimensions[table.number], strict=True):
            if names[name] in job["dimensions"]:
                continue
            tree = _tree_of(tables, dimensions, name) or spanning.tree
            file = f"{names[name]}.csv"
            write_tree(tree, folder / file)
            job["dimensions"][names[name]] = {"parents": file, "total": tree.total}
        job["tables"].append(_table(table, [names[n] for n in dimensions[table.number]], asked, folder))
    attack: dict[str, Any] = {"insiders": asked.insiders}
    least = min((float(table.value.min(initial=0.0)) for table in tables), default=0.0)
    if least < 0:
        attack["lower"] = float(math.floor(_BELOW * least))
    job["attack"] = attack
    if asked.previous:
        job["previous"] = [{"folder": str(path.resolve())} for path in asked.previous]
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump(job, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return path


def _dimensions(tables: Sequence[ArgusTable]) -> Mapping[int, list[str]]:
    """Return the names of the dimensions of each table; variables of one name must have one tree."""
    trees: dict[str, Spanning] = {}
    for table in tables:
        for spanning in table.spanning:
            known = trees.setdefault(spanning.name, spanning)
            flat = not (known.is_hierarchical or spanning.is_hierarchical)
            same = known.tree.codes == spanning.tree.codes and (known.tree.parent == spanning.tree.parent).all()
            if not same and not (flat and known.tree.total == spanning.tree.total):
                raise InputError(
                    f"tables that are published together have the variable {spanning.name!r} with different codes, so "
                    "nobody can tell which of their cells are the same; give it one hierarchy, or say "
                    "<CELLGUARD> TABLES alternatives if only one of them is published"
                )
    return {table.number: [spanning.name for spanning in table.spanning] for table in tables}


def _tree_of(tables: Sequence[ArgusTable], dimensions: Mapping[int, list[str]], name: str) -> Hierarchy | None:
    """Return the tree of all codes that tables have of a variable without levels."""
    mine = [s for table in tables for s in table.spanning if s.name == name]
    if any(s.is_hierarchical for s in mine):
        return mine[0].tree
    codes = dict.fromkeys(code for s in mine for code in s.tree.codes[1:])
    total = mine[0].tree.total
    return grow([Edge(total, ""), *(Edge(code, total) for code in codes)])


def _names(names: Sequence[str]) -> dict[str, str]:
    """Return for each variable a name that a file can have."""
    plain: dict[str, str] = {}
    for name in dict.fromkeys(names):
        short = plain_name(name)
        while collision([*plain.values(), short]) or short in plain.values():
            short += "_"
        plain[name] = short
    return plain


def write_tree(tree: Hierarchy, path: Path) -> None:
    """Write the codes of a tree with their parents."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("code", "parent"))
        writer.writerows((code, tree.parent_of(code) or "") for code in tree.codes)


def _table(table: ArgusTable, by: list[str], asked: Asked, folder: Path) -> dict[str, Any]:
    """Write the cells of a table, and return what the job says of it."""
    taken = {*by, "freq", "unsafe", "status", "cost", "need_lower", "need_upper", "count"}
    value = table.response
    while value in taken or value.startswith("top"):
        value += "_"
    is_count = _counts(table)
    columns: dict[str, Any] = {}
    for name, spanning, column in zip(by, table.spanning, table.codes.T, strict=True):
        columns[name] = [spanning.tree.codes[c] for c in column.tolist()]
    columns["freq" if is_count else value] = table.value
    cells: dict[str, Any] = {"source": f"{table.name}.parquet"}
    if is_count:
        cells["count"] = "freq"
    elif table.counted and (table.freq == np.rint(table.freq)).all():
        columns["freq"] = table.freq
        cells["count"] = "freq"
    direct = _direct_rules(table, is_count)
    if direct and table.tops.shape[1]:
        tops = [f"top{i + 1}" for i in range(table.tops.shape[1])]
        columns |= dict(zip(tops, table.tops.T, strict=True))
        cells["top"] = tops
    columns["unsafe"] = ["yes" if unsafe else "no" for unsafe in table.unsafe.tolist()]
    changes = asked.changes.get(table.number)
    columns["status"] = _states(table, bool(direct), changed=changes is not None)
    needs = np.where(table.unsafe, np.stack([table.lower, table.upper]), np.nan)
    columns |= {"need_lower": needs[0], "need_upper": needs[1]}
    cells |= {name: name for name in ("status", "need_lower", "need_upper")}
    if not table.distant and changes is None:
        columns["cost"] = table.cost
        cells["cost"] = "cost"
    pq.write_table(pa.table(columns), folder / f"{table.name}.parquet")
    said: dict[str, Any] = {
        "name": table.name,
        "by": by,
        "value": "count" if is_count else value,
        "zeros": "possible" if table.number in asked.nonstructural else "known",
        "cells": cells,
        "rules": [*direct, {"given": {"column": "unsafe", "protection_percent": table.rule.manual or 20.0}}],
        "protect": _suppressed(table, asked) if changes is None else dict(changes),
    }
    if not is_count:
        said["decimals"] = table.decimals
    if table.rule.weighted:  # another variable than the unweighted one
        said["response"] = f"{table.response} (weighted)"
    if table.tolerance:
        said["tolerance"] = table.tolerance
    return said


def _suppressed(table: ArgusTable, asked: Asked) -> dict[str, Any]:
    protect: dict[str, Any] = {"effort": asked.effort}
    if asked.engine:
        protect["engine"] = asked.engine
    if table.distant:
        protect["cost"] = "distance"
    return protect


def _counts(table: ArgusTable) -> bool:
    """Return whether a table has counts: of weighted records they are sums."""
    return table.is_count and bool((table.value == np.rint(table.value)).all())


def _direct_rules(table: ArgusTable, is_count: bool) -> list[dict[str, Any]]:
    """Return the rules that the job can apply itself, since the cells have all that they look at."""
    rule = table.rule
    if rule.uses_status or rule.weighted or rule.holdings.applies or table.shadow_name not in {"", table.response}:
        return []
    if not table.counted or (table.value < 0).any() or (table.freq != np.rint(table.freq)).any():
        return []
    return [r for r in rules_of(rule.respondents) if not is_count or "min_frequency" in r]


def _states(table: ArgusTable, ruled: bool, *, changed: bool) -> list[str]:
    """Return the manual state of each cell; where rules are applied again, what is safe all the same is waived.

    Where figures are changed nothing is suppressed, so what must be published is, and there are no secondaries.
    """
    words = {} if changed else {PROTECTED: "must_publish", **dict.fromkeys(SECONDARIES, "secondary")}
    if ruled:
        words |= {SAFE_MANUAL: "waived"} | ({SAFE: "waived"} if table.rule.missing_is_safe else {})
    return [words.get(status, "") for status in table.status.tolist()]
