"""Runs that are killed: confidential files vanish with them, or with the next run; those of a living run stay."""

import os
import signal
import subprocess
import sys

import pytest

from cellguard.errors import InputError
from cellguard.io.write import whole_folder, write_text
from cellguard.scratch import PREFIX, Scratch, sweep

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other locks")

# The command line as it is, but it stops where we want to kill it.
RUN = """
import sys, time
import cellguard.faces.cli.main as main
import {module} as module
def stop(*_, **__):
    print("here", flush=True)
    time.sleep(60)
module.{name} = stop
sys.argv = ["cellguard", *sys.argv[1:]]
main.main()
"""
WHILE_WRITING = RUN.format(module="cellguard.methods.suppress.pattern_method", name="write_certificate")
WHILE_READING = RUN.format(module="cellguard.inputs.tables", name="group_records")
FOLDER = """
import sys, time
from cellguard.io.write import whole_folder
with whole_folder(sys.argv[1], force=True) as made:
    (made / "internal").mkdir()
    (made / "internal/secret.csv").write_text("42")
    print("here", flush=True)
    time.sleep(60)
"""
SET_ASIDE = """
import sys, time
from pathlib import Path
from cellguard.scratch import Scratch
work = Scratch(Path.cwd())
work.set_aside(Path.cwd() / sys.argv[1])
print("here", flush=True)
time.sleep(60)
"""


@pytest.fixture
def home(tmp_path):
    for name in ("data", "tmp"):
        (tmp_path / name).mkdir()
    rows = "".join(f"{i},{'NSé'[i % 3]},{i}\n" for i in range(30))
    (tmp_path / "data/r.csv").write_bytes(f"id,region,x\n{rows}".encode("latin-1"))
    job = "version: 1\nmicrodata: {source: r.csv, respondent: id, encoding: latin-1}\n"
    job += "tables:\n  - {name: t, by: [region], value: x, rules: [{min_frequency: 3}]}\noutput: {formats: [csv]}\n"
    (tmp_path / "data/job.yaml").write_text(job)
    return tmp_path


@pytest.fixture
def start(home):
    """Start a script and wait until it says that it is where we want it."""
    started = []

    def running(script, *arguments):
        process = subprocess.Popen(
            [sys.executable, "-c", script, *arguments],
            cwd=home / "data",
            env={**os.environ, "TMPDIR": str(home / "tmp")},
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout.readline() == "here\n"
        return process

    yield running
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def kill(process, number):
    process.send_signal(number)
    return process.wait(timeout=20)


def left(folder):
    return [path for path in folder.rglob("*") if path.is_file() and any(p.startswith(PREFIX) for p in path.parts)]


def protect(home):
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from cellguard.faces.cli.main import main; main()",
            "protect",
            "job.yaml",
            "--out",
            "out",
        ],
        cwd=home / "data",
        env={**os.environ, "TMPDIR": str(home / "tmp")},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("script", [WHILE_WRITING, WHILE_READING], ids=["writing", "reading"])
def test_a_run_that_is_asked_to_end_leaves_nothing(home, start, script):
    running = start(script, "protect", "job.yaml", "--out", "out")
    assert left(home / ("tmp" if script == WHILE_READING else "data"))
    assert kill(running, signal.SIGTERM) == 128 + signal.SIGTERM
    assert left(home) == [] and not (home / "data/out").exists()
    assert sorted(path.name for path in (home / "data").iterdir()) == ["job.yaml", "r.csv"]


@pytest.mark.parametrize("script", [WHILE_WRITING, WHILE_READING], ids=["writing", "reading"])
def test_what_a_killed_run_left_is_removed_by_the_next(home, start, script):
    running = start(script, "protect", "job.yaml", "--out", "out")
    assert kill(running, signal.SIGKILL) == -signal.SIGKILL
    assert left(home / ("tmp" if script == WHILE_READING else "data"))
    done = protect(home)
    assert done.returncode == 0, done.stderr
    assert left(home) == [] and (home / "data/out/release/t.csv").exists()
    assert sorted(path.name for path in (home / "data").iterdir()) == ["job.yaml", "out", "r.csv"]


def test_what_a_living_run_writes_is_left_alone(home, start):
    running = start(FOLDER, "one")
    with whole_folder(home / "data/two", force=False) as made:
        (made / "release").mkdir()
    sweep(home / "data")
    assert [path.name for path in left(home / "data")] and (home / "data/two/release").is_dir()
    kill(running, signal.SIGKILL)
    assert left(home / "data")
    write_text(home / "data/list.csv", "a\n")
    assert left(home / "data") == []


def test_the_output_that_a_killed_run_had_set_aside_is_put_back(home, start):
    (home / "data/out/internal").mkdir(parents=True)
    (home / "data/out/internal/job.yaml").write_text("version: 1\n")
    running = start(SET_ASIDE, "out")
    assert not (home / "data/out").exists()
    kill(running, signal.SIGKILL)
    with pytest.raises(InputError, match="exists already"), whole_folder(home / "data/out", force=False):
        pass
    sweep(home / "data")
    assert (home / "data/out/internal/job.yaml").read_text() == "version: 1\n" and left(home / "data") == []


def test_only_folders_with_a_lock_of_ours_are_removed(tmp_path):
    (tmp_path / f"{PREFIX}plain").mkdir()
    (tmp_path / f"{PREFIX}plain/kept.csv").write_text("1")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/lock").write_text("")
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / f"{PREFIX}file").write_text("1")
    living = Scratch(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    sweep(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
    living.remove()
    assert not living.path.exists()


def test_a_failed_replacement_puts_the_old_output_back(tmp_path, monkeypatch):
    (tmp_path / "out/internal").mkdir(parents=True)
    (tmp_path / "out/internal/job.yaml").write_text("version: 1\n")
    replace = type(tmp_path).replace

    def fail(path, target):
        if path.name == "new":
            raise OSError(28, "No space left on device")
        return replace(path, target)

    monkeypatch.setattr(type(tmp_path), "replace", fail)
    with (
        pytest.raises(InputError, match=r"cannot write .*: No space left"),
        whole_folder(tmp_path / "out", force=True) as made,
    ):
        (made / "internal").mkdir()
    assert (tmp_path / "out/internal/job.yaml").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
