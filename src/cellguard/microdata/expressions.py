"""Each role as SQL: the expression that reads it, and the conditions under which an entry is at fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cellguard.errors import InputError
from cellguard.microdata.opened import Opened
from cellguard.microdata.roles import KEY_DECIMALS, MISSING_CODE, Roles
from cellguard.microdata.sql import Sql
from cellguard.reading.decimals import MAYBE_THOUSANDS, WITH_COMMA, WITH_POINT
from cellguard.reading.vocabulary import MISSING, NO, YES, YES_OR_NO

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_BROKEN = ("FLOAT", "DOUBLE", "DECIMAL")


def counted(condition: str) -> str:
    """Return the SQL of how many records a condition holds for."""
    return f"count(*) FILTER (WHERE {condition})"


@dataclass(frozen=True)
class Fault:
    """A condition under which an entry of a column is wrong, and what to say.

    Of a column whose entries should be numbers, ``text`` reads an entry as it is written. What is wrong ``of_codes``
    can be told from the different codes alone.
    """

    column: str
    condition: str
    words: str
    text: str | None = None
    of_codes: bool = False

    def marks(self, sql: Sql) -> list[str]:
        """Return the SQL of the three counts of `Marks`, for a column of numbers."""
        kinds = (WITH_POINT, WITH_COMMA, MAYBE_THOUSANDS)
        return [counted(sql.matches(str(self.text), pattern)) for pattern in kinds]


@dataclass(frozen=True)
class Drop:
    """A condition under which a record is left out, or taken otherwise than it says, and how to report it."""

    condition: str
    words: str
    leaves: bool = True
    of_codes: bool = False


@dataclass(frozen=True)
class Expressions:
    """The records' columns as SQL. Without ``respondent`` and ``holding`` each record is its own."""

    codes: tuple[str, ...]
    values: tuple[str, ...]
    weight: str | None
    respondent: str | None
    holding: str | None
    waived: str
    requested: str
    faults: tuple[Fault, ...]
    drops: tuple[Drop, ...]
    key: str | None = None

    @property
    def keep(self) -> str:
        """The condition of the records that take part."""
        return " AND ".join(f"NOT ({drop.condition})" for drop in self.drops if drop.leaves) or "true"

    def with_codes(self) -> Expressions:
        """Return the same for records all of which are known to have codes."""
        faults = tuple(fault for fault in self.faults if not fault.of_codes)
        return replace(self, faults=faults, drops=tuple(drop for drop in self.drops if not drop.of_codes))


def express(opened: Opened, roles: Roles, decimal: str) -> Expressions:
    """Return the SQL of all roles; a column that does not exist or is of the wrong kind is an error."""
    faults: list[Fault] = []
    drops: list[Drop] = []
    codes = tuple(_code(opened, roles, name, faults, drops) for name in roles.dimensions)
    values = tuple(_value(opened, roles, name, decimal, faults, drops) for name in roles.responses)
    weight = _weight(opened, roles, decimal, faults, drops) if roles.weight else None
    respondent = _identity(opened, roles.respondent, "the respondent", faults) if roles.respondent else None
    holding = _holding(opened, roles, respondent, faults, drops) if roles.holding else respondent
    waived = _mark(opened, roles.waiver, (), faults) if roles.waiver else "false"
    requested = _mark(opened, roles.request, roles.request_codes, faults) if roles.request else "false"
    key = _record_key(opened, roles, decimal, faults) if roles.record_key else None
    return Expressions(codes, values, weight, respondent, holding, waived, requested, tuple(faults), tuple(drops), key)


def _code(opened: Opened, roles: Roles, name: str, faults: list[Fault], drops: list[Drop]) -> str:
    column, kind = opened.column(name), opened.types[name]
    if kind.startswith(_BROKEN):
        raise InputError(f"{opened.name}: column {name!r} holds decimal numbers, but codes are text; turn it into text")
    sql = opened.engine.sql
    text = sql.text(column)
    blank = f"trim(coalesce({text}, '')) = ''"
    if roles.missing.code == "category":
        drops.append(Drop(blank, f"no code in {name!r}, taken as {MISSING_CODE!r}", leaves=False))
        return f"CASE WHEN {blank} THEN {sql.quoted(MISSING_CODE)} ELSE {text} END"
    absent = roles.absent.get(name, ())
    missing = f"({blank} OR trim({text}) IN ({sql.listed(absent)}))" if absent else blank
    if roles.missing.code == "drop":
        drops.append(Drop(missing, f"no code in {name!r}", of_codes=True))
    else:
        words = "the code is blank" if not absent else "the code is blank or one that means missing"
        cure = "give every record a code, or say `missing: {code: drop}` or `category`"
        faults.append(Fault(name, missing, f"{words}; {cure}", of_codes=True))
    return text


def _value(opened: Opened, roles: Roles, name: str, decimal: str, faults: list[Fault], drops: list[Drop]) -> str:
    number, missing = _number(opened, roles, name, decimal, faults)
    if roles.missing.value == "error":
        cure = "give it, or say `missing: {value: drop}` or `zero`"
        faults.append(Fault(name, missing, f"the value is missing (blank or NaN); {cure}"))
    elif roles.missing.value == "drop":
        drops.append(Drop(missing, f"no value in {name!r}"))
    else:
        drops.append(Drop(missing, f"no value in {name!r}, taken as 0", leaves=False))
        return f"coalesce({number}, 0)"
    return number


def _weight(opened: Opened, roles: Roles, decimal: str, faults: list[Fault], drops: list[Drop]) -> str:
    name = str(roles.weight)
    number, missing = _number(opened, roles, name, decimal, faults)
    faults.append(Fault(name, missing, "the weight is missing (blank or NaN); give every record its weight"))
    faults.append(Fault(name, f"{number} < 0", "a weight must not be below 0; correct it, or leave the record out"))
    drops.append(Drop(f"{number} = 0", f"a weight of 0 in {name!r}"))
    return number


