"""The console script in processes of its own: exit codes, streams and modes are what they are within this process."""

import json
import shutil
import stat
from pathlib import Path

import pytest

from system.command import run, run_process

TABLES = Path(__file__).parents[2] / "examples/business_tables"
COMMANDS = {"schema": 0, "assess job.yaml": 0, "assess nowhere.yaml": 2, "protect job.yaml": 2, "nonsense": 2}


@pytest.fixture
def demo(tmp_path):
    return Path(shutil.copytree(TABLES, tmp_path / "tables"))


@pytest.mark.parametrize(("command", "status"), COMMANDS.items())
def test_a_process_ends_and_prints_as_a_call_does(demo, command, status):
    started, called = run_process(*command.split(), cwd=demo), run(*command.split(), cwd=demo)
    assert [started.returncode, called.returncode] == [status, status]
    assert started.stdout == called.stdout
    assert started.stderr.splitlines()[-1:] == called.stderr.splitlines()[-1:]


def test_a_process_protects_and_says_nothing_but_json(demo):
    done = run_process("protect", "job.yaml", "--out", "out", "--json", cwd=demo)
    assert done.returncode == 0 and json.loads(done.stdout)["verdict"] == "safe"
    assert stat.S_IMODE((demo / "out/internal").stat().st_mode) == 0o700
    (demo / "out/release/industry_region.csv").write_text("damaged\n")
    assert run_process("verify", "out", cwd=demo).returncode == 1
    assert run("verify", "out", cwd=demo).returncode == 1
