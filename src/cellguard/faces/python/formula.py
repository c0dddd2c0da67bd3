"""R's model formulas, which name tables: ``~ region * age + region:sex``.

A formula is a set of terms, and a term is a set of columns that are crossed; the empty term is the grand total. The
operators are those of Wilkinson and Rogers (1973, Applied Statistics 22, 392-399) as R has them, from the tightest:
``^``, ``:``, ``%in%``, ``*`` and ``/``, ``+`` and ``-``.

    a:b   every term of a crossed with every term of b
    a*b   a + b + a:b
    a/b   a + (all columns of a):b
    ^n    all products of up to n terms
    -     removes terms; ``- 1`` or ``+ 0`` removes the grand total
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from cellguard.errors import InputError

Term = frozenset[str]
TOTAL: Term = frozenset()
MOST = 2_000  # terms that a formula may have
_TOKEN = re.compile(r"\s*(?:`([^`]*)`|(\d+(?:\.\d+)?)|([^\W\d][\w.]*|\.[\w.]*)|(%in%|\*\*|[~+\-*/:^()]))")
_LEVELS = (("+", "-"), ("*", "/"), ("%in%",), (":",))


@dataclass(frozen=True, slots=True)
class Formula:
    """What a formula asks for: its terms, in their order, and the response on its left side, if it has one."""

    terms: tuple[Term, ...]
    columns: tuple[str, ...]
    response: str | None = None


def parse(text: str) -> Formula:
    """Read a formula.

    >>> [sorted(term) for term in parse("~ region * age - region").terms]
    [[], ['age'], ['age', 'region']]
    >>> parse("turnover ~ region:size + 0").response
    'turnover'
    """
    if not isinstance(text, str):
        raise InputError(f"`tables` must be a formula in quotes, as '~ region * age', not {type(text).__name__}")
    reader = _Reader(text)
    response = reader.response()
    terms = reader.sum_of_terms()
    if reader.next[0] != "end":
        reader.fail(f"does not expect {reader.next[1]!r} here")
    if not any(terms):
        reader.fail("asks for no table; name at least one column")
    return Formula(tuple(terms), tuple(c for c in reader.columns if any(c in t for t in terms)), response)


class _Reader:
    """Reads the tokens of a formula from left to right, by descent."""

    def __init__(self, text: str) -> None:
        self.text, self.columns = text, dict[str, None]()
        self.tokens, place = list[tuple[str, str]](), 0
        rest = text.rstrip()
        while place < len(rest):
            found = _TOKEN.match(rest, place)
            if found is None:
                sign = rest[place:].lstrip()[0]
                if sign == ",":
                    self.fail(
                        "has ',', as cbind has; write a formula for each column to sum, and protect them in one job"
                    )
                self.fail(f"has {sign!r}, which no formula has; put such names in backticks: `size class`")
            self.tokens.append(_token(*found.groups()))
            place = found.end()
        self.place = 0

    @property
    def next(self) -> tuple[str, str]:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "the end")

    def take(self, *signs: str) -> str | None:
        """Take the next sign if it is one of some."""
        kind, sign = self.next
        if kind == "sign" and sign in signs:
            self.place += 1
            return sign
        return None

    def fail(self, what: str) -> NoReturn:
        raise InputError(f"the formula {self.text.strip()!r} {what}")

    def response(self) -> str | None:
        """Take what stands left of the tilde."""
        signs = [i for i, token in enumerate(self.tokens) if token == ("sign", "~")]
        if len(signs) > 1:
            self.fail("has two tildes; one stands between the value and the columns")
        if not signs:
            if not self.tokens:
                self.fail("is empty; write one as '~ region * age'")
            return None
        left, self.place = self.tokens[: signs[0]], signs[0] + 1
        if not left:
            return None
        if len(left) > 1 or left[0][0] != "name":
            self.fail("must have a single column left of the tilde, the one to sum, or nothing, to count records")
        return left[0][1]

    def sum_of_terms(self) -> dict[Term, None]:
        """Read a right side: terms that are added and removed, to begin with the grand total."""
        found: dict[Term, None] = {TOTAL: None}
        self._add(found, "-" if self.take("-") else "+")
        while sign := self.take(*_LEVELS[0]):
            self._add(found, sign)
        return found

    def _add(self, found: dict[Term, None], sign: str) -> None:
        kind, number = self.next
        if kind == "number":
            if number not in ("0", "1"):
                self.fail(f"has the number {number}; only 1 (with the grand total) and 0 (without it) mean something")
            self.place += 1
            if (number == "1") == (sign == "+"):
                found[TOTAL] = None
            else:
                found.pop(TOTAL, None)
            return
        for term in self._level(1):
            if sign == "+":
                found[term] = None
            else:
                found.pop(term, None)

    def _level(self, level: int) -> dict[Term, None]:
        if level == len(_LEVELS):
            return self._power()
        left = self._level(level + 1)
        while sign := self.take(*_LEVELS[level]):
            right = self._level(level + 1)
            left = self._limited(_combined(left, sign, right))
        return left

    def _power(self) -> dict[Term, None]:
        base = self._factor()
        while self.take("^"):
            kind, number = self.next
            if kind != "number" or not number.isdigit() or not 1 <= int(number) <= 20:
                self.fail("needs a whole number from 1 to 20 behind ^")
            self.place += 1
            one = base
            for _ in range(int(number) - 1):
                before, base = base, self._limited(_combined(base, "*", one))
                if len(base) == len(before):
                    break
        return base

    def _factor(self) -> dict[Term, None]:
        if self.take("("):
            inside: dict[Term, None] = {}
            self._add(inside, "-" if self.take("-") else "+")
            while sign := self.take(*_LEVELS[0]):
                self._add(inside, sign)
            if not self.take(")"):
                self.fail("lacks a closing parenthesis")
            return inside
        kind, name = self.next
        if kind != "name":
            self.fail(f"needs a column where {name!r} stands")
        self.place += 1
        if name == ".":
            self.fail("has a dot; name the columns instead, as '~ region * age'")
        if self.next == ("sign", "("):
            self.fail(f"calls {name}(...); a formula here has columns only, so make that column first and name it")
        if not name:
            self.fail("has a name without letters")
        self.columns[name] = None
        return {frozenset([name]): None}

    def _limited(self, terms: dict[Term, None]) -> dict[Term, None]:
        if len(terms) > MOST:
            self.fail(f"has more than {MOST:,} terms; ask for fewer, as '(a + b + c)^2'")
        return terms


def _token(quoted: str | None, number: str | None, name: str | None, sign: str | None) -> tuple[str, str]:
    if number:
        return "number", number
    if sign:
        return "sign", "^" if sign == "**" else sign
    return "name", quoted if quoted is not None else name or ""


def _combined(left: dict[Term, None], sign: str, right: dict[Term, None]) -> dict[Term, None]:
    """Return what an operator between two sets of terms gives."""
    if sign == "/":
        whole = frozenset().union(*left)
        return {**left, **{whole | b: None for b in right}}
    crossed = {a | b: None for a in left for b in right}
    return {**left, **right, **crossed} if sign == "*" else crossed
