"""The stored job: every key that the claim depends on is there, and what was said of cells comes from somewhere."""

import pytest

from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_job
from cellguard.verifier import job as stored
from cellguard.verifier.verify import verify
from unit.io import made_folders
from unit.verifier import folders
from unit.verifier.folders import details, failed, seal, write

import quick_yaml

PLACES = [
    *((key,) for key in stored.KEYS),
    *(("attack", key) for key in stored.ATTACK_KEYS),
    *(("tables", 0, key) for key in stored.TABLE_KEYS),
    *(("tables", 0, "cells", key) for key in stored.CELLS_KEYS),
]


def change_job(folder, change):
    job = quick_yaml.load((folder / "internal/job.yaml").read_text())
    change(job)
    folders.write_job(folder, job)
    return seal(folder)


@pytest.mark.parametrize("place", PLACES, ids=lambda p: ".".join(map(str, p)))
def test_a_missing_key_is_no_default(tmp_path, place):
    write(tmp_path / "out", folders.square())

    def drop(job):
        for key in place[:-1]:
            job = job[key]
        del job[place[-1]]

    certificate = change_job(tmp_path / "out", drop)
    assert 1 in failed(certificate) and f"does not have {place[0]}" in details(certificate)


@pytest.mark.parametrize(
    ("key", "column", "value"),
    [
        ("status", "state", "must_publish"),
        ("cost", "cost", 3.0),
        ("lower", "lower", 1.0),
        ("upper", "upper", 999.0),
        ("need_lower", "need_lower", 1.0),
        ("need_upper", "need_upper", 1.0),
    ],
)
def test_what_was_said_comes_from_a_file_or_a_column(tmp_path, key, column, value):
    content = folders.square()
    content["tables"][0][1][0]["facts"][column] = value
    certificate = write(tmp_path / "out", content)
    assert failed(certificate) == []
    change_job(tmp_path / "out", lambda job: job["tables"][0].update(apriori=None))
    assert failed(certificate) == [5] and f"row 0: {key} was said of it" in details(certificate)
    change_job(tmp_path / "out", lambda job: job["tables"][0]["cells"].update({key: "A_COLUMN"}))
    assert failed(certificate) == []


@pytest.mark.parametrize(("decimals", "valid"), [(0, True), (1, False), (2, True), (3, False)])
def test_decimals_that_nobody_asked_for(tmp_path, decimals, valid):
    content = folders.square()
    content["tables"][0][0]["decimals"] = decimals
    for row in content["tables"][0][1]:
        row["shown"] = f"{float(row['value']):.{decimals}f}"
    content["grains"][0]["decimals"] = decimals
    content["witnesses"] = [(1, [(t, r, m * 10**decimals) for t, r, m in moves]) for _, moves in content["witnesses"]]
    certificate = write(tmp_path / "out", content)
    assert failed(certificate) == []
    change_job(tmp_path / "out", lambda job: job["tables"][0].update(decimals=None))
    assert failed(certificate) == ([] if valid else [3])


def test_an_equation_may_be_written_without_blanks(tmp_path):
    path = made_folders.write_job(tmp_path, "equations")
    job = quick_yaml.load(path.read_text())
    path.write_text(quick_yaml.dump(job | {"equations": ["turnover=home+abroad"]}))
    OutputFolder(tmp_path / "out").write(audit_job(Job.load(path)))
    assert verify(tmp_path / "out/internal/certificate.json").valid


def test_a_table_without_rules_is_not_valid(tmp_path):
    content = folders.linked()
    content["tables"][1][0]["rules"] = []
    certificate = write(tmp_path / "out", content)
    assert failed(certificate) == [5] and "no rule was applied to long" in details(certificate)
