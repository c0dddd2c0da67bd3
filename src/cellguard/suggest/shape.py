"""What a file is, before its columns are given roles: cells with totals, inner cells, points, or records."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from cellguard.errors import InputError
from cellguard.microdata.sources import Opened, quoted
from cellguard.suggest.columns import COUNT_NAME, TOTALS, Column

_TOTAL_NAME = re.compile(
    r"(?i)^(_t|all|alle|sum|tot|tot(al|ale|alt|aal|als)?|i ?alt|insgesamt|gesamt|ensemble|celkem|razem|"
    r"(grand|over) ?total|total[ _-].+|.+[ _-]total)$"
)
_CODE_NAME = re.compile(
    r"(?i)^(\w*_)?(\w*kommune\w*|\w*fylke\w*|\w*county\w*|\w*municipal\w*|\w*region\w*|\w*district\w*|\w*land|\w*state|"
    r"nuts\d?|naces?\d*|sic\d*|isic\d*|\w*code|\w*kode|\w*nr|zip|postal\w*|plz|year|aar|år|jahr|annee|année|anno|ano|month|"
    r"age|alder|alter|sex|kjonn|kjønn|gender)$"
)
_POINTS = (("x", "y"), ("lon", "lat"), ("lng", "lat"), ("longitude", "latitude"), ("easting", "northing"))
_CERTAIN = 10.0  # pairs of records that would share their codes by chance, where none does
_DENSE = 0.5
_CLOSE = 1e-6
_PERSONS = 5  # a code has fewer records than this on average: it may name persons


@dataclass(frozen=True)
class InnerCells:
    """Cells without totals: their dimensions, their one number, and columns that are never summed, and why."""

    dimensions: tuple[str, ...]
    value: str
    counts: bool
    left: dict[str, str]


def looks_like_code(column: Column) -> bool:
    """Return whether whole numbers stand for something: by their column's name, or since all have as many digits."""
    if not column.is_number or column.whole < column.filled or column.negative:
        return False
    return bool(_CODE_NAME.match(column.name)) or (column.widths == 1 and column.different < column.filled)


def point_columns(columns: Sequence[Column]) -> tuple[str, str] | None:
    """Return the columns of coordinates, if there are two that are called so and hold many different numbers."""
    numbers = {c.name.lower(): c for c in columns if max(c.numbers, c.commas) == c.filled == c.rows and c.different > 5}
    for x, y in _POINTS:
        if x in numbers and y in numbers:
            return numbers[x].name, numbers[y].name
    return None


def total_codes(opened: Opened, columns: Sequence[Column]) -> dict[str, str]:
    """Return the code of the total of each column of codes that has one: by what it is called, or since it adds up.

    A single letter such as T may be any code: it is a total only if it adds up.
    """
    values = [c for c in columns if c.is_number and not looks_like_code(c)]
    coded = [c for c in columns if not c.is_number and c.filled == c.rows and c.different > 1]
    found = {}
    for column in coded:
        code = f"CAST({opened.column(column.name)} AS VARCHAR)"
        listed = [row[0] for row in opened.rows(f"SELECT DISTINCT {code} FROM {opened.scan} LIMIT 20000")]  # noqa: S608
        named = [c for c in TOTALS if c in listed and c != "T"] + [c for c in listed if _TOTAL_NAME.match(c.strip())]
        added = _adding(opened, code, values[0], [c for c in coded if c is not column]) if values else None
        if named:
            found[column.name] = next((c for c in named if c == added), named[0])
        elif added is not None:
            found[column.name] = added
        elif "T" in listed and values and _unique(opened, coded) and _covers(opened, code, values[0]):
            found[column.name] = "T"
    return found


