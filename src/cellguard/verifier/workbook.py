"""The workbook of a release: whether it shows exactly what the CSV files show, and nothing else."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from cellguard.verifier.released import read_released
from cellguard.verifier.spec import Spec, TableSpec
from cellguard.verifier.stages import Refused, attempt
from cellguard.verifier.stored import Folder, read_bytes

WORKBOOK = "release/tables.xlsx"
MOST_COLUMNS = 200
FIRST_NOTE = 5  # the row of the notes, from 0, that is about the first table
_SHEET = "xl/worksheets/sheet{}.xml"
_SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_FIXED_PARTS = frozenset(
    {
        "[Content_Types].xml",
        "_rels/.rels",
        "docProps/app.xml",
        "docProps/core.xml",
        "xl/workbook.xml",
        "xl/_rels/workbook.xml.rels",
        "xl/styles.xml",
        "xl/theme/theme1.xml",
    }
)
_SHEET_PARTS = frozenset(
    _SPACE + part
    for part in ("dimension", "sheetViews", "sheetFormatPr", "cols", "sheetData", "autoFilter", "pageMargins")
)
_PROPERTIES = frozenset({"title", "creator", "lastModifiedBy", "created", "modified"})
Cells = dict[tuple[int, int], tuple[str, str]]


def check_workbook(folder: Folder, spec: Spec) -> None:
    """Compare each sheet of the workbook with the CSV file of its table, and the first with the facts about them."""
    data = read_bytes(folder, WORKBOOK)
    with attempt(WORKBOOK, lambda: zipfile.ZipFile(io.BytesIO(data))) as book:
        sheets = [_SHEET.format(number) for number in range(1, len(spec.released) + 2)]
        names = book.namelist()
        if len(set(names)) != len(names) or set(names) != _FIXED_PARTS | set(sheets):
            raise Refused(f"{WORKBOOK} does not have exactly one sheet a table and one of notes")
        attempt(WORKBOOK, lambda: _check_surroundings(book))
        notes = attempt(WORKBOOK, lambda: _read_sheet(book.read(sheets[0])))
        _check_notes(folder, spec, notes)
        for table, sheet in zip(spec.released, sheets[1:], strict=True):
            cells = attempt(WORKBOOK, lambda sheet=sheet: _read_sheet(book.read(sheet)))  # type: ignore[misc]
            _check_sheet(folder, table, cells)


def _check_surroundings(book: zipfile.ZipFile) -> None:
    """Refuse names and properties in which something could be concealed."""
    names = ElementTree.fromstring(book.read("xl/workbook.xml")).iter(_SPACE + "definedName")  # noqa: S314
    if any(name.get("name") != "_xlnm._FilterDatabase" for name in names):
        raise Refused(f"{WORKBOOK} defines names of its own")
    properties = ElementTree.fromstring(book.read("docProps/core.xml"))  # noqa: S314
    if {part.tag.rpartition("}")[2] for part in properties} - _PROPERTIES:
        raise Refused(f"{WORKBOOK} has properties of its own")


def _read_sheet(data: bytes) -> Cells:
    """Return the kind and text of every cell that is not blank, by row and column from 0; refuse formulas and links."""
    root = ElementTree.fromstring(data)  # noqa: S314  (expat limits the growth of entities)
    cells: Cells = {}
    if {part.tag for part in root} - _SHEET_PARTS:
        raise Refused(f"{WORKBOOK}: a sheet holds more than cells")
    for node in root.iter(_SPACE + "c"):
        inner = {child.tag.removeprefix(_SPACE) for child in node}
        if not inner:
            continue
        place, kind = _place(node.get("r", "")), node.get("t", "n")
        if inner == {"is"} and kind == "inlineStr":
            text = "".join(t.text or "" for t in node.iter(_SPACE + "t"))
            text = re.sub("_x([0-9A-Fa-f]{4})_", lambda match: chr(int(match.group(1), 16)), text)
        elif inner == {"v"} and kind == "n":
            text = node.findtext(_SPACE + "v") or ""
        else:
            raise Refused(f"{WORKBOOK}: a cell is neither text nor a number")
        if place in cells:
            raise Refused(f"{WORKBOOK}: a cell occurs twice")
        cells[place] = kind, text
    return cells


def _place(reference: str) -> tuple[int, int]:
    match = re.fullmatch(r"([A-Z]{1,3})([1-9][0-9]{0,6})", reference)
    if not match:
        raise Refused(f"{WORKBOOK}: a cell has no place")
    column = 0
    for letter in match.group(1):
        column = 26 * column + ord(letter) - ord("A") + 1
    return int(match.group(2)) - 1, column - 1


def _check_sheet(folder: Folder, table: TableSpec, cells: Cells) -> None:
    columns = [column.to_pylist() for column in read_released(folder, table)]
    expected = dict(_expected(table, columns))
    extra = sorted(set(cells) ^ set(expected))
    if extra:
        raise Refused(f"{WORKBOOK}, {table.name}: row {extra[0][0] + 1} has a cell too many or too few")
    for place, text in expected.items():
        if not _same(cells[place], text, value=place[0] > 0 and _is_value(place, table, columns)):
            raise Refused(f"{WORKBOOK}, {table.name}: row {place[0] + 1} is not what {table.release} has")


def _check_notes(folder: Folder, spec: Spec, cells: Cells) -> None:
    """Refuse notes that say more of a table than what it is about, and a number anywhere else."""
    for row, table in enumerate(spec.released, start=FIRST_NOTE):
        value = read_released(folder, table)[-2].to_pylist()
        words = (table.name, ", ".join(table.by), table.response, table.population)
        counts = (table.decimals, len(value), value.count(""))
        expected = [("inlineStr", text) for text in words] + [("n", str(count)) for count in counts]
        sheet, *about = (cells.pop((row, column), ("", "")) for column in range(1 + len(expected)))
        if about != expected or not _is_sheet_of(sheet[1], table.name):
            raise Refused(f"{WORKBOOK}: the notes on {table.name} are not what the other files say")
    if any(kind != "inlineStr" or re.search("[0-9]", text) for kind, text in cells.values()):
        raise Refused(f"{WORKBOOK}: the notes hold a number that is no public fact about the tables")


def _is_sheet_of(sheet: str, table: str) -> bool:
    """Return whether a sheet's name is that of a table, cut, with a number behind it where two would be alike."""
    plain = "".join("_" if c in "[]:*?/\\'" or not c.isprintable() else c for c in table) or "_"
    return bool(sheet) and plain.startswith(re.sub("~[0-9]+$", "", sheet))


