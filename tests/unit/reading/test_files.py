"""Whatever kind of file holds them, cells and records have the same columns, and are refused in the same words."""

import json

import duckdb
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cellguard.errors import InputError
from cellguard.microdata.records import records
from cellguard.microdata.sources import open_records
from cellguard.reading.dialect import Dialect
from cellguard.reading.files import KINDS, kind_of
from cellguard.table.source import open_source

COLUMNS = {"region": ["N", "S", "N"], "x": [1.5, 2.0, 3.25]}


def as_text(path, text="region;x\nN;1,5\nS;2\nN;3,25\n", encoding="utf-8"):
    path.write_bytes(text.encode(encoding))


def as_parquet(path):
    pq.write_table(pa.table(COLUMNS), path)


def as_excel(path):
    prover = openpyxl.Workbook()
    for row in (COLUMNS, *zip(*COLUMNS.values(), strict=True)):
        prover.active.append(list(row))
    prover.save(path)


def as_features(path):
    points = [
        {"type": "Feature", "properties": {"region": r}, "geometry": {"type": "Point", "coordinates": [x, 0]}}
        for r, x in zip(*COLUMNS.values(), strict=True)
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": points}))


FILES = {"d.csv": as_text, "d.txt": as_text, "d.pq": as_parquet, "d.XLSX": as_excel, "d.geojson": as_features}


@pytest.mark.parametrize("name", FILES)
def test_cells_and_records_have_the_same_columns(tmp_path, name):
    FILES[name](tmp_path / name)
    source = open_source(tmp_path / name).settled(["x"])
    assert source.text("region").to_pylist() == COLUMNS["region"] and source.numbers("x").tolist() == COLUMNS["x"]
    grouped = records(tmp_path / name, ["region"], ["x"])
    assert grouped.labels == (("N", "S"),) and grouped.total["x"].sum() == 6.75


def test_a_dialect_means_the_same_for_both(tmp_path):
    as_text(tmp_path / "d.csv", "Öst|1\nS|2\n", "latin-1")
    dialect = Dialect("|", encoding="latin-1", columns=("region", "x"))
    assert open_source(tmp_path / "d.csv", dialect).text("region").to_pylist() == ["Öst", "S"]
    frame = open_records(tmp_path / "d.csv", dialect=dialect).to_arrow()
    assert sorted(frame.column("region").to_pylist()) == ["S", "Öst"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("d.parquet", "d.parquet: not a Parquet file, or a damaged one"),
        ("d.db", "d.db: a database needs a `query`"),
        ("d.ods", "d.ods: .ods files are not read; save it as .xlsx or CSV"),
        ("d.xlsx", "is it a whole .xlsx file?"),
        ("d.csv", "d.csv: the file is empty"),
        ("e.csv", "e.csv line 1: 2 fields, but `columns` names 3"),
    ],
)
def test_both_refuse_a_file_in_the_same_words(tmp_path, name, words):
    if name == "d.db":
        duckdb.connect(tmp_path / name).close()
    else:
        (tmp_path / name).write_text("a,b\n" if name == "e.csv" else "")
    dialect = Dialect(",", columns=("a", "b", "c")) if name == "e.csv" else Dialect()
    said = []
    for read in (open_source, open_records):
        with pytest.raises(InputError) as refused:
            read(tmp_path / name, dialect=dialect)
        said.append(str(refused.value))
    assert words in said[0] and said[0] == said[1]


def test_no_ending_is_of_two_kinds(tmp_path):
    endings = [ending for kind in KINDS for ending in kind.endings]
    assert len(set(endings)) == len(endings) and kind_of(tmp_path / "firms.dat") is None
