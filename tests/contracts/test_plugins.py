"""Rules, methods and formats of a package of a user's own work from the command line, without a change here."""

import json
import os
import subprocess
import sys

import pytest
import yaml

from cellguard.job import formats, registry

from system.command import run

RULE = """
from dataclasses import dataclass
from cellguard.rules.rule import Rule, register
from cellguard.table.fact import Total


@register("at_least", formula=("X < x", "", ""))
@dataclass(frozen=True)
class AtLeast(Rule):
    x: float
    facts = (Total(),)

    def sensitivity(self, cells):
        return self.x - cells.total
"""
METHOD = """
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from cellguard.methods.suppress.pattern_method import PatternMethod
from cellguard.table.pattern import Pattern


@dataclass(frozen=True, eq=False)
class Everything(PatternMethod):
    name: ClassVar[str] = "everything"
    participle: ClassVar[str] = "suppressed altogether"

    def choose(self, assessment, known, run):
        primary = assessment.needs.primary
        return Pattern(assessment.tables, primary, ~primary)
"""
CHANGING = """
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar
from pydantic import Field
from cellguard.inputs.assessment import Assessment
from cellguard.inputs.changing_method import ChangingMethod
from cellguard.job.jobfile import Job
from cellguard.job.specs import ProtectSpec, Spec
from cellguard.seam.look import Look
from cellguard.seam.method import Result
from cellguard.seam.summary import Summary
from cellguard.seam.verdict import Kind, Verdict
from cellguard.table.pattern import Release, ReleasedTable
from cellguard.verifier.verify import Check, Verification


class FullOptions(ProtectSpec):
    base: int = Field(10, ge=1)


class FullSettings(Spec):
    enough: int = Field(2, ge=1)


@dataclass(frozen=True, eq=False)
class FullResult(Result):
    job: Job
    assessed: Assessment

    @property
    def tables(self):
        return self.assessed.tables.tables

    @property
    def inputs(self):
        return self.assessed.inputs

    @cached_property
    def drawn(self) -> Release:
        base = {spec.name: spec.protect.base for spec in self.job.tables}
        made = [ReleasedTable.of(t, [int(x) // base[t.name] * base[t.name] for x in t.value]) for t in self.tables]
        return Release.of(made, {d.name: d for t in self.tables for d in t.dimensions})

    @property
    def release(self):
        return self.drawn

    @property
    def verdict(self) -> Verdict:
        least = self.job.settings["full"].enough if "full" in self.job.settings else 2
        good = all(spec.protect.base >= least for spec in self.job.tables)
        return Verdict(Kind.SAFE if good else Kind.UNSAFE, "Safe by decree" if good else "UNSAFE: base too small", ())

    def summary(self) -> Summary:
        return Summary("full", self.verdict, {t.name: {"cells": len(t)} for t in self.tables}, ["a toy"])


@dataclass(frozen=True, eq=False)
class Full(ChangingMethod[FullResult]):
    name: ClassVar[str] = "full"
    participle: ClassVar[str] = "cut off"
    options: ClassVar[type[ProtectSpec]] = FullOptions
    settings: ClassVar[type[Spec] | None] = FullSettings
    look: ClassVar[Look] = Look(public="Every figure is cut off.")
    robustness: ClassVar[str] = "Later tables are cut off alike."

    def protect(self, assessed, run, seconds):
        return FullResult(assessed.job, assessed)

    def columns(self, outcome):
        cut = lambda t: (t.value % 10).tolist()
        return {t.name: {"cut": cut(t)} for t in outcome.protected.tables}

    def pages(self, outcome) -> Mapping[str, str]:
        return {"internal/report.html": "<p>inside</p>", "release/report.html": "<p>outside</p>"}

    @classmethod
    def explain(cls, folder, table, row) -> Sequence[str]:
        return [f"{row['cut']} were cut off."]

    @classmethod
    def verify(cls, folder) -> Verification:
        lines = (folder / "release/t.csv").read_text().splitlines()[1:]
        good = all(int(line.split(",")[1]) % 10 == 0 for line in lines)
        return Verification((Check(1, "cut", good, "as stored"),), (), (), {})
"""
FORMAT = """
name, extra = "lines", {}
def files(release):
    return [f"{t.name}.lines" for t in release.tables]
def write(release, folder):
    for t in release.tables:
        (folder / f"{t.name}.lines").write_text(" ".join(t.value))
"""
POINTS = (
    "[cellguard.rules]\nat_least = toy_rule\n[cellguard.formats]\nlines = toy_format\n"
    "[cellguard.methods]\neverything = toy_method:Everything\nfull = toy_full:Full\n"
)
CELLS = "region,turnover,firms\nTotal,100,19\nN,20,9\nS,50,9\nW,30,9\n"


def _install(folder):
    about = folder / "toy-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    (folder / "toy_rule.py").write_text(RULE)
    (folder / "toy_method.py").write_text(METHOD)
    (folder / "toy_full.py").write_text(CHANGING)
    (folder / "toy_format.py").write_text(FORMAT)


