"""Keys of a job that are set for one run, and what is said of their faults."""

import pytest

from cellguard.errors import JobError
from cellguard.job.jobfile import Job

JOB = """\
version: 1
microdata:
  source: may.csv
tables:
  - name: turnover
    by: [region]
    value: turnover
    rules: [{min_frequency: 3}]
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path / "job.yaml"


def test_keys_are_set_at_any_depth_and_values_are_yaml(path):
    settings = [
        "microdata.source=june.csv",
        "tables.turnover.where={month: ['06']}",
        "tables.0.decimals=1",
        "output.folder=june",
        "attack={insiders: false}",
    ]
    job = Job.load(path, settings=settings)
    assert (job.microdata.source, job.tables[0].decimals, job.output.folder) == ("june.csv", 1, "june")
    assert list(job.tables[0].where["month"]) == ["06"]
    assert job.insiders is False
    assert Job.load(path).microdata.source == "may.csv"


def test_a_later_setting_wins(path):
    assert Job.load(path, settings=["microdata.source=a.csv", "microdata.source=b.csv"]).microdata.source == "b.csv"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "microdata.sorce=june.csv",
            r"job.yaml with --set.*microdata.sorce: unknown key 'sorce'; did you mean 'source'",
        ),
        ("microdta.source=june.csv", r"unknown key 'microdta'; did you mean 'microdata'"),
        ("tables.turnovr.decimals=1", r"--set tables.turnovr.decimals: no entry 'turnovr'; did you mean 'turnover'\?"),
        ("tables.7.decimals=1", r"no entry '7'; known are 'turnover'"),
        ("microdata.source.x=1", r"nothing is below here, so 'x' cannot be set"),
        ("microdata.source", r"say KEY=VALUE, as `--set microdata.source=june.csv`"),
        ("=june.csv", r"say KEY=VALUE"),
        ("tables.turnover.where={month: [", r"--set tables.turnover.where line 1: not valid YAML"),
        ("version=2", r"version: this cellguard reads jobs of `version: 1`"),
    ],
)
def test_faults_name_the_setting_and_the_cure(path, setting, message):
    with pytest.raises(JobError, match=message):
        Job.load(path, settings=[setting])
