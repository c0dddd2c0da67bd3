"""The public page as the verifier reads it: honest pages of every kind pass."""

import pytest

from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_job
from cellguard.verifier.verify import verify
from unit.io import made_folders
from unit.verifier.folders import details, failed, seal

import quick_yaml


def made(folder, name, change=lambda job: None):
    """An output folder with a page, of a job that may be changed before."""
    path = made_folders.write_job(folder, name)
    job = quick_yaml.load(path.read_text())
    change(job)
    path.write_text(quick_yaml.dump(job))
    OutputFolder(folder / "out").write(audit_job(Job.load(path)))
    assert (folder / "out/release/report.html").exists()
    return folder / "out/internal/certificate.json"


@pytest.mark.parametrize("name", ["three_dimensions", "groupings", "publish_levels", "linked", "own_bounds"])
@pytest.mark.parametrize("most", [1, 4, 20])
def test_a_page_of_the_coarser_levels_is_the_same_release(tmp_path, monkeypatch, name, most):
    monkeypatch.setattr("cellguard.report.page_grids.MOST", most)
    certificate = made(tmp_path, name)
    assert [c.detail for c in verify(certificate).checks if not c.passed] == []
    if most == 1:
        assert "coarser levels only" in (tmp_path / "out/release/report.html").read_text()


@pytest.mark.parametrize("word", ["2020", "1", "x 7", "12,5", "<b>", "a & 3.5", "'9'"])
def test_names_may_hold_numbers(tmp_path, word):
    def change(job):
        job["tables"][0] |= {"response": word, "population": f"{word} too", "name": "t1-2.5"}

    assert [c.detail for c in verify(made(tmp_path, "plain", change)).checks if not c.passed] == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("</h1>", " 4711</h1>"),
        ("<body>", '<body data-x="4711">'),
        ("<body>", "<body><?x 4711?>"),
        ("<body>", "<body><!x 4711>"),
        ("<body>", "<body><script>4711</script>"),
        ("<body>", "<body><style>p:after{content:'4711'}</style>"),
        ("</body>", "<img src='4711'></body>"),
        ('"left_out":0', '"left_out":1'),
        ('"kinds":{', '"kinds":{"x":["4711","4711"],'),
        ('"tables":[', '"tables":[{},'),
        ("default-src 'none'", "default-src *"),
        ("</html>", "</html>4711"),
    ],
)
def test_a_page_that_holds_more_is_refused(tmp_path, old, new):
    certificate = made(tmp_path, "plain")
    path = tmp_path / "out/release/report.html"
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")
    seal(tmp_path / "out")
    assert failed(certificate) == [3] and "report.html" in details(certificate)


@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"<html>", b"<script id='grids' type='application/json'>", b"<" * 50_000]
)
def test_no_page_at_all(tmp_path, data):
    certificate = made(tmp_path, "plain")
    (tmp_path / "out/release/report.html").write_bytes(data)
    seal(tmp_path / "out")
    assert failed(certificate) == [3]
