"""Statements about single cells from files: the a-priori CSV, and τ-ARGUS ``.hst``."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from cellguard.errors import InputError, Place, did_you_mean, file_name
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.reading.csvfile import BROKEN_QUOTES, text_lines
from cellguard.reading.dialect import find_delimiter
from cellguard.reading.encodings import read_text
from cellguard.reading.vocabulary import is_number
from cellguard.table.apriori import NUMBERS, Apriori, State, read_statements
from cellguard.table.codes import find_columns, read_codes
from cellguard.table.columns import all_headed
from cellguard.table.keys import combine, find, first_repeat
from cellguard.table.source import Source, open_source
from cellguard.table.table import Table

_SAID = tuple(f.name if f.name != "state" else "status" for f in fields(Apriori))


def read_apriori(table: Table, path: str | Path | object, columns: Sequence[str] = ()) -> Table:
    """Read statements about single cells: a CSV file, or an a-priori file ``.hst`` of τ-ARGUS.

    A CSV file has the dimension columns and any of status, cost, lower, upper, lower_protection, upper_protection;
    blank means no statement. A dimension column of such a name is called ``by:status``, say.

    Parameters
    ----------
    table
        The table that the statements are about.
    path
        The file, or a mapping of columns.
    columns
        The names of the dimension columns, if they are not those of the dimensions.

    Returns
    -------
    Table
        The table with the statements, which replace those of its own columns.

    Raises
    ------
    InputError
        If a cell or a word is not known; the message names the line.

    Examples
    --------
    >>> import cellguard as cg, tempfile
    >>> t = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7]}, by=["r"], value="x")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "said.csv").write_text("r,status\\nN,must_suppress\\n")
    ...     said = cg.read_apriori(t, Path(folder, "said.csv"))
    >>> cg.assess(said, []).why("N")
    ['must_suppress']
    """
    by = dict(zip(columns or [d.name for d in table.dimensions], table.dimensions, strict=True))
    if isinstance(path, (str, Path)) and Path(path).suffix.lower() == ".hst":
        source = _read_hst(Path(path), all_headed(by, _SAID))
    else:
        source = open_source(path)
    return _apply(table, source, by)


def _apply(table: Table, source: Source, by: Mapping[str, Dimension]) -> Table:
    known = {*all_headed(by, _SAID), *all_headed((d.name for d in by.values()), _SAID), *_SAID}
    for name in source.names:
        if name not in known and is_number(name):
            raise InputError(
                f"{source.place.name}: a column is called like a number; does the file have a header line?"
            )
        if name not in known:
            raise InputError(f"{source.place.name}: unknown column {name!r}{did_you_mean(name, known)}")
    codes, keep = read_codes(source, find_columns(source, by, fixed=_SAID))
    numbers = {name: name for name in NUMBERS if name in source.names}
    said = read_statements(source.settled(numbers), "status" if "status" in source.names else None, numbers)
    rows = np.flatnonzero(keep)
    sizes = [len(d.codes) for d in table.dimensions]
    keys = combine([np.concatenate([c, s[rows]]) for c, s in zip(table.codes, codes, strict=True)], sizes)
    mine, theirs = keys[: len(table)], keys[len(table) :]
    cells = find(theirs, mine)
    if (cells < 0).any():
        row = int(rows[np.flatnonzero(cells < 0)[0]])
        raise InputError(f"{source.place.row(row)}: table {table.name!r} has no such cell; the combination is empty")
    repeat = first_repeat(theirs)
    if repeat:
        raise InputError(
            f"{source.place.row(int(rows[repeat[1]]))}: a second statement about the cell of "
            f"{source.place.row(int(rows[repeat[0]]))}; say all in one row"
        )
    pick = np.full(len(table), -1, np.intp)
    pick[cells] = rows
    return replace(table, apriori=table.apriori.override(said.take(pick)))


_STATE = {
    "s": State.waived,
    "u": State.must_suppress,
    "p": State.must_publish,
    "m": State.secondary,
    "ml": State.secondary,
}
_NUMBER = {"c": ("cost",), "w": ("cost",), "pl": ("need_lower", "need_upper")}


def _read_hst(path: Path, columns: list[str]) -> Source:
    """Return a ``.hst`` file as columns: codes in the table's order, a command, its arguments (τ-ARGUS manual 4.1).

    s is waived, u must_suppress, p must_publish, m and ml secondary; c or w is a cost; pl are the protection levels.
    """
    said: dict[tuple[str, ...], dict[str, str]] = {}
    name = file_name(path)
    lines = list(text_lines(read_text(path)))
    separator = _separator(lines, len(columns), name)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = Place(name).row(number - 1)
        codes, command, values = _split(_fields(line, separator, where), len(columns), where)
        cell = said.setdefault(codes, {"line": str(number)})
        for key, value in _meaning(command, values, where).items():
            if cell.get(key, value) != value:
                raise InputError(f"{where}: says another {key} of the same cell than an earlier line; keep one")
            cell[key] = value
    table = {column: [codes[i] for codes in said] for i, column in enumerate(columns)}
    for key in _SAID:
        table[key] = [cell.get(key, "") for cell in said.values()]
    lines_ = tuple(int(cell["line"]) for cell in said.values())
    return replace(open_source(table, name=name), place=Place(name, lines=lines_))


def _separator(lines: Sequence[str], dimensions: int, name: str) -> str:
    """Return what separates codes and command; lines have different numbers of fields, so only the first is asked."""
    first = next((line for line in lines if line.strip()), "")
    separator = find_delimiter([first], name)
    if first.count(separator) < dimensions:
        raise InputError(f"{name} line 1: expected {dimensions} codes and a command, separated by , ; | or tab")
    return separator


def _fields(line: str, separator: str, where: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator, strict=True))
    except csv.Error:
        raise InputError(f"{where}: {BROKEN_QUOTES}") from None


def _split(entries: Sequence[str], dimensions: int, where: str) -> tuple[tuple[str, ...], str, list[str]]:
    if len(entries) <= dimensions:
        raise InputError(f"{where}: expected {dimensions} codes and a command")
    command, *values = (entry.strip() for entry in entries[dimensions:])
    return tuple(entries[:dimensions]), command.lower(), [value for value in values if value]


def _meaning(command: str, values: Sequence[str], where: str) -> dict[str, str]:
    if command in _STATE:
        return {"status": _STATE[command].name}
    if command not in _NUMBER:
        raise InputError(f"{where}: unknown command {command!r}{did_you_mean(command, [*_STATE, *_NUMBER])}")
    names = _NUMBER[command]
    if len(values) != len(names):
        raise InputError(f"{where}: the command {command!r} needs {len(names)} number(s)")
    numbers = [_number(value, where) for value in values]
    if names == ("cost",) and numbers[0] == 0:
        numbers = [1.0]  # τ-ARGUS reads a cost of 0 as 1
    return {name: repr(number) for name, number in zip(names, numbers, strict=True)}


def _number(text: str, where: str) -> float:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        raise InputError(f"{where}: the argument is not a number") from None
    if not 0 <= number < float("inf"):
        raise InputError(f"{where}: the argument must not be below 0, and finite")
    return number
