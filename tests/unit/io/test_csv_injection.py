"""Codes that a spreadsheet would run as a formula: guarded in the CSV files of a release, and read back as they are."""

import csv
import json
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellguard.io.folder import OutputFolder
from cellguard.io.stored_view import read_view
from cellguard.io.writers.csv_injection import guarded, unguarded
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_folder, run
from cellguard.verifier.verify import verify
from unit.verifier.folders import failed, seal

CODES = ["=1+1", "'=1+1", "''=1+1", "-5", "+x", "@y", "\ttab", "\rcr", "\nlf", "'s-Hertogenbosch", "N"]
CODES += ["\uff1dx", "_x000D_"]
ORDERED = sorted(CODES, key=str.casefold)  # of every release, whatever the order of the input
JOB = """\
version: 1
tables:
  - {name: t, by: [r, s], value: x, cells: {source: a.parquet, count: n}, rules: [{min_frequency: 3}],
     decimals: 0}
attack: {lower: unbounded}
output: {formats: [csv, parquet, xlsx], raw_codes: RAW}
"""


def make(folder, raw="false", codes=CODES):
    values = [-(10 * i) for i in range(1, len(codes) + 1)]
    counts = [1, *[9] * (len(codes) - 1)]
    rows = [("Total", sum(values), sum(counts)), *zip(codes, values, counts, strict=True)]
    data = {"r": [r for r, _, _ in rows] * 2, "s": ["Total"] * len(rows) + ["A"] * len(rows)}
    data |= {"x": [x for _, x, _ in rows] * 2, "n": [n for _, _, n in rows] * 2}
    pq.write_table(pa.table(data), folder / "a.parquet")
    (folder / "job.yaml").write_text(JOB.replace("RAW", raw))
    OutputFolder(folder / "out").write(run(Job.load(folder / "job.yaml")))
    return folder / "out"


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@given(st.text(alphabet="'=+-@\t\r\nab"))
def test_the_guard_has_a_way_back_and_leaves_no_formula(code):
    assert unguarded(guarded(code)) == code
    assert guarded(code)[:1] not in set("=+-@\t\r\n")


@given(st.text(alphabet="'=+a", max_size=4), st.text(alphabet="'=+a", max_size=4))
def test_different_codes_are_written_differently(one, other):
    assert (guarded(one) == guarded(other)) == (one == other)


def test_a_release_is_guarded_and_says_so(tmp_path):
    out = make(tmp_path)
    rows = read(out / "release/t.csv")
    assert [row["r"] for row in rows if row["s"] == "A"] == ["Total", *map(guarded, ORDERED)]
    assert not any(row["r"][0] in "=+-@\t\r\n" for row in rows)
    assert rows[0]["value"].startswith("-")  # a number, which no spreadsheet runs
    about = json.loads((out / "release/metadata.json").read_text())["tables"]["t"]
    assert about["guarded"] == ["r"]
    assert pq.read_table(out / "release/t.parquet").column("r").to_pylist().count("=1+1") == 2


def test_raw_codes_are_as_they_are(tmp_path):
    out = make(tmp_path, "true")
    assert [row["r"] for row in read(out / "release/t.csv") if row["s"] == "A"] == ["Total", *ORDERED]
    assert "guarded" not in json.loads((out / "release/metadata.json").read_text())["tables"]["t"]


@pytest.mark.parametrize("raw", ["true", "false"])
def test_folders_with_such_codes_are_read_back(tmp_path, raw):
    out = make(tmp_path, raw)
    assert [c.detail for c in verify(out / "internal/certificate.json").checks if not c.passed] == []
    assert audit_folder(out).protected.audit.verdict == "safe"
    assert read_view(out, "t", internal=False).codes == read_view(out, "t", internal=True).codes


def test_the_workbook_holds_codes_as_text(tmp_path):
    with zipfile.ZipFile(make(tmp_path) / "release/tables.xlsx") as prover:
        sheet = prover.read("xl/worksheets/sheet2.xml").decode()
    assert 't="inlineStr"><is><t>=1+1</t>' in sheet and "<f>" not in sheet


def test_without_such_codes_nothing_changes(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = (make(tmp_path / name, raw, ["N", "S", "W"]) for name, raw in (("one", "true"), ("two", "false")))
    for name in ("t.csv", "metadata.json"):
        assert (one / "release" / name).read_bytes() == (two / "release" / name).read_bytes()


def change(path, old, new):
    text = path.read_bytes().decode()
    assert old in text
    path.write_bytes(text.replace(old, new, 1).encode())


FORGERIES = {
    "the guard taken off one code": lambda out: change(out / "release/t.csv", "\n'-5,", "\n-5,"),
    "a second apostrophe": lambda out: change(out / "release/t.csv", "\n'-5,", "\n''-5,"),
    "metadata without the guard": lambda out: change(
        out / "release/metadata.json", ',\n   "guarded": [\n    "r"\n   ]', ""
    ),
    "metadata with another guard": lambda out: change(out / "release/metadata.json", '[\n    "r"\n   ]', '["r", "s"]'),
    "a guard of no dimension": lambda out: change(out / "release/metadata.json", '[\n    "r"\n   ]', '["r", "x"]'),
    "a guard that is no list": lambda out: change(out / "release/metadata.json", '[\n    "r"\n   ]', '"r"'),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_a_release_whose_guard_is_not_what_it_says_is_refused(tmp_path, forge):
    out = make(tmp_path)
    before = {path: path.read_bytes() for path in (out / "release").iterdir()}
    forge(out)
    assert any(path.read_bytes() != data for path, data in before.items())
    seal(out)
    assert failed(out / "internal/certificate.json")
