"""Compiled ahead of time, interpreted or compiled by numba: the same release, byte for byte."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from unittest import mock

import pytest

from cellguard.faces.cli import cold
from cellguard.kernels import extension, store
from cellguard.kernels.kernel import KERNELS, kernel, ways
from cellguard.kernels.signature import describe, read

from system.command import run

ROOT = Path(__file__).parents[2]
JOBS = ROOT / "tests/written_by/0.1.0"
COMMANDS = {"sums": "protect", "cells": "protect", "counts": "protect", "noise": "perturb", "map": "map"}
needs_extension = pytest.mark.skipif(not extension.is_there(), reason="kernels are not compiled ahead of time here")


def released(name, way, out, *more):
    """Run a job with all kernels going one way, and return its released text files."""
    with mock.patch.object(ways, "way", way):
        done = run(COMMANDS[name], JOBS / name / "job.yaml", "--out", out, "-q", *more)
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_bytes() for path in (out / "release").iterdir() if path.suffix != ".xlsx"}


@needs_extension
@pytest.mark.parametrize("name", [pytest.param("sums", marks=pytest.mark.long), "counts", "map"])
def test_interpreted_and_compiled_kernels_release_the_same_bytes(name, tmp_path):
    assert released(name, "python", tmp_path / "a") == released(name, "extension", tmp_path / "b")


LARGE = ("sums", "cells")  # a minute of compiling
MORE = [pytest.param(name, marks=pytest.mark.endless if name in LARGE else pytest.mark.long) for name in COMMANDS]


@needs_extension
@pytest.mark.parametrize("name", MORE)
def test_numba_releases_the_same_bytes_too(name, tmp_path):
    pytest.importorskip("numba")
    compiled = released(name, "extension", tmp_path / "b")
    assert released(name, "numba", tmp_path / "a") == compiled == released(name, "python", tmp_path / "c")


@needs_extension
@pytest.mark.parametrize("engine", ["witness", "gauss", "optimal"])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("sums", marks=pytest.mark.endless),
        pytest.param("cells", marks=pytest.mark.long),
        pytest.param("counts", marks=pytest.mark.long),
    ],
)
def test_every_engine_finds_its_signatures_and_the_same_pattern(name, engine, tmp_path):
    table = "tables.0.protect.engine=" + engine
    compiled = released(name, "extension", tmp_path / "b", "--set", table)
    assert released(name, "python", tmp_path / "a", "--set", table) == compiled


def test_every_recorded_signature_is_of_a_kernel_and_can_be_read():
    from importlib import import_module

    for name, texts in extension.recorded().items():
        import_module(f"cellguard.{name.rpartition('.')[0]}")
        assert name in KERNELS
        for text in texts:
            assert read(text)


def test_kernels_are_compiled_with_nothing_installed_but_what_building_takes():
    """Else a wheel that pip builds from the sdist, in an environment of its own, would be pure without a word."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = [*needed["build-system"]["requires"], *needed["project"]["dependencies"]]
    names = [re.match(r"[\w-]+", one)[0].lower() for one in named]
    building, running = names[: len(needed["build-system"]["requires"])], set(names)
    absent = {"pyyaml": "yaml"}
    blocked = sorted(absent.get(name, name) for name in running - set(building))
    assert {"scipy", "pyarrow", "yaml"} <= set(blocked)
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({blocked!r}))\n"
        "from importlib import import_module\n"
        "from cellguard.kernels import extension\n"
        "from cellguard.kernels.signature import read\n"
        "for name, texts in extension.recorded().items():\n"
        "    import_module('cellguard.' + name.rpartition('.')[0])\n"
        "    for text in texts:\n"
        "        read(text)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_call_of_other_types_never_reaches_compiled_code():
    import numpy as np

    @kernel
    def first(x):
        return x[0]

    try:
        called = []
        first.built = {describe((np.zeros(1),)): lambda x: called.append(x) or x[0]}
        with mock.patch.object(ways, "heard", None):
            for argument in (np.zeros(1), np.zeros(1, np.float32), np.zeros(4)[::2], np.zeros((1, 1)), [0.0]):
                first(argument)
        assert len(called) == 1
    finally:
        del KERNELS[first.name]


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No home, no cache folder, nothing named: only the folder for temporary files."""
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store.store.cache_clear()
    yield tmp_path
    store.store.cache_clear()


def test_compiled_code_is_kept_where_only_its_user_writes(nowhere, monkeypatch):
    folder = store.store("stamp")
    assert folder is not None and folder.parent.parent == nowhere
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    store.store.cache_clear()
    folder.parent.chmod(0o777)
    assert store.store("stamp") is None
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(nowhere / "file/below"))
    (nowhere / "file").write_text("")
    store.store.cache_clear()
    assert store.store("stamp") is None


def test_compiling_is_announced_only_when_something_compiles(capsys, monkeypatch):
    monkeypatch.setattr(ways, "compiling", None)
    monkeypatch.setattr(ways, "slow", None)
    cold._compiling.cache_clear()
    cold.announce()
    assert capsys.readouterr().err == ""
    ways.compiling()
    assert capsys.readouterr().err.startswith("Compiling")
    ways.compiling()
    assert capsys.readouterr().err == ""
    cold._compiling.cache_clear()


def test_the_first_use_says_that_it_compiles_and_later_ones_do_not(tmp_path):
    """Where nothing is compiled ahead of time, what was compiled once is kept, and found by the next process."""
    code = (
        "from cellguard.faces.cli import cold; cold.announce(); import numpy as np; "
        "from cellguard.table.sums_kernel import sum_rows; "
        "print(sum_rows(np.zeros(3, np.int32), np.ones(3, np.int64), 1))"
    )
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "CELLGUARD_KERNELS": "numba"}
    words = [sys.executable, "-c", code]
    done = [subprocess.run(words, env=env, capture_output=True, text=True) for _ in range(2)]
    assert [one.stdout for one in done] == ["[3]\n"] * 2, done[0].stderr
    assert ["Compiling, which takes" in one.stderr for one in done] == [True, False]


def test_a_first_run_without_home_or_numba_says_nothing_and_writes_nothing(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['numba'] = None\n")
    (tmp_path / "tmp").mkdir()
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path), "TMPDIR": str(tmp_path / "tmp")}
    job = JOBS / "counts/job.yaml"
    words = [sys.executable, "-m", "cellguard", "protect", job, "--out", tmp_path / "out"]
    done = subprocess.run(words, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Compiling" not in done.stderr and "plain Python" not in done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


def _built(tmp_path, **env):
    """Build a wheel of the sources, and return it with its metadata."""
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("_built*", "built.json", "__pycache__"))
    recorded = source / "src/cellguard/kernels/signatures.txt"
    few = [line for line in recorded.read_text().splitlines() if line.startswith(("#", "linalg.peeling_kernel."))]
    recorded.write_text("\n".join(few) + "\n")  # all of them take more than a minute
    code = "from hatchling.build import build_wheel; print(build_wheel('.'))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=source, env={**os.environ, **env}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    wheel = source / done.stdout.split()[-1]
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    return wheel.name, names, about


@pytest.mark.long
def test_a_wheel_without_a_compiler_is_pure_and_needs_numba(tmp_path):
    name, names, about = _built(tmp_path, CELLGUARD_PURE="1")
    assert name.endswith("-py3-none-any.whl") and not any("_built" in one for one in names)
    assert "\nRequires-Dist: numba>=0.60\n" in about


@pytest.mark.long
def test_a_wheel_with_a_compiler_has_the_kernels_and_needs_no_numba(tmp_path):
    pytest.importorskip("numba")
    if not shutil.which(os.environ.get("CC", "cc")):
        pytest.skip("no compiler here")
    name, names, about = _built(tmp_path)
    assert f"-cp{sys.version_info[0]}{sys.version_info[1]}-" in name
    assert sum(one.startswith("cellguard/kernels/_built") for one in names) == 1
    assert "cellguard/kernels/built.json" in names
    assert "\nRequires-Dist: numba>=0.60\n" not in about