def refuse_total_row(opened: Opened, columns: Sequence[Column], totals: Mapping[str, str]) -> None:
    """Refuse records with one row that sums all others: it would make them look like a table of cells.

    What tells them from a table: a column of codes that come again, in which this row has a total or alone is blank.
    A table with such a column has a total for each of its margins.
    """
    again = [c for c in columns if not c.is_number and c.different < c.filled - 1]
    if not any(c.name in totals or (c.different > 2 and c.filled == c.rows - 1) for c in again) or not totals:
        return
    in_total = " OR ".join(f"CAST({opened.column(n)} AS VARCHAR) = {quoted(code)}" for n, code in totals.items())
    rows = opened.rows(f"SELECT nr FROM {opened.located} WHERE {in_total} LIMIT 2")  # noqa: S608
    for value in (c for c in columns if c.is_number and len(rows) == 1 and c.filled > 2):
        number = _number(opened, value)
        whole, parts = opened.rows(
            f"SELECT sum(CASE WHEN {in_total} THEN {number} END), sum(CASE WHEN {in_total} THEN 0 ELSE {number} END) "  # noqa: S608
            f"FROM {opened.scan}"
        )[0]
        if whole and parts and abs(whole - parts) <= _CLOSE * abs(whole):
            name, code = next(iter(totals.items()))
            raise InputError(
                f"{opened.row(rows[0][0])}, column {name!r}: {code!r} names a total, and {value.name!r} is the sum of "
                "all other rows; delete this row: totals are worked out from the records"
            )


def _number(opened: Opened, column: Column) -> str:
    text = f"CAST({opened.column(column.name)} AS VARCHAR)"
    return f"CAST(replace({text}, ',', '.') AS DOUBLE)" if column.commas > column.numbers else f"CAST({text} AS DOUBLE)"


def _adding(opened: Opened, code: str, value: Column, others: Sequence[Column]) -> str | None:
    """Return the code that is the sum of all others, in every combination of the other columns of codes."""
    number = _number(opened, value)
    rows = opened.rows(f"SELECT {code}, sum({number}) FROM {opened.scan} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 20000")  # noqa: S608
    if len(rows) < 3 or not rows[0][1] or rows[0][1] <= 0:
        return None
    whole, parts = float(rows[0][1]), sum(float(row[1] or 0) for row in rows[1:])
    if abs(whole - parts) > _CLOSE * whole:
        return None
    by = ", ".join(f"CAST({opened.column(c.name)} AS VARCHAR)" for c in others)
    sign = f"CASE WHEN {code} = {quoted(str(rows[0][0]))} THEN {number} ELSE -{number} END"
    group = f"GROUP BY {by}" if by else ""
    off = opened.rows(
        f"SELECT count(*), count_if(abs(d) > {_CLOSE} * s + 1e-9) FROM "  # noqa: S608
        f"(SELECT sum({sign}) AS d, sum(abs({number})) AS s FROM {opened.scan} {group})"
    )[0]
    accident = off[0] == 1 and len(rows) == 3 and whole < 100
    return None if off[1] or accident else str(rows[0][0])


def _covers(opened: Opened, code: str, value: Column) -> bool:
    """Return whether T is at least as large as every other code, and the others sum up to it at the least."""
    number = _number(opened, value)
    sums = dict(opened.rows(f"SELECT {code}, sum({number}) FROM {opened.scan} GROUP BY 1"))  # noqa: S608
    whole = sums.pop("T")
    return bool(sums) and whole >= max(sums.values()) and sum(sums.values()) >= whole * (1 - _CLOSE)


