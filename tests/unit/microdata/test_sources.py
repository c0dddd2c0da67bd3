"""The same records from every kind of source give the same sums."""

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cellguard.errors import InputError
from cellguard.microdata.checked import check_records
from cellguard.microdata.query import group_records
from cellguard.microdata.records import records
from cellguard.microdata.roles import Roles
from cellguard.microdata.sources import open_records
from cellguard.reading.dialect import Dialect

FIRMS = {
    "id": ["f1", "f2", "f3", "f4", "f5"],
    "region": ["Nörd", "S", "Nörd", "01", "S"],
    "group": ["b", "a", "a", "b", "c"],
    "turnover": [10.5, 7.25, 3.0, 2.0, 0.0],
    "w": [1.0, 2.5, 10.0, 1.0, 3.0],
}
ROLES = {"by": ["region"], "values": ["turnover"], "holding": "group", "weight": "w"}


def lines(delimiter=",", decimal="."):
    rows = [list(FIRMS), *(list(map(str, row)) for row in zip(*FIRMS.values(), strict=True))]
    return "\n".join(delimiter.join(f.replace(".", decimal) for f in row) for row in rows) + "\n"


def written(tmp_path, text, encoding="utf-8", name="firms.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


def essence(grouped):
    """Rows in words: labels, holding, records, sums."""
    at = [grouped.labels[0][c] for c in grouped.codes[0]]
    total, weighted = grouped.total["turnover"].tolist(), grouped.weighted["turnover"].tolist()
    return list(zip(at, grouped.holding.tolist(), grouped.records.tolist(), total, weighted, strict=True))


EXPECTED = [
    ("Nörd", 0, 1, 3.0, 30.0),
    ("S", 0, 1, 7.25, 18.125),
    ("01", 1, 1, 2.0, 2.0),
    ("Nörd", 1, 1, 10.5, 10.5),
    ("S", 2, 1, 0.0, 0.0),
]


@pytest.mark.parametrize("frame", [lambda d: d, pa.table, pd.DataFrame, pl.DataFrame])
def test_frames_and_mappings(frame):
    found = records(frame(FIRMS), **ROLES)
    assert essence(found) == EXPECTED
    assert found.labels == (("01", "Nörd", "S"),)
    assert found.weighted["count"].tolist() == [10.0, 2.5, 1.0, 1.0, 3.0]


def test_a_categorical_column_is_text():
    frame = pd.DataFrame(FIRMS).astype({"region": "category"})
    assert essence(records(frame, **ROLES)) == EXPECTED


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_out(tmp_path, delimiter):
    assert essence(records(written(tmp_path, lines(delimiter)), **ROLES)) == EXPECTED


def test_a_delimiter_may_be_given(tmp_path):
    assert essence(records(written(tmp_path, lines("~")), **ROLES, delimiter="~")) == EXPECTED


def test_a_decimal_comma(tmp_path):
    assert essence(records(written(tmp_path, lines(";", ",")), **ROLES, decimal=",")) == EXPECTED


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_utf8_with_and_without_a_mark(tmp_path, encoding):
    found = records(written(tmp_path, lines(), encoding), **ROLES)
    assert essence(found) == EXPECTED and found.notes == ()


def test_another_encoding_is_found_out_and_said(tmp_path):
    found = records(written(tmp_path, lines(), "cp1252"), **ROLES)
    assert essence(found) == EXPECTED
    assert found.notes == ("firms.csv is not UTF-8 and was read as cp1252; say `encoding` if its letters look wrong",)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16"])
def test_an_encoding_may_be_given(tmp_path, encoding):
    found = records(written(tmp_path, lines(), encoding), **ROLES, encoding=encoding)
    assert essence(found) == EXPECTED and found.notes == ()


@pytest.mark.parametrize("name", ["firms.parquet", "it's [1] *.parquet"])
def test_parquet_whatever_the_file_is_called(tmp_path, name):
    pq.write_table(pa.table(FIRMS), tmp_path / name)
    assert essence(records(tmp_path / name, **ROLES)) == EXPECTED


def test_csv_whatever_the_file_is_called(tmp_path):
    assert essence(records(written(tmp_path, lines(), name="it's [1] *.csv"), **ROLES)) == EXPECTED


def test_columns_that_differ_in_capitals_only(tmp_path):
    path = written(tmp_path, 'region,Region,"a ""b""; drop"\nN,x,5\nS,x,7\n')
    found = records(path, ["region"], ['a "b"; drop'])
    assert found.labels == (("N", "S"),) and found.total['a "b"; drop'].tolist() == [5, 7]
    pq.write_table(pa.table({"region": ["N"], "Region": ["x"], "v": [5]}), tmp_path / "r.parquet")
    assert records(tmp_path / "r.parquet", ["Region"], ["v"]).labels == (("x",),)


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "firms.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", pa.table(FIRMS))
        connection.execute("CREATE TABLE firms AS SELECT * FROM frame")
    return path


