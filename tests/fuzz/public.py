"""What a reader knows: the job's dimensions and tables, and every row of the files in ``release/``.

Nothing here looks at records or at internal files, and nothing is shared with the package under test.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fuzz.cases import Case, read_csv

TOTAL = "Total"
Codes = tuple[str, ...]


@dataclass(frozen=True)
class Axis:
    """A dimension: its column, its groupings (the parent of each code), and the leaves and the level of each code."""

    name: str
    column: str
    trees: tuple[Mapping[str, str], ...]
    below: Mapping[str, frozenset[str]]
    level: Mapping[str, int]


@dataclass(frozen=True)
class ResponseKey:
    """What a table counts or sums: the column of records (or `count`), and what the job calls it."""

    column: str
    name: str
    population: str

    @property
    def is_count(self) -> bool:
        return self.column == "count"


@dataclass(frozen=True)
class Shown:
    """One released table. ``rows`` holds each row's published number, None where suppressed, in the file's order.

    ``made`` tells a table made from records from a ready-made one; ``bounds`` are what everybody knows of some cells,
    and ``least`` what everybody knows of all.
    """

    name: str
    axes: tuple[Axis, ...]
    response_key: ResponseKey
    zeros: str
    made: bool
    levels: Mapping[str, Sequence[int]]
    rows: Mapping[Codes, int | None]
    bounds: Mapping[Codes, tuple[float, float]]
    least: float = 0.0

    def codes(self, axis: int) -> set[str]:
        """The codes that occur in the released file."""
        return {row[axis] for row in self.rows}

    def shows(self, axis: Axis, code: str) -> bool:
        """Whether the table shows the level of a code."""
        if axis.level[code] < 0:
            return code in self.codes(next(i for i, own in enumerate(self.axes) if own.name == axis.name))
        return axis.name not in self.levels or axis.level[code] in self.levels[axis.name]


def spelled_out(case: Case) -> Case:
    """The case with a table of counts for each table that has counts beside its values: what a reader gets."""
    tables = [{key: said for key, said in spec.items() if key != "counts"} for spec in case.job["tables"]]
    for spec in case.job["tables"]:
        if "counts" in spec:
            few = [rule for rule in spec["rules"] if "min_frequency" in rule and spec["counts"] != "shown"]
            own = {"name": f"{spec['name']}_count", "value": "count", "rules": few, "zeros": read_zeros(spec)}
            kept = {key: spec[key] for key in ("by", "where", "population", "publish", "cells") if key in spec}
            tables.append({**kept, **own})
    return replace(case, job={**case.job, "tables": tables})


def read_axes(case: Case) -> dict[str, Axis]:
    """The dimensions of all tables; one without a file has the codes of its column side by side."""
    names = dict.fromkeys(name for table in case.job["tables"] for name in columns(table))
    axes = {name: _axis(name, case.job.get("dimensions", {}).get(name, {}), case) for name in names}
    for table in case.job["tables"]:
        for name, said in table.get("where", {}).items():
            axes[name] = with_code(axes[name], _selects(said), selected(axes[name], said))
    return axes


def columns(spec: Mapping[str, Any]) -> list[str]:
    """The dimensions of a table: those that it is by, and those that say whom it is about."""
    return [*spec["by"], *spec.get("where", {})]


def selected(axis: Axis, said: Any) -> frozenset[str]:
    """The leaves that a `where` selects: those of the listed codes, or all others."""
    listed = said["all_but"] if isinstance(said, dict) else said
    named = frozenset().union(*(axis.below[code] for code in listed))
    return axis.below[TOTAL] - named if isinstance(said, dict) else named


def selects(spec: Mapping[str, Any]) -> Codes:
    """The code that all rows of a table have in each column of its `where`, as the oracle calls it."""
    return tuple(_selects(said) for said in spec.get("where", {}).values())


def _selects(said: Any) -> str:
    return f"#{said}"


def with_code(axis: Axis, code: str, leaves: frozenset[str]) -> Axis:
    """A dimension with a further code, of no level that a table shows by itself."""
    return replace(axis, below={**axis.below, code: leaves}, level={**axis.level, code: -1})


def _axis(name: str, spec: Mapping[str, Any], case: Case) -> Axis:
    column = spec.get("column", name)
    if "parents" in spec:
        trees = [_parents(case.files[spec["parents"]])]
    else:
        trees = [{TOTAL: "", **dict.fromkeys(sorted(set(case.records.codes[column])), TOTAL)}]
    trees += [_parents(case.files[also["parents"]]) for also in spec.get("also", ())]
    below: dict[str, frozenset[str]] = {}
    level: dict[str, int] = {}
    for tree in reversed(trees):
        leaves = set(tree) - set(tree.values())
        paths = {code: path(tree, code) for code in tree}
        below |= {code: frozenset(leaf for leaf in leaves if code in paths[leaf]) for code in tree}
        level |= {code: len(above) - 1 for code, above in paths.items()}
    return Axis(name, column, tuple(trees), below, level)


def _parents(text: str) -> dict[str, str]:
    return dict(read_csv(text)[1])


def path(tree: Mapping[str, str], code: str) -> list[str]:
    """A code and those above it, up to the total."""
    found = [code]
    while tree[found[-1]]:
        found.append(tree[found[-1]])
    return found


def read_topic(spec: Mapping[str, Any]) -> ResponseKey:
    return ResponseKey(spec["value"], spec.get("response", spec["value"]), spec.get("population", "all"))


def read_zeros(spec: Mapping[str, Any]) -> str:
    return spec.get("zeros") or ("possible" if spec["value"] == "count" else "known")


def read_said(spec: Mapping[str, Any], case: Case) -> dict[Codes, dict[str, str]]:
    """What the job's a-priori file says of single cells; blanks say nothing."""
    if "apriori" not in spec:
        return {}
    header, rows = read_csv(case.files[spec["apriori"]])
    many = len(spec["by"])
    return {
        (*row[:many], *selects(spec)): {n: text for n, text in zip(header[many:], row[many:], strict=True) if text}
        for row in rows
    }


