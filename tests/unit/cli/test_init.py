"""`init`: which columns become dimensions, and which the value."""

from __future__ import annotations

import pytest
import yaml

from cellguard.cli.init import draft_job
from cellguard.errors import InputError
from cellguard.methods.screens import counted
from cellguard.spec.jobfile import Job


def drafted(folder, rows):
    path = folder / "data.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    return yaml.safe_load(draft_job(path, folder))["tables"][0]


def test_codes_with_leading_zeros_are_a_dimension(tmp_path):
    rows = [(f"f{i}", f"{1 + i % 12:02d}", 3 * i + 1) for i in range(30)]
    found = drafted(tmp_path, [("firm", "industry", "turnover"), *rows])
    assert found["by"] == ["industry"] and found["value"] == "turnover"


def test_few_whole_numbers_of_one_length_are_a_dimension(tmp_path):
    rows = [(f"f{i}", 11 + 7 * (i % 8), 10 + i) for i in range(30)]
    found = drafted(tmp_path, [("firm", "region", "turnover"), *rows])
    assert found["by"] == ["region"] and found["value"] == "turnover"


def test_decimals_and_many_different_numbers_are_values(tmp_path):
    rows = [("NS"[i % 2], f"{i % 4}.5", 100 + i) for i in range(40)]
    assert drafted(tmp_path, [("region", "share", "turnover"), *rows])["value"] == "share"
    swapped = [(r, t, s) for r, s, t in rows]
    assert drafted(tmp_path, [("region", "turnover", "share"), *swapped])["value"] == "turnover"


def test_of_a_table_a_year_is_not_the_value(tmp_path):
    rows = [("year", "region", "turnover"), (2024, "Total", 10), (2024, "N", 4), (2024, "S", 6)]
    found = drafted(tmp_path, rows)
    assert found["by"] == ["region"] and found["value"] == "turnover"


def test_of_a_table_what_looks_like_codes_is_the_value_if_nothing_else_is(tmp_path):
    rows = [("region", "turnover"), ("Total", 8), *((f"r{i}", 1) for i in range(8))]
    assert drafted(tmp_path, rows)["value"] == "turnover"


@pytest.mark.parametrize("records", [True, False])
def test_columns_that_name_no_file_get_dimensions_with_plain_names(tmp_path, records):
    rows = [("region/state", "../size", "turnover"), *((f"r{i % 3}", f"s{i % 2}", i) for i in range(12))]
    totals = [] if records else [("Total", "Total", sum(range(12)))]
    (tmp_path / "con.csv").write_text("\n".join(",".join(map(str, row)) for row in [*rows, *totals]) + "\n")
    (tmp_path / "job.yaml").write_text(draft_job(tmp_path / "con.csv", tmp_path))
    job = Job.load(tmp_path / "job.yaml")
    assert job.tables[0].name == "con_" and job.tables[0].by == ["region_state", "size"]
    assert [job.dimensions[name].column for name in job.tables[0].by] == ["region/state", "../size"]


def test_a_file_that_is_not_there_is_told_without_a_job(tmp_path):
    with pytest.raises(InputError, match=r"no file .*; check its name and its folder") as caught:
        draft_job(tmp_path / "nope.csv", tmp_path)
    assert "job" not in str(caught.value).replace(str(tmp_path), "")


def test_one_is_counted_in_the_singular():
    assert [counted(n, "witness") for n in (0, 1, 2)] == ["0 witnesses", "1 witness", "2 witnesses"]
