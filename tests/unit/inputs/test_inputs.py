"""The digests of a job's files are those of what was read."""

import hashlib
import importlib

import pytest
import yaml

from cellguard.errors import InputError
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_job
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
