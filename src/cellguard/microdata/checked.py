"""One pass over the records before anything is made of them: faults, codes, decimals. Details only for faults."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from cellguard.errors import InputError, UnknownCode, did_you_mean
from cellguard.hierarchy.hierarchy import Hierarchy
from cellguard.hierarchy.hush import evidence
from cellguard.hierarchy.twins import twin_note
from cellguard.microdata.expressions import Drop, Expressions, Fault, express
from cellguard.microdata.roles import Roles
from cellguard.microdata.sources import Opened, quoted
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
    """Records without faults: how to read them, which codes they have, how to sum them exactly."""

    opened: Opened
    roles: Roles
    how: Expressions
    records: int
    labels: Mapping[str, tuple[str, ...]]
    spread: Mapping[str, Spread]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Answers:
    """What one pass tells of the records; ``broken_ids`` counts the identities that are no whole numbers."""

    how: Expressions
    records: int
    wrong: list[Fault]
    dropped: list[tuple[Drop, int]]
    labels: Mapping[str, tuple[str, ...]]
    spread: Mapping[str, Spread]
    broken_ids: list[int]


def check_records(opened: Opened, roles: Roles) -> Checked:
    """Look at every column that has a role; every kind of fault is told at once, each with its first row.

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
    twins = (note for column, codes in answers.labels.items() for note in twin_note(column, codes, answers.records))
    notes = [
        *opened.notes,
        *_rounded(opened, answers.spread),
        *(f"{opened.name}, {note}" for note in twins),
        *(f"{opened.name}: {_count(n)} with {drop.words}{_left(drop.leaves)}" for drop, n in answers.dropped if n),
        *_respondents(opened, roles, how),
    ]
    return Checked(opened, roles, how, answers.records, answers.labels, answers.spread, tuple(notes))


def _ask(opened: Opened, roles: Roles, decimal: str) -> _Answers:
    """Ask everything about the records in one query."""
    how = express(opened, roles, decimal)
    numbers = dict(zip(roles.responses, how.values, strict=True))
    if roles.weight and how.weight:
        numbers[roles.weight] = how.weight
    asked = ["count(*)"]
    asked += [f"count_if({fault.condition})" for fault in how.faults]
    asked += [f"count_if({drop.condition})" for drop in how.drops]
    asked += [f"list(DISTINCT {code})" for code in how.codes]
    asked += [part for number in numbers.values() for part in _asked_of(number)]
    asked += [f"count_if({_not_whole(i)})" for i in (how.respondent, how.holding) if i]
    told = list(_run(opened, f"SELECT {', '.join(asked)} FROM {opened.noting}")[0])
    opened.refuse_broken_lines()
    records = told.pop(0)
    if not records:
        raise InputError(f"{opened.name}: there are no rows; the data are empty")
    return _Answers(
        how,
        records,
        wrong=[fault for fault in how.faults if told.pop(0)],
        dropped=[(drop, told.pop(0)) for drop in how.drops],
        labels={name: tuple(sorted(c for c in told.pop(0) if c)) for name in roles.dimensions},
        spread={name: Spread(*(told.pop(0) or 0 for _ in range(3))) for name in numbers},
        broken_ids=told,
    )


def _count_marks(opened: Opened, how: Expressions) -> Marks:
    """Count the decimal marks of all columns of numbers that are text."""
    columns = [fault for fault in how.faults if fault.text]
    if not columns:
        return Marks()
    counts = _run(opened, f"SELECT {', '.join(part for c in columns for part in c.marks())} FROM {opened.scan}")[0]
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
    code = checked.how.codes[checked.roles.dimensions.index(column)]
    wanted = ", ".join(map(quoted, bad))
    rows = _run(
        opened,
        f"SELECT {code} AS code, min(row), count(*) FROM {opened.numbered} WHERE {code} IN ({wanted}) "
        "GROUP BY code ORDER BY 2",
    )
    place = opened.place()
    seen = evidence(checked.labels[column], checked.records, hierarchy.told)
    shown = [row for row in rows if seen.tell(row[0], "")]
    parts = [
        f"{place.row(row)}, column {column!r}: {_why(text, dimension, hierarchy)}{_rows(n)}"
        for text, row, n in shown[:_MOST_CODES]
    ]
    if len(shown) > _MOST_CODES:
        parts.append(f"and {len(shown) - _MOST_CODES} more codes of column {column!r}")
    hidden = [row for row in rows if not seen.tell(row[0], "")]
    if hidden:
        faults = _rows(sum(n for _, _, n in hidden))
        parts.append(f"{place.row(hidden[0][1])}, column {column!r}: {_strange(dimension, hierarchy, shown)}{faults}")
    raise UnknownCode("\n".join(parts))


