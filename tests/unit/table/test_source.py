"""Columns of files and frames: what is read, and what is refused without telling any value."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cellguard.errors import InputError
from cellguard.reading.dialect import Dialect
from cellguard.table.read import cells
from cellguard.table.source import open_source
from unit.table.refusal import SECRET, refused

COLUMNS = {"region": ["Total", "01", "1"], "turnover": [12.5, 5.5, 7.0], "firms": [9, 2, 7]}


@pytest.fixture
def csv(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "cells.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


def as_csv(folder):
    path = folder / "cells.csv"
    path.write_text("region,turnover,firms\nTotal,12.5,9\n01,5.5,2\n1,7,7\n")
    return path


def as_parquet(folder):
    pq.write_table(pa.table(COLUMNS), folder / "cells.parquet")
    return folder / "cells.parquet"


@pytest.mark.parametrize(
    "make",
    [
        as_csv,
        as_parquet,
        lambda _: COLUMNS,
        lambda _: {name: tuple(column) for name, column in COLUMNS.items()},
        lambda _: pa.table(COLUMNS),
        lambda _: pd.DataFrame(COLUMNS),
        lambda _: pd.DataFrame(COLUMNS).astype({"region": "category"}),
        lambda _: pl.DataFrame(COLUMNS),
        lambda _: pl.DataFrame(COLUMNS).with_columns(pl.col("region").cast(pl.Categorical)),
    ],
    ids=["csv", "parquet", "lists", "tuples", "arrow", "pandas", "pandas category", "polars", "polars category"],
)
def test_every_kind_of_data_gives_the_same_table(tmp_path, make):
    table = cells(make(tmp_path), ["region"], value="turnover", count="firms")
    assert [table.cell_name(i) for i in range(len(table))] == COLUMNS["region"]
    assert table.value.tolist() == COLUMNS["turnover"]
    assert table.facts.count.tolist() == COLUMNS["firms"]


@pytest.mark.parametrize("frame", [dict, pa.table, pd.DataFrame, pl.DataFrame])
def test_numbers_may_be_text_in_every_kind_of_frame(frame):
    assert open_source(frame({"x": ["1.5", " -2e3 ", "+3."]})).numbers("x").tolist() == [1.5, -2000, 3]


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame])
def test_whole_numbers_may_be_codes(frame):
    assert open_source(frame({"r": [10, 2]})).codes("r")[0] == ["10", "2"]


def test_decimal_numbers_are_no_codes():
    with refused("the data: column 'r' holds decimal numbers, but codes are text"):
        open_source({"r": [1.0, 2.0]}).codes("r")


def test_decimal_numbers_are_no_codes_beside_a_mixed_column_either():
    with refused("column 'r' holds decimal numbers"):
        open_source({"r": [1.0, 2.0], "x": [1, "2"]}).codes("r")


def test_codes_keep_their_blanks_and_zeros(csv):
    assert open_source(csv("r,x\n 01,1\n1,2\nNA,3\n")).codes("r")[0] == [" 01", "1", "NA"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_in_the_header(csv, delimiter):
    source = open_source(csv("r,s,x\na,b,5\n".replace(",", delimiter)))
    assert source.names == ["r", "s", "x"]


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_header_alone_has_no_rows_whatever_its_end(csv, end):
    with refused("cells.csv: there are no rows"):
        open_source(csv(f"r,x{end}"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_a_byte_order_mark_belongs_to_no_column(csv, encoding):
    assert open_source(csv("Région,x\nÖst,5\n", encoding)).codes("Région")[0] == ["Öst"]


def test_other_encodings_are_named(csv):
    path = csv("r,x\nÖst,5\n", "latin-1")
    assert open_source(path, Dialect(encoding="latin-1")).codes("r")[0] == ["Öst"]
    with refused("cells.csv line 2: not written in utf-8; name its encoding"):
        open_source(path, Dialect(encoding="utf-8"))


def test_an_encoding_fault_far_below_the_header_is_refused(csv):
    path = csv("r,x\n" + f"a,{SECRET}\n" * 9000 + f"Öst,{SECRET}\n", "latin-1")
    with refused("cells.csv line 9002: not written in utf-8"):
        open_source(path, Dialect(encoding="utf-8"))


def test_a_decimal_comma_is_read_where_it_is_said(csv):
    assert open_source(csv("r;x\na;1,5\nb;-2\n"), Dialect(decimal=",")).numbers("x").tolist() == [1.5, -2]


def test_a_decimal_comma_is_guessed_in_the_message(csv):
    with refused("cells.csv line 3, column 'x': not a number", "say `decimal: ','`"):
        open_source(csv(f"r;x\na;5\nb;{SECRET},5\n"), Dialect(decimal=".")).numbers("x")


def test_a_point_in_a_file_with_decimal_commas_is_refused(csv):
    """It may be a thousands separator: 1.500 is not 1.5."""
    with refused("cells.csv line 3, column 'x': not a number"):
        open_source(csv("r;x\na;5,5\nb;1.500\n"), Dialect(decimal=",")).numbers("x")


@pytest.mark.parametrize("text", [f"{SECRET} EUR", f"c{SECRET}", f"{SECRET}e", "1 000", "0x10", "--5", "1.2.3"])
def test_text_in_a_number_column_is_refused(csv, text):
    with refused("cells.csv line 3, column 'x': not a number"):
        open_source(csv(f"r,x\na,5\nb,{text}\n")).numbers("x")


def test_a_text_among_numbers_of_a_list_is_refused():
    with refused("the data row 2, column 'x': not a number"):
        open_source({"x": [5, f"{SECRET}?", 3]}).numbers("x")


def test_the_number_of_faults_is_told(csv):
    with refused("line 2, column 'x': not a number", "(2 rows have this fault)"):
        open_source(csv("r,x\na,?\nb,5\nc,!\n")).numbers("x")


@pytest.mark.parametrize("blank", ["", "  ", "NaN", "NA", "n/a", "null", "."])
def test_a_missing_number_is_refused_unless_it_may_be(csv, blank):
    source = open_source(csv(f"r,x\na,5\nb,{blank}\n"))
    with refused("cells.csv line 3, column 'x': the value is missing (blank or NaN)"):
        source.numbers("x")
    assert str(source.numbers("x", blank_is_nan=True).tolist()) == "[5.0, nan]"


@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("gap", [None, float("nan")])
def test_a_missing_number_in_a_frame_is_refused(frame, gap):
    with refused("the data row 2, column 'x': the value is missing"):
        open_source(frame({"x": [5.0, gap]})).numbers("x")


@pytest.mark.parametrize("endless", ["inf", "-Infinity", "+inf", "1e999"])
def test_an_infinite_number_is_refused_unless_it_may_be(csv, endless):
    source = open_source(csv(f"r,x\na,5\nb,{endless}\n"))
    with refused("cells.csv line 3, column 'x': the value is infinite"):
        source.numbers("x")
    assert abs(source.numbers("x", infinite=True)[1]) == float("inf")


def test_an_infinite_number_in_a_frame_is_refused():
    with refused("the data row 2, column 'x': the value is infinite"):
        open_source({"x": [1.0, float("-inf")]}).numbers("x")


def test_a_whole_number_that_no_float_holds_is_rounded_or_refused_but_never_told():
    large = SECRET * 10**14 + 1
    try:
        numbers = open_source({"x": [large, 1]}).numbers("x")
    except InputError as error:
        assert str(SECRET) not in str(error)
    else:
        assert numbers[0] == float(large)


def test_a_column_of_another_type_is_no_number_column():
    with refused("the data: column 'x' holds bool, not numbers"):
        open_source({"x": [True, False]}).numbers("x")


@pytest.mark.parametrize("blank", ["", None])
def test_a_blank_code_is_refused(blank):
    with refused("the data row 2, column 'r': the code is blank"):
        open_source({"r": ["a", blank]}).codes("r")


def test_a_blank_code_beside_a_mixed_column_is_refused():
    with refused("the data row 2, column 'r': the code is blank"):
        open_source({"r": ["a", None], "x": [1, "2"]}).codes("r")


def test_marks_are_yes_or_no():
    marks = open_source({"m": ["yes", "No", " TRUE ", "0", "1", "", None]}).marks("m")
    assert marks.tolist() == [True, False, True, False, True, False, False]
    assert open_source({"m": [True, None]}).marks("m").tolist() == [True, False]
    assert open_source({"m": [1, 0]}).marks("m").tolist() == [True, False]


def test_another_mark_is_refused():
    with refused("the data row 2, column 'm': expected yes or no"):
        open_source({"m": ["1", str(SECRET)]}).marks("m")


@pytest.mark.parametrize("name", ["nowhere.csv", "nowhere.parquet"])
def test_a_missing_file_is_refused(tmp_path, name):
    with refused("no file", name):
        open_source(tmp_path / name)


def test_a_missing_column_is_refused_with_the_nearest(csv):
    with refused("cells.csv: no column 'turnovr'; did you mean 'turnover'"):
        open_source(csv("r,turnover\na,5\n")).numbers("turnovr")


@pytest.mark.parametrize("text", ["", "\n"])
def test_an_empty_file_is_refused(csv, text):
    with refused("cells.csv: the file is empty"):
        open_source(csv(text))


def test_data_without_rows_are_refused(csv):
    with refused("cells.csv: there are no rows"):
        open_source(csv("r,x\n"))
    with refused("the data: there are no rows"):
        open_source(pd.DataFrame({"r": []}))


def test_a_column_named_twice_is_refused(csv):
    with refused("cells.csv: the header names 'x' twice"):
        open_source(csv("r,x,x\na,1,2\n"))


@pytest.mark.parametrize(("row", "fields"), [(f"b,{SECRET},3", 3), ("b", 1)])
def test_a_row_of_another_length_is_refused_with_its_line(csv, row, fields):
    with refused(f"cells.csv line 3: {fields} fields, but the header has 2"):
        open_source(csv(f"r,x\na,5\n{row}\nc,3\n"))


def test_an_open_quote_is_refused(csv):
    with refused("cells.csv"):
        open_source(csv(f'r,x\na,5\nb,"{SECRET}\nc,3\n')).numbers("x")


def test_a_line_number_counts_blank_lines(csv):
    with refused("cells.csv line 4, column 'x': not a number"):
        open_source(csv("r,x\na,5\n\nb,?\n")).numbers("x")


def test_a_line_number_counts_line_breaks_within_quotes(csv):
    with refused("cells.csv line 4, column 'x': not a number"):
        open_source(csv('r,x\n"a\nA",5\nb,?\n')).numbers("x")


def test_a_file_that_is_not_parquet_is_refused(tmp_path):
    path = tmp_path / "cells.parquet"
    path.write_text(f"r,x\na,{SECRET}\n")
    with refused("cells.parquet: not a Parquet file"):
        open_source(path)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"r": ["a", "b"], "x": [SECRET]}, "the columns must be lists or arrays of one length"),
        ({"r": ["a"], "x": SECRET}, "column 'x' must be a list or an array"),
    ],
)
def test_columns_of_different_lengths_are_refused(columns, words):
    with refused(words):
        open_source(columns)


def test_anything_else_is_refused():
    with refused("cannot read list; give a path"):
        open_source([("a", SECRET)])
