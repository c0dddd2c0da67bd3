"""An Excel workbook of the release: a sheet of notes, then one sheet per table. A `Release` is all it gets.

It needs the extra `excel` (xlsxwriter). `cellguard.verify` reads the workbook back with code of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cellguard.errors import InputError
from cellguard.table.pattern import Release, ReleasedTable
from cellguard.table.printed import printed

if TYPE_CHECKING:
    from xlsxwriter.format import Format
    from xlsxwriter.workbook import Workbook
    from xlsxwriter.worksheet import Worksheet

name = "xlsx"
extra: Mapping[str, str] = {"xlsxwriter": "cellguard[excel]"}
WORKBOOK = "tables.xlsx"
NOTES = "Notes"
SUPPRESSED = "c"
MOST_COLUMNS = 200  # codes of the second dimension up to which a table by two dimensions is laid out crosswise
MOST_ROWS = 1_048_575
MOST_CHARACTERS = 32_767
MOST_DIGITS = 15  # what Excel keeps of a number; longer ones are written as text, so that none is changed
_LONGEST_NAME = 31
_NO_DATE = datetime(1980, 1, 1)


def files(release: Release) -> list[str]:
    """Return the name of the file, which is the same for every release."""
    return [WORKBOOK]


def write(release: Release, folder: Path) -> None:
    """Write the workbook; suppressed cells are a grey `c`, values are numbers, and codes stay text."""
    import xlsxwriter

    for table in release.tables:
        _check_size(table)
    names = sheet_names([table.name for table in release.tables])
    with xlsxwriter.Workbook(str(folder / WORKBOOK), {"constant_memory": True}) as book:
        book.set_properties({"title": ", ".join(t.name for t in release.tables), "created": _NO_DATE})
        styles = _Styles(book)
        _write_notes(book.add_worksheet(NOTES), release, names, styles)
        for table, name in zip(release.tables, names, strict=True):
            _write_table(book.add_worksheet(name), table, styles)


def sheet_names(tables: Iterable[str]) -> list[str]:
    r"""Return a valid sheet name for each table: at most 31 characters, none of ``[]:*?/\``, and no two alike.

    >>> sheet_names(["turnover", "Turnover", "notes", "x" * 40])
    ['turnover', 'Turnover~2', 'notes~2', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx']
    """
    taken, names = {NOTES.lower(), "history"}, []
    for table in tables:
        plain = "".join("_" if c in "[]:*?/\\'" or not c.isprintable() else c for c in table) or "_"
        name, number = _cut(plain, _LONGEST_NAME), 1
        while name.lower() in taken:
            number += 1
            end = f"~{number}"
            name = _cut(plain, _LONGEST_NAME - len(end)) + end
        taken.add(name.lower())
        names.append(name)
    return names


def is_crosswise(by: int, second: int) -> bool:
    """Return whether a table is laid out crosswise: by two dimensions, and the second has few codes."""
    return by == 2 and second <= MOST_COLUMNS


def _cut(text: str, most: int) -> str:
    """Shorten a text to so many units of UTF-16, which is what Excel counts."""
    while len(text.encode("utf-16-le")) // 2 > most:
        text = text[:-1]
    return text


class _Styles:
    """The few looks that cells have."""

    def __init__(self, book: Workbook) -> None:
        self._book = book
        font = {"font_name": "Calibri", "font_size": 11}
        self.text = book.add_format({**font, "num_format": "@"})
        self.head = book.add_format({**font, "num_format": "@", "bold": True, "bottom": 1, "bg_color": "#F4F6F8"})
        self.title = book.add_format({**font, "bold": True, "font_size": 14})
        grey = {"bg_color": "#D9DEE4", "font_color": "#3D4650", "align": "right"}
        self.hidden = book.add_format({**font, **grey, "num_format": "@"})
        self._numbers: dict[int, Format] = {}

    def number(self, decimals: int) -> Format:
        """Return the look of numbers with so many decimals."""
        if decimals not in self._numbers:
            shown = "#,##0" + ("." + "0" * decimals if decimals else "")
            self._numbers[decimals] = self._book.add_format({"font_name": "Calibri", "num_format": shown})
        return self._numbers[decimals]


def _write_notes(sheet: Worksheet, release: Release, names: Sequence[str], styles: _Styles) -> None:
    sheet.set_column(0, 0, 34)
    sheet.set_column(1, 7, 16)
    sheet.write_string(0, 0, "Notes", styles.title)
    sheet.write_string(
        1, 0, f"{SUPPRESSED} on grey: suppressed to keep what respondents reported confidential.", styles.text
    )
    sheet.write_string(
        2, 0, "Some cells are suppressed only because others could be worked out from them.", styles.text
    )
    header = ("Sheet", "Table", "By", "Figure", "Population", "Decimals", "Cells", "Suppressed")
    for column, text in enumerate(header):
        sheet.write_string(4, column, text, styles.head)
    for row, (table, name) in enumerate(zip(release.tables, names, strict=True), start=5):
        about = (name, table.name, ", ".join(table.by), table.response, table.population)
        for column, text in enumerate(about):
            sheet.write_string(row, column, text, styles.text)
        for column, count in enumerate((table.decimals, len(table), int(table.suppressed.sum())), start=len(about)):
            sheet.write_number(row, column, count, styles.number(0))


def _write_table(sheet: Worksheet, table: ReleasedTable, styles: _Styles) -> None:
    second = list(dict.fromkeys(table.codes[1].tolist())) if len(table.by) == 2 else []
    crosswise = is_crosswise(len(table.by), len(second))
    header = [table.by[0], *second] if crosswise else [*table.by, "value"]
    codes = 1 if crosswise else len(table.by)
    sheet.freeze_panes(1, codes)
    sheet.set_column(0, codes - 1, 18)
    sheet.set_column(codes, len(header) - 1, 14)
    if not crosswise and len(table):
        sheet.autofilter(0, 0, len(table), len(header) - 1)
    for column, text in enumerate(header):
        sheet.write_string(0, column, text, styles.head)
    for row, (names, cells) in enumerate(_crosswise(table, second) if crosswise else _lengthwise(table), start=1):
        for column, text in enumerate(names):
            sheet.write_string(row, column, text, styles.text)
        for column, cell in cells:
            _write_value(sheet, row, column, table.units[cell], table.decimals, styles)


Row = tuple[Sequence[str], Iterable[tuple[int, int]]]


def _crosswise(table: ReleasedTable, second: Sequence[str]) -> Iterator[Row]:
    """Go through the codes of the first dimension with the cells of each, as (column, cell), from left to right."""
    column = {code: number for number, code in enumerate(second, start=1)}
    rows: dict[str, list[tuple[int, int]]] = {}
    for cell, (first, other) in enumerate(zip(*(c.tolist() for c in table.codes), strict=True)):
        rows.setdefault(first, []).append((column[other], cell))
    for code, cells in rows.items():
        yield (code,), sorted(cells)


def _lengthwise(table: ReleasedTable) -> Iterator[Row]:
    """Go through the cells one by one."""
    for cell, names in enumerate(zip(*(c.tolist() for c in table.codes), strict=True)):
        yield names, [(len(names), cell)]


def _write_value(sheet: Worksheet, row: int, column: int, units: int | None, decimals: int, styles: _Styles) -> None:
    if units is None:
        sheet.write_string(row, column, SUPPRESSED, styles.hidden)
    elif abs(units) < 10**MOST_DIGITS:
        sheet.write_number(row, column, units / 10**decimals, styles.number(decimals))
    else:
        sheet.write_string(row, column, printed(units, decimals), styles.text)


def _check_size(table: ReleasedTable) -> None:
    if len(table) > MOST_ROWS:
        raise InputError(
            f"table {table.name!r} has {len(table):,} cells, and an Excel sheet has {MOST_ROWS:,} rows for them; leave "
            "xlsx out of `formats`, or publish fewer levels"
        )
    for name, codes in zip(table.by, table.codes, strict=True):
        if any(len(code) > MOST_CHARACTERS for code in codes.tolist()):
            raise InputError(f"a code of dimension {name!r} is too long for an Excel cell; leave xlsx out of `formats`")
