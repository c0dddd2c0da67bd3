"""Tables about some of the respondents: their populations are linked, and differences are judged."""

import csv
import json

import pytest
import yaml

from cellguard.errors import InputError, JobError
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_folder, run, verify_inputs
from cellguard.verifier.verify import verify

RECORDS = {
    ("N", "active"): [100, 80, 70],
    ("N", "closed"): [30],
    ("S", "active"): [100, 90, 80],
    ("S", "closed"): [40, 50],
    ("S", "dormant"): [45],
    ("W", "active"): [60, 70, 80],
    ("W", "closed"): [80, 80],
    ("W", "dormant"): [80],
}


def write_records(folder, records=RECORDS):
    rows = [(region, status, x) for (region, status), values in records.items() for x in values]
    lines = [f"{i},{region},{status},{x}" for i, (region, status, x) in enumerate(rows)]
    (folder / "records.csv").write_text("\n".join(["id,region,status,x", *lines]))


def table(name, **more):
    return {"name": name, "by": ["region"], "value": "x", "rules": [{"min_frequency": 3}], **more}


def job(folder, *tables, **more):
    return Job.parse({"version": 1, "tables": list(tables), **more}, folder=folder)


def from_records(folder, *tables, **more):
    return job(folder, *tables, microdata={"source": "records.csv", "respondent": "id"}, **more)


def shown(folder, name):
    with (folder / "release" / f"{name}.csv").open() as file:
        return {row["region"]: row["value"] for row in csv.DictReader(file)}


@pytest.fixture
def both(tmp_path):
    write_records(tmp_path)
    return from_records(tmp_path, table("whole"), table("live", where={"status": ["active"]}))


def test_the_difference_of_two_safe_tables_is_protected(both, tmp_path):
    """Every cell of both tables has three firms or more, but one firm of N is not active."""
    outcome = run(both)
    out = tmp_path / "out"
    OutputFolder(out).write(outcome)
    whole, live = shown(out, "whole"), shown(out, "live")
    assert "" in (whole["N"], live["N"])
    assert sum(value == "" for value in [*whole.values(), *live.values()]) == 2
    assert sorted(path.name for path in (out / "release").glob("*.csv")) == ["live.csv", "whole.csv"]
    assert outcome.protected.findings["whole-live"].why("N/not active") == ["min_frequency 3"]
    assert "differences" not in outcome.summary["not_checked"]
    assert verify(out / "internal/certificate.json").valid
    assert all(check.passed for check in verify_inputs(out / "internal", both))
    assert audit_folder(out).protected.audit.verdict == "safe"


def test_a_stored_job_runs_again_as_it_is(both, tmp_path):
    OutputFolder(tmp_path / "out").write(run(both))
    again = run(Job.parse(yaml.safe_load((tmp_path / "out/internal/job.yaml").read_text()), folder=tmp_path))
    assert [spec.name for spec in again.job.tables] == ["whole", "live", "whole-live", "latent"]


def test_a_release_says_whom_a_table_is_about(both, tmp_path):
    several = table("some", where={"status": ["active", "dormant"]})
    OutputFolder(tmp_path / "out").write(run(from_records(tmp_path, several)))
    rows = (tmp_path / "out/release/some.csv").read_text().splitlines()
    assert rows[:2] == ["region,status,value,flag", 'Total,"active, dormant",855,']
    about = json.loads((tmp_path / "out/release/metadata.json").read_text())["tables"]["some"]
    assert about["by"] == ["region", "status"]


def test_all_but_one_branch(tmp_path):
    write_records(tmp_path)
    outcome = run(from_records(tmp_path, table("whole"), table("rest", where={"status": {"all_but": ["dormant"]}})))
    assert outcome.protected.findings["whole-rest"].why("S/dormant") == ["min_frequency 3"]
    assert outcome.release["rest"].hidden + outcome.release["whole"].hidden > 0


def test_a_difference_with_a_table_of_its_own_has_no_second(tmp_path):
    write_records(tmp_path)
    closed = table("gone", where={"status": ["dormant", "closed"]})
    outcome = run(from_records(tmp_path, table("whole"), table("live", where={"status": ["active"]}), closed))
    assert [spec.name for spec in outcome.job.tables] == ["whole", "live", "gone", "latent"]


def test_nested_populations(tmp_path):
    write_records(tmp_path)
    wide = table("wide", where={"status": ["active", "dormant"]})
    outcome = run(from_records(tmp_path, table("live", where={"status": ["active"]}), wide))
    assert [spec.name for spec in outcome.job.tables][2:] == ["wide-live", "latent"]
    assert outcome.protected.findings["wide-live"].why("S/dormant") == ["min_frequency 3"]


