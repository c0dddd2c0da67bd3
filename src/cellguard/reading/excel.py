"""The first sheet of an Excel workbook as columns, read by python-calamine."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cellguard.errors import InputError, MissingExtra, file_name

_ERROR = re.compile(rb'<(?:\w+:)?c\b(?=[^>]*\bt="e")[^>]*\br="([A-Z]+[0-9]+)"')
_CHUNK, _LONGEST = 1 << 20, 1 << 10
_EXACT = 2.0**53
EXCEL = frozenset({".xlsx", ".xlsm"})


def read_excel(path: Path) -> Mapping[str, Sequence[Any]]:
    """Return the columns of the first sheet, whose first row names them; rows without any entry are passed over."""
    try:
        from python_calamine import CalamineWorkbook
    except ImportError:
        raise MissingExtra(
            f"{file_name(path)}: Excel files need an extra: pip install 'cellguard[excel]'; or save it as CSV"
        ) from None
    sheets = sheet_names(path)
    _refuse_errors(path, sheets[0])
    with CalamineWorkbook.from_path(str(path)) as book:
        entries = book.get_sheet_by_name(sheets[0]).to_python(skip_empty_area=False)
    rows = [row for row in entries if any(entry != "" for entry in row)]
    if not rows:
        raise InputError(f"{file_name(path)}: the first sheet is empty; it needs a header line and rows")
    width = max(i + 1 for row in rows for i, entry in enumerate(row) if entry != "")
    header = [str(_whole(entry)).strip() for entry in rows[0][:width]]
    if not all(header) or len(set(header)) < len(header):
        raise InputError(
            f"{file_name(path)}: the first row of the first sheet must name each column, and none twice; delete titles "
            "above it and merged cells"
        )
    return {name: [_whole(row[i]) for row in rows[1:]] for i, name in enumerate(header)}


def sheet_names(path: Path) -> list[str]:
    """Return the names of the sheets of a workbook, in their order."""
    from python_calamine import CalamineWorkbook, SheetTypeEnum

    with CalamineWorkbook.from_path(str(path)) as book:
        return [sheet.name for sheet in book.sheets_metadata if sheet.typ == SheetTypeEnum.WorkSheet]


def _whole(entry: Any) -> Any:  # noqa: ANN401
    """Return an entry; a sheet has one kind of number, of which whole ones are whole here."""
    return int(entry) if isinstance(entry, float) and entry.is_integer() and abs(entry) < _EXACT else entry


def _refuse_errors(path: Path, sheet: str) -> None:
    """Refuse a sheet with a cell such as #N/A, which would be read as a blank one: no statement is not a wrong one."""
    with zipfile.ZipFile(path) as book, book.open(_part(book, sheet)) as part:
        text = b""
        while chunk := part.read(_CHUNK):
            text = text[-_LONGEST:] + chunk
            found = _ERROR.search(text)
            if found:
                raise InputError(
                    f"{file_name(path)}: cell {found.group(1).decode()} of the first sheet holds an error, as #N/A; "
                    "correct its formula, or clear it"
                )


def _part(book: zipfile.ZipFile, sheet: str) -> str:
    """Return the file inside a workbook that holds a sheet."""
    nodes = ElementTree.fromstring(book.read("xl/workbook.xml")).iter()  # noqa: S314
    about = next(node.attrib for node in nodes if node.tag.endswith("}sheet") and node.get("name") == sheet)
    link = next(value for key, value in about.items() if key.endswith("}id"))
    targets = ElementTree.fromstring(book.read("xl/_rels/workbook.xml.rels"))  # noqa: S314
    target = next(node.get("Target", "") for node in targets if node.get("Id") == link)
    return target.removeprefix("/") if target.startswith("/") else f"xl/{target}"
