"""Files of perturbation tables as lines: their header, their entries, and faults told with their line."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cellguard.errors import InputError, file_name

UPPER = ("p_int_ub", "p_ub", "kum_p_o", "ub")  # what other tools call the upper end of a share of all keys


@dataclass(frozen=True)
class TableLines:
    """A file with the name ``name``: its columns in small letters, and its lines after the header."""

    name: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def upper(self) -> str | None:
        """The column of upper ends, if there is one beside counts and changes."""
        found = next((word for word in UPPER if word in self.header), None)
        return found if {"i", "v"} <= set(self.header) else None

    def entry(self, number: int, row: Sequence[str], column: str) -> str:
        """Return an entry of a line, without quotes."""
        if len(row) != len(self.header):
            raise InputError(f"{self.name} line {number}: {len(row)} entries, but the header has {len(self.header)}")
        return row[self.header.index(column)].strip().strip('"')

    def number(self, number: int, row: Sequence[str], column: str) -> float:
        """Return a number, whose decimal mark is a point or a comma."""
        text = self.entry(number, row, column)
        try:
            value = float(text.replace(",", "."))
        except ValueError:
            raise InputError(f"{self.name} line {number}, column {column!r}: not a number") from None
        if not np.isfinite(value):
            raise InputError(f"{self.name} line {number}, column {column!r}: not a finite number")
        return value

    def whole(self, number: int, row: Sequence[str], column: str) -> int:
        """Return a whole number."""
        value = self.number(number, row, column)
        if value != int(value):
            raise InputError(f"{self.name} line {number}, column {column!r}: not a whole number")
        return int(value)


def read_lines(path: Path, most: int) -> TableLines:
    """Read a file of at most so many lines, separated by semicolons, tabs or commas."""
    name = file_name(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the perturbation table {name!r}: {error}") from None
    head = text.partition("\n")[0]
    separator = ";" if ";" in head else "\t" if "\t" in head else ","
    rows = list(csv.reader(text.splitlines(), delimiter=separator))
    header = [word.strip().strip('"').lower() for word in rows[0]] if rows else []
    if len(rows) > most:
        raise InputError(f"{name}: a perturbation table has at most {most:,} lines")
    return TableLines(name, header, rows[1:])
