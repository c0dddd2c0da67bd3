"""The workbook and the Parquet files, read back with other libraries."""

from decimal import Decimal

import numpy as np
import openpyxl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellguard.errors import InputError
from cellguard.io.writers import workbook
from cellguard.io.writers.parquet import released_columns
from cellguard.io.writers.workbook import sheet_names
from cellguard.job import formats
from cellguard.table.pattern import Release, ReleasedTable

TRICKY = [
    "Total",
    "01",
    "1",
    "=1+1",
    "+5",
    "-3",
    "@x",
    "TRUE",
    "1e5",
    "http://x.y",
    "#N/A",
    " blank ",
    "<a&b>",
    "c",
    "日本",
    "2024-01-01",
]


def released(name="t", by=("r", "s"), codes=None, values=None, decimals=0, **more):
    codes = codes or [["Total", "Total", "N", "N", "S"], ["Total", "a", "Total", "a", "Total"]]
    values = values or ["100", "60", "70", "", ""]
    gone = np.array([v == "" for v in values])
    columns = tuple(np.array(c, object) for c in codes)
    return ReleasedTable.of_texts(name, tuple(by), columns, values, gone, "turnover", "all", decimals, **more)


def book_of(tmp_path, *tables):
    workbook.write(Release(tables), tmp_path)
    return openpyxl.load_workbook(tmp_path / "tables.xlsx")


def test_a_table_by_two_dimensions_is_crosswise(tmp_path):
    sheet = book_of(tmp_path, released())["t"]
    assert [[c.value for c in row] for row in sheet.rows] == [
        ["r", "Total", "a"],
        ["Total", 100, 60],
        ["N", 70, "c"],
        ["S", "c", None],
    ]
    assert sheet.freeze_panes == "B2"


def test_other_tables_are_lengthwise(tmp_path):
    codes = [["Total", "N"], ["Total", "Total"], ["Total", "x"]]
    sheet = book_of(tmp_path, released(by=("r", "s", "k"), codes=codes, values=["7.50", ""], decimals=2))["t"]
    assert [[c.value for c in row] for row in sheet.rows] == [
        ["r", "s", "k", "value"],
        ["Total", "Total", "Total", 7.5],
        ["N", "Total", "x", "c"],
    ]
    assert (sheet.freeze_panes, sheet.auto_filter.ref, sheet["D2"].number_format) == ("D2", "A1:D3", "#,##0.00")
    wide = [str(i) for i in range(workbook.MOST_COLUMNS + 1)]
    table = released(codes=[["Total"] * len(wide), wide], values=["1"] * len(wide))
    assert book_of(tmp_path, table)["t"].max_column == 3


def test_suppressed_cells_are_grey_and_numbers_are_numbers(tmp_path):
    sheet = book_of(tmp_path, released())["t"]
    assert (sheet["C3"].value, sheet["C3"].fill.fgColor.rgb, sheet["C3"].data_type) == ("c", "FFD9DEE4", "s")
    assert (sheet["B2"].value, sheet["B2"].data_type, sheet["B2"].number_format) == (100, "n", "#,##0")


@pytest.mark.parametrize("by", [("r",), ("r", "s")])
def test_codes_stay_the_text_that_they_are(tmp_path, by):
    codes = [TRICKY, TRICKY][: len(by)]
    sheet = book_of(tmp_path, released(by=by, codes=codes, values=["5"] * len(TRICKY)))["t"]
    assert [sheet.cell(i + 2, 1).value for i in range(len(TRICKY))] == TRICKY
    assert {sheet.cell(i + 2, 1).data_type for i in range(len(TRICKY))} == {"s"}
    assert {cell.data_type for row in sheet.rows for cell in row} <= {"s", "n"}


def test_long_numbers_are_not_changed(tmp_path):
    values = ["1234567890123456.78", "-0.30", "90071992547409.93", "999999999999.99"]
    table = released(by=("r",), codes=[list("abcd")], values=values, decimals=2)
    sheet = book_of(tmp_path, table)["t"]
    assert [sheet.cell(i + 2, 2).value for i in range(4)] == [values[0], -0.3, values[2], 999999999999.99]


def test_the_notes_name_every_table_and_no_value(tmp_path):
    prover = book_of(tmp_path, released("one"), released("two", decimals=0))
    assert prover.sheetnames == ["Notes", "one", "two"]
    rows = [[c.value for c in row] for row in prover["Notes"].iter_rows(min_row=6)]
    assert rows == [[n, n, "r, s", "turnover", "all", 0, 5, 2] for n in ("one", "two")]


def test_the_same_release_gives_the_same_file(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        workbook.write(Release((released(),)), tmp_path / name)
    assert (tmp_path / "a/tables.xlsx").read_bytes() == (tmp_path / "b/tables.xlsx").read_bytes()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.from_regex(r"[\w.-]{1,60}", fullmatch=True), min_size=1, max_size=8))
def test_sheet_names_are_valid_and_unlike(names):
    found = sheet_names(names)
    assert len({n.lower() for n in found}) == len(names)
    for name in found:
        assert 1 <= len(name.encode("utf-16-le")) // 2 <= 31 and not set("[]:*?/\\'") & set(name)
        assert name.lower() not in {"notes", "history"}


def test_names_that_differ_only_at_their_end(tmp_path):
    tables = [released("x" * 35 + end) for end in "ab"]
    assert book_of(tmp_path, *tables).sheetnames == ["Notes", "x" * 31, "x" * 29 + "~2"]


def test_what_does_not_fit_is_refused_in_words(tmp_path, monkeypatch):
    monkeypatch.setattr(workbook, "MOST_ROWS", 4)
    with pytest.raises(InputError, match="leave xlsx out"):
        workbook.write(Release((released(),)), tmp_path)
    monkeypatch.undo()
    long = released(by=("r",), codes=[["x" * 40_000]], values=["1"])
    with pytest.raises(InputError, match="too long"):
        workbook.write(Release((long,)), tmp_path)
    assert not list(tmp_path.iterdir())


def test_without_xlsxwriter_one_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setattr(formats, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'cellguard\[excel\]'"):
        formats.check_formats(["xlsx"])


def test_parquet_columns_are_typed_and_exact(tmp_path):
    values = ["1.10", "", "-0.05", "99999999999999999999.25"]
    table = released(by=("r",), codes=[["01", "=1", "c", "d"]], values=values, decimals=2)
    pq.write_table(released_columns(table), tmp_path / "t.parquet")
    found = pq.read_table(tmp_path / "t.parquet")
    assert found.column("r").to_pylist() == ["01", "=1", "c", "d"]
    assert found.column("value").to_pylist() == [Decimal("1.10"), None, Decimal("-0.05"), Decimal(values[3])]
    assert found.column("flag").to_pylist() == ["", "c", "", ""]
    nothing = released_columns(released(by=("r",), codes=[["a"]], values=[""]))
    assert nothing.column("value").to_pylist() == [None]


def test_numbers_too_long_for_parquet_are_refused():
    with pytest.raises(InputError, match="up to 38 digits"):
        released_columns(released(by=("r",), codes=[["a"]], values=["1" * 39]))