def test_who_is_nobody_needs_no_protection(tmp_path):
    write_records(tmp_path, {key: value for key, value in RECORDS.items() if key[1] == "active"})
    (tmp_path / "status.csv").write_text("code,parent\nTotal,\nactive,Total\nclosed,Total\n")
    tables = table("whole"), table("live", where={"status": ["active"]})
    outcome = run(from_records(tmp_path, *tables, dimensions={"status": {"parents": "status.csv"}}))
    assert [spec.name for spec in outcome.job.tables][2:] == ["latent"] and outcome.summary["set"]["primary"] == 0
    assert "differences" not in outcome.summary["not_checked"]
    OutputFolder(tmp_path / "out").write(outcome)
    assert verify(tmp_path / "out/internal/certificate.json").valid


@pytest.fixture
def cells(tmp_path):
    (tmp_path / "whole.csv").write_text("region,x,n\nTotal,1135,16\nN,280,4\nS,405,6\nW,450,6\n")
    (tmp_path / "live.csv").write_text("region,x,n\nTotal,730,9\nN,250,3\nS,270,3\nW,210,3\n")
    (tmp_path / "gone.csv").write_text("region,x,n\nTotal,405,7\nN,30,1\nS,135,3\nW,240,3\n")
    where = {"whole": None, "live": {"status": ["active"]}, "gone": {"status": {"all_but": ["active"]}}}
    ready = {n: table(n, cells={"source": f"{n}.csv", "count": "n"}, where=where[n]) for n in where}
    return tmp_path, ready


def test_ready_made_tables_are_linked_but_their_difference_is_said_to_be_unjudged(cells):
    folder, ready = cells
    outcome = run(job(folder, ready["whole"], ready["live"]))
    assert outcome.verdict.kind == "safe"
    assert "differences of populations and cells that no table lists" in outcome.verdict.text
    assert any("whole without live" in attack.who for attack in outcome.verdict.not_checked)
    OutputFolder(folder / "out").write(outcome)
    assert verify(folder / "out/internal/certificate.json").valid
    assert audit_folder(folder / "out").verdict.text == outcome.verdict.text


def test_a_table_that_is_only_there_to_be_protected(cells):
    folder, ready = cells
    outcome = run(job(folder, ready["whole"], ready["live"], {**ready["gone"], "publish": "nothing"}))
    assert "differences" not in outcome.summary["not_checked"]
    assert [t.name for t in outcome.release.tables] == ["whole", "live"]
    assert outcome.release["whole"].hidden + outcome.release["live"].hidden == 2


def test_populations_that_contradict_each_other(cells):
    folder, ready = cells
    (folder / "live.csv").write_text("region,x,n\nTotal,740,9\nN,260,3\nS,270,3\nW,210,3\n")
    with pytest.raises(InputError, match="contradict"):
        run(job(folder, ready["whole"], ready["live"], ready["gone"]))


def test_what_differs_in_two_columns_is_said_to_be_unjudged(tmp_path):
    (tmp_path / "records.csv").write_text(
        "id,region,status,size,x\n"
        + "\n".join(f"{i},{'NSW'[i % 3]},{'ab'[i % 2]},{'sl'[i // 18]},9" for i in range(36))
    )
    part = table("part", where={"status": ["a"], "size": ["s"]})
    outcome = run(from_records(tmp_path, table("whole"), part))
    assert "differences" in outcome.summary["not_checked"]


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ({"status": ["activ"]}, "'activ', no code of 'status'; did you mean 'active'"),
        ({"status": {"all_but": ["active", "closed", "dormant"]}}, "leaves no respondent"),
        ({"region": ["N"]}, "is in `by` and in `where`"),
        ({"status": []}, "names no code"),
        ({"state": ["active"]}, "no column 'state'; did you mean 'status'"),
    ],
)
def test_faults(tmp_path, where, words):
    write_records(tmp_path)
    with pytest.raises((InputError, JobError), match=words):
        run(from_records(tmp_path, table("whole", where=where)))


def forge_job(folder, change):
    path = folder / "internal/job.yaml"
    words = yaml.safe_load(path.read_text())
    change(words)
    path.write_text(yaml.safe_dump(words))


def details(folder):
    checks = verify(folder / "internal/certificate.json").checks
    return "; ".join(check.detail for check in checks if not check.passed)


def test_the_verifier_asks_whom_the_rows_are_of(both, tmp_path):
    OutputFolder(tmp_path / "out").write(run(both))
    forge_job(tmp_path / "out", lambda words: words["tables"][1].update(where={"status": ["closed"]}))
    assert "is not of those whom internal/job.yaml selects by status" in details(tmp_path / "out")


def test_the_verifier_asks_for_the_difference(both, tmp_path, monkeypatch):
    monkeypatch.setattr("cellguard.inputs.tables.with_differences", lambda job, *_: job)
    monkeypatch.setattr("cellguard.seam.open_attacks.unjudged", lambda tables: [])
    OutputFolder(tmp_path / "out").write(run(both))
    assert "the difference was not judged of the populations of whole and live" in details(tmp_path / "out")


def test_perturbed_tables_select_nobody(tmp_path):
    write_records(tmp_path)
    rules, protect = [{"p_percent": 10}], {"method": "perturb"}
    with pytest.raises(JobError, match="`where` does not go with perturbation"):
        from_records(tmp_path, table("live", where={"status": ["active"]}, rules=rules, protect=protect))
