"""One pattern for several responses: whole jobs, attacked and verified, and what is refused."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from cellguard.errors import InputError, NotProtected
from cellguard.faces.cli.main import cli
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_folder, audit_job, explain_cell, run
from cellguard.verifier.verify import verify


def firms(folder, seed, **hide_with):
    """Write some firms and a job of their turnover by industry and region, and their staff by both or by industry."""
    rng = np.random.default_rng(seed)
    rows = ["industry,region,turnover,staff"]
    for _ in range(60):
        industry, region = rng.choice(list("ABCD")), rng.choice(list("NSW"))
        rows.append(f"{industry},{region},{int(rng.lognormal(4, 1.5)) + 1},{int(rng.integers(1, 40))}")
    (folder / "firms.csv").write_text("\n".join(rows))
    rules = {"turnover": [{"p_percent": 15}], "staff": [{"min_frequency": 4}]}
    tables = [
        {"name": name, "by": ["industry", "region"], "value": name, "rules": rules[name],
         "protect": {"hide_with": hide_with.get(name, [])}}
        for name in ("turnover", "staff")
    ]  # fmt: skip
    job = {"version": 1, "microdata": {"source": "firms.csv"}, "tables": tables, "attack": {"insiders": False}}
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    return folder / "job.yaml"


def hidden(outcome):
    """Return the hidden cells of each table by their codes."""
    return {
        table.name: {
            codes for codes, gone in zip(zip(*table.codes, strict=True), table.suppressed, strict=True) if gone
        }
        for table in outcome.release.tables
    }


@pytest.mark.parametrize("seed", range(6))
def test_followers_are_hidden_where_their_leaders_are(tmp_path, seed):
    apart = hidden(run(Job.load(firms(tmp_path, seed))))
    outcome = run(Job.load(firms(tmp_path, seed, staff=["turnover"])))
    assert outcome.protected.audit.verdict == "safe"
    together = hidden(outcome)
    assert together["turnover"] <= together["staff"]
    assert not apart["turnover"] <= apart["staff"] or seed > 2  # the option has something to do
    both = run(Job.load(firms(tmp_path, seed, staff=["turnover"], turnover=["staff"])))
    assert hidden(both)["turnover"] == hidden(both)["staff"]
    assert both.protected.suppression.cost >= both.protected.suppression.bound


def test_a_folder_is_audited_and_verified_and_a_follower_cannot_be_shown(tmp_path):
    job, out = firms(tmp_path, 1, staff=["turnover"]), tmp_path / "out"
    done = CliRunner().invoke(cli, ["protect", str(job), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert verify(out / "internal/certificate.json").valid
    assert audit_folder(out).protected.audit.verdict == "safe"
    assert CliRunner().invoke(cli, ["verify", str(out), "--job", str(job)]).exit_code == 0
    with (out / "internal/staff.csv").open() as file:
        follows = [row for row in csv.DictReader(file) if "suppressed with turnover" in row["reasons"]]
    assert follows and {row["status"] for row in follows} <= {"primary", "secondary"}
    stored = yaml.safe_load((out / "internal/job.yaml").read_text())
    stored["tables"][0]["protect"]["hide_with"] = ["staff"]  # which the pattern does not keep
    (out / "internal/job.yaml").write_text(yaml.safe_dump(stored))
    said = {check.number: check for check in verify(out / "internal/certificate.json").checks}
    assert not said[4].passed and "suppresses it with staff" in said[4].detail


def test_what_cannot_follow_is_refused(tmp_path):
    job = firms(tmp_path, 0, staff=["turnovr"])
    with pytest.raises(InputError, match="did you mean 'turnover'"):
        run(Job.load(job))
    leaders = hidden(run(Job.load(firms(tmp_path, 0))))["turnover"]
    words = yaml.safe_load(firms(tmp_path, 0, staff=["turnover"]).read_text())
    words["tables"][1]["apriori"] = "said.csv"
    lines = [f"{industry},{region},must_publish" for industry, region in sorted(leaders)]
    (tmp_path / "said.csv").write_text("\n".join(["industry,region,status", *lines]))
    words["tables"][1]["rules"] = []
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(words))
    with pytest.raises(NotProtected, match="must be published, but follows a cell that is suppressed"):
        run(Job.load(tmp_path / "job.yaml"))


def test_a_pattern_that_a_job_describes_has_its_followers_hidden_and_pages_say_so(tmp_path):
    job, out = firms(tmp_path, 1, staff=["turnover"]), tmp_path / "out"
    chosen = hidden(run(Job.load(job)))
    words = yaml.safe_load(job.read_text())
    for table, cells in zip(words["tables"], [chosen["turnover"], chosen["staff"] - chosen["turnover"]], strict=True):
        lines = [f"{industry},{region},secondary" for industry, region in sorted(cells)]
        table["apriori"] = f"{table['name']}_said.csv"
        (tmp_path / table["apriori"]).write_text("\n".join(["industry,region,status", *lines]))
    job.write_text(yaml.safe_dump(words))
    assert chosen["turnover"] <= hidden(audit_job(Job.load(job)))["staff"]
    done = CliRunner().invoke(cli, ["audit", str(job), "--out", str(out)])
    assert done.exit_code == 0, done.output
    with (out / "internal/staff.csv").open() as file:
        follower = next(row for row in csv.DictReader(file) if row["reasons"].endswith("suppressed with turnover"))
    assert "suppressed with turnover" in (out / "internal/report.html").read_text()
    name = f"{follower['industry']}/{follower['region']}"
    assert explain_cell(out, name, table="staff")[-1] == "The job has it suppressed with turnover."


def test_a_described_pattern_cannot_show_a_follower(tmp_path):
    job = firms(tmp_path, 0, staff=["turnover"])
    words = yaml.safe_load(job.read_text())
    (tmp_path / "said.csv").write_text("industry,region,status\nA,N,secondary\n")
    (tmp_path / "shown.csv").write_text("industry,region,status\nA,N,must_publish\n")
    words["tables"][0] |= {"apriori": "said.csv", "rules": [{"min_frequency": 1}]}
    words["tables"][1] |= {"apriori": "shown.csv", "rules": [{"min_frequency": 1}]}
    job.write_text(yaml.safe_dump(words))
    with pytest.raises(NotProtected, match="A/N must be published, but follows a cell that is suppressed"):
        audit_job(Job.load(job))