def first_negative(checked: Checked, response: str) -> str | None:
    """Return the place of the first record with a value below 0, None if there is none."""
    number = checked.how.values[checked.roles.responses.index(response)]
    sql = f"SELECT min(row) FROM {checked.opened.numbered} WHERE {checked.how.keep} AND {number} < 0"
    row = _run(checked.opened, sql)[0][0]
    return None if row is None else checked.opened.place().row(row)


def _strange(dimension: str, hierarchy: Hierarchy, shown: Sequence[object]) -> str:
    """Say what is wrong with an entry that may be a value, without showing it."""
    known = "" if hierarchy.hushed else did_you_mean("", hierarchy.leaves)
    return f"the entry is no code of dimension {dimension!r}{known}{'' if shown else '; is it the right column?'}"


def _why(code: str, dimension: str, hierarchy: Hierarchy) -> str:
    if code == hierarchy.total:
        return f"{code!r} is the total of dimension {dimension!r}; records have codes below it, or name another `total`"
    if code in hierarchy.position:
        example = hierarchy.children(code)[0]
        return f"{code!r} has codes below it in dimension {dimension!r}; give the record one of these, as {example!r}"
    return f"{code!r} is not in dimension {dimension!r}{did_you_mean(code, hierarchy.leaves)}"


def _explain(opened: Opened, faults: list[Fault], decimal: str, marks: Marks) -> InputError:
    """Return the error about all faults, one a line, each with its first row and how many rows have it."""
    parts = [f"min(row) FILTER (WHERE {fault.condition}), count_if({fault.condition})" for fault in faults]
    told = _run(opened, f"SELECT {', '.join(parts)} FROM {opened.numbered}")[0]
    place = opened.place()
    lines = []
    for fault, row, rows in zip(faults, told[::2], told[1::2], strict=True):
        cure = _cure(opened, decimal, marks) if fault.text else ""
        lines.append(f"{place.row(row)}, column {fault.column!r}: {fault.words}{cure}{_rows(rows)}")
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
    ids = f"SELECT {how.respondent} AS r, {how.holding} AS h FROM {opened.scan} WHERE {how.keep}"
    one = f"SELECT r, count(*) AS n, min(h) <> max(h) AS two FROM ({ids}) GROUP BY r"
    several, torn = _run(opened, f"SELECT count_if(n > 1), count_if(two) FROM ({one})")[0]
    if not torn:
        return [several_records(opened.name, several)] if several else []
    ids = f"SELECT {how.respondent} AS r, {how.holding} AS h, row FROM {opened.numbered} WHERE {how.keep}"
    one = f"SELECT r, min(row) AS first, arg_min(h, row) AS h FROM ({ids}) GROUP BY r HAVING min(h) <> max(h)"
    first, second = _run(
        opened,
        f"SELECT first, (SELECT min(row) FROM ({ids}) a WHERE a.r = o.r AND a.h <> o.h) FROM ({one}) o "
        "ORDER BY 1 LIMIT 1",
    )[0]
    place = opened.place()
    raise InputError(
        f"{place.row(second)}, column {roles.holding!r}: the respondent of {place.row(first)} is in another holding "
        f"here; a respondent has one holding{_rows(torn, 'respondents')}"
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


def _not_whole(identity: str) -> str:
    return f"CAST(TRY_CAST({identity} AS BIGINT) AS VARCHAR) IS DISTINCT FROM CAST({identity} AS VARCHAR)"


def _asked_of(number: str) -> list[str]:
    """Return the SQL of a `Spread`: how many decimals there are (0 to 6, or 7 for more), largest size, sum of sizes."""
    cases = " ".join(f"WHEN {number} = round({number} * 1e{d}) / 1e{d} THEN {d}" for d in range(_MOST_DECIMALS + 1))
    decimals = f"max(CASE WHEN {number} IS NULL THEN 0 {cases} ELSE {_MOST_DECIMALS + 1} END)"
    return [decimals, f"max(abs({number}))", f"sum(abs({number}))"]


def _run(opened: Opened, sql: str) -> list[tuple[Any, ...]]:
    try:
        return opened.connection.sql(sql).fetchall()
    except duckdb.Error as error:
        # The library's own message may quote the data, so it must not get out.
        raise InputError(
            f"{opened.name}: cannot be read ({type(error).__name__}); check its quotes, its `delimiter` and `encoding`"
        ) from None


def _rows(faults: int, what: str = "rows") -> str:
    return f" ({faults:,} {what} have this fault)" if faults > 1 else ""


def _count(records: int) -> str:
    return f"{records:,} records" if records > 1 else "1 record"


def _left(leaves: bool) -> str:
    return ": left out" if leaves else ""