def _record_key(opened: Opened, roles: Roles, decimal: str, faults: list[Fault]) -> str:
    """Return the SQL of a record key as a whole number: of a fraction, how many steps of the ninth decimal it has."""
    name, most = str(roles.record_key), roles.key_range
    number, missing = _number(opened, roles, name, decimal, faults)
    faults.append(Fault(name, missing, "the record key is missing (blank or NaN); give every record one"))
    beyond = f"({number} < 0 OR {number} >= {most or 1})"
    words = "a record key is a number from 0 to below 1; of whole numbers give the number of them as `key_range`"
    if most is not None:
        beyond = f"({beyond} OR {number} <> {opened.engine.sql.nearest(number)})"
        words = f"a record key is a whole number from 0 to {most - 1:,}, as `key_range` says"
    faults.append(Fault(name, beyond, words))
    steps = number if most else f"({number}) * 1e{KEY_DECIMALS}"
    return f"CAST({opened.engine.sql.rounded(steps)} AS BIGINT)"


def _number(opened: Opened, roles: Roles, name: str, decimal: str, faults: list[Fault]) -> tuple[str, str]:
    """Return the SQL of a number (NULL where missing), and of the condition that it is missing."""
    column, kind, sql = opened.column(name), opened.types[name], opened.engine.sql
    absent = roles.absent.get(name, ())
    if is_whole(kind) or kind.startswith(_BROKEN):
        number = f"CAST({column} AS {sql.double})"
        missing = f"({column} IS NULL)" if is_whole(kind) else f"({column} IS NULL OR {sql.is_nan(number)})"
        if absent:
            missing = f"({missing} OR {sql.text(column)} IN ({sql.listed(absent)}))"
        if absent or not is_whole(kind):
            number = f"CASE WHEN {missing} THEN NULL ELSE {number} END"
        if is_whole(kind):
            large = f"abs({number}) > 9007199254740992"
            faults.append(Fault(name, large, "too large to be exact; give it in thousands or millions"))
    elif _is_text(kind):
        text = f"trim({sql.text(column)})"
        # Where a comma is the decimal mark, a point is none, so it must not be taken for one.
        plain = f"replace(replace({text}, '.', '?'), ',', '.')" if decimal == "," else text
        missing = f"({column} IS NULL OR lower({text}) IN ({sql.listed((*MISSING, *absent))}))"
        number = f"CASE WHEN {missing} THEN NULL ELSE {sql.number(plain)} END"
        wrong = f"NOT {missing} AND (({number}) IS NULL OR {sql.is_nan(number)} OR {sql.strange(text)})"
        faults.append(Fault(name, wrong, "not a number", text))
    else:
        raise InputError(f"{opened.name}: column {name!r} holds {kind.lower()}, not numbers")
    if not is_whole(kind):
        faults.append(Fault(name, sql.is_infinite(number), "the value is infinite; give a finite one"))
    return number, missing


def _identity(opened: Opened, name: str | None, what: str, faults: list[Fault]) -> str:
    column, blank = _identity_column(opened, str(name))
    faults.append(Fault(str(name), blank, f"{what} is blank; give every record one"))
    return column


def _identity_column(opened: Opened, name: str) -> tuple[str, str]:
    column, kind, sql = opened.column(name), opened.types[name], opened.engine.sql
    if kind.startswith(_BROKEN):
        raise InputError(f"{opened.name}: column {name!r} holds decimal numbers, which name nobody; turn it into text")
    if is_whole(kind):
        return sql.text(column) if "HUGE" in kind else f"CAST({column} AS BIGINT)", f"{column} IS NULL"
    # Blanks at the ends tell nobody apart.
    text = f"trim({sql.text(column)})"
    return text, f"coalesce({text}, '') = ''"


def _holding(opened: Opened, roles: Roles, respondent: str | None, faults: list[Fault], drops: list[Drop]) -> str:
    name = str(roles.holding)
    column, blank = _identity_column(opened, name)
    if roles.missing.holding == "error":
        cure = "repeat the respondent there, or say `missing: {holding: own}`"
        faults.append(Fault(name, blank, f"the holding is blank; {cure}"))
        return column
    if respondent is None:
        raise InputError("`missing: {holding: own}` needs the respondent; name its column with `respondent`")
    drops.append(Drop(blank, f"no holding in {name!r}, taken as holdings of their own", leaves=False))
    # The mark in front keeps a respondent apart from a holding of the same name.
    sql = opened.engine.sql
    return f"CASE WHEN {blank} THEN chr(1) || {sql.text(str(respondent))} ELSE {sql.text(column)} END"


def _mark(opened: Opened, name: str | None, codes: Sequence[str], faults: list[Fault]) -> str:
    column, sql = opened.column(str(name)), opened.engine.sql
    if opened.types[str(name)] == "BOOLEAN":
        return f"coalesce({column}, false)"
    word = f"lower(trim(coalesce({sql.text(column)}, '')))"
    if codes:
        return f"{word} IN ({sql.listed([code.lower() for code in codes])})"
    known = f"{word} IN ({sql.listed((*YES, *NO))})"
    faults.append(Fault(str(name), f"NOT {known}", YES_OR_NO))
    return f"{word} IN ({sql.listed(YES)})"


def is_whole(kind: str) -> bool:
    """Return whether a type is one of whole numbers."""
    return kind.startswith(_WHOLE)


def _is_text(kind: str) -> bool:
    return kind == "VARCHAR" or kind.startswith("ENUM")
