"""Adjustment as jobs know it: linked tables, a verdict that refuses, files, pages, commands."""

import csv
import json

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

import cellguard as cg
from cellguard.errors import InputError, JobError
from cellguard.evaluate.candidates import parse_policies
from cellguard.evaluate.policies import compare_policies
from cellguard.faces.cli.main import cli
from cellguard.job.jobfile import Job
from cellguard.pipeline import run, verify


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(5)
    n = 90
    rows = zip(rng.choice(list("NSWE"), n), rng.choice(list("abc"), n), rng.lognormal(4, 1, n).round(1), strict=True)
    lines = "".join(f"f{i},{r},{s},{x}\n" for i, (r, s, x) in enumerate(rows))
    (tmp_path / "firms.csv").write_text("id,region,sector,pay\n" + lines)
    return tmp_path


def table(name, by, **more):
    said = {"method": "adjust", "unproven": "accept"} | more.pop("protect", {})
    rules = [{"p_percent": 15}, {"min_frequency": 3}]
    return {"name": name, "by": by, "value": "pay", "rules": rules, "decimals": 1, "protect": said} | more


def job_of(folder, *tables, **more):
    data = {"version": 1, "microdata": {"source": "firms.csv", "respondent": "id"}, "tables": list(tables)}
    return Job.parse(data | {"output": {"formats": ["csv", "html"]}} | more, folder=folder)


