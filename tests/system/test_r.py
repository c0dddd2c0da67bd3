"""The R package is installed and used as an R user does; skipped where R or reticulate is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

R = Path(__file__).parents[2] / "r"
CHUNK = re.compile(r"```\{r\}\n(.*?)```", re.S)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The package, installed; asked for before a test runs and not while tests are collected, since R starts slowly."""
    rscript = shutil.which("Rscript")
    if not rscript or subprocess.run([rscript, "-e", "library(reticulate)"], capture_output=True).returncode:
        pytest.skip("needs R and reticulate; apt-get install r-base-core r-cran-reticulate")
    made = tmp_path_factory.mktemp("library")
    done = subprocess.run(["R", "CMD", "INSTALL", "-l", made, R], capture_output=True, text=True)
    assert done.returncode == 0 and "Warning" not in done.stderr, done.stderr
    return made


def run(library, script):
    """Run a script with the installed package and this very Python."""
    env = {**os.environ, "R_LIBS": str(library), "RETICULATE_PYTHON": sys.executable}
    return subprocess.run(["Rscript", "-"], input=script, env=env, capture_output=True, text=True)


@pytest.mark.long
def test_what_r_users_do_and_what_they_do_wrong(library):
    done = run(library, (R / "tests/run.R").read_text())
    assert done.returncode == 0 and done.stdout.endswith("all lines hold\n"), done.stderr


@pytest.mark.long
def test_the_vignette_runs(library):
    done = run(library, "\n".join(CHUNK.findall((R / "vignettes/habits.Rmd").read_text())))
    assert done.returncode == 0, done.stderr
    assert "UNSAFE: an outsider can estimate too closely 1 unsafe cell" in done.stdout
    assert done.stdout.endswith("[1] TRUE\n")


def test_each_exported_function_has_a_page_and_a_definition():
    exported = re.findall(r"^export\((\w+)\)", (R / "NAMESPACE").read_text(), re.M)
    assert sorted(path.stem for path in (R / "man").glob("*.Rd")) == sorted(exported)
    code = "\n".join(path.read_text() for path in (R / "R").glob("*.R"))
    assert [name for name in exported if f"\n{name} <- function(" not in f"\n{code}"] == []
    assert "cg_protect(firms" in (R / "README.md").read_text()
