"""What people type by habit or by a slip: each answer has cause, place and cure, and an exit status of 2."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from system.command import run

WRITTEN = Path(__file__).parents[1] / "written_by/0.1.0"
SLIPS = [
    ("protect", "`cellguard init DATA` writes a job from a data file"),
    ("help", "Write `cellguard --help`"),
    ("suppress job.yaml", "It is `cellguard protect`"),
    ("protct job.yaml", "Did you mean 'protect'?"),
    ("--verison", "Did you mean '--version'?"),
    ("protect cells/job.yaml -f", "Did you mean --force?"),
    ("diff out", "Name two output folders, as `cellguard diff last out`"),
    ("protect sums/firms.csv", "run `cellguard init firms.csv` first"),
    ("protect sums", "is a folder, and a job is a .yaml file; name the job"),
    ("protect none.yaml", "`cellguard init DATA` writes one from a data file"),
    ("protect cells/job.yaml", "exists already; choose another, or add --force"),
    ("protect sums/job.yaml --set microdata.sorce=x --out q", "unknown key 'sorce'; did you mean 'source'?"),
    (
        "protect sums/job.yaml --set microdata.source=s3://b/f.csv --out q",
        "fetch the file first, or give",
    ),
    ("protect sums/job.yaml --set tables.0.rules=3 --out q", "must be a list, as `rules: [{min_frequency: 3}"),
    ("map sums/job.yaml --out q", "`cellguard map` is for maps, as `protect: {method: redistribute}`"),
    ("perturb sums/job.yaml --out q", "use `cellguard protect`"),
    ("init sums/none.csv", "check its name and its folder"),
    ("init sums/*.parquet", "make one of several, as DuckDB does"),
    ("init", "name the DATA to look at"),
    ("demo --out sums", "is not empty; choose another with --out, or say --force"),
    ("show cells/out nothere", "no table 'nothere'; known are 'firms'"),
    ("explain cells/out Nowhere", "write it as codes or labels joined by /, in the order industry / region"),
    ("verify nowhere", "name the output folder, as `cellguard verify out`"),
    ("verify cells/job.yaml", "name the output folder"),
    ("audit cells/table.csv", "name it and its dimensions, as --table table.csv --dim region"),
    ("audit --table cells/table.csv --value turnover", "name them with --dim COLUMN"),
    (
        "audit --table cells/table.csv --dim regoin --value turnover",
        "such a column; did you mean 'region'?",
    ),
    ("audit nowhere", "no file or folder 'nowhere'"),
    ("audit noise/out", "were perturbed, not suppressed"),
    ("rules p_precent", "p_percent"),
    ("protect cells/job.yaml --out q --time-limit soon", "'soon' is not a valid"),
]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slips")
    shutil.copytree(WRITTEN, folder, dirs_exist_ok=True)
    return folder


@pytest.mark.parametrize(("typed", "words"), SLIPS, ids=[typed for typed, _ in SLIPS])
def test_each_slip_has_its_cure(here, typed, words):
    done = run(*typed.split(), cwd=here)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split()), done.stderr
    assert not (here / "q").exists()


def test_there_are_thirty():
    assert len(SLIPS) >= 30
