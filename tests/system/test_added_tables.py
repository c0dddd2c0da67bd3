"""Tables that cellguard adds, since readers may work out their cells: told in the user's words, or not at all."""

from __future__ import annotations

import json
import random
import re

import pyarrow as pa
import pytest
import yaml

import cellguard as cg
from cellguard.faces.python.protect import protect
from cellguard.inputs.assessment import rule_doubts
from cellguard.methods.suppress.explained_cell import find_cell
from cellguard.pipeline import assess_job, explain_cell, run

from system.command import run as command

OWN_WORDS = re.compile(
    r"\blatent\d*\b(?! cells)|\bsum_sums|\bsums\d*:|'sums\d*'|^sums\d* +\d|\bs\d+\b", re.M
)  # that no user gave
RULES = [{"min_frequency": 3}, {"p_percent": {"p": 0.5, "confirmed": True}}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A job of three tables that cross, in which one holding is alone in two cells."""
    folder = tmp_path_factory.mktemp("added")
    draw = random.Random(1)  # noqa: S311
    rows = [
        f"g{i},{draw.choice('AB')},{draw.choice('xyz')},{draw.choice('uvw')},{50 + 37 * i % 90}.25" for i in range(60)
    ]
    rows += ["one,C,x,u,700.25", "one,D,y,u,800.25"]
    (folder / "r.csv").write_text("\n".join(["g,a,b,c,x", *rows]) + "\n")
    tables = [{"name": f"by_{d}{e}", "by": [d, e], "value": "x", "rules": RULES} for d, e in ("ab", "bc", "ac")]
    job = {"version": 1, "microdata": {"source": "r.csv", "holding": "g"}, "tables": tables}
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    assert command("protect", "job.yaml", "--out", "out", "--quiet", cwd=folder).returncode == 0
    return folder


@pytest.fixture(scope="module")
def summary(folder):
    found = json.loads((folder / "out/internal/summary.json").read_text())
    assert [name for name, table in found["tables"].items() if table["release"] in {"latent", "sums"}] == [
        "latent",
        "sums",
    ]
    return found


def test_terminals_call_them_what_they_are(folder, summary):
    for words in (("assess", "job.yaml"), ("protect", "job.yaml", "--out", "again"), ("audit", "out")):
        said = command(*words, cwd=folder).stdout
        assert "cells that no table lists" in said
        assert not OWN_WORDS.search(said), said
    assert re.search(r"^sums of cells +\d", said, re.M)


def test_warnings_headlines_and_what_is_not_checked_are_about_the_tables_of_the_job(summary):
    assert summary["warnings"][0].startswith("tables 'by_ab', 'by_bc', 'by_ac': the rule p_percent 0.5")
    texts = [summary["headline"], summary["caveat"], *summary["warnings"]]
    assert not [text for text in texts if OWN_WORDS.search(text)]


def test_the_officers_page_names_the_tables_of_the_job(folder):
    page = (folder / "out/internal/report.html").read_text()
    assert "<title>Disclosure control of by_ab, by_bc, by_ac</title>" in page
    shown = re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]*>", " ", page, flags=re.S)
    assert "cells that no table lists" in shown and "sums of cells" in shown
    assert not [line for line in shown.splitlines() if OWN_WORDS.search(line)]


def test_their_cells_have_names_by_which_they_are_found(folder):
    outcome = run(cg.Job.load(folder / "job.yaml"))
    tables = outcome.protected.audit.needs.tables
    number, row = tables.first
    for cell in tables.unlisted.nonzero()[0].tolist():
        name = tables.cell_name(cell)
        assert find_cell(tables, name) == (number[cell], row[cell]) and not OWN_WORDS.search(name)
    names = [tables.cell_name(cell) for cell in tables.unlisted.nonzero()[0].tolist()]
    assert any(re.fullmatch(r"\w+/\w+/\w+ \(by a, b, c; no table lists it\)", name) for name in names)
    two = next(name for name in names if name.count(" + ") == 1)
    said = explain_cell(folder / "out", two)
    assert said[0].startswith(f"{two}: x ") and any(line.startswith(f"{two} is primary: ") for line in said)
    assert not [line for line in said if OWN_WORDS.search(line)]


def test_rules_that_look_wrong_are_asked_about_once(folder):
    findings = assess_job(cg.Job.load(folder / "job.yaml")).findings
    assert [here.table.name for here in findings.by_table] == ["by_ab", "by_bc", "by_ac", "latent"]
    (doubt,) = rule_doubts(findings)
    assert doubt.startswith("tables 'by_ab', 'by_bc', 'by_ac': ")


def test_a_frame_is_one_table_whatever_was_added():
    regions = ["A", "B", *["C"] * 20]
    frame = pa.table({"region": regions, "x": [60, 40, *[5] * 20], "g": [1, 1, *range(10, 30)]})
    outcome = protect(frame, ["region"], "x", rules=[cg.MinFrequency(3)], holding="g")
    assert [table.release for table in outcome.protected.tables] == ["here", "sums"]
    assert outcome.table.column_names == ["region", "value", "flag"]
    assert pa.table(outcome.audit).num_rows == len(outcome.table)


def test_tables_whose_rules_see_different_contributions_have_a_crossing_table_each(tmp_path):
    """A rule that cannot do with contributions below 0 judges them as its own table says, whichever comes first."""
    draw = random.Random(0)  # noqa: S311
    rows = [f"{i},{draw.choice('ABCD')},{draw.choice('uvw')},{draw.randrange(20, 400)}" for i in range(51)]
    rows += [f"{i},{draw.choice('ABCD')},{draw.choice('uvw')},{-draw.randrange(1, 30)}" for i in range(51, 60)]
    (tmp_path / "r.csv").write_text("\n".join(["id,a,b,x", *rows]))
    plain = {"name": "s", "by": ["a"], "value": "x", "rules": [{"min_frequency": 3}]}
    sizes = {"name": "t", "by": ["b"], "value": "x", "negative": "absolute", "rules": [{"p_percent": 15}]}
    said = {"version": 1, "microdata": {"source": "r.csv", "respondent": "id"}, "attack": {"lower": "unbounded"}}
    for tables in ([plain, sizes], [sizes, plain]):
        outcome = run(cg.Job.parse({**said, "tables": tables}, folder=tmp_path))
        assert outcome.verdict.text == "Safe against outsiders and every single respondent"
        latent = [spec for spec in outcome.job.tables if spec.publish == "latent"]
        rules = {spec.negative is None: [str(rule) for rule in spec.rules] for spec in latent}
        assert rules == {True: ["min_frequency 3"], False: ["p_percent 15"]}