def _is_value(place: tuple[int, int], table: TableSpec, columns: Sequence[list[str]]) -> bool:
    return place[1] >= (1 if _crosswise(table, columns) else len(table.by))


def _crosswise(table: TableSpec, columns: Sequence[list[str]]) -> bool:
    return len(table.by) == 2 and len(set(columns[1])) <= MOST_COLUMNS


def _expected(table: TableSpec, columns: Sequence[list[str]]) -> Iterator[tuple[tuple[int, int], str]]:
    """Go through the cells that a sheet should have; tables by two dimensions are crosswise, others lengthwise."""
    value = [text or "c" for text in columns[-2]]
    if not _crosswise(table, columns):
        yield from (((0, i), text) for i, text in enumerate([*table.by, "value"]))
        for row, line in enumerate(zip(*columns[:-2], value, strict=True), start=1):
            yield from (((row, i), text) for i, text in enumerate(line))
        return
    rows = {code: i for i, code in enumerate(dict.fromkeys(columns[0]), start=1)}
    across = {code: i for i, code in enumerate(dict.fromkeys(columns[1]), start=1)}
    yield (0, 0), table.by[0]
    yield from (((0, i), code) for code, i in across.items())
    yield from (((i, 0), code) for code, i in rows.items())
    yield from (((rows[a], across[b]), text) for a, b, text in zip(columns[0], columns[1], value, strict=True))


def _same(shown: tuple[str, str], text: str, *, value: bool) -> bool:
    """Return whether a cell is the text, or exactly the number that the text says."""
    kind, there = shown
    if kind == "inlineStr":
        short = value and text != "c" and len(text.lstrip("-0.").replace(".", "")) <= 15
        return there == text and not short
    if not value or text == "c":
        return False
    try:
        return float(there) == float(text)
    except ValueError:
        return False
