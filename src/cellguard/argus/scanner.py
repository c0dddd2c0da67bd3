"""One line of a batch, read from left to right; every error knows its column."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cellguard.argus.faults import BatchError, Fault

_NUMBER = re.compile(r"[+-]?(\d{1,15}(\.\d*)?|\.\d+)", re.ASCII)


class Scanner:
    """The rest of a line, from a position on. Columns of faults are those of the whole line.

    >>> here = Scanner("b.arb", 1, '"Size""Region"|"Var2"')
    >>> here.word('|"'), here.word('|"'), here.peek()
    ('Size', 'Region', '|')
    """

    def __init__(self, file: str, line: int, text: str, position: int = 0) -> None:
        self.file, self.line, self.text, self.position = file, line, text, position

    def fault(self, text: str, cure: str = "", position: int | None = None) -> BatchError:
        """Return the error about what stands here, or at another position."""
        column = (self.position if position is None else position) + 1
        return BatchError([Fault(self.file, self.line, column, text, cure)])

    def skip(self) -> None:
        """Pass over blanks."""
        while self.position < len(self.text) and self.text[self.position] in " \t":
            self.position += 1

    def peek(self) -> str:
        """Return the next character that is no blank, '' at the end."""
        self.skip()
        return self.text[self.position : self.position + 1]

    @property
    def done(self) -> bool:
        """Whether nothing but blanks is left."""
        return not self.peek()

    def take(self, character: str) -> bool:
        """Take a character if it comes next."""
        if self.peek() != character:
            return False
        self.position += 1
        return True

    def need(self, character: str, where: str) -> None:
        """Take a character that must come next."""
        if not self.take(character):
            found = self.peek()
            there = f"{found!r} stands there" if found else "the line ends there"
            raise self.fault(f"{character!r} is expected {where}, but {there}")

    def word(self, ends: str = ",") -> str:
        """Take a text in quotes, or what stands before one of the ends; blanks around it do not belong to it."""
        if self.peek() == '"':
            return self._quoted()
        start = self.position
        while self.position < len(self.text) and self.text[self.position] not in ends:
            self.position += 1
        return self.text[start : self.position].strip()

    def _quoted(self) -> str:
        start = self.position
        end = self.text.find('"', start + 1)
        if end < 0:
            raise self.fault("a quotation mark opens here and is not closed", 'add the closing "')
        self.position = end + 1
        return self.text[start + 1 : end]

    def rest(self) -> str:
        """Take all that is left, without the quotes around it."""
        self.skip()
        left = self.text[self.position :].strip()
        self.position = len(self.text)
        return left[1:-1] if len(left) > 1 and left[0] == left[-1] == '"' else left

    def number(self, what: str, ends: str = ",)|") -> float:
        """Take a number."""
        self.skip()
        start, text = self.position, self.word(ends)
        if not _NUMBER.fullmatch(text):
            raise self.fault(f"{what} must be a number, not {text[:40]!r}", "write it with digits, as 10", start)
        return float(text)

    def whole(self, what: str, ends: str = ",)|", among: Sequence[int] = ()) -> int:
        """Take a whole number, perhaps one of some."""
        self.skip()
        start, number = self.position, self.number(what, ends)
        if number != int(number) or (among and int(number) not in among):
            allowed = " or ".join(map(str, among)) if among else "a whole number"
            raise self.fault(f"{what} must be {allowed}, not {number:g}", position=start)
        return int(number)

    def end(self, command: str) -> None:
        """Refuse anything that is left, but for a comment."""
        if not self.done and not self.text[self.position :].startswith(("//", "\\\\")):
            raise self.fault(f"nothing more is expected after {command}", "delete the rest of the line")
