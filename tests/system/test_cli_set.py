"""Next month's run: the same job with another source and another period, without an edit."""

import csv

import pytest
import yaml

from system.command import run

MONTHS = {"05": [90, 30, 20, 40, 35, 30], "06": [60, 70, 80, 10, 20, 30]}


@pytest.fixture
def home(tmp_path):
    for month, values in MONTHS.items():
        rows = "".join(f"{'NS'[i // 3]},{month},{value}\n" for i, value in enumerate(values))
        (tmp_path / f"m{month}.csv").write_text("region,month,turnover\n" + rows)
    table = {"name": "t", "by": ["region"], "value": "turnover", "where": {"month": ["05"]}}
    table |= {"rules": [{"min_frequency": 3}]}
    job = {"version": 1, "microdata": {"source": "m05.csv"}, "tables": [table], "output": {"formats": ["csv"]}}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    return tmp_path


def test_source_and_period_are_set_on_the_command_line(home):
    june = ["--set", "microdata.source=m06.csv", "--set", "tables.t.where={month: ['06']}"]
    assert run("assess", "job.yaml", *june, "-q", cwd=home).returncode == 0
    done = run("protect", "job.yaml", "--out", "june", "-q", *june, cwd=home)
    assert done.returncode == 0, done.stderr
    with (home / "june/release/t.csv").open(newline="") as file:
        rows = {row["region"]: row for row in csv.DictReader(file)}
    assert (rows["Total"]["value"], rows["Total"]["month"]) == ("270", "06")
    stored = yaml.safe_load((home / "june/internal/job.yaml").read_text())
    assert stored["microdata"]["source"] == "m06.csv"
    assert run("verify", "june", "--job", "job.yaml", *june, cwd=home).returncode == 0
    assert run("verify", "june", "--job", "job.yaml", cwd=home).returncode == 1


def test_a_wrong_key_is_an_error_and_nothing_is_written(home):
    done = run("protect", "job.yaml", "--out", "june", "--set", "microdata.sorce=m06.csv", cwd=home)
    assert done.returncode == 2
    assert "did you mean 'source'" in done.stderr
    assert not (home / "june").exists()
    assert run("verify", "june", "--set", "version=1", cwd=home).returncode == 2
