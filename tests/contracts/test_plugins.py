"""A rule and a method of a package of a user's own work from the command line, without a change here."""

import json
import os
import subprocess
import sys

import yaml

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
POINTS = "[cellguard.rules]\nat_least = toy_rule\n[cellguard.methods]\neverything = toy_method:Everything\n"
CELLS = "region,turnover,firms\nTotal,100,19\nN,20,9\nS,50,9\nW,30,9\n"


def _install(folder):
    about = folder / "toy-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS)
    (folder / "toy_rule.py").write_text(RULE)
    (folder / "toy_method.py").write_text(METHOD)


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