def command(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_without_an_answer_nothing_is_released(folder):
    both = {"protect": {"unproven": "refuse"}}
    outcome = run(job_of(folder, table("a", ["region", "sector"], **both)))
    assert outcome.verdict.kind == "not proven" and outcome.release is None
    assert "what somebody concludes who knows the method is not proven" in outcome.verdict.text
    keys = [attack.key for attack in outcome.verdict.not_checked]
    assert keys[:2] == ["known_cells", "known_sides"] and {"unions", "insiders", "earlier_releases"} <= set(keys)
    cg.OutputFolder(folder / "out").write(outcome)
    assert not (folder / "out/release").exists() and verify(folder / "out").valid
    accepted = run(job_of(folder, table("a", ["region", "sector"])))
    assert accepted.verdict.kind == "not proven" and accepted.release is not None


def test_without_rules_nothing_is_released(folder):
    job = job_of(folder, table("a", ["region"], rules=[]))
    assert run(job).verdict.kind == "no rule" and run(job).release is None
    assert run(job, accept_no_rules=True).release is not None


def test_a_table_without_unsafe_cells_is_safe_as_it_is(folder):
    outcome = run(job_of(folder, table("a", ["region"], rules=[{"min_frequency": 2}], protect={"unproven": "refuse"})))
    assert outcome.verdict.kind == "safe" and outcome.summary["distance"]["total"] == pytest.approx(0, abs=0.5)


def test_linked_tables_show_one_value_and_add_up(folder):
    job = job_of(folder, table("a", ["region", "sector"]), table("b", ["sector"]), table("c", ["sector", "region"]))
    release = run(job).release
    a, b, c = (dict(zip(zip(*t.codes, strict=True), t.value, strict=True)) for t in release.tables)
    assert {(y, x): value for (x, y), value in a.items()} == c
    assert all(b[s,] == a["Total", s] for (s,) in b)
    units = {at: round(float(value) * 10) for at, value in a.items()}
    for sector in {s for _, s in a}:
        assert units["Total", sector] == sum(v for (r, s), v in units.items() if s == sector and r != "Total")


def test_digits_do_not_tell_which_cells_moved(folder):
    made = run(job_of(folder, table("a", ["region", "sector"], decimals=2)))
    assert made.summary["set"]["adjusted"] > 0
    assert all(value.endswith("0") for value in made.release["a"].value), "all true values have one decimal"


def test_what_does_not_go_together_is_refused(folder):
    one, other = table("a", ["region"]), table("b", ["sector"], protect={"weights": "value"})
    with pytest.raises(JobError, match="share `weights`; they say 'a: one', 'b: value'"):
        job_of(folder, one, other)
    with pytest.raises(JobError, match="give all of them the same `decimals`"):
        run(job_of(folder, table("a", ["region"]), table("b", ["region", "sector"], decimals=0)))
    unsafe = run(job_of(folder, table("a", ["region", "sector"]))).protected.adjusted.plan
    name = unsafe.tables.message_name(int(np.argmax(unsafe.primary))).split(": ")[1]
    with pytest.raises(InputError, match="is unsafe and must move"):
        run(job_of(folder, table("a", ["region", "sector"], protect={"keep": [name]})))


def forge(out, name, line, change):
    path = out / name
    lines = path.read_text().splitlines(keepends=True)
    lines[line] = change(lines[line])
    path.write_text("".join(lines))


def test_verify_works_the_adjustment_out_again(folder):
    outcome = run(job_of(folder, table("a", ["region", "sector"]), table("b", ["sector"])))
    out = folder / "out"
    cg.OutputFolder(out).write(outcome)
    found = verify(out)
    assert found.valid and found.claims and any("knows the method" in what for what in found.not_checked)
    inside = rows(out / "internal/a.csv")
    at = next(i for i, row in enumerate(inside) if row["status"] == "protected")
    kept, moved = inside[at]["value"], inside[at]["published"]
    assert kept != moved
    seal = json.loads((out / "internal/adjustment.json").read_text())
    for names, change, checks in (
        (["internal/a.csv", "release/a.csv"], lambda line: line.replace(moved, kept, 1), {"Moves", "Sums"}),
        (["internal/a.csv"], lambda line: line.replace("protected", "adjusted"), {"Moves"}),
        (["release/a.csv"], lambda line: line.replace(moved, kept, 1), {"Released rows"}),
    ):
        cg.OutputFolder(out).write(outcome, force=True)
        for name in names:
            place = at + 1
            if name.startswith("release"):
                codes = [inside[at][d] for d in ("region", "sector")]
                place = next(i for i, r in enumerate(rows(out / name)) if [r["region"], r["sector"]] == codes) + 1
            forge(out, name, place, change)
        failing = {check.name for check in verify(out).checks if not check.passed}
        assert "Digests" in failing and checks <= failing, (failing, seal["verdict"])


def test_commands_and_pages(folder):
    data = {
        "version": 1,
        "microdata": {"source": "firms.csv", "respondent": "id"},
        "tables": [table("a", ["region", "sector"], protect={"keep": ["Total/Total"]})],
        "output": {"formats": ["csv", "html"]},
    }
    (folder / "job.yaml").write_text(yaml.safe_dump(data))
    done = command("protect", folder / "job.yaml", "--out", folder / "o")
    assert done.exit_code == 0 and "NOT PROVEN" in done.output, done.output
    assert "Adjusted figures" in command("show", folder / "o", "a").output
    assert "Confidential" in command("show", folder / "o", "a", "--internal").output
    page = (folder / "o/internal/report.html").read_text()
    assert "How the tables were adjusted" in page and "attackers who know the sides" in page
    public = (folder / "o/release/report.html").read_text()
    assert "<strong>adjusted</strong>" in public and "protected" not in public.replace("protect what", "")
    about = json.loads((folder / "o/release/metadata.json").read_text())["tables"]["a"]
    assert about["adjustment"] == {"additive": True, "weights": "one", "distance": "l1"}
    inside = {row["region"] + "/" + row["sector"]: row for row in rows(folder / "o/internal/a.csv")}
    assert inside["Total/Total"]["status"] in {"kept", "protected"}
    again = command("protect", folder / "job.yaml", "--out", folder / "o2")
    assert again.exit_code == 0
    assert (folder / "o/release/a.csv").read_text() == (folder / "o2/release/a.csv").read_text()


def test_policies_are_compared(folder):
    job = job_of(folder, table("a", ["region", "sector"]))
    compared = compare_policies(job, parse_policies("suppress,adjust", []))
    adjusted = next(p for p in compared.points if p.name == "adjust")
    assert adjusted.measured and adjusted.utility > 0.5
