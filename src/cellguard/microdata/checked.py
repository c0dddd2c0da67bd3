"""One pass over the records before anything is made of them: faults, codes, decimals. Details only for faults."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cellguard.errors import InputError, UnknownCode, did_you_mean
from cellguard.hierarchy.confidential_codes import evidence
from cellguard.hierarchy.hierarchy import Hierarchy
from cellguard.hierarchy.lookalike_codes import lookalike_note
from cellguard.microdata.expressions import Drop, Expressions, Fault, counted, express, is_whole
from cellguard.microdata.opened import Opened
from cellguard.microdata.roles import Roles
from cellguard.microdata.sql import Sql
from cellguard.reading.decimals import Marks, hint

_MOST_DECIMALS = 6
_MOST_CODES = 8


@dataclass(frozen=True)
class Spread:
    """What a sum must know of its numbers: their decimals (7 if more than 6), the largest size, the sum of sizes."""

    decimals: int
    largest: float = field(repr=False)
    size: float = field(repr=False)

    @property
    def kept(self) -> int:
        """How many decimals are kept: all, up to six, as far as the sum of all is still exact with them."""
        return min(self.decimals, _MOST_DECIMALS, exact_decimals(self.size))

    def times(self, weights: Spread) -> Spread:
        """Return what a sum must know of weighted numbers."""
        decimals = min(self.decimals + weights.decimals, _MOST_DECIMALS + 1)
        return Spread(decimals, self.largest * weights.largest, self.size * weights.largest)


def exact_decimals(size: float) -> int:
    """Return how many decimals a sum of this size can have and still be exact in floating point, 0 at least."""
    return max(math.floor(53 * math.log10(2.0) - math.log10(min(max(size, 1.0), sys.float_info.max))), 0)


@dataclass(frozen=True, eq=False)
class Checked:
    """Records without faults: how to read them, which codes they have, how to sum them exactly; ``kept`` take part."""

    opened: Opened
    roles: Roles
    how: Expressions
    records: int
    kept: int
    labels: Mapping[str, tuple[str, ...]]
    spread: Mapping[str, Spread]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Answers:
    """What one pass tells of the records; ``broken_ids`` counts the identities that are no whole numbers.

    ``gaps`` is above 0 if columns of codes have empty entries.
    """

    how: Expressions
    records: int
    kept: int
    wrong: list[Fault]
    dropped: list[tuple[Drop, int]]
    labels: Mapping[str, tuple[str, ...]]
    spread: Mapping[str, Spread]
    broken_ids: list[int]
    gaps: int

    def lacks_codes(self, roles: Roles) -> bool:
        """Return whether some record has no code, or one that means that it is missing."""
        absent = ((name, {"", *roles.absent.get(name, ())}) for name in roles.dimensions)
        return self.gaps > 0 or any(code.strip(" ") in none for name, none in absent for code in self.labels[name])


def check_records(opened: Opened, roles: Roles) -> Checked:
    """Look at every column that has a role; every kind of fault is reported at once, each with its first row.

    A decimal mark that is not said is taken for a point first; only where that fails are the marks counted.
    """
    decimal = opened.decimal or "."
    answers = _ask(opened, roles, decimal)
    if answers.wrong:
        marks = _count_marks(opened, answers.how)
        if opened.decimal is None and marks.decimal == ",":
            answers = _ask(opened, roles, decimal := ",")
        if answers.wrong:
            raise _explain(opened, answers.wrong, decimal, marks)
    how = _shortened(answers.how, answers.broken_ids)
    twins = (
        note for column, codes in answers.labels.items() for note in lookalike_note(column, codes, answers.records)
    )
    notes = [
        *opened.notes,
        *_rounded(opened, answers.spread),
        *(f"{opened.name}, {note}" for note in twins),
        *(f"{opened.name}: {_count(n)} with {drop.words}{_left(drop.leaves)}" for drop, n in answers.dropped if n),
        *_respondents(opened, roles, how),
    ]
    return Checked(opened, roles, how, answers.records, answers.kept, answers.labels, answers.spread, tuple(notes))


def _ask(opened: Opened, roles: Roles, decimal: str) -> _Answers:
    """Ask everything about the records in one query.

    The different codes, which cost little, show whether all records have codes; only where some have none are
    they counted, record by record.
    """
    how = express(opened, roles, decimal)
    answers = _ask_all(opened, roles, how.with_codes())
    if roles.missing.code != "category" and answers.lacks_codes(roles):
        answers = _ask_all(opened, roles, how)
    return replace(answers, how=how)


def _ask_all(opened: Opened, roles: Roles, how: Expressions) -> _Answers:
    numbers = dict(zip(roles.responses, how.values, strict=True))
    if roles.weight and how.weight:
        numbers[roles.weight] = how.weight
    sql = opened.engine.sql
    asked = ["count(*)", counted(how.keep)]
    asked += [counted(fault.condition) for fault in how.faults]
    asked += [counted(drop.condition) for drop in how.drops]
    asked += [sql.different(code) for code in how.codes]
    asked += [part for name, number in numbers.items() for part in _asked_of(number, is_whole(opened.types[name]), sql)]
    asked += ["count(*)" if "BIGINT" in i else counted(sql.is_broken_id(i)) for i in (how.respondent, how.holding) if i]
    asked += [f"count(*) - count({opened.column(name)})" for name in roles.dimensions]
    told = list(_run(opened, f"SELECT {', '.join(asked)} FROM {opened.noting}")[0])
    opened.refuse_broken_lines()
    records, kept = told.pop(0), told.pop(0)
    if not records:
        raise InputError(f"{opened.name}: there are no rows; the data are empty")
    wrong = [fault for fault in how.faults if told.pop(0)]
    dropped = [(drop, told.pop(0)) for drop in how.drops]
    codes = {name: told.pop(0) or () for name in roles.dimensions}
    return _Answers(
        how,
        records,
        kept,
        wrong,
        dropped,
        labels={name: tuple(sorted(code for code in listed if code)) for name, listed in codes.items()},
        spread={name: Spread(*(told.pop(0) or 0 for _ in range(3))) for name in numbers},
        broken_ids=[told.pop(0) for identity in (how.respondent, how.holding) if identity],
        gaps=sum(told) + sum(code == "" for listed in codes.values() for code in listed),
    )


def _count_marks(opened: Opened, how: Expressions) -> Marks:
    """Count the decimal marks of all columns of numbers that are text."""
    columns = [fault for fault in how.faults if fault.text]
    if not columns:
        return Marks()
    asked = [part for column in columns for part in column.marks(opened.engine.sql)]
    counts = _run(opened, f"SELECT {', '.join(asked)} FROM {opened.scan}")[0]
    return Marks(*(sum(counts[i::3]) for i in range(3)))


def _rounded(opened: Opened, spread: Mapping[str, Spread]) -> list[str]:
    return [
        f"{opened.name}: the values of {name!r} have more decimals than can be summed exactly; {here.kept} are read"
        for name, here in spread.items()
        if here.kept < here.decimals
    ]


def check_codes(checked: Checked, column: str, dimension: str, hierarchy: Hierarchy) -> None:
    """Refuse codes of the records that are not leaves of the hierarchy, each with the first row that has it."""
    leaves = set(hierarchy.leaves)
    bad = [code for code in checked.labels[column] if code not in leaves]
    if not bad:
        return
    opened = checked.opened
    code, sql = checked.how.codes[checked.roles.dimensions.index(column)], opened.engine.sql
    rows = _run(
        opened,
        f"SELECT code, min(nr), count(*) FROM (SELECT {code} AS code, nr FROM {opened.located} WHERE {code} IN "
        f"({sql.listed(bad)})) AS strange GROUP BY code ORDER BY 2, 1",
    )
    seen = evidence(checked.labels[column], checked.records, hierarchy.told)
    shown = [row for row in rows if seen.tell(row[0], "")]
    parts = [
        f"{opened.row(nr)}, column {column!r}: {_why(text, dimension, hierarchy)}{_rows(n)}"
        f"{opened.see(f'{code} = {sql.quoted(text)}')}"
        for text, nr, n in shown[:_MOST_CODES]
    ]
    if len(shown) > _MOST_CODES:
        parts.append(f"and {len(shown) - _MOST_CODES} more codes of column {column!r}")
    hidden = [row for row in rows if not seen.tell(row[0], "")]
    if hidden:
        faults = _rows(sum(n for _, _, n in hidden))
        strange = _strange(dimension, hierarchy, shown)
        parts.append(f"{opened.row(hidden[0][1])}, column {column!r}: {strange}{faults}{opened.see_entries(code)}")
    raise UnknownCode("\n".join(parts))


def first_negative(checked: Checked, response: str) -> str | None:
    """Return the place of the first record with a value below 0, None if there is none."""
    number = checked.how.values[checked.roles.responses.index(response)]
    sql = f"SELECT min(nr) FROM {checked.opened.located} WHERE {checked.how.keep} AND {number} < 0"
    nr = _run(checked.opened, sql)[0][0]
    return None if nr is None else checked.opened.row(nr)


def _strange(dimension: str, hierarchy: Hierarchy, shown: Sequence[object]) -> str:
    """Describe what is wrong with an entry that may be a value, without showing it."""
    known = "" if hierarchy.hushed else did_you_mean("", hierarchy.leaves)
    return f"the entry is no code of dimension {dimension!r}{known}{'' if shown else '; is it the right column?'}"


def _why(code: str, dimension: str, hierarchy: Hierarchy) -> str:
    if code == hierarchy.total:
        return (
            f"{code!r} is the total of dimension {dimension!r}; records have codes below it, so delete rows of totals, "
            "which are worked out, or name another `total`"
        )
    if code in hierarchy.position:
        example = hierarchy.children(code)[0]
        return f"{code!r} has codes below it in dimension {dimension!r}; give the record one of these, as {example!r}"
    return f"{code!r} is not in dimension {dimension!r}{did_you_mean(code, hierarchy.leaves)}"


def _explain(opened: Opened, faults: list[Fault], decimal: str, marks: Marks) -> InputError:
    """Return the error about all faults, one per line, each with its first row and how many rows have it."""
    parts = [f"min(nr) FILTER (WHERE {fault.condition}), {counted(fault.condition)}" for fault in faults]
    told = _run(opened, f"SELECT {', '.join(parts)} FROM {opened.located}")[0]
    lines = []
    for fault, nr, rows in zip(faults, told[::2], told[1::2], strict=True):
        cure = _cure(opened, decimal, marks) if fault.text else ""
        seen = opened.see(fault.condition)
        lines.append(f"{opened.row(nr)}, column {fault.column!r}: {fault.words}{cure}{_rows(rows)}{seen}")
    return InputError("\n".join(lines))


def _cure(opened: Opened, decimal: str, marks: Marks) -> str:
    """Return how to cure an entry that is no number."""
    if opened.decimal is None and marks.decimal is None:
        return marks.doubt
    return hint(decimal, other_seen=bool(marks.commas if decimal == "." else marks.points))


def _respondents(opened: Opened, roles: Roles, how: Expressions) -> list[str]:
    """Refuse a respondent in two holdings, and tell of respondents with several records."""
    if not (roles.respondent and roles.holding and how.respondent and how.holding):
        return []
    ids = f"(SELECT {how.respondent} AS r, {how.holding} AS h, nr FROM {opened.located} WHERE {how.keep}) AS ids"
    one = f"(SELECT r, count(*) AS n, min(h) <> max(h) AS two FROM {ids} GROUP BY r) AS one"
    several, torn = _run(opened, f"SELECT {counted('n > 1')}, {counted('two')} FROM {one}")[0]
    if not torn:
        return [several_records(opened.name, several)] if several else []
    words = f"a respondent has one holding{_rows(torn, 'respondents')}"
    if opened.origin:
        same, other = (opened.engine.sql.original(str(c), opened.columns) for c in (how.respondent, how.holding))
        query = f"SELECT {same} FROM {opened.origin} GROUP BY {same} HAVING min({other}) <> max({other})"
        where = f"{opened.name}, column {roles.holding!r}"
        raise InputError(f"{where}: a respondent is in two holdings; {words}; see them with: {query}")
    torn_ones = f"(SELECT r, min(nr) AS first, arg_min(h, nr) AS h FROM {ids} GROUP BY r HAVING min(h) <> max(h)) AS o"
    second = f"(SELECT min(nr) FROM {ids} WHERE ids.r = o.r AND ids.h <> o.h)"
    first, other = _run(opened, f"SELECT first, {second} FROM {torn_ones} ORDER BY 1 LIMIT 1")[0]
    raise InputError(
        f"{opened.row(other)}, column {roles.holding!r}: the respondent of {opened.row(first)} is in another holding "
        f"here; {words}"
    )


def several_records(name: str, respondents: int) -> str:
    """Say that respondents have several records."""
    if respondents == 1:
        return f"{name}: 1 respondent has several records; in each cell it counts once, with the sum of its own"
    how = "in each cell they count once, with the sum of theirs"
    return f"{name}: {respondents:,} respondents have several records; {how}"


def _shortened(how: Expressions, broken_ids: list[int]) -> Expressions:
    """Read identities that are all whole numbers as such: it is quicker, and the order is that of the numbers."""
    changes = {}
    for name in ("respondent", "holding"):
        expression = getattr(how, name)
        if expression and not broken_ids.pop(0) and "BIGINT" not in expression:
            changes[name] = f"CAST({expression} AS BIGINT)"
    return Expressions(**{**how.__dict__, **changes})


def _asked_of(number: str, whole: bool, sql: Sql) -> list[str]:
    """Return the SQL of a `Spread`: how many decimals there are (0 to 6, or 7 for more), largest size, sum of sizes."""
    steps = range(_MOST_DECIMALS + 1)
    cases = " ".join(f"WHEN {number} = {sql.nearest(f'({number}) * 1e{d}')} / 1e{d} THEN {d}" for d in steps)
    decimals = "0" if whole else f"max(CASE WHEN {number} IS NULL THEN 0 {cases} ELSE {_MOST_DECIMALS + 1} END)"
    return [decimals, f"max(abs({number}))", f"sum(abs({number}))"]


def _run(opened: Opened, question: str) -> list[tuple[Any, ...]]:
    return opened.rows(question, "check its quotes, line ends (all of one kind), `delimiter` and `encoding`")


def _rows(faults: int, what: str = "rows") -> str:
    return f" ({faults:,} {what} have this fault)" if faults > 1 else ""


def _count(records: int) -> str:
    return f"{records:,} records" if records > 1 else "1 record"


def _left(leaves: bool) -> str:
    return ": left out" if leaves else ""
