"""Excel, SPSS, Stata and SAS files: read as what they are, and errors without a value of theirs."""

from __future__ import annotations

import builtins
from datetime import date, datetime

import openpyxl
import pytest

from cellguard.errors import InputError, MissingExtra
from cellguard.inputs.tables import build_tables
from cellguard.job.jobfile import Job
from cellguard.microdata.records import records
from cellguard.reading.office import read_office, value_labels
from cellguard.table.read import cells


def workbook(path, rows):
    prover = openpyxl.Workbook()
    for row in rows:
        prover.active.append(row)
    prover.save(path)
    return path


def test_an_excel_sheet_is_read_with_whole_numbers_as_codes(tmp_path):
    path = workbook(
        tmp_path / "d.xlsx", [("region", "year", "x"), ("01", 2024.0, 1.5), ("02", 2024.0, 2), (None, None)]
    )
    grouped = records(path, by=["region", "year"], values=["x"])
    assert grouped.labels == (("01", "02"), ("2024",)) and grouped.total["x"].tolist() == [1.5, 2.0]


def test_cells_are_read_from_an_excel_sheet(tmp_path):
    path = workbook(tmp_path / "d.xlsx", [("region", "x"), ("Total", 3), ("N", 1), ("S", 2)])
    assert cells(path, by=["region"], value="x").value.tolist() == [3, 1, 2]


def test_a_sheet_with_a_title_above_its_columns_is_refused(tmp_path):
    path = workbook(tmp_path / "d.xlsx", [("Turnover 2024", None), ("region", "x"), ("N", 1)])
    with pytest.raises(InputError, match=r"d\.xlsx: the first row of the first sheet must name each column"):
        records(path, by=["region"])


def test_entries_are_what_they_show(tmp_path):
    rows = [
        ("code", "when", 2024),
        ("a", date(2024, 1, 2), 1.5),
        (7, datetime(2024, 1, 2, 3, 4), 2),
        ("01", None, 3),
    ]
    columns = read_office(workbook(tmp_path / "d.xlsx", rows)).to_pydict()
    assert columns == {
        "code": ["a", "7", "01"], "when": ["2024-01-02", "2024-01-02T03:04:00", None], "2024": [1.5, 2.0, 3.0]
    }  # fmt: skip


def test_the_first_sheet_counts_and_a_chart_is_none(tmp_path):
    prover = openpyxl.Workbook()
    prover.create_chartsheet("chart", 0)
    for row in (("region", "x"), ("N", 1), ("S", 2)):
        prover["Sheet"].append(row)
    prover.create_sheet("later").append(("#N/A",))
    prover.save(tmp_path / "d.xlsx")
    assert read_office(tmp_path / "d.xlsx").to_pydict() == {"region": ["N", "S"], "x": [1, 2]}


def test_an_error_is_no_blank(tmp_path):
    path = workbook(tmp_path / "d.xlsx", [("region", "x"), ("N", 1), ("S", "#REF!")])
    with pytest.raises(InputError, match=r"d\.xlsx: cell B3 of the first sheet holds an error"):
        read_office(path)


@pytest.mark.parametrize(("name", "extra"), [("d.xlsx", "excel"), ("d.sav", "statfiles")])
def test_without_the_extra_the_message_says_how_to_get_it(tmp_path, monkeypatch, name, extra):
    (tmp_path / name).write_bytes(b"PK")
    real = builtins.__import__

    def refuse(wanted, *args, **kwargs):
        if wanted in {"python_calamine", "pyreadstat"}:
            raise ImportError(wanted)
        return real(wanted, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtra, match=rf"pip install 'cellguard\[{extra}\]'; or save it as CSV"):
        records(tmp_path / name, by=["region"])


@pytest.mark.parametrize(
    ("name", "words"), [("d.xls", "save it as .xlsx or CSV"), ("d.xlsx", "is it a whole .xlsx file?")]
)
def test_what_is_no_such_file_is_refused(tmp_path, name, words):
    (tmp_path / name).write_text("region;x\nN;1\n")
    with pytest.raises(InputError) as caught:
        records(tmp_path / name, by=["region"])
    assert words in str(caught.value)


@pytest.mark.parametrize("kind", ["sav", "dta", "xport"])
def test_files_of_statistical_programs_are_read(tmp_path, kind):
    pyreadstat, pandas = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    path = tmp_path / f"d.{'xpt' if kind == 'xport' else kind}"
    frame = pandas.DataFrame({"region": ["N", "S", "N"], "size": [1.0, 2.0, 2.0], "x": [1.5, 2.0, 3.0]})
    getattr(pyreadstat, f"write_{kind}")(frame, str(path))
    grouped = records(path, by=["region", "size"], values=["x"])
    assert grouped.labels == (("N", "S"), ("1", "2")) and grouped.total["x"].tolist() == [1.5, 2.0, 3.0]


def test_what_a_file_calls_its_codes_is_shown_by_the_table(tmp_path):
    pyreadstat, pandas = pytest.importorskip("pyreadstat"), pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"region": [1.0, 2.0] * 20, "place": [11.0, 22.0] * 20, "x": [float(i) for i in range(40)]}
    )
    names = {"region": {1: "North", 2: "South"}, "place": {11: "Anville", 22: "Beham", 33: "nobody lives here"}}
    pyreadstat.write_sav(frame, str(tmp_path / "d.sav"), variable_value_labels=names)
    job = {"version": 1, "microdata": {"source": "d.sav"}, "dimensions": {"place": {"levels": ["region", "place"]}}}
    table = {"name": "t", "by": ["place"], "value": "x", "rules": [{"min_frequency": 3}]}
    made = build_tables(Job.parse(job | {"tables": [table]}, folder=tmp_path)).tables[0]
    assert made.dimensions[0].labels == {"1": "North", "11": "Anville", "2": "South", "22": "Beham"}
    assert value_labels(tmp_path / "d.csv") == {}