def read_shown(case: Case, release: Path) -> list[Shown]:
    """All released tables."""
    axes = read_axes(case)
    return [_shown(spec, case, axes, release / f"{spec['name']}.csv") for spec in case.job["tables"]]


class BadRelease(Exception):
    """A released file does not have the form that a released file has."""


def _shown(spec: Mapping[str, Any], case: Case, axes: Mapping[str, Axis], file: Path) -> Shown:
    header, rows = read_csv(file.read_text(encoding="utf-8"))
    many, by = len(columns(spec)), len(spec["by"])
    if header[: many + 2] != [*columns(spec), "value", "flag"]:
        raise BadRelease(f"{file.name}: the columns are {header}")
    if any((row[many] == "") != (row[many + 1] == "c") for row in rows):
        raise BadRelease(f"{file.name}: a suppressed row has a value, or one without a value is not suppressed")
    if any(len({row[i] for row in rows}) > 1 for i in range(by, many)):
        raise BadRelease(f"{file.name}: rows are about different people")
    values = {(*row[:by], *selects(spec)): int(row[many]) if row[many] else None for row in rows}
    if len(values) < len(rows):
        raise BadRelease(f"{file.name}: a row stands twice")
    said = read_said(spec, case)
    return Shown(
        spec["name"],
        tuple(axes[name] for name in columns(spec)),
        read_topic(spec),
        read_zeros(spec),
        "cells" not in spec,
        {**spec.get("publish", {}), **{name: [-1] for name in spec.get("where", {})}},
        values,
        {
            codes: read_bounds(words, floor(spec, case))
            for codes, words in said.items()
            if {"lower", "upper"} & set(words)
        },
        floor(spec, case),
    )


def read_bounds(words: Mapping[str, str], least: float = 0.0) -> tuple[float, float]:
    return float(words.get("lower", least)), float(words.get("upper", "inf"))


def floor(spec: Mapping[str, Any], case: Case) -> float:
    """The least that everybody knows a value to be: 0, unless the job says that it may be negative; a count is 0."""
    unbounded = case.job.get("attack", {}).get("lower") == "unbounded" and spec["value"] != "count"
    return float("-inf") if unbounded else 0.0


def uncovered(tree: Mapping[str, str], occurs: Collection[str]) -> set[str]:
    """The leaves that a table leaves out although it breaks down a code above them.

    In a table that has North and N1, but neither N2 nor a code between North and N2, N2 is empty: a table that shows
    parts of North shows all of them.
    """
    broken = {above for code in occurs if code in tree for above in path(tree, code)[1:] if above in occurs}
    leaves = set(tree) - set(tree.values())
    found = set()
    for leaf in leaves:
        nearest = next((code for code in path(tree, leaf) if code in occurs), None)
        if nearest is not None and nearest != leaf and nearest in broken:
            found.add(leaf)
    return found
