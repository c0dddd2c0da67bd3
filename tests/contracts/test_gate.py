"""One gate for every method: what its verdict does not allow is not written, whatever release it made."""

import json
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from cellguard.errors import NotProtected
from cellguard.faces.cli.main import cli
from cellguard.faces.python.result import ProtectedFrame
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.job.registry import forget, method_names
from cellguard.methods.suppress.pattern_method import PatternMethod
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.pipeline import run
from cellguard.seam.summary import Summary
from cellguard.seam.verdict import Kind, NotChecked, Verdict
from cellguard.table.pattern import Pattern, release

CELLS = "region,turnover,firms\nTotal,100,19\nN,20,1\nS,50,9\nW,30,9\n"
BAD = [
    "unsafe",
    "undecided",
    "not proven",
    "NOT PROVEN",
    "not checked",
    "no rule",
    "safe by itself",
    "",
    "Safe",
    "fine",
]


def _suppress(folder):
    (folder / "cells.csv").write_text(CELLS)
    table = {"name": "t", "by": ["region"], "value": "turnover", "rules": [{"min_frequency": 3}]}
    return {"version": 1, "tables": [table | {"cells": {"source": "cells.csv", "count": "firms"}}]}


def _perturb(folder):
    rng = np.random.default_rng(3)
    rows = [f"f{i},{'NSW'[i % 3]},{rng.integers(50, 90)}\n" for i in range(90)]
    (folder / "firms.csv").write_text("id,region,turnover\n" + "".join(rows))
    table = {"name": "t", "by": ["region"], "value": "turnover", "rules": [{"dominance": {"n": 3, "k": 70}}]}
    return {
        "version": 1,
        "microdata": {"source": "firms.csv", "respondent": "id"},
        "perturb": {"seed": 1},
        "tables": [table | {"protect": {"method": "perturb"}}],
    }


def _redistribute(folder):
    rng = np.random.default_rng(3)
    rows = [f"{x:.4f},{y:.4f}\n" for x, y in rng.normal(size=(400, 2))]
    (folder / "points.csv").write_text("x,y\n" + "".join(rows))
    table = {"name": "t", "by": ["hexagon"], "value": "count", "rules": [{"min_frequency": 3}]}
    return {
        "version": 1,
        "microdata": {"source": "points.csv"},
        "redistribute": {"bins": 8},
        "tables": [table | {"protect": {"method": "redistribute"}}],
    }


def _merge(folder):
    job = _redistribute(folder)
    table = job["tables"][0] | {"protect": {"method": "merge"}}
    squares = {"grid": "squares", "size": 0.5}
    return {"version": 1, "microdata": job["microdata"], "merge": squares, "tables": [table]}


def _smooth(folder):
    job = _merge(folder)
    table = job["tables"][0] | {"protect": {"method": "smooth"}}
    squares = {"grid": "squares", "size": 0.5, "unproven": "accept"}
    return {"version": 1, "microdata": job["microdata"], "smooth": squares, "tables": [table]}


def _cell_key(folder):
    rows = [f"p{i},{'NSW'[i % 3]}\n" for i in range(90)]
    (folder / "people.csv").write_text("id,region\n" + "".join(rows))
    table = {"name": "t", "by": ["region"], "value": "count", "rules": [{"min_frequency": 3}]}
    return {
        "version": 1,
        "microdata": {"source": "people.csv", "respondent": "id"},
        "cell_key": {"seed": 1},
        "tables": [table | {"protect": {"method": "cell_key"}}],
    }


def _magnitude_key(folder):
    job = _perturb(folder)
    table = job["tables"][0] | {"rules": [{"p_percent": 10}], "protect": {"method": "magnitude_key"}}
    return {"version": 1, "microdata": job["microdata"], "magnitude_key": {"seed": 1}, "tables": [table]}


def _round(folder):
    job = _suppress(folder)
    table = job["tables"][0] | {"value": "count", "cells": {"source": "cells.csv", "count": "firms"}}
    table |= {"protect": {"method": "round", "base": 5}}
    return job | {"tables": [table]}


def _adjust(folder):
    job = _suppress(folder)
    table = job["tables"][0] | {"protect": {"method": "adjust", "unproven": "accept"}}
    return job | {"tables": [table]}


JOBS = {
    "suppress": _suppress,
    "perturb": _perturb,
    "redistribute": _redistribute,
    "merge": _merge,
    "smooth": _smooth,
    "round": _round,
    "cell_key": _cell_key,
    "magnitude_key": _magnitude_key,
    "adjust": _adjust,
}
ACCEPTED = {"adjust", "smooth"}  # prove nothing about attackers who know them: somebody must answer for every release


def outcome_of(name, folder):
    job = JOBS[name](folder) | {"output": {"formats": ["csv"]}}
    return run(Job.parse(job, folder=folder))


def with_verdict(outcome, verdict):
    """The outcome of a method that made the same release, but says something else of it."""
    made, kind = outcome.protected, type(outcome.protected)
    assert made.release is not None
    other = type("Other", (kind,), {"verdict": verdict, "release": made.release})
    twin = other.__new__(other)
    twin.__dict__.update(made.__dict__)
    for key in ("verdict", "release"):
        twin.__dict__.pop(key, None)
    return replace(outcome, protected=twin)


def test_every_method_has_a_case():
    assert sorted(JOBS) == sorted(method_names())


