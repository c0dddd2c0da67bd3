"""The digests of a job's files are those of what was read."""

import hashlib
import importlib

import pytest
import yaml

from cellguard.errors import InputError
from cellguard.job.jobfile import Job
from cellguard.pipeline import assess_job, audit_job
from unit.io import made_folders


def meddling(monkeypatch, place, path, text):
    """Let a file change right after a function of the pipeline has read it."""
    module, name = place.rsplit(".", 1)
    read = getattr(importlib.import_module(module), name)

    def and_change(*given, **more):
        found = read(*given, **more)
        path.write_text(text, encoding="utf-8")
        return found

    monkeypatch.setattr(place, and_change)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("cellguard.inputs.tables.read_cells", "t.csv"),
        ("cellguard.inputs.tables.read_apriori", "said.csv"),
        ("cellguard.inputs.assessing.read_external_totals", "known.csv"),
    ],
)
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch, place, name):
    job = made_folders.write_job(tmp_path, "plain")
    content = yaml.safe_load(job.read_text())
    content["tables"][0]["apriori"], content["known"] = "said.csv", "known.csv"
    job.write_text(yaml.safe_dump(content))
    (tmp_path / "said.csv").write_text("region,size,cost\nN,b,5\n")
    (tmp_path / "known.csv").write_text("region,size\nN,Total\n")
    before = audit_job(Job.load(job)).protected.inputs
    assert set(before) == {"t.csv", "said.csv", "known.csv"}
    meddling(monkeypatch, place, tmp_path / name, (tmp_path / name).read_text() + "\n")
    with pytest.raises(InputError, match=f"the file '{name}' changed while it was read"):
        audit_job(Job.load(job))


def test_a_file_that_changes_later_keeps_the_digest_of_what_was_read(tmp_path):
    job = made_folders.write_job(tmp_path, "plain")
    done = audit_job(Job.load(job))
    digest = hashlib.sha256((tmp_path / "t.csv").read_bytes()).hexdigest()
    (tmp_path / "t.csv").write_text("something else")
    assert done.summary["inputs"] == {"t.csv": digest}


def test_columns_of_waivers_and_requests_that_no_rule_looks_at_are_warned_about(tmp_path):
    rows = ["firm,r,x,w,q", *(f"f{i},{'AB'[i % 2]},{10 + i},no,no" for i in range(12))]
    (tmp_path / "d.csv").write_text("\n".join(rows))

    def warned(*rules, **named):
        tables = [{"name": "t", "by": ["r"], "value": "x", "rules": list(rules)}]
        data = {"version": 1, "microdata": {"source": "d.csv", "respondent": "firm", **named}, "tables": tables}
        return [text for text in assess_job(Job.parse(data, folder=tmp_path)).warnings() if "no rule looks" in text]

    both = {"waiver": "w", "request": "q"}
    assert warned({"p_percent": 10}) == []
    assert [text.split("`")[1] for text in warned({"p_percent": 10}, **both)] == ["waiver: w", "request: q"]
    assert [text.split("`")[1] for text in warned({"request": 50}, **both)] == ["waiver: w"]
    assert warned({"request": 50}, {"p_percent": {"p": 10, "waivers": True}}, **both) == []
