"""Several releases about the same respondents: what somebody finds who has all of them."""

import csv
import json

import pytest

from cellguard.files.folder import OutputFolder
from cellguard.job import run
from cellguard.spec.jobfile import Job

from system.command import run as command

RECORDS = {"n1": [20], "n2": [25] * 4, "n3": [30] * 4, "s1": [55] * 4, "s2": [15] * 4}
REGION = "code,parent\nTotal,\nN,Total\nS,Total\nn1,N\nn2,N\nn3,N\ns1,S\ns2,S\n"
COAST = "code,parent\nTotal,\ncoast,Total\ninland,Total\nn1,coast\ns1,coast\nn2,inland\nn3,inland\ns2,inland\n"


@pytest.fixture
def home(tmp_path):
    rows = [(region, x) for region, values in RECORDS.items() for x in values]
    lines = [f"{i},{region},{x}" for i, (region, x) in enumerate(rows)]
    (tmp_path / "records.csv").write_text("\n".join(["id,region,x", *lines]))
    (tmp_path / "region.csv").write_text(REGION)
    (tmp_path / "coast.csv").write_text(COAST)
    return tmp_path


def make(home, *, said=(), tables=None, region="region.csv", **more):
    """A job by region; ``said`` are cells that must be published."""
    table = {"name": "t", "by": ["region"], "value": "x", "rules": [{"min_frequency": 3}]}
    if said:
        (home / "said.csv").write_text("\n".join(["region,status", *(f"{code},must_publish" for code in said)]))
        table["apriori"] = "said.csv"
    return Job.parse(
        {
            "version": 1,
            "microdata": {"source": "records.csv", "respondent": "id"},
            "dimensions": {"region": {"parents": region}},
            "tables": tables or [table],
            "output": {"formats": ["csv"]},
            **more,
        },
        folder=home,
    )


def write(home, name, job):
    OutputFolder(home / name).write(run(job))
    return home / name


def shown(folder, name="t"):
    with (folder / "release" / f"{name}.csv").open() as file:
        return {row["region"]: row["value"] for row in csv.DictReader(file)}


def test_two_safe_releases_that_are_not_safe_together(home):
    first = write(home, "first", make(home, said=["n2"]))
    second = write(home, "second", make(home, said=["n3"]))
    assert shown(first)["n3"] == "" and shown(second)["n2"] == ""
    assert command("audit", first).returncode == command("audit", second).returncode == 0
    done = command("audit", first, "--with", second)
    assert done.returncode == 1 and "t: n1: known exactly, 20" in done.stdout
    summary = json.loads(command("audit", first, "--with", second, "--json").stdout)
    assert summary["verdict"] == "unsafe" and summary["failing"][0]["cell"] == "t: n1"


def test_releases_that_agree_are_safe_together(home):
    first = write(home, "first", make(home, said=["n2"]))
    second = write(home, "second", make(home, said=["n2", "N"]))
    done = command("audit", first, "--with", second)
    assert done.returncode == 0 and "other earlier releases not checked" in done.stdout


def test_another_grouping_of_the_same_leaves(home):
    """coast = n1 + s1 and s1 gives n1 away, although no table has both groupings."""
    first = write(home, "first", make(home))
    assert shown(first)["s1"] == "220"
    second = write(home, "second", make(home, region="coast.csv", tables=[coarse()]))
    done = command("audit", first, "--with", second)
    assert done.returncode == 1 and "n1" in done.stdout


def coarse():
    return {
        "name": "c",
        "by": ["region"],
        "value": "x",
        "rules": [{"min_frequency": 3}],
        "publish": {"region": [0, 1]},
    }


def test_releases_of_different_times_are_refused(home):
    first = write(home, "first", make(home))
    text = (home / "records.csv").read_text().replace("n2,25", "n2,26")
    (home / "records.csv").write_text(text)
    second = write(home, "second", make(home))
    done = command("audit", first, "--with", second)
    assert done.returncode == 2 and "different times" in done.stderr


def test_with_needs_a_folder(home):
    first = write(home, "first", make(home))
    done = command("audit", home / "records.csv", "--with", first)
    assert done.returncode == 2 and "`previous`" in done.stderr
