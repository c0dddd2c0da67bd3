"""Jobs and folders that earlier versions wrote are read, verified, shown, attacked and built upon by this one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import cellguard as cg
from cellguard.errors import InputError
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.seam.outcome import LAYOUT

from system.command import run

WRITTEN = Path(__file__).parents[1] / "written_by"
VERSIONS = sorted(path.name for path in WRITTEN.iterdir())
CERTIFIED = ["sums", "cells", "counts"]
ALL = [*CERTIFIED, "noise", "map"]
COMMAND = {"noise": "perturb", "map": "map"}

NEXT = """\
version: 1
microdata: {source: ../sums/firms.csv, respondent: firm, holding: group}
dimensions:
  industry: {parents: ../sums/industry.csv, total: All}
  region: {levels: ../sums/region.csv}
previous: [{folder: ../sums/out}]
tables:
  - {name: by_region_size, by: [region, size], value: turnover, rules: [{min_frequency: 3}, {p_percent: 10}]}
"""


@pytest.fixture(params=VERSIONS)
def written(request, tmp_path):
    shutil.copytree(WRITTEN / request.param, tmp_path / "written")
    for inside in (tmp_path / "written").glob("*/out/internal"):
        inside.chmod(0o700)
    return tmp_path / "written"


@pytest.mark.parametrize("name", CERTIFIED)
def test_folders_are_valid_with_their_job_and_without(written, name):
    assert cg.verify(written / name / "out").valid
    done = run("verify", written / name / "out", "--job", written / name / "job.yaml")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", CERTIFIED)
def test_folders_are_shown_explained_and_attacked(written, name):
    folder = written / name / "out"
    table = next(iter(OutputFolder(folder).about()["tables"]))
    assert run("show", folder, table).returncode == 0
    attacked = run("audit", folder)
    assert attacked.returncode == 0 and attacked.stdout.startswith("Safe"), attacked.stderr


@pytest.mark.parametrize("name", ALL)
def test_jobs_run_and_release_the_same_cells_in_the_same_files(written, tmp_path, name):
    done = run(COMMAND.get(name, "protect"), written / name / "job.yaml", "--out", tmp_path / "new", "-q")
    assert done.returncode == 0, done.stderr
    old, new = written / name / "out/release", tmp_path / "new/release"
    assert sorted(path.name for path in new.iterdir()) == sorted(path.name for path in old.iterdir())
    for path in old.glob("*.csv"):
        assert _keys(new / path.name) == _keys(path), path.name


def _keys(path):
    """Return the header, and the codes of each row: a better pattern may suppress other cells."""
    rows = [line.split(",") for line in path.read_text().splitlines()]
    figures = [i for i, name in enumerate(rows[0]) if name in ("value", "flag", "count")]
    return rows[0], [[entry for i, entry in enumerate(row) if i not in figures] for row in rows]


@pytest.mark.parametrize("name", ["noise", "map"])
def test_folders_of_other_methods_are_shown(written, name):
    assert run("show", written / name / "out").returncode == 0


def test_an_earlier_release_is_built_upon(written, tmp_path):
    (written / "next").mkdir()
    (written / "next/job.yaml").write_text(NEXT)
    done = run("protect", written / "next/job.yaml", "--out", tmp_path / "new", "-q")
    assert done.returncode == 0, done.stderr
    assert cg.verify(tmp_path / "new").valid
    assert run("diff", written / "sums/out", tmp_path / "new").returncode in (0, 1)


def test_a_new_folder_names_its_layout_and_a_later_one_is_refused(written, tmp_path):
    folder = tmp_path / "new"
    assert run("protect", written / "cells/job.yaml", "--out", folder, "-q").returncode == 0
    path = folder / "internal/summary.json"
    summary = json.loads(path.read_text())
    assert summary["layout"] == LAYOUT
    path.write_text(json.dumps(summary | {"layout": "1.7"}))
    OutputFolder(folder).stored()
    path.write_text(json.dumps(summary | {"layout": "2.0", "cellguard": "3.1"}))
    with pytest.raises(InputError, match=r"has the layout 2\.0, and this cellguard .* install the cellguard .* 3\.1"):
        OutputFolder(folder).stored()


def test_a_later_job_and_certificate_are_refused_with_a_word(written):
    with pytest.raises(cg.InputError, match=r"reads jobs of `version: 1`; write that, or install the cellguard"):
        Job.parse({"version": 2, "tables": []})
    path = written / "cells/out/internal/certificate.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 3}))
    checked = cg.verify(written / "cells/out")
    assert not checked.valid
    assert "was written by another version of cellguard" in str(checked)
