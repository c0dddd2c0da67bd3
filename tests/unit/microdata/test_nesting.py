"""A hierarchy from the records' own columns."""

from __future__ import annotations

import pytest

from cellguard.errors import HierarchyError, InputError, JobError
from cellguard.inputs.tables import build_tables
from cellguard.job.jobfile import Job

ROWS = ["A10,A21,x", "S2,D3,4", "S1,D2,2", "S1,D1,1", "S10,D9,8", "S1,D2,16"]


def job(folder, rows=ROWS, **more):
    (folder / "d.csv").write_text("\n".join(rows) + "\n")
    table = {"name": "t", "by": ["act"], "value": "x", "rules": [{"min_frequency": 1}], **more.pop("table", {})}
    said = {"dimensions": {"act": {"levels": ["A10", "A21"]}}, "microdata": {"source": "d.csv"}} | more
    return Job.parse({"version": 1, "tables": [table], **said}, folder=folder)


def test_levels_come_from_the_records_in_natural_order(tmp_path):
    table = build_tables(job(tmp_path)).tables[0]
    sums = {table.cell_name(i): float(v) for i, v in enumerate(table.value)}
    assert list(sums.items()) == [
        ("Total", 31),
        ("S1", 19),
        ("D1", 1),
        ("D2", 18),
        ("S2", 4),
        ("D3", 4),
        ("S10", 8),
        ("D9", 8),
    ]


def test_a_code_under_two_others_is_told_with_its_lines(tmp_path):
    with pytest.raises(HierarchyError) as caught:
        build_tables(job(tmp_path, [*ROWS, "S2,D1,5"]))
    words = str(caught.value)
    assert "line 7: the code 'D1' has two parents" in words and "line 4" in words and "columns that nest" in words


def test_a_record_without_a_code_is_a_gap_and_not_a_level(tmp_path):
    with pytest.raises(InputError, match=r"line 7, column 'A21': the code is blank"):
        build_tables(job(tmp_path, [*ROWS, "S2,,5"]))
    more = {"microdata": {"source": "d.csv", "missing": {"code": "category"}}}
    table = build_tables(job(tmp_path, [*ROWS, "S2,,5"], **more)).tables[0]
    assert table.cell_name(len(table) - 1) == "Missing"


def test_columns_go_with_records_only(tmp_path):
    with pytest.raises(JobError, match=r"the last of `levels` holds the records' codes; leave out `column`"):
        job(tmp_path, dimensions={"act": {"levels": ["A10", "A21"], "column": "A21"}})
    with pytest.raises(JobError, match=r"a list of `levels` names columns of records, and its tables have ready-made"):
        build_tables(job(tmp_path, microdata=None, table={"cells": {"source": "d.csv"}}))


def test_dimensions_that_are_levels_of_one_are_warned_about(tmp_path):
    rows = ["A10,A21,x", *(f"S{i % 4 // 2},D{i % 4},{i}" for i in range(60))]
    tables = [{"name": n, "by": [n], "value": "x", "rules": [{"min_frequency": 1}]} for n in ("A10", "A21")]
    (tmp_path / "d.csv").write_text("\n".join(rows) + "\n")
    said = {"version": 1, "microdata": {"source": "d.csv"}, "tables": tables}
    notes = build_tables(Job.parse(said, folder=tmp_path)).notes
    assert len(notes) == 1 and "columns nest ('A21' in 'A10')" in notes[0] and "A21: {levels: [A10, A21]}" in notes[0]
    few = ["A10,A21,x", "S0,D0,1", "S0,D1,2", "S1,D2,3", "S1,D2,4"]
    (tmp_path / "d.csv").write_text("\n".join(few) + "\n")
    assert build_tables(Job.parse(said, folder=tmp_path)).notes == ()
