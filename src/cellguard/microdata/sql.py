"""`Sql`: the few things that engines write differently. What is not here is plain SQL that all of them understand."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cellguard.reading.vocabulary import INFINITE, NUMBER

_LITERAL = re.compile(r"('(?:[^'\\]|\\.|'')*')")
_COLUMN = re.compile(r"\bc(\d+)\b")
_WHOLE_ID = r"^(0|-?[1-9][0-9]{0,18})$"


class Sql:
    """The words of DuckDB. An engine that says some of them otherwise has a class of its own, see `StandardSql`."""

    double = "DOUBLE"

    def quoted(self, text: str) -> str:
        """Return a text as SQL writes it."""
        return "'" + text.replace("'", "''") + "'"

    def listed(self, texts: Sequence[str]) -> str:
        """Return texts with commas between them."""
        return ", ".join(map(self.quoted, texts))

    def name(self, column: str) -> str:
        """Return the name of a column or a table as SQL writes it, whatever it holds."""
        return '"' + column.replace('"', '""') + '"'

    def text(self, entry: str) -> str:
        """Return an entry as text, which is compared and ordered byte by byte."""
        return f"CAST({entry} AS VARCHAR)"

    def matches(self, text: str, pattern: str) -> str:
        """Return the condition that some part of a text has the pattern."""
        return f"regexp_matches({text}, {self.quoted(pattern)})"

    def number(self, text: str) -> str:
        """Return the number that a text spells, NULL where it is none."""
        return f"TRY_CAST({text} AS {self.double})"

    def strange(self, text: str) -> str:
        """Return the condition that `number` takes a text for a number that `NUMBER` does not."""
        # A pattern would double the time.
        return f"contains({text}, '_') OR starts_with({text}, '+-')"

    def is_nan(self, number: str) -> str:
        """Return the condition that a floating-point number is NaN; of NULL it may say no or nothing."""
        return f"isnan({number})"

    def is_infinite(self, number: str) -> str:
        """Return the condition that a floating-point number is infinite."""
        return f"isinf({number})"

    def is_broken_id(self, identity: str) -> str:
        """Return the condition that an identity is not written as a whole number of 64 bits is."""
        return f"CAST(TRY_CAST({identity} AS BIGINT) AS VARCHAR) IS DISTINCT FROM {self.text(identity)}"

    def nearest(self, number: str) -> str:
        """Return a nearest whole number, as a floating-point one; which of two does not matter."""
        return f"round({number})"

    def rounded(self, number: str) -> str:
        """Return the nearest whole number, as a floating-point one; of two, the one farther from 0."""
        return f"round({number})"

    def huge_number(self, number: str) -> str:
        """Return a whole floating-point number as one of up to 126 bits."""
        return f"CAST({number} AS HUGEINT)"

    def different(self, code: str) -> str:
        """Return the list of the different entries of a column."""
        return f"list(DISTINCT {code})"

    def renamed(self, columns: Sequence[str], origin: str) -> str:
        """Return records under the column names c0, c1, ..., to stand behind FROM."""
        named = ", ".join(f"{self.name(column)} AS c{i}" for i, column in enumerate(columns))
        return f"(SELECT {named} FROM {origin}) AS records"

    def original(self, condition: str, columns: Sequence[str]) -> str:
        """Return a condition with the columns' own names instead of c0, c1, ...

        >>> Sql().original("c0 = 'c1' OR c1 IS NULL", ["region", "x"])
        '"region" = \\'c1\\' OR "x" IS NULL'
        """
        parts = _LITERAL.split(condition)
        parts[::2] = [_COLUMN.sub(lambda match: self.name(columns[int(match[1])]), part) for part in parts[::2]]
        return "".join(parts)


class StandardSql(Sql):
    """Words that need no more than patterns, from which those of other engines differ in a few."""

    def number(self, text: str) -> str:
        """Return the number that a text spells, NULL where it is none."""
        spelled = f"{self.matches(text, NUMBER)} OR {self.matches(text, INFINITE)}"
        return f"CASE WHEN {spelled} THEN CAST({text} AS {self.double}) END"

    def strange(self, text: str) -> str:
        """Return the condition that never holds: `number` is as strict as `NUMBER`."""
        return "false"

    def is_nan(self, number: str) -> str:
        """Return the condition that a floating-point number is NaN, which equals itself here."""
        return f"({number}) = CAST('NaN' AS {self.double})"

    def is_infinite(self, number: str) -> str:
        """Return the condition that a floating-point number is infinite."""
        return f"abs({number}) = CAST('Infinity' AS {self.double})"

    def is_broken_id(self, identity: str) -> str:
        """Return the condition that an identity is not written as a whole number of 64 bits is."""
        text, limits = self.text(identity), "-9223372036854775808 AND 9223372036854775807"
        fits = f"CAST({text} AS DECIMAL(38, 0)) BETWEEN {limits}"
        return f"NOT CASE WHEN {self.matches(text, _WHOLE_ID)} THEN {fits} ELSE false END"

    def rounded(self, number: str) -> str:
        """Return the nearest whole number; half a step is exact in floating point, so ties can be told."""
        near = self.nearest(number)
        return f"CASE WHEN abs(({number}) - {near}) = 0.5 THEN ({number}) + sign({number}) * 0.5 ELSE {near} END"

    def huge_number(self, number: str) -> str:
        """Return a whole floating-point number, to the 17 digits that tell it from others."""
        return f"CAST({self.text(number)} AS DECIMAL(38, 0))"
