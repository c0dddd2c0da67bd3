"""The command line, end to end, as a user runs it."""

import json
import os
import pty
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from system.command import CELLGUARD, run

TABLES = Path(__file__).parents[2] / "examples/business_tables"


@pytest.fixture
def demo(tmp_path):
    """The folder of a job with two ready-made tables."""
    return Path(shutil.copytree(TABLES, tmp_path / "tables"))


def test_assess_text_says_that_nothing_is_protected(demo):
    done = run("assess", "job.yaml", cwd=demo)
    assert "industry_region    248      37" in done.stdout
    assert "must not be published" in done.stdout


def test_assess_lists_unsafe_cells_for_their_owner_only(demo):
    done = run("assess", "job.yaml", "--list", "unsafe.csv", cwd=demo)
    assert done.returncode == 0
    path = demo / "unsafe.csv"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = path.read_text().splitlines()
    assert lines[0] == "table,cell,reasons,need_lower,need_upper,need_sliding"
    assert len(lines) == 1 + 37 + 10
    assert "industry_region,A01/Dunmore,min_frequency 3; p_percent 10,21,21,0" in lines
    again = run("assess", "job.yaml", "--list", "unsafe.csv", cwd=demo)
    assert again.returncode == 2 and "exists already" in again.stderr


def test_quiet_prints_nothing(demo):
    done = run("assess", "job.yaml", "--quiet", cwd=demo)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_terminal_gets_a_drawn_table(demo):
    leader, follower = pty.openpty()
    done = subprocess.Popen([CELLGUARD, "assess", "job.yaml"], cwd=demo, stdout=follower, stderr=follower)
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(leader)
    assert done.wait() == 0
    assert "│" in shown.decode() and "industry_region" in shown.decode()


def test_init_writes_a_job_that_assess_accepts(demo):
    (demo / "flat.csv").write_text("region,turnover,firms,top1,top2\nTotal,30,9,9,8\nN,10,4,9,1\nS,20,5,8,8\n")
    done = run("init", "flat.csv", "--out", "flat.yaml", cwd=demo)
    assert done.returncode == 0, done.stderr
    assert "cellguard protect flat.yaml" in done.stdout
    job = yaml.safe_load((demo / "flat.yaml").read_text())
    assert job["tables"][0]["cells"] == {"source": "flat.csv", "count": "firms", "top": ["top1", "top2"]}
    found = json.loads(run("assess", "flat.yaml", "--json", cwd=demo).stdout)
    assert found["tables"]["flat"]["primary"] == 1
    assert run("init", "flat.csv", "--out", "flat.yaml", cwd=demo).returncode == 2


def test_init_finds_the_hierarchies_beside_a_table(demo):
    run("init", "industry_region.csv", "--out", "guess.yaml", cwd=demo)
    found = yaml.safe_load((demo / "guess.yaml").read_text())["dimensions"]
    assert found["industry"] == {"total": "Total", "levels": "industry_levels.csv"}
    assert found["region"] == {"total": "Total", "parents": "region_parents.csv"}
    assert run("assess", "guess.yaml", cwd=demo).returncode == 0


def test_init_guesses_a_hierarchy_without_a_file_from_what_adds_up(demo):
    for path in demo.glob("*_*s.csv"):
        path.unlink()
    run("init", "industry_region.csv", "--out", "guess.yaml", cwd=demo)
    text = (demo / "guess.yaml").read_text()
    assert "MISSING" not in text and "digits: [1, 2]" in text and "guessed from the values alone; check it" in text
    assert run("assess", "guess.yaml", cwd=demo).returncode == 0


def test_schema_is_json_and_knows_the_rules(tmp_path):
    schema = json.loads(run("schema", cwd=tmp_path).stdout)
    assert "p_percent" in json.dumps(schema)
    assert schema["properties"].keys() >= {"version", "dimensions", "tables"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "value: turnover ",
            "valeu: turnover ",
            "line 13: tables[0].valeu: unknown key 'valeu'; did you mean 'value'?",
        ),
        ("p_percent: 10}  ", "p_percnt: 10}  ", "unknown rule 'p_percnt'; did you mean 'p_percent'?"),
        ("source: industry_region.csv", "source: nowhere.csv", "no file 'nowhere.csv'"),
        ("count: firms", "count: frims", "industry_region.csv: no column 'frims'; did you mean 'firms'?"),
        ("version: 1", "version: 2", "line 3: version: this cellguard reads jobs of `version: 1`"),
        ("version: 1", "version: 1\nprevious: [{foldr: x}]", "unknown key 'foldr'; did you mean 'folder'?"),
    ],
)
def test_faults_in_the_job_are_told_and_nothing_is_written(demo, old, new, words):
    text = (demo / "job.yaml").read_text()
    assert old in text
    (demo / "bad.yaml").write_text(text.replace(old, new, 1))
    done = run("assess", "bad.yaml", "--list", "unsafe_bad.csv", cwd=demo)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stdout == "" and not (demo / "unsafe_bad.csv").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Total,North,,498,1,1", "line 3, column 'turnover': the value is missing"),
        ("Total,North,inf,498,1,1", "line 3, column 'turnover': the value is infinite"),
        ("Total,North,7o8798,498,1,1", "line 3, column 'turnover': not a number"),
        (
            "Total,Nrth,708798,498,1,1",
            "line 3, column 'region': 'Nrth' is not in dimension 'region'; did you mean 'North'",
        ),
        ("Total,North,708797,498,1,1", "is not additive"),
        ("Total,North,708798,498,1,2", "line 3, column 'top2': the largest contributions are not sorted"),
        ("Total,North,708798,498,708799,0", "line 3, column 'top2': the largest contributions together exceed"),
        ("Total,Total,1276685,1100,301948,62037", "line 3: the cell Total/Total is a duplicate"),
        ("Total,North", "line 3: 2 fields, but the header has 6"),
    ],
)
def test_faults_in_the_cells_are_told_without_their_values(demo, line, words):
    path = demo / "industry_region.csv"
    rows = path.read_text().splitlines()
    rows[2] = line
    path.write_text("\n".join(rows) + "\n")
    done = run("assess", "job.yaml", cwd=demo)
    assert done.returncode == 2
    assert words in done.stderr
    assert not re.search(r"70879\d|7o8798|1276685|62037", done.stderr + done.stdout)


def test_an_internal_error_tells_its_place_and_no_values(demo, monkeypatch):
    code = (
        "import cellguard.inputs.tables as reading, cellguard.faces.cli.main as m, sys\n"
        "def broken(*a, **k): raise TypeError('secret 4711')\n"
        "reading._build_tables = broken\n"
        "sys.argv = ['cellguard', 'assess', 'job.yaml']\n"
        "m.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=demo, capture_output=True, text=True)
    assert done.returncode == 3
    assert "internal error: TypeError" in done.stderr and "4711" not in done.stderr + done.stdout


def test_unknown_options_and_commands_exit_with_2(tmp_path):
    assert run("assess", "--nonsense", cwd=tmp_path).returncode == 2
    assert run("nonsense", cwd=tmp_path).returncode == 2


def test_help_teaches(tmp_path):
    done = run("--help", cwd=tmp_path)
    assert done.returncode == 0 and "Start here" in done.stdout
    for command in ("assess", "init", "schema", "demo"):
        assert run(command, "--help", cwd=tmp_path).returncode == 0