@pytest.mark.parametrize("name", JOBS)
def test_the_verdict_decides_and_not_the_release(name, tmp_path):
    outcome = outcome_of(name, tmp_path)
    assert outcome.verdict.kind == ("not proven" if name in ACCEPTED else "safe")
    assert outcome.verdict.accepted == (name in ACCEPTED) and outcome.release is not None
    for kind in BAD:
        bad = with_verdict(outcome, Verdict(kind, f"{kind}: nobody proved it", ()))
        assert bad.protected.release is not None and bad.release is None, kind
        out = tmp_path / "out"
        if outcome.method.keeps_internal:
            OutputFolder(out).write(bad, force=True)
            assert not (out / "release").exists() and (out / "internal").is_dir()
        else:
            with pytest.raises(NotProtected, match="nothing is released"):
                OutputFolder(out).write(bad)
            assert not out.exists()
    OutputFolder(tmp_path / "good").write(outcome)
    assert (tmp_path / "good/release/t.csv").is_file()


@pytest.mark.parametrize("name", JOBS)
def test_only_what_nobody_refuted_can_be_accepted(name, tmp_path):
    outcome = outcome_of(name, tmp_path)
    for kind in BAD:
        answered = with_verdict(outcome, Verdict(kind, "accepted", (), accepted=True))
        assert (answered.release is not None) == Kind(kind).can_be_accepted, kind


def test_who_accepts_tables_without_rules_accepts_nothing_else(tmp_path, monkeypatch):
    made = replace(outcome_of("suppress", tmp_path).protected, accept_no_rules=True)
    assert made.verdict.allows_release and not made.verdict.accepted
    said = replace(made.verdict, kind="not proven")
    monkeypatch.setattr("cellguard.methods.suppress.result.headline", lambda *_, **__: said)
    assert replace(made).release is None and not replace(made).verdict.allows_release


def test_a_frame_shows_nothing_that_its_verdict_does_not_allow(tmp_path):
    outcome = with_verdict(outcome_of("suppress", tmp_path), Verdict("not proven", "NOT PROVEN", ()))
    frame = ProtectedFrame(outcome.method, outcome.protected, outcome.seconds, outcome.made)
    with pytest.raises(NotProtected, match="nothing may be shown"):
        _ = frame.table
    assert "50" not in frame._repr_html_()


@pytest.fixture(params=[False, True], ids=["plain", "keeps internal files"])
def careless(request):
    """The method `careless`: it makes a release, with a verdict that says that it proved nothing."""

    @dataclass(frozen=True, eq=False)
    class Given(SuppressionResult):
        verdict = Verdict("not proven", "NOT PROVEN", (NotChecked("all", "everything", "everybody"),))

        @property
        def release(self):
            return release(self.audit.pattern, self.audit.grains.value, self.audit.grains.decimals)

        def summary(self):
            facts = {"failing": [], "set": {"cells": 4, "relations": 1, "primary": 1, "witnesses": 0}}
            return Summary("careless", self.verdict, {}, facts=facts)

    @dataclass(frozen=True, eq=False)
    class Careless(PatternMethod):
        name: ClassVar[str] = "careless"
        participle: ClassVar[str] = "left as they are"
        keeps_internal: ClassVar[bool] = request.param

        def choose(self, assessment, known, run):
            primary = assessment.needs.primary
            return Pattern(assessment.tables, primary, np.zeros(len(primary), bool))

        def protect(self, assessed, run, seconds):
            proven = super().protect(assessed, run, seconds)
            return Given(**{key: getattr(proven, key) for key in ("findings", "audit", "known", "job")})

        def write_internal(self, outcome, inside):
            (inside / "note.txt").write_text("kept")

        def pages(self, outcome):
            return {"internal/report.html": "inside", "release/report.html": "outside"}

        def seal(self, outcome, folder):
            pass

    yield Careless
    forget("careless")


def test_a_method_that_writes_a_release_itself_writes_nothing(careless, tmp_path, monkeypatch):
    """Its internal files are kept in any case, and it has a hand in the folder until it is closed."""

    def seal(self, outcome, folder):
        (folder / "release").mkdir()
        (folder / "release/t.csv").write_text(CELLS)

    monkeypatch.setattr(careless, "seal", seal)
    job = _suppress(tmp_path)
    job["tables"][0]["protect"] = {"method": "careless"}
    outcome = run(Job.parse(job, folder=tmp_path))
    with pytest.raises(NotProtected, match="nothing is released"):
        OutputFolder(tmp_path / "out").write(outcome)
    assert not (tmp_path / "out").exists()


def test_what_cannot_be_shown_is_not_written(careless, tmp_path, monkeypatch):
    """The message of an error says that nothing was released, so that nothing may stand there by then."""

    def screen(self, outcome, folder):
        raise RuntimeError("no words")

    monkeypatch.setattr(careless, "screen", screen)
    monkeypatch.setattr("cellguard.seam.outcome.Outcome.release", property(lambda self: self.protected.release))
    job = _suppress(tmp_path)
    job["tables"][0]["protect"] = {"method": "careless"}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    done = CliRunner().invoke(cli, ["protect", str(tmp_path / "job.yaml"), "--out", str(tmp_path / "out")])
    assert isinstance(done.exception, RuntimeError) and not (tmp_path / "out").exists()


def test_a_careless_method_releases_nothing(careless, tmp_path):
    job = _suppress(tmp_path)
    job["tables"][0]["protect"] = {"method": "careless"}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    out = tmp_path / "out"
    done = CliRunner().invoke(cli, ["protect", str(tmp_path / "job.yaml"), "--out", str(out)])
    assert done.exit_code == 1, done.output
    assert "NOT PROVEN" in done.output and "may be published" not in done.output, done.output
    assert not (out / "release").exists()
    assert out.exists() == careless.keeps_internal
    if out.exists():
        assert {p.name for p in out.rglob("*.html")} == {"report.html"}
    again = CliRunner().invoke(cli, ["protect", str(tmp_path / "job.yaml"), "--out", str(out), "--force", "--json"])
    assert again.exit_code == 1 and json.loads(again.stdout)["verdict"] == "not proven"