def inner_cells(opened: Opened, columns: Sequence[Column]) -> InnerCells | None:
    """Return the dimensions and the number of cells without totals: each combination of codes comes once.

    What the number is called does not matter: so many records would not all have different codes by chance. A list of
    codes with one number each is taken for cells only if the number is called a count.
    """
    left: dict[str, str] = {}
    full = [c for c in columns if c.filled == c.rows]
    numbers = [c for c in full if c.is_number and not c.negative]
    named = [c for c in numbers if COUNT_NAME.match(c.name)]
    plain = [c for c in numbers if not looks_like_code(c) or c in named]
    for value in [*named[:1], *reversed(plain)][:3]:
        others = [c for c in full if c is not value]
        if any(not _may_be_code(c) for c in others) and value not in named:
            continue
        coded = [c for c in others if _may_be_code(c)]
        single = [c for c in coded if c.different == 1]
        coded = [c for c in coded if c.different > 1]
        coarser = _settled(opened, coded)
        dims = [c for c in coded if c.name not in coarser]
        if not dims or (len(dims) > 1 and any(c.is_unique for c in dims)) or (len(dims) == 1 and value not in named):
            continue
        if not _come_once(opened, dims):
            continue
        left |= {c.name: "it has one code" for c in single}
        left |= {name: f"it follows from {finer}" for name, finer in coarser.items()}
        coded_too = [c.name for c in numbers if looks_like_code(c) and c not in dims and c is not value]
        left = dict.fromkeys(coded_too, "it looks like codes") | left
        whole = value.whole == value.filled
        return InnerCells(tuple(c.name for c in dims), value.name, whole, left)
    return None


def _may_be_code(column: Column) -> bool:
    return not column.is_number or column.is_code or looks_like_code(column)


def _unique(opened: Opened, coded: Sequence[Column]) -> bool:
    """Return whether each combination of codes comes once."""
    texts = ", ".join(f"CAST({opened.column(c.name)} AS VARCHAR)" for c in coded)
    rows, different = opened.rows(f"SELECT count(*), count(DISTINCT ({texts},)) FROM {opened.scan}")[0]  # noqa: S608
    return bool(rows == different)


def _come_once(opened: Opened, dims: Sequence[Column]) -> bool:
    texts = ", ".join(f"CAST({opened.column(c.name)} AS VARCHAR)" for c in dims)
    rows, different = opened.rows(f"SELECT count(*), count(DISTINCT ({texts},)) FROM {opened.scan}")[0]  # noqa: S608
    room = prod(c.different for c in dims)
    return bool(rows == different and (len(dims) == 1 or rows >= _DENSE * room or rows * rows / (2 * room) >= _CERTAIN))


def _settled(opened: Opened, coded: Sequence[Column]) -> dict[str, str]:
    """Return the coarser columns that follow from a finer one, as a county does from its municipality."""
    found = {}
    for coarse in coded:
        for fine in coded:
            if coarse.different < fine.different and coarse.name not in found and not fine.is_unique:
                a, b = (f"CAST({opened.column(c.name)} AS VARCHAR)" for c in (coarse, fine))
                more = opened.rows(f"SELECT count(DISTINCT ({a}, {b})) - count(DISTINCT {b}) FROM {opened.scan}")[0][0]  # noqa: S608
                if more == 0:
                    found[coarse.name] = fine.name
    return found


def warnings_about(opened: Opened, columns: Sequence[Column], dimensions: Sequence[str], *, records: bool) -> list[str]:
    """Return what a person should look at first: a file that holds everything twice, an identifier as a dimension."""
    texts = ", ".join(f"CAST({opened.column(c.name)} AS VARCHAR)" for c in columns)
    rows, different = opened.rows(f"SELECT count(*), count(DISTINCT ({texts},)) FROM {opened.scan}")[0]  # noqa: S608
    found = []
    unique = any(c.rows > 10 and c.different > 0.4 * c.rows for c in columns)
    if rows == 2 * different and rows > 3 and (unique or not records):
        found.append(f"each of the {different:,} lines comes twice: was the file pasted twice? Then leave one copy out")
    by_name = {c.name: c for c in columns}
    for name in dimensions:
        column = by_name[name]
        if records and column.different > 20 and column.rows < _PERSONS * column.different:
            found.append(
                f"{name} has {column.different:,} codes for {column.rows:,} records: is it an identifier, and no "
                "dimension?"
            )
    return found
