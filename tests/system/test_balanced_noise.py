"""Balanced noise from a job: release, pages, metadata, later tables, Python."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

import cellguard as cg
from cellguard.faces.cli.main import cli

JOB = """version: 1
microdata: {source: f.csv, respondent: id}
perturb: {method: balanced, seed: 5, redraw: 50, balanced: {low: 0.15, high: 0.3, totals: exact}}
tables:
  - {name: t, by: [ind, reg], value: x, rules: [{p_percent: 10}], protect: {method: perturb}}
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(2)
    rows = [f"F{i}{r}{j:02},{i},{r},{rng.integers(100, 400)}" for i in "ABC" for r in "NSE" for j in range(9)]
    rows += [f"G{j},D,N,{x}" for j, x in enumerate([4000, 150, 90, 60, 30])]
    (tmp_path / "f.csv").write_text("\n".join(["id,ind,reg,x", *rows]) + "\n")
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


def run(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


def test_a_job_is_released_adds_up_and_says_how(folder):
    done = run("protect", folder / "job.yaml", "--out", folder / "out")
    assert done.exit_code == 0, done.output
    assert "balanced in 9 cells" in done.output and "Guesses of a side not checked." in done.output
    rows = {(r["ind"], r["reg"]): r for r in csv.DictReader((folder / "out/release/t.csv").read_text().splitlines())}
    true = {(r["ind"], r["reg"]): r for r in csv.DictReader((folder / "out/internal/t.csv").read_text().splitlines())}
    assert rows["A", "N"]["value"] == true["A", "N"]["value"], "a cell that needs no noise keeps its total"
    assert rows["D", "N"]["value"] != true["D", "N"]["value"], "a sensitive one does not"
    parts = sum(int(row["value"]) for (ind, reg), row in rows.items() if ind != "Total" and reg != "Total")
    assert parts == int(rows["Total", "Total"]["value"])
    about = json.loads((folder / "out/release/metadata.json").read_text())["tables"]["t"]
    assert about["noise"] == {"kind": "balanced", "least": 0.15, "most": 0.3, "additive": True}
    page = (folder / "out/internal/report.html").read_text()
    assert (
        "The range of the noise" in page and "among the largest of sensitive cells have noise by chance alone" in page
    )
    summary = json.loads((folder / "out/internal/summary.json").read_text())
    assert summary["balanced"]["exact"] >= 8 and summary["balanced"]["guarded"] >= 2
    assert "sides" in summary["not_checked"]


def test_later_tables_count_guarded_noise_only(folder):
    """By size class one firm is alone that was balanced before: its noise does not protect it, though there is some."""
    rows = (folder / "f.csv").read_text().splitlines()
    sized = [rows[0] + ",size", *(f"{row},{'big' if row.startswith('FAN00') else 'small'}" for row in rows[1:])]
    (folder / "f.csv").write_text("\n".join(sized) + "\n")
    assert run("protect", folder / "job.yaml", "--out", folder / "out").exit_code == 0
    later = JOB.replace("name: t, by: [ind, reg]", "name: later, by: [size]")
    (folder / "later.yaml").write_text(later)
    kept = folder / "out/internal/multipliers.parquet"
    done = run("perturb", folder / "later.yaml", "--multipliers", kept, "--out", folder / "two")
    assert done.exit_code == 1 and "sensitive: later: big" in done.output, done.output


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("{low: 0.3, high: 0.2}", "`high` must be above `low`"),
        ("{totals: exact}, attributes: {sd: 0.01}", "`totals: exact` holds for one multiplier"),
        ("{table: u}", "no table 'u'"),
    ],
)
def test_what_does_not_fit_is_refused(folder, said, words):
    text = JOB.replace("{low: 0.15, high: 0.3, totals: exact}", said)
    (folder / "job.yaml").write_text(text)
    done = run("protect", folder / "job.yaml", "--out", folder / "out")
    assert words in str(done.exception), done.output


def test_strata_and_a_shape_do_not_go_with_it(folder):
    for said in ("strata: reg", "shape: beta", "directions: balanced"):
        (folder / "job.yaml").write_text(JOB.replace("seed: 5", f"seed: 5, {said}"))
        assert "does not go with balanced noise" in str(run("assess", folder / "job.yaml").exception)


def test_a_narrow_range_is_never_released(folder):
    (folder / "job.yaml").write_text(JOB.replace("low: 0.15, high: 0.3", "low: 0.05, high: 0.1"))
    done = run("protect", folder / "job.yaml", "--out", folder / "out")
    assert done.exit_code == 1 and not (folder / "out/release").exists()
    assert "must be above 0.1" in done.output


def test_from_python_and_in_compare(folder):
    firms = {"region": ["N"] * 6 + ["S"] * 9, "pay": [30, 28, 25, 22, 21, 20] + [12, 11] * 4 + [10]}
    how = cg.RespondentNoise(method="balanced", balanced={"low": 0.15, "high": 0.3}, seed=1)
    done = cg.protect(firms, by=["region"], value="pay", rules=cg.PPercent(10), method=how)
    assert str(done.verdict.kind) == "safe"
    text = JOB.replace(", balanced: {low: 0.15, high: 0.3, totals: exact}", "")
    (folder / "job.yaml").write_text(text)
    told = run("compare", folder / "job.yaml", "--methods", "perturb", "--noise", "zes,balanced")
    assert told.exit_code == 0 and "perturb, balanced" in told.output, told.output
