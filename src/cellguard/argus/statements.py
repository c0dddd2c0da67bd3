"""A-priori files (``.hst``): statements about single cells, with what may follow what, and trivial levels.

s, u, p, m and ml set a status, c or w a cost, pl protection levels. A safe or unsafe cell may become unsafe, only a
safe one protected or secondary, and any safe; what is said of empty cells changes nothing. With expansion a statement
also holds for the cells that are the same since levels between them are trivial.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from cellguard.argus.commands import Apriori
from cellguard.argus.own_table import (
    MANUAL,
    PROTECTED,
    SAFE,
    SAFE_MANUAL,
    SECONDARY,
    SECONDARY_MANUAL,
    UNSAFE,
    ArgusTable,
)
from cellguard.argus.primary import manual_levels
from cellguard.errors import InputError, did_you_mean
from cellguard.reading.csvfile import text_lines
from cellguard.reading.encodings import read_text

_STATUS = {"s": SAFE_MANUAL, "u": MANUAL, "p": PROTECTED, "m": SECONDARY_MANUAL, "ml": SECONDARY}
_ARGUMENTS = {**dict.fromkeys(_STATUS, (0, 0)), "c": (1, 1), "w": (1, 1), "pl": (1, 2)}
_PLAIN = (SAFE, SAFE_MANUAL)


class _Wrong(Exception):
    """A statement that does not hold."""


def apply_statements(table: ArgusTable, said: Apriori, path: Path, tell: Callable[[str], None]) -> ArgusTable:
    """Return a table after the statements of a file; wrong ones are errors, or counted if the batch ignores them."""
    lines = [(number, line) for number, line in enumerate(text_lines(read_text(path)), 1) if _says(line)]
    if lines and said.separator not in lines[0][1]:
        raise InputError(
            f"{path.name} line {lines[0][0]}, column 1: the separator {said.separator!r} of the batch is not in the "
            "line; correct it there"
        )
    working = _Working(table)
    done, ignored, empty = 0, 0, 0
    for number, line in lines:
        try:
            rows = list(working.take(_fields(line, said.separator), expand=said.expand))
            done, empty = done + len(rows), empty + (not rows)
        except _Wrong as wrong:
            if not said.ignore:
                raise InputError(f"{path.name} line {number}, column 1: {wrong}") from None
            ignored += 1
    tell(
        f"A-priori file {path.name}: {done:,} statements about table {table.number}"
        + (f"; {empty:,} are about empty cells, and change nothing" if empty else "")
        + (f"; {ignored:,} lines were ignored, since they fit no cell or its status" if ignored else "")
    )
    return working.result()


def _says(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("//")


def _fields(line: str, separator: str) -> list[str]:
    return [field.strip().strip('"') for field in line.rstrip("\r\n").split(separator)]


class _Working:
    """A table whose statuses, costs and levels change."""

    def __init__(self, table: ArgusTable) -> None:
        self.table, self.status, self.cost = table, table.status.copy(), table.cost.copy()
        self.lower, self.upper = table.lower.copy(), table.upper.copy()
        self.manual = manual_levels(table, np.ones(len(table), bool))

    def result(self) -> ArgusTable:
        """Return the table as it is now."""
        gone = ~np.isin(self.status, UNSAFE)
        lower, upper = (np.where(gone, 0.0, level) for level in (self.lower, self.upper))
        return replace(self.table, status=self.status, cost=self.cost, lower=lower, upper=upper)

    def take(self, fields: Sequence[str], *, expand: bool) -> Iterator[int]:
        """Apply a statement; return the rows of the cells that it is about."""
        n = len(self.table.spanning)
        if len(fields) <= n:
            raise _Wrong(f"expected {n} codes and a command")
        command, values = fields[n].lower(), [value for value in fields[n + 1 :] if value]
        if command == "ab":
            raise _Wrong("bounds (ab) are not taken; the attacker's bounds are those of the whole table")
        if command not in _ARGUMENTS:
            raise _Wrong(f"unknown command {command!r}{did_you_mean(command, list(_ARGUMENTS))}")
        fewest, most = _ARGUMENTS[command]
        if not fewest <= len(values) <= most:
            raise _Wrong(f"the command {command!r} takes {most} argument{'s' if most > 1 else ''}")
        numbers = [_number(value) for value in values]
        first = True
        for row in self._rows(fields[:n], expand=expand):
            try:
                self._apply(row, command, numbers)
            except _Wrong:
                if first:
                    raise
            first = False
            yield row

    def _rows(self, codes: Sequence[str], *, expand: bool) -> list[int]:
        meant = []
        for spanning, written in zip(self.table.spanning, codes, strict=True):
            code = spanning.code(written)
            if code is None:
                known = [c.strip() for c in spanning.tree.codes]
                raise _Wrong(f"no code {written!r} of {spanning.name!r}{did_you_mean(written, known)}")
            same = spanning.same[code] if expand else (code,)
            meant.append([spanning.tree.position[c] for c in dict.fromkeys((code, *same))])
        rows = []
        for index in itertools.product(*meant):
            key = int(np.ravel_multi_index(index, self.table.shape))
            rows.append(self.table.row_of.get(key, -1))
        return [row for row in rows if row >= 0]

    def _apply(self, row: int, command: str, numbers: Sequence[float]) -> None:
        now = int(self.status[row])
        if command in {"c", "w"}:
            self.cost[row] = numbers[0] or 1.0
        elif command == "pl":
            if now not in UNSAFE:
                raise _Wrong("protection levels are for unsafe cells")
            self.lower[row], self.upper[row] = numbers[0], numbers[-1]
        else:
            self._change(row, now, command)

    def _change(self, row: int, now: int, command: str) -> None:
        allowed = {"s": True, "u": now in _PLAIN or now in UNSAFE}.get(command, now in _PLAIN)
        if not allowed:
            raise _Wrong(f"the command {command!r} does not go with the status {now} of the cell")
        if command == "u" and now not in UNSAFE:
            self.lower[row], self.upper[row] = self.manual[0][row], self.manual[1][row]
        self.status[row] = _STATUS[command]


def _number(text: str) -> float:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        raise _Wrong("an argument is not a number") from None
    if not 0 <= number < float("inf"):
        raise _Wrong("an argument is below 0 or infinite")
    return number
