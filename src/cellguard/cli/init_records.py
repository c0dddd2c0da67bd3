"""`cellguard init` for a file of records: a commented job, guessed from the first rows of each column."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from cellguard.cli.yaml_words import in_comment, text_of
from cellguard.errors import InputError
from cellguard.microdata.sources import Opened, open_records, quoted
from cellguard.reading.vocabulary import NUMBER
from cellguard.spec.names import collision_fault, dimension_fault, plain_name

TOTALS = ("Total", "TOTAL", "total", "_T", "All", "all", "Ensemble", "Sum", "T")
_SAMPLE = 100_000
_MOST_CODES = 1_000
_FEW_NUMBERS = 100
_TIMES = 20  # how often a code that is a number comes on average
_TIMES_EQUAL = 3  # the same, if all have as many digits
_WEIGHT = re.compile(r"(?i)^(w|wgt|wt|weight\w*|\w*_weight|poids)$")
_PERSON = re.compile(r"(?i)^(\w*_?id|firm|person|respondent|unit|enterprise|establishment|record|key)$")
_GROUP = re.compile(r"(?i)^(group|holding|\w*_?group(_?id)?|\w*holding\w*|parent\w*)$")


@dataclass(frozen=True)
class Column:
    """What the first rows of a column look like."""

    name: str
    rows: int
    filled: int
    different: int
    numbers: int
    commas: int
    whole: int
    zeros: int
    widths: int
    has_total: bool

    @property
    def is_number(self) -> bool:
        """Whether all entries are numbers, with a decimal point or a decimal comma; 01 is a code."""
        return 0 < self.filled == max(self.numbers, self.commas) and not self.zeros

    @property
    def is_unique(self) -> bool:
        """Whether no entry comes twice."""
        return 0 < self.filled == self.different == self.rows

    @property
    def is_code(self) -> bool:
        """Whether the entries look like codes: few different ones, each of which comes several times.

        Numbers do so if they are whole and very few, or not so few but all of one length, as 11 to 95.
        """
        if not self.filled or self.different > _MOST_CODES or 2 * self.different > self.filled:
            return False
        times = _TIMES_EQUAL if self.widths == 1 else _TIMES
        few = self.different <= _FEW_NUMBERS and times * self.different <= self.filled
        return not self.is_number or (self.whole == self.filled and few)


@dataclass(frozen=True)
class Guess:
    """What the columns of a file of records seem to be."""

    respondent: str | None
    holding: str | None
    weight: str | None
    dimensions: list[str]
    values: list[str]
    gaps: list[str]
    others: list[str]
    decimal: str


def looks_like_cells(columns: list[Column]) -> bool:
    """Tell whether a column holds a total, as in a table of cells."""
    return any(column.has_total for column in columns)


def look_at(data: Path) -> tuple[Opened, list[Column]]:
    """Open a file and look at the first rows of its columns."""
    opened = open_records(data)
    parts = []
    for i in range(len(opened.columns)):
        text = f"CAST(c{i} AS VARCHAR)"
        word = f"nullif(trim({text}), '')"
        point = f"regexp_matches({word}, {quoted(NUMBER)})"
        comma = f"regexp_matches(replace({word}, ',', '.'), {quoted(NUMBER)}) AND NOT contains({word}, '.')"
        totals = ", ".join(map(quoted, TOTALS))
        parts += [
            f"count({word})",
            f"count(DISTINCT {word})",
            f"count_if({point})",
            f"count_if({comma})",
            rf"count_if(regexp_matches({word}, '^[+-]?[0-9]+([.]0*)?$'))",
            f"count_if(regexp_matches({word}, '^0[0-9]+$'))",
            f"count(DISTINCT length({word}))",
            f"coalesce(bool_or({text} IN ({totals})), false)",
        ]
    sample = f"(SELECT * FROM {opened.noting} LIMIT {_SAMPLE})"  # noqa: S608
    found = opened.connection.sql(f"SELECT count(*), {', '.join(parts)} FROM {sample}").fetchall()[0]  # noqa: S608
    opened.refuse_broken_lines()
    if not found[0]:
        raise InputError(f"{opened.name}: there are no rows; the data are empty")
    return opened, [Column(n, found[0], *found[8 * i + 1 : 8 * i + 9]) for i, n in enumerate(opened.columns)]


def guess_roles(columns: list[Column]) -> Guess:
    """Guess the roles of the columns from their names and entries."""
    left = {column.name: column for column in columns}

    def take(*found: str | None) -> str | None:
        name = next((name for name in found if name), None)
        left.pop(name or "", None)
        return name

    weight = take(*(c.name for c in columns if _WEIGHT.match(c.name) and c.is_number))
    unique = [c for c in left.values() if c.is_unique and (_PERSON.match(c.name) or not c.is_number)]
    respondent = take(*(c.name for c in sorted(unique, key=lambda c: not _PERSON.match(c.name))))
    holding = take(*(c.name for c in left.values() if _GROUP.match(c.name) and 100 * c.different > c.rows))
    dimensions = [c.name for c in left.values() if c.is_code]
    values = [c.name for c in left.values() if c.is_number and not c.is_code]
    commas = any(left[name].commas > left[name].numbers for name in values)
    gaps = [name for name in (*dimensions[:2], *values[:1]) if left[name].filled < left[name].rows]
    gaps += [c.name for c in columns if c.name == holding and c.filled < c.rows]
    others = [name for name in left if name not in dimensions and name not in values]
    return Guess(respondent, holding, weight, dimensions, values, gaps, others, "," if commas else ".")


def dimension_names(columns: list[str]) -> dict[str, str]:
    """Return a name for the dimension of each column: the column's own, or a plain one where that names no file.

    >>> dimension_names(["region", "size/class", "size:class"])
    {'region': 'region', 'size/class': 'size_class', 'size:class': 'size_class_2'}
    """
    found: dict[str, str] = {}
    for column in columns:
        name = plain = column if dimension_fault(column) is None else plain_name(column)
        number = 1
        while collision_fault("dimensions", [*found.values(), name]) or name in found.values():
            number += 1
            name = f"{plain}_{number}"
        found[column] = name
    return found


def column_key(column: str, name: str) -> str:
    """Return what a dimension of the job says of its column: nothing if that has the same name."""
    return "" if column == name else f"column: {text_of(column)}"


def draft_records_job(data: Path, folder: Path, opened: Opened, columns: list[Column]) -> str:
    """Return the text of a job for the records in a file; paths in it are relative to the job's folder."""
    guess = guess_roles(columns)
    if not guess.dimensions:
        raise InputError(
            f"{opened.name}: no column looks like codes (few different entries, each several times) or holds a total "
            "such as 'Total'; a table needs a dimension"
        )
    by, value = guess.dimensions[:2], guess.values[0] if guess.values else "count"
    names = dimension_names(by)
    path = os.path.relpath(data.resolve(), folder.resolve())
    lines = [
        "# A cellguard job: tables made from records. Read it, correct it, then run: cellguard assess JOB",
        "# `cellguard schema` describes every key.",
        "version: 1",
        "",
        *_microdata(guess, path),
        "",
        "dimensions:",
    ]
    for column, name in names.items():
        lines += [
            f"  # codes side by side; if those of {name} have levels, give a hierarchy: `levels: FILE.csv` (one column",
            "  # a level, coarsest first), `parents: FILE.csv` (columns code and parent), `digits` or `hrc`",
            f"  {text_of(name)}: {{{column_key(column, name)}}}",
        ]
    lines += ["", "tables:", f"  - name: {plain_name(data.stem, 'table')}"]
    lines += [f"    by: [{', '.join(map(text_of, names.values()))}]"]
    lines += [f"    value: {text_of(value)}          # what the cells sum; `count` counts the records"]
    lines += ["    # a list of rules means: unsafe if any of them says so", "    rules:", "      - {min_frequency: 3}"]
    lines += ["      - {p_percent: 10}"] if guess.values else []
    more = (
        [f"# Further columns that look like codes: {in_comment(guess.dimensions[2:])}"] if guess.dimensions[2:] else []
    )
    more += [f"# Further columns that look like values: {in_comment(guess.values[1:])}"] if guess.values[1:] else []
    more += [f"# Columns not used: {in_comment(guess.others)}"] if guess.others else []
    lines += ["", *more] if more else []
    lines += ["", "# What an attacker knows of every cell beforehand.", "attack: {lower: 0, upper: unbounded}", ""]
    return "\n".join(lines)


def _microdata(guess: Guess, path: str) -> list[str]:
    lines = ["microdata:", f"  source: {text_of(path)}"]
    if guess.decimal != ".":
        lines.append(f"  decimal: '{guess.decimal}'")
    if guess.respondent:
        lines.append(
            f"  respondent: {text_of(guess.respondent)}          # who gave the record; counts once in each cell"
        )
    else:
        lines.append("  # respondent: COLUMN     # without one, each record is a respondent of its own")
    if guess.holding:
        lines.append(f"  holding: {text_of(guess.holding)}          # the group it belongs to; then groups are counted")
    if guess.weight:
        lines.append(f"  weight: {text_of(guess.weight)}          # published totals are weighted")
    if guess.gaps:
        own = " holding: own" if guess.holding in guess.gaps and guess.respondent else ""
        rest = [gap for gap in guess.gaps if gap != guess.holding or not own]
        lines += [f"  missing: {{{own.strip()}}}"] if own else []
        if rest:
            lines.append(
                f"  # {in_comment(rest)} has blanks, which are errors unless `missing` says what to do with them,"
            )
            lines.append("  # for instance missing: {value: zero, code: category}")
    return lines
