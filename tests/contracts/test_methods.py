"""A method is one class: a toy of a few lines goes through job, command line, report, audit and files."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from cellguard.errors import InputError, JobError
from cellguard.faces.cli.main import cli
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job, job_schema
from cellguard.job.registry import find_method, forget, method_names
from cellguard.job.specs import ProtectSpec, Spec
from cellguard.methods.suppress.pattern_method import PatternMethod
from cellguard.pipeline import run
from cellguard.seam.method import Method
from cellguard.table.pattern import Pattern
from cellguard.verifier.verify import verify

CELLS = "region,size,turnover,firms\n" + "".join(
    f"{region},{size},{x},{n}\n"
    for region, size, x, n in [
        ("Total", "Total", 100, 20),
        ("Total", "small", 40, 11),
        ("Total", "large", 60, 9),
        ("N", "Total", 30, 10),
        ("S", "Total", 70, 10),
        ("N", "small", 20, 9),
        ("N", "large", 10, 1),
        ("S", "small", 20, 2),
        ("S", "large", 50, 8),
    ]
)


class TotalsOptions(ProtectSpec):
    margins: bool = False


class TotalsSettings(Spec):
    note: str = ""


@pytest.fixture
def totals():
    """The method `totals`: of every table nothing but its total is published."""

    @dataclass(frozen=True, eq=False)
    class Totals(PatternMethod):
        name: ClassVar[str] = "totals"
        participle: ClassVar[str] = "cut down to totals"
        options: ClassVar[type[ProtectSpec]] = TotalsOptions
        settings: ClassVar[type[Spec] | None] = TotalsSettings

        def choose(self, assessment, known, run):
            tables = assessment.tables
            hidden = np.zeros(len(tables), bool)
            for table, cells in zip(tables.tables, tables.cells_of, strict=True):
                above = [d.level[c] > 0 for d, c in zip(table.dimensions, table.codes, strict=True)]
                hidden[cells] = np.logical_or.reduce(above)
            primary = assessment.needs.primary
            return Pattern(tables, primary, hidden & ~primary)

    yield Totals
    forget("totals")


@pytest.fixture
def path(tmp_path):
    (tmp_path / "cells.csv").write_text(CELLS)
    table = {
        "name": "t",
        "by": ["region", "size"],
        "value": "turnover",
        "cells": {"source": "cells.csv", "count": "firms"},
        "rules": [{"min_frequency": 3}],
        "protect": {"method": "totals", "margins": False},
    }
    job = {"version": 1, "tables": [table], "totals": {"note": "nothing else"}}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    return tmp_path / "job.yaml"


def command(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


def test_a_new_method_goes_through_job_and_files(totals, path, tmp_path):
    job = Job.load(path)
    assert job.method == "totals" and job.settings["totals"].note == "nothing else"
    assert Job.parse(job.model_dump(), folder=tmp_path).model_dump() == job.model_dump()
    outcome = run(job)
    assert isinstance(outcome.method, totals) and outcome.verdict.kind == "safe"
    assert [text for text in outcome.release.tables[0].value if text] == ["100"]
    OutputFolder(tmp_path / "out").write(outcome)
    assert OutputFolder(tmp_path / "out").method == "suppress", "so it looks to a reader"
    assert yaml.safe_load((tmp_path / "out/internal/job.yaml").read_text())["totals"] == {"note": "nothing else"}
    assert verify(tmp_path / "out/internal/certificate.json").valid


def test_a_new_method_goes_through_the_command_line(totals, path, tmp_path):
    out = tmp_path / "out"
    done = command("protect", path, "--out", out)
    assert done.exit_code == 0 and "Safe against outsiders only" in done.output, done.output
    assert "not released" not in done.output and (out / "internal/report.html").exists()
    assert "100" in command("show", out, "t").output
    audited = command("audit", out)
    assert audited.exit_code == 0 and "Safe" in audited.output, audited.output
    assert command("verify", out).exit_code == 0
    assert "secondary" in command("explain", out, "N/small").output
    assert "unsafe" in command("protect", path, "--dry-run").output
    refused = command("perturb", path, "--out", tmp_path / "no")
    assert isinstance(refused.exception, InputError) and not (tmp_path / "no").exists()


def test_what_a_method_may_be_told_is_checked(totals, path):
    text = path.read_text()
    path.write_text(text.replace("margins: false", "margin: false"))
    with pytest.raises(JobError, match=r"margin.*did you mean 'margins'"):
        Job.load(path)
    path.write_text(text.replace("note: nothing else", "nota: 1"))
    with pytest.raises(JobError, match=r"line \d+: totals.nota: unknown key"):
        Job.load(path)
    path.write_text(text.replace("note: nothing else", "note: 5"))
    with pytest.raises(JobError, match=r"totals.note: must be text"):
        Job.load(path)
    path.write_text(text.replace("method: totals", "method: total"))
    with pytest.raises(
        JobError, match=r"protect.method: must be 'suppress' or 'perturb' or 'redistribute' or .*'totals'"
    ):
        Job.load(path)
    with pytest.raises(InputError, match="`warm` does not go with tables that are cut down to totals"):
        path.write_text(text)
        run(Job.load(path), warm="out")


def test_methods_are_not_mixed(totals, path):
    job = yaml.safe_load(path.read_text())
    other = {**job["tables"][0], "name": "u", "protect": {"method": "suppress"}}
    with pytest.raises(JobError, match="table 't' is cut down to totals and table 'u' of the same response is supp"):
        Job.parse({**job, "tables": [job["tables"][0], other]})
    with pytest.raises(JobError, match="`totals` is given, but no table says"):
        Job.parse({**job, "tables": [other]})


def test_the_schema_follows(totals):
    schema = job_schema()
    assert "totals" in schema["properties"] and "perturb" in schema["properties"]
    assert "settings" not in schema["properties"]


def test_a_name_is_taken_once(totals):
    with pytest.raises(InputError, match="there is a method 'totals' already"):

        class RebuiltInputs(Method):
            name = "totals"


def test_unknown_methods_are_refused():
    assert method_names()[:3] == ["suppress", "perturb", "redistribute"] and "round" in method_names()
    with pytest.raises(InputError, match="unknown method 'supress'; did you mean 'suppress'"):
        find_method("supress")