def _run(folder, *arguments):
    path = os.pathsep.join([str(folder / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    code = "from cellguard.faces.cli.entry import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def test_a_rule_and_a_method_of_a_package_of_ones_own(tmp_path):
    _install(tmp_path / "site")
    (tmp_path / "cells.csv").write_text(CELLS)
    table = {"name": "t", "by": ["region"], "value": "turnover", "rules": [{"at_least": 25}]}
    table |= {"cells": {"source": "cells.csv", "count": "firms"}, "protect": {"method": "everything"}}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump({"version": 1, "tables": [table]}))
    done = _run(tmp_path, "protect", "job.yaml", "--out", "out", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["verdict"], summary["trusted"]) == ("safe", ["at_least"])
    shown = (tmp_path / "out/release/t.csv").read_text().splitlines()
    assert [line.split(",")[-1] for line in shown[1:]] == ["c", "c", "c", "c"]
    unknown = yaml.safe_load((tmp_path / "job.yaml").read_text())
    unknown["tables"][0]["protect"]["method"] = "everythin"
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(unknown))
    refused = _run(tmp_path, "protect", "job.yaml", "--out", "out2")
    assert refused.returncode == 2 and "everything" in refused.stderr


@pytest.fixture
def toys(tmp_path, monkeypatch):
    """A folder with a job of the method `full`, whose package is installed for this process."""
    before = set(sys.modules)
    _install(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    registry._installed.cache_clear()
    (tmp_path / "cells.csv").write_text(CELLS.replace("20,9", "24,9").replace("30,9", "26,9"))
    yield tmp_path
    registry._installed.cache_clear()
    formats._loaded.cache_clear()
    registry.forget("full")
    for name in {name for name in set(sys.modules) - before if name.startswith("toy_")}:
        del sys.modules[name]


def write_job(folder, base):
    table = {"name": "t", "by": ["region"], "value": "turnover", "rules": [{"min_frequency": 3}]}
    table |= {"cells": {"source": "cells.csv", "count": "firms"}, "protect": {"method": "full", "base": base}}
    job = {"version": 1, "tables": [table], "full": {"enough": 5}, "output": {"formats": ["lines", "html"]}}
    (folder / "job.yaml").write_text(yaml.safe_dump(job))


def test_a_method_that_changes_figures_has_every_command(toys):
    """It says how it changes figures and what is proven, and the rest of the command line is there."""
    write_job(toys, 10)
    done = run("protect", "job.yaml", "--out", "out", cwd=toys)
    assert done.returncode == 0, done.stderr
    for words in ("Safe by decree.", "Warning: a toy", "out/release (may be published)", "Read first: out/internal"):
        assert words in done.stdout
    release = toys / "out/release"
    assert (release / "t.csv").read_text().splitlines()[1:] == ["Total,100,", "N,20,", "S,50,", "W,20,"]
    assert (release / "t.lines").read_text() == "100 20 50 20"
    assert (release / "report.html").read_text() == "<p>outside</p>"
    inside = (toys / "out/internal/t.csv").read_text().splitlines()
    assert inside[0] == "region,value,published,status,cut" and inside[2] == "N,24,20,published,4.0"
    shown = run("show", "out", cwd=toys)
    assert shown.returncode == 0 and "Every figure is cut off." in shown.stdout and "c suppressed" not in shown.stdout
    assert "24 → 20" in run("show", "out", "--internal", cwd=toys).stdout
    told = run("explain", "out", "N", cwd=toys).stdout.splitlines()
    assert told == ["N in table 't': 24, cut off to 20.", "4.0 were cut off."]
    wrong = run("explain", "out", "M", cwd=toys)
    assert wrong.returncode == 2 and "known are 'Total', 'N'" in wrong.stderr
    assert run("verify", "out", cwd=toys).returncode == 0
    (release / "t.csv").write_text("region,value,flag\nTotal,101,\n")
    assert run("verify", "out", cwd=toys).returncode == 1
    dry = run("protect", "job.yaml", "--dry-run", cwd=toys)
    assert dry.returncode == 0 and "unsafe" in dry.stdout


def test_a_method_of_another_package_is_compared_with_others(toys):
    write_job(toys, 10)
    compared = run("compare", "job.yaml", "--methods", "suppress,full", "--out", "page.html", cwd=toys)
    assert compared.returncode == 0 and "full: utility" in compared.stdout, compared.stderr
    assert "full: Later tables are cut off alike." in (toys / "page.html").read_text()


def test_what_the_verdict_of_another_package_forbids_is_not_released(toys):
    write_job(toys, 3)
    done = run("protect", "job.yaml", "--out", "out", cwd=toys)
    assert done.returncode == 1 and "UNSAFE: base too small." in done.stdout and "may be published" not in done.stdout
    assert not (toys / "out").exists()
    assert json.loads(run("protect", "job.yaml", "--out", "out", "--json", cwd=toys).stdout)["verdict"] == "unsafe"
