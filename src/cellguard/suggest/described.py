"""A data file described for a person who makes a job of it: each column with its likely role, and why; and the job of
what was chosen.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cellguard.errors import InputError, did_you_mean
from cellguard.hierarchy.codelists import read_levels, read_parents
from cellguard.hierarchy.hrc import read_hrc
from cellguard.microdata.sources import Opened, open_records
from cellguard.suggest.columns import Column, look_at
from cellguard.suggest.hierarchies import pointed_levels
from cellguard.suggest.init import Suggestion, draft_job
from cellguard.suggest.records import Guess, Layout, guess_roles, records_job_text
from cellguard.suggest.yaml_words import text_of

ROLES = ("respondent", "holding", "weight", "request")
_EXAMPLES = 4
_LARGEST = 2_000_000
_MOST_COLUMNS = 5_000


@dataclass(frozen=True)
class DescribedColumn:
    """A column: what it holds, its likely role, and why that was guessed. ``above`` are columns that it nests in."""

    name: str
    kind: str
    role: str
    why: str
    different: int
    blanks: int
    above: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True)
class DescribedData:
    """A data file: records, whose columns have roles to choose, or ready-made cells, for which a job is suggested."""

    name: str
    rows: int
    records: bool
    columns: tuple[DescribedColumn, ...]
    hierarchies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "name": self.name,
            "rows": self.rows,
            "records": self.records,
            "columns": [column.plain() for column in self.columns],
            "hierarchies": dict(self.hierarchies),
        }


@dataclass(frozen=True)
class Chosen:
    """What a person chose: who is who, and the tables, each by columns with a value or `count`.

    ``levels`` are for a column the coarser ones that it nests in, ``files`` hierarchies in files beside the data.
    """

    tables: tuple[tuple[tuple[str, ...], str], ...]
    roles: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


def describe_data(data: str | Path) -> DescribedData:
    """Return what the columns of a data file seem to be, each guess with its reason.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as here:
    ...     path = Path(here, "sales.csv")
    ...     rows = [f"f{i},{'NSW'[i % 3]},{17 * i + 5}" for i in range(60)]
    ...     _ = path.write_text("\\n".join(["firm,region,sales", *rows]))
    ...     described = describe_data(path)
    >>> [(column.name, column.role) for column in described.columns]
    [('firm', 'respondent'), ('region', 'dimension'), ('sales', 'value')]
    """
    path = Path(data)
    _refuse_wide(path)
    draft = draft_job(path, path.parent)
    opened = open_records(path) if path.suffix.lower() != ".rda" and not draft.cells else None
    if opened is None:
        return DescribedData(path.name, 0, False, ())
    columns = look_at(opened)
    guess = guess_roles(columns, opened)
    told = tuple(_described(column, guess, opened) for column in columns)
    rows = int(opened.rows(f"SELECT count(*) FROM {opened.scan}")[0][0])  # noqa: S608
    dimensions = [column.name for column in told if column.kind == "code"]
    return DescribedData(path.name, rows, True, told, {n: _fitting(path, opened, n) for n in dimensions})


def _refuse_wide(path: Path) -> None:
    """Refuse a text whose first line has more columns than anybody can give roles to."""
    with path.open("rb") as file:
        first = file.readline(_LARGEST)
    if max(map(first.count, (b",", b";", b"\t"))) >= _MOST_COLUMNS or (len(first) == _LARGEST and b"\0" not in first):
        raise InputError(f"{path.name}: more than {_MOST_COLUMNS:,} columns; keep those that tables need")


def compose_job(data: str | Path, chosen: Chosen) -> Suggestion:
    """Return the job of what was chosen, with comments; it is to stand beside the data."""
    path = Path(data)
    opened = open_records(path)
    columns = look_at(opened)
    known = [column.name for column in columns]
    used = list(dict.fromkeys(column for by, _ in chosen.tables for column in by))
    named = [*used, *chosen.roles.values(), *(value for _, value in chosen.tables if value != "count")]
    for name in [*named, *(coarse for chain in chosen.levels.values() for coarse in chain)]:
        if name not in known:
            raise InputError(f"{path.name}: no column {name!r}{did_you_mean(name, known)}")
    if not chosen.tables or not all(by for by, _ in chosen.tables):
        raise InputError("choose at least one column for the rows of a table")
    if strange := [role for role in chosen.roles if role not in ROLES]:
        raise InputError(f"no role {strange[0]!r}{did_you_mean(strange[0], ROLES)}")
    values = list(dict.fromkeys(value for _, value in chosen.tables if value != "count"))
    numbers = {column.name for column in columns if column.is_mostly_number}
    if bad := [value for value in values if value not in numbers]:
        raise InputError(f"{path.name}: column {bad[0]!r} does not hold numbers, so it cannot be summed")
    roles: dict[str, Any] = {role: chosen.roles.get(role) for role in ROLES}
    guess = Guess(
        dimensions=tuple((*chosen.levels.get(name, ()), name) for name in used),
        values=tuple(values),
    )
    guess = replace(guess, **roles)
    files = {column: _way(path, opened, column, name) for column, name in chosen.files.items() if column in used}
    single = [name for name in used if not chosen.levels.get(name) and name not in files]
    digits = {name: found for name in single if (found := pointed_levels(opened, name))}
    return Suggestion(records_job_text(path, path.parent, columns, guess, Layout(chosen.tables, files, digits)), {})


def compose_map(data: str | Path, x: str, y: str, size: float | None = None) -> Suggestion:
    """Return the job of a map of points, with comments; it is to stand beside the data.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as here:
    ...     path = Path(here, "shops.csv")
    ...     _ = path.write_text("east,north\\n1,2\\n2.5,3\\n")
    ...     print(compose_map(path, "east", "north", 5).text.splitlines()[3])
    redistribute: {x: east, y: north, size: 5}
    """
    path = Path(data)
    columns = {column.name: column for column in look_at(open_records(path))}
    for name in (x, y):
        if name not in columns:
            raise InputError(f"{path.name}: no column {name!r}{did_you_mean(name, columns)}")
        if not columns[name].is_mostly_number:
            raise InputError(f"{path.name}: column {name!r} does not hold numbers, so it is no coordinate")
    if x == y:
        raise InputError("the two coordinates of a map are two columns; choose another one for one of them")
    wide = "" if size is None else f", size: {size:.12g}"
    lines = [
        "# A cellguard job: a map of counts in hexagons. Size is the distance of neighbouring centres.",
        "version: 1",
        f"microdata: {{source: {text_of(path.name)}}}",
        f"redistribute: {{x: {text_of(x)}, y: {text_of(y)}{wide}}}",
        "tables:",
        "  - name: map",
        "    by: [hexagon]",
        "    value: count",
        "    rules: [{min_frequency: 3}]",
        "    protect: {method: redistribute}",
    ]
    return Suggestion("\n".join([*lines, ""]), {})


def _described(column: Column, guess: Guess, opened: Opened) -> DescribedColumn:
    roles = {getattr(guess, role): role for role in ROLES if getattr(guess, role)}
    chain = next((c for c in (*guess.dimensions, *guess.more) if column.name in c), ())
    above = chain[: chain.index(column.name)] if chain else ()
    kind = "code" if chain or (column.is_code and column.name not in guess.values) else "text"
    kind = "number" if column.is_number and not chain else kind
    role, why = roles.get(column.name, ""), guess.why.get(column.name, "")
    if not role and any(column.name in c for c in guess.dimensions):
        role, why = "dimension", f"{column.different:,} different codes, each of which comes several times"
        if chain.index(column.name) < len(chain) - 1:
            role, why = "level", f"every code of {chain[-1]} has one of {column.name} in all records"
    if not role and guess.values[:1] == (column.name,):
        role, why = "value", "a column of numbers that is no code and no weight"
    examples = _examples(opened, column) if kind == "code" else ()
    return DescribedColumn(
        column.name, kind, role, why, column.different, column.rows - column.filled, tuple(above), examples
    )


def _examples(opened: Opened, column: Column) -> tuple[str, ...]:
    text = f"CAST({opened.column(column.name)} AS VARCHAR)"
    rows = opened.rows(f"SELECT DISTINCT {text} FROM {opened.scan} WHERE {text} <> '' ORDER BY 1 LIMIT {_EXAMPLES}")  # noqa: S608
    return tuple(row[0] for row in rows)


def _codes(opened: Opened, column: str) -> set[str]:
    text = f"trim(CAST({opened.column(column)} AS VARCHAR))"
    return {row[0] for row in opened.rows(f"SELECT DISTINCT {text} FROM {opened.scan}") if row[0]}  # noqa: S608


def _fitting(data: Path, opened: Opened, column: str) -> tuple[str, ...]:
    """Return the files beside the data that have all codes of a column in a hierarchy."""
    codes = _codes(opened, column)
    return tuple(path.name for path in _beside(data) if _reads(path, codes))


def _beside(data: Path) -> Sequence[Path]:
    near = (path for path in data.parent.iterdir() if path.suffix.lower() in {".csv", ".hrc", ".txt"})
    return sorted(p for p in near if p.is_file() and p.name != data.name and p.stat().st_size <= _LARGEST)


def _reads(path: Path, codes: set[str]) -> str:
    """Return the way to read a file as a hierarchy of these codes; '' if there is none."""
    readers = {"hrc": read_hrc} if path.suffix.lower() == ".hrc" else {"parents": read_parents, "levels": read_levels}
    for way, read in readers.items():
        try:
            tree = read(path)
        except (InputError, OSError):
            continue
        if codes <= set(tree.codes):
            return way
    return ""


def _way(data: Path, opened: Opened, column: str, name: str) -> tuple[str, str]:
    path = next((path for path in _beside(data) if path.name == name), None)
    if path is None:
        raise InputError(f"there is no hierarchy {name!r} beside the data")
    way = _reads(path, _codes(opened, column))
    if not way:
        raise InputError(f"{name} has no place for some codes of column {column!r}, or is no hierarchy")
    return way, os.path.relpath(path, data.parent)
