"""Records from globs, folders, addresses, lazy frames and data sets give the same tables as from one frame."""

from __future__ import annotations

import functools
import http.server
import sys
import tempfile
import threading
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import cellguard as cg
from cellguard.errors import InputError
from cellguard.faces.python.frame_sources import resolved

ROWS = {
    "code": [f"0{1 + i % 3}" for i in range(60)],
    "size": ["ab"[i % 7 % 2] for i in range(60)],
    "x": list(range(10, 70)),
}
RULES = [cg.MinFrequency(3), cg.PPercent(10)]


def table(data):
    return cg.protect(data, by=["code", "size"], value="x", rules=RULES)


def cells(outcome):
    found = outcome.table
    return (
        found.to_pydict()
        if hasattr(found, "to_pydict")
        else found.astype(object).where(found.notna(), None).to_dict("list")
    )


@pytest.fixture(scope="module")
def expected():
    return cells(table(pa.table(ROWS)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("records")
    frame = pa.table(ROWS)
    for number, part in enumerate((frame.slice(0, 25), frame.slice(25))):
        pq.write_table(part, made / f"part{number}.parquet")
        rows = [",".join(map(str, row)) for row in zip(*part.to_pydict().values(), strict=True)]
        (made / f"part{number}.csv").write_text("\n".join(["code,size,x", *rows, ""]))
    whole = zip(*ROWS.values(), strict=True)
    (made / "all.csv").write_text("code;size;x\n" + "".join(";".join(map(str, row)) + "\n" for row in whole))
    pq.write_table(frame, made / "all.pq")
    return made


def test_lazy_frames_and_data_sets(expected, folder):
    lazy = pl.DataFrame(ROWS).lazy().filter(pl.col("x") > 0)
    assert {name: list(column) for name, column in table(lazy).table.to_dict().items()} == expected
    assert type(table(lazy).table).__module__.startswith("polars")
    assert cells(table(ds.dataset([str(path) for path in sorted(folder.glob("part*.parquet"))]))) == expected


@pytest.mark.parametrize("name", ["part*.parquet", "part?.csv", "all.csv", "all.pq"])
def test_globs(expected, folder, name):
    assert cells(table(f"{folder}/{name}")) == expected


def test_a_folder_of_parquet_files_and_its_partitions(tmp_path, expected):
    ds.write_dataset(
        pa.table(ROWS), tmp_path / "hive", format="parquet", partitioning=["size"], partitioning_flavor="hive"
    )
    assert cells(table(tmp_path / "hive")) == expected


@pytest.fixture(scope="module")
def server(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    answer = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), answer) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


@pytest.mark.parametrize("name", ["all.csv", "all.pq"])
def test_addresses_are_fetched_and_leave_nothing_behind(expected, server, name, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert cells(table(f"{server}/{name}?token=hush")) == expected
    assert list(tmp_path.iterdir()) == []


def test_other_addresses_go_through_fsspec(expected, folder):
    fsspec = pytest.importorskip("fsspec")
    with fsspec.filesystem("memory").open("/firms/all.csv", "wb") as file:
        file.write((folder / "all.csv").read_bytes())
    assert cells(table("memory://firms/all.csv")) == expected


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("{server}/none.csv?token=hush", "/none.csv: cannot be fetched (404); open the address in a browser"),
        ("http://127.0.0.1:9/all.csv", "http://127.0.0.1/all.csv: cannot be fetched (ConnectionRefusedError)"),
        ("{server}/", "names no file; give the whole address"),
        ("memory://gone/all.csv", "memory://gone/all.csv: cannot be fetched (FileNotFoundError)"),
        ("teapot://kitchen/all.csv", "nothing reads addresses of teapot://; try https:// or s3://"),
        ("s3://bucket/firms.parquet", "addresses of s3:// need one more package: pip install s3fs"),
        ("{folder}/none*.csv", "no file matches '"),
        ("{folder}/*", "matches Parquet files and others; name files of one kind"),
        ("{empty}", "a folder without Parquet files; name a file in it"),
        ("{folder}/odd/*.csv", "b.csv and a.csv have different columns: only one has 'weight'"),
        ("{folder}/odd/*.parquet", "b.parquet and a.parquet have different columns: only one has 'weight'"),
    ],
)
def test_what_cannot_be_read_says_why(server, folder, tmp_path, name, words):
    odd = folder / "odd"
    odd.mkdir(exist_ok=True)
    (odd / "a.csv").write_text("code,x\n1,2\n")
    (odd / "b.csv").write_text("code,x,weight\n1,2,3\n")
    pq.write_table(pa.table({"code": ["1"], "x": [1]}), odd / "a.parquet")
    pq.write_table(pa.table({"code": ["1"], "x": [1], "weight": [1]}), odd / "b.parquet")
    with pytest.raises(InputError) as fault:
        table(name.format(server=server, folder=folder, empty=tmp_path))
    assert words in str(fault.value) and "hush" not in str(fault.value)


def test_without_fsspec_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(InputError, match="pip install fsspec"):
        resolved("s3://bucket/firms.parquet")


def test_a_lazy_plan_that_fails_tells_no_data():
    lazy = pl.DataFrame({"code": ["secret"]}).lazy().select(pl.col("code").cast(pl.Int64))
    with pytest.raises(InputError, match=r"the LazyFrame cannot be collected \(InvalidOperationError\)") as fault:
        resolved(lazy)
    assert "secret" not in str(fault.value)


def test_a_file_of_that_very_name_is_no_glob(tmp_path):
    (tmp_path / "a[1].csv").write_text("code,x\n1,2\n")
    assert resolved(tmp_path / "a[1].csv") == Path(tmp_path / "a[1].csv")


def test_a_formula_reads_any_source(folder):
    outcome = cg.protect(f"{folder}/part*.parquet", tables="x ~ code * size", rules=RULES)
    assert len(outcome.table) == 12
