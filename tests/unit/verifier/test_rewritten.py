"""Public files once more, byte for byte: whatever tables, codes and formats a folder has."""

import subprocess
import sys

import pytest

import cellguard
from cellguard.errors import InputError
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.methods.suppress.files.rewriting import rewrite_release
from cellguard.pipeline import audit_job, run
from cellguard.pipeline import verify as verify_folder
from cellguard.verifier.verify import verify
from unit.io import made_folders
from unit.verifier import folders

import quick_yaml

KNOWN = ["csv", "parquet", "html", "xlsx"]  # to the verifier alone
FORMATS = [*KNOWN, "sbs", "sdmx"]


def every_format(path, formats=FORMATS):
    job = quick_yaml.load(path.read_text())
    path.write_text(quick_yaml.dump(job | {"output": {**(job.get("output") or {}), "formats": formats}}))
    return Job.load(path)


def assert_rewritten(out):
    made = rewrite_release(out / "release", out / "internal")
    there = {path.name: path.read_bytes() for path in (out / "release").iterdir()}
    assert [name for name in there if there[name] != made.get(name)] == [] and set(made) == set(there)
    found = verify_folder(out / "internal/certificate.json")
    assert [check.detail for check in found.checks if not check.passed] == []
    assert not [name for name in found.not_checked if name.startswith("release/")]
    sent = [path.name for path in (out / "internal").iterdir() if path.name.endswith((".sbs", ".sdmx.csv"))]
    assert sent and not set(sent) & {name.rpartition("/")[2] for name in found.not_checked}


@pytest.mark.parametrize("name", list(made_folders.ALL))
def test_every_folder_is_rewritten_byte_for_byte(tmp_path, name):
    job = every_format(made_folders.write_job(tmp_path, name))
    OutputFolder(tmp_path / "out").write(audit_job(job))
    assert_rewritten(tmp_path / "out")


CODES = ["=1+1", "-5", "'=x", 'a "b", c', "line\nend", "lone\rreturn", " blank ", "Größe", "x" * 40]


@pytest.mark.parametrize("raw", [False, True])
def test_odd_codes_labels_and_names_are_rewritten(tmp_path, raw):
    """Codes that a spreadsheet would run, quotes, line ends, and dimensions called like columns."""
    rows = [f"{i},{_csv(CODES[i % len(CODES)])},{'mf'[i % 2]},{i % 7 + 1}.25" for i in range(60)]
    (tmp_path / "r.csv").write_text("\n".join(["id,value,flag,x", *rows]), newline="")
    labels = "\n".join(["code,label", *(f'{_csv(code)},"{n} <b>&amp;</b>"' for n, code in enumerate(CODES))])
    (tmp_path / "labels.csv").write_text(labels, newline="")
    said = {
        "version": 1,
        "microdata": {"source": "r.csv", "respondent": "id"},
        "dimensions": {"value": {"labels": "labels.csv"}},
        "tables": [
            {"name": "t", "by": ["value", "flag"], "value": "x", "rules": [{"min_frequency": 4}]},
            {"name": "a.name-of_40_letters_or_more_than_that_even", "by": ["value"], "value": "count",
             "rules": [{"min_frequency": 2}]},
        ],
        "output": {"formats": FORMATS, "raw_codes": raw},
    }  # fmt: skip
    OutputFolder(tmp_path / "out").write(run(Job.parse(said, folder=tmp_path)))
    assert_rewritten(tmp_path / "out")


def _csv(text):
    return '"' + text.replace('"', '""') + '"'


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    home = tmp_path_factory.mktemp("faces")
    OutputFolder(home / "out").write(audit_job(every_format(made_folders.write_job(home, "linked"), KNOWN)))
    with (home / "out/release/tables.xlsx").open("ab") as file:
        file.write(b"a hidden value")
    folders.seal(home / "out")
    return home / "out"


def test_every_face_compares_bytes(out):
    """Who has the verifier alone is told what he has not."""
    assert not verify_folder(out / "internal/certificate.json").valid
    assert not cellguard.verify(out).valid
    alone = verify(out / "internal/certificate.json")
    assert alone.valid and "release/tables.xlsx, byte for byte" in alone.not_checked


def test_the_face_needs_nothing_else_to_be_imported(out):
    code = f"import cellguard; print(cellguard.verify({str(out)!r}).valid)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_writers_that_are_not_there_refuse(out):
    def no_writer(release, internal):
        raise InputError("the format xlsx needs xlsxwriter; get it with: pip install 'cellguard[excel]'")

    found = verify(out / "internal/certificate.json", rewrite=no_writer)
    assert [check.number for check in found.checks if not check.passed] == [3]
    assert "cannot be written again" in found.checks[2].detail and "xlsxwriter" in found.checks[2].detail
