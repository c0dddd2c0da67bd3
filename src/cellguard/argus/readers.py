"""Results as τ-ARGUS writes them, in each of its formats, read back: the value and the status of each cell of a table.

What a format does not have stays open: values of suppressed cells are NaN, and a suppressed cell without a status is
secondary unless the table itself knows it as unsafe. The formats are those of `argus.writers`.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cellguard.argus.own_table import (
    EMPTY,
    FREQ,
    MANUAL,
    PROTECTED,
    RULE,
    SAFE,
    SECONDARY,
    ArgusTable,
    Status,
)
from cellguard.argus.writers.jj import kept_codes
from cellguard.arrays import FloatArray

_NUMBERS = {str(status): status for status in range(1, 15)}
_LETTERS = {"S": SAFE, "U": MANUAL, "P": PROTECTED, "M": SECONDARY, "E": EMPTY}
_FLAGS = {"V": SAFE, "A": FREQ, "B": MANUAL, "C": RULE, "F": RULE, "D": SECONDARY, "-": EMPTY}
_MARKS = {"s": SAFE, "u": MANUAL, "m": SECONDARY, "z": PROTECTED}
_Cell = tuple[Sequence[str | int], str, int]  # codes, or their positions; the value as written; a status, 0 if unknown


@dataclass(frozen=True, eq=False)
class Result:
    """The cells of a result in the rows of its table; a cell that it does not have is empty."""

    value: FloatArray
    status: Status
    found: int


def read_result(table: ArgusTable, text: str, kind: int) -> Result:
    """Read a result in the format of that number, 1 to 6."""
    value, status = np.full(len(table), np.nan), np.full(len(table), EMPTY, np.int8)
    found = 0
    for codes, written, number in _READERS[kind](table, text):
        row = _row(table, codes)
        if row is None:
            continue
        found += 1
        value[row] = _number(written)
        unsafe = int(table.status[row]) if table.unsafe[row] else SECONDARY
        status[row] = number or (unsafe if np.isnan(value[row]) and written != "-" else SAFE)
    return Result(value, status, found)


def _row(table: ArgusTable, codes: Sequence[str | int]) -> int | None:
    index = []
    for spanning, code in zip(table.spanning, codes, strict=True):
        known = spanning.code(code) if isinstance(code, str) else spanning.tree.codes[code]
        if known is None:
            return None
        index.append(spanning.tree.position[known])
    return table.row_of.get(int(np.ravel_multi_index(tuple(index), table.shape)))


def _number(written: str) -> float:
    try:
        return float(written.replace(",", "."))
    except ValueError:
        return np.nan


def _lines(text: str, delimiter: str) -> Iterator[list[str]]:
    lines = text.replace("\r\n", "\n").split("\n")
    for fields in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
        yield [field.rstrip("\r") for field in fields]


def _layers(table: ArgusTable, text: str) -> Iterator[_Cell]:
    """Read a CSV file: a block per layer, with the codes of its columns in the first line."""
    n = len(table.shape)
    layer: list[str] = []
    columns: list[str] = []
    for fields in _lines(text, ","):
        if n > 2 and fields and fields[0].startswith("Var "):
            layer = fields[1 : 2 * (n - 2) : 2]
        elif fields and fields[0] == "" and not columns:
            columns = fields[1:]
        elif columns and len(fields) > 1:
            for column, written in zip(columns, fields[1:], strict=False):
                yield ([*layer, fields[0], column] if n > 1 else [column]), written, 0
        else:
            columns = []


def _code_value(table: ArgusTable, text: str) -> Iterator[_Cell]:
    """Read lines of codes, a value, and perhaps a status; a first line of names has no code of the table."""
    n = len(table.shape)
    for fields in _lines(text, ","):
        if len(fields) > n:
            yield fields[:n], fields[n], _NUMBERS.get(fields[n + 1], 0) if len(fields) > n + 1 else 0


def _sbs(table: ArgusTable, text: str) -> Iterator[_Cell]:
    """Read lines of codes, perhaps each with its level, a value, a frequency, and a flag."""
    n = len(table.shape)
    for fields in _lines(text, ","):
        step = 2 if len(fields) > 2 * n + 2 and fields[2 * n + 2] in _FLAGS else 1
        if len(fields) > step * n + 2 and fields[step * n + 2] in _FLAGS:
            yield fields[: step * n : step], fields[step * n], _FLAGS[fields[step * n + 2]]


def _intermediate(table: ArgusTable, text: str) -> Iterator[_Cell]:
    """Read lines of codes and a value, and some fields later a letter."""
    n = len(table.shape)
    for fields in _lines(text, ";"):
        letter = next((field.strip() for field in fields[n + 1 :] if field.strip() in _LETTERS), "")
        if letter:
            yield fields[:n], fields[n], _LETTERS[letter]


def _jj(table: ArgusTable, text: str) -> Iterator[_Cell]:
    """Read the cells of a JJ file, which stand in the order of their codes, with or without trivial levels."""
    lines = text.split("\n")
    count = int(lines[1]) if len(lines) > 1 and lines[1].strip().isdigit() else 0
    kept = [kept_codes(s, trivial=True) for s in table.spanning]
    if count != np.prod([len(codes) for codes in kept]):
        kept = [kept_codes(s, trivial=False) for s in table.spanning]
    if count != np.prod([len(codes) for codes in kept]):
        return
    for index, line in zip(itertools.product(*kept), lines[2 : 2 + count], strict=True):
        fields = line.split()
        status = _MARKS.get(fields[3], 0)
        yield index, fields[1], EMPTY if status == PROTECTED and _row(table, index) is None else status


_READERS: Mapping[int, Callable[[ArgusTable, str], Iterable[_Cell]]] = {
    1: _layers,
    2: _code_value,
    3: _code_value,
    4: _sbs,
    5: _intermediate,
    6: _jj,
}