def test_a_query_on_a_database(database):
    before = database.read_bytes()
    found = records(database, **ROLES, query="SELECT * FROM firms WHERE turnover > 0")
    assert essence(found) == EXPECTED[:-1]
    assert database.read_bytes() == before


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELEC * FROM firms", "firms.duckdb: the query fails: Parser Error"),
        ("SELECT * FROM frims", "firms.duckdb: the query fails: Catalog Error"),
        ("SELECT nothing FROM firms", "firms.duckdb: the query fails: Binder Error"),
        ("DROP TABLE firms", "`query` must be a single SELECT"),
        ("SELECT 1; DROP TABLE firms", "`query` must be a single SELECT"),
        ("SELECT * FROM read_csv('/etc/passwd')", "firms.duckdb: the query fails"),
    ],
)
def test_a_query_that_fails(database, query, words):
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        records(database, **ROLES, query=query)


def test_a_query_that_fails_on_the_data_does_not_quote_them(database):
    with pytest.raises(InputError, match="the query fails while it runs") as caught:
        records(database, **ROLES, query="SELECT CAST(region AS INTEGER) AS region FROM firms")
    assert "Nörd" not in str(caught.value)


def test_a_database_needs_a_query_and_must_be_one(database, tmp_path):
    with pytest.raises(InputError, match="a database needs a `query`"):
        records(database, **ROLES)
    with pytest.raises(InputError, match="not a DuckDB file"):
        records(written(tmp_path, lines() * 100), **ROLES, query="SELECT 1")


def test_fixed_width_keeps_blanks_in_front_of_codes(tmp_path):
    path = written(tmp_path, " 1 10.5x\n12   .5x\n\n 1  2  x\n", "cp1252", "firms.txt")
    opened = open_records(path, dialect=Dialect(columns=("region", "turnover"), fields=((1, 2), (3, 5))))
    found = group_records(check_records(opened, Roles(("region",), ("turnover",))))
    assert found.labels == ((" 1", "12"),)
    assert found.total["turnover"].tolist() == [10.5, 0.5, 2.0]


def test_free_text_without_a_header(tmp_path):
    path = written(tmp_path, "N;5\nS;7\n", name="firms.asc")
    opened = open_records(path, dialect=Dialect(";", columns=("region", "turnover")))
    found = group_records(check_records(opened, Roles(("region",), ("turnover",))))
    assert found.total["turnover"].tolist() == [5, 7]


@pytest.mark.parametrize("name", ["nowhere.csv", "nowhere.parquet", "nowhere.duckdb"])
def test_no_such_file(tmp_path, name):
    with pytest.raises(InputError, match=r"no file .*nowhere"):
        records(tmp_path / name, **ROLES)


def test_other_objects_are_refused():
    with pytest.raises(InputError, match="cannot read list"):
        records([1, 2], **ROLES)


def test_not_a_parquet_file(tmp_path):
    with pytest.raises(InputError, match=r"firms.parquet: not a Parquet file"):
        records(written(tmp_path, lines(), name="firms.parquet"), **ROLES)


def test_progress_bars_do_not_go_to_stdout():
    opened = open_records(FIRMS)
    assert opened.engine.connection.sql("SELECT current_setting('enable_progress_bar')").fetchall() == [(False,)]


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    found = records(written(tmp_path, lines(), "cp1252"), **ROLES)
    assert found.units().values["turnover"].tolist() == FIRMS["turnover"]
    del found
    assert list((tmp_path / "scratch").iterdir()) == []
