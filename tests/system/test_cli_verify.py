"""`cellguard verify`: what it prints, and what `--job` adds."""

import json
import shutil

import pytest
import yaml
from click.testing import CliRunner

from cellguard.errors import InputError
from cellguard.faces.cli.main import cli
from unit.verifier import forged_job
from unit.verifier.forger import Forger


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A proper folder and its job; one cell is waived, one must be suppressed, one has bounds and a cost."""
    folder = tmp_path_factory.mktemp("verify")
    job = forged_job.write_job(folder / "job")
    lines = (folder / "job/said.csv").read_text()
    (folder / "job/said.csv").write_text(lines + "A1,N,waived,,\nB2,S,must_suppress,,\nB2,W,must_publish,,\n")
    done = run("protect", job, "--out", folder / "out")
    assert done.exit_code == 0, done.output
    return folder / "out", job


@pytest.fixture
def copied(made, tmp_path):
    shutil.copytree(made[0].parent, tmp_path / "copy")
    return tmp_path / "copy/out", tmp_path / "copy/job/job.yaml"


def run(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


def test_what_was_said_of_single_cells_is_counted(made):
    done = run("verify", made[0])
    assert done.exit_code == 0
    said = "1 must_publish, 1 must_suppress, 1 waived, 1 with a cost of their own, 1 with bounds of their own"
    assert f"Statements about single cells: {said}." in done.output
    found = json.loads(run("verify", made[0], "--json").output)["said"]
    assert found == {"must_publish": 1, "must_suppress": 1, "waived": 1, "cost": 1, "bounds": 1}


def test_what_was_checked_is_said_and_what_was_not(made):
    done = run("verify", made[0])
    assert "Claimed: Safe against outsiders only" in done.output
    assert "insiders not checked" in done.output.partition("Claimed: ")[2].splitlines()[1]
    assert "Not checked by verify: internal/hierarchies/*.csv: labels of codes" in done.output
    found = json.loads(run("verify", made[0], "--json").output)
    assert found["claims"][0].startswith("Safe against outsiders only")
    found = json.loads(run("verify", made[0], "--job", made[1], "--json").output)
    assert not [name for name in found["not_checked"] if "labels" in name or "inputs" in name]


def test_the_inputs_are_read_again(made):
    done = run("verify", made[0], "--job", made[1])
    assert done.exit_code == 0, done.output
    assert "ok   11. the job again: as stored" in done.output and "ok   13. the facts again" in done.output
    found = json.loads(run("verify", made[0], "--job", made[1], "--json").output)
    assert found["valid"] and [c["number"] for c in found["checks"]] == list(range(1, 14))


def test_facts_that_the_inputs_contradict(copied):
    out, job = copied
    forger = Forger(out)
    forger.facts["turnover"][forger.at("turnover", "primary")]["state"] = "waived"
    forger.write()
    assert run("verify", out).exit_code == 0
    done = run("verify", out, "--job", job)
    assert done.exit_code == 1 and "NOT VALID" in done.output
    assert "FAIL 13. the facts again: facts/turnover.parquet row" in done.output


def test_an_input_that_changed_since(copied):
    out, job = copied
    path = job.parent / "people.csv"
    path.write_text(path.read_text().replace("\n", "\r\n"))
    done = run("verify", out, "--job", job)
    assert done.exit_code == 1
    assert "FAIL 12. the inputs again: other files than those that were read: 'people.csv'" in done.output
    assert "ok   13. the facts again" in done.output


def test_another_job(copied):
    out, job = copied
    content = yaml.safe_load(job.read_text())
    content["tables"][0]["rules"] = [{"min_frequency": 3}]
    job.write_text(yaml.safe_dump(content))
    done = run("verify", out, "--job", job)
    assert done.exit_code == 1
    assert "FAIL 11. the job again: the stored job differs from this one in tables[0].rules" in done.output


def test_results_may_be_written_elsewhere(copied):
    out, job = copied
    content = yaml.safe_load(job.read_text())
    job.write_text(yaml.safe_dump(content | {"output": {"folder": "elsewhere"}}))
    assert run("verify", out, "--job", job).exit_code == 0


def test_inputs_that_are_gone_and_files_that_cannot_be_compared(copied):
    out, job = copied
    (out / "internal/job.yaml").write_text("{")
    done = run("verify", out, "--job", job)
    assert isinstance(done.exception, InputError) and "cannot be compared" in str(done.exception)
    (job.parent / "sizes.csv").unlink()
    done = run("verify", out, "--job", job)
    assert isinstance(done.exception, InputError) and "sizes.csv" in str(done.exception)
