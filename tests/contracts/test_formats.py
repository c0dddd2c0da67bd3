"""A format is one module: a toy of another package goes through job, command line and verify."""

import json
import os
import sys
import tomllib
from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from cellguard.errors import InputError
from cellguard.io.writers.release_files import write_release
from cellguard.job import formats
from cellguard.table.pattern import Release
from cellguard.verifier.verify import verify
from unit.verifier import folders
from unit.verifier.folders import failed

from system.command import run, run_process

ROOT = Path(__file__).parents[2]
TOY = '''
"""A line of JSON for each row of a table: its codes with their levels and labels, and its value."""

import json

name = "{name}"
extra = {extra}


def files(release):
    return [f"{{table.name}}{ending}" for table in release.tables]


def write(release, folder):
    trees = {{tree.name: tree for tree in release.dimensions}}
    for table in release.tables:
        lines = []
        for *codes, units in zip(*table.codes, table.units):
            named = [(trees[by], code) for by, code in zip(table.by, codes)]
            levels = [int(tree.level[tree.position[code]]) for tree, code in named]
            labels = [tree.labels.get(code, "") for tree, code in named]
            lines.append(json.dumps([codes, levels, labels, units, table.decimals]))
        (folder / f"{{table.name}}{ending}").write_text("\\n".join(lines))
    {more}
'''
RECORDS = "id,region,x\n" + "".join(f"{i},{'NNNNNS'[i % 6] if i % 7 else 'W'},{i}.5\n" for i in range(1, 41))
JOB = {
    "version": 1,
    "microdata": {"source": "r.csv", "respondent": "id"},
    "dimensions": {"region": {"labels": "labels.csv"}},
    "tables": [{"name": "t", "by": ["region"], "value": "x", "decimals": 1, "rules": [{"min_frequency": 7}]}],
    "output": {"formats": ["toy"]},
}


def install(site, monkeypatch, name="toy", *, module=None, package=None, ending=".toy", extra=None, more="pass"):
    """Put a distribution with a format into a folder that Python looks for packages in."""
    module, package = module or f"cellguard_{name}", package or f"cellguard-{name}"
    (site / f"{module}.py").write_text(TOY.format(name=name, extra=extra or {}, ending=ending, more=more))
    about = site / f"{package.replace('-', '_')}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[cellguard.formats]\n{name} = {module}\n")
    monkeypatch.syspath_prepend(site)


@pytest.fixture
def site(tmp_path):
    """A folder for packages; what is loaded from it is forgotten afterwards."""
    before = set(sys.modules)
    (tmp_path / "site").mkdir()
    yield tmp_path / "site"
    formats._loaded.cache_clear()
    for name in set(sys.modules) - before:
        if name.startswith("cellguard_"):
            del sys.modules[name]


@pytest.fixture
def job(tmp_path):
    (tmp_path / "r.csv").write_text(RECORDS)
    (tmp_path / "labels.csv").write_text("code,label\nN,North\nS,South\nX,nobody lives here\n")
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(JOB))
    return tmp_path / "job.yaml"


def test_a_format_of_another_package_goes_through_the_command_line(site, job, monkeypatch):
    """In a process of its own, which finds the package as any Python does."""
    install(site, monkeypatch)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])]))
    out = job.parent / "out"
    done = run_process("protect", job, "--out", out)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (out / "release/t.toy").read_text().splitlines()]
    rows = [line.split(",") for line in (out / "release/t.csv").read_text().splitlines()[1:]]
    assert [(codes[0], levels[0]) for codes, levels, *_ in lines] == [(row[0], int(row[0] != "Total")) for row in rows]
    assert {codes[0]: labels[0] for codes, _, labels, *_ in lines} == {"Total": "", "N": "North", "S": "South", "W": ""}
    printed = ["" if units is None else str(Decimal(units).scaleb(-decimals)) for *_, units, decimals in lines]
    assert printed == [row[1] for row in rows] and printed.count("") == 2
    assert "nobody" not in (out / "release/t.toy").read_text()
    checked = run_process("verify", out)
    assert checked.returncode == 0, checked.stdout


@pytest.fixture
def out(site, job, monkeypatch):
    install(site, monkeypatch)
    done = run("protect", job, "--out", job.parent / "out")
    assert done.returncode == 0, done.stderr
    return job.parent / "out"


def test_verify_writes_it_again_and_compares_bytes(out):
    assert run("verify", out).returncode == 0
    with (out / "release/t.toy").open("a") as file:
        file.write(" ")
    folders.seal(out)
    done = run("verify", out)
    assert done.returncode == 1 and "release/t.toy is not, byte for byte" in done.stdout


def test_nobody_vouches_for_a_format_that_is_not_installed(out, monkeypatch):
    alone = verify(out / "internal/certificate.json")
    assert [check.number for check in alone.checks if not check.passed] == [9]
    assert "release/t.toy is extra" in alone.checks[8].detail
    monkeypatch.undo()
    done = run("verify", out)
    assert (
        done.returncode == 1 and "3. published values" in done.stdout and "there is no format 'toy' here" in done.stdout
    )
    assert "FAIL 9. digests: as check 3" in done.stdout
    shown = run("show", out)
    assert shown.returncode == 0, "the tables themselves can be seen"


def test_a_file_that_its_format_does_not_make_is_extra(out):
    (out / "release/more.toy").write_text("[]")
    folders.seal(out)
    assert failed(out / "internal/certificate.json") == [9]
    assert run("verify", out).stdout.count("release/more.toy") == 2


def test_a_job_is_told_which_formats_there_are(site, job, monkeypatch):
    install(site, monkeypatch)
    for wrong, words in (
        ("tyo", "did you mean 'toy'?"),
        ("metadata", "'px', 'sbs', 'sdmx', 'xlsx' or 'toy'"),
    ):
        job.write_text(yaml.safe_dump(JOB | {"output": {"formats": ["csv", wrong]}}))
        refused = run("protect", job, "--out", job.parent / "out")
        assert refused.returncode == 2 and "output.formats[1]: must be 'csv'" in refused.stderr
        assert words in refused.stderr and not (job.parent / "out").exists()


def test_what_a_format_needs_is_asked_for_before_any_work(site, job, monkeypatch):
    install(site, monkeypatch, extra={"no_such_module": "toys[all]"})
    refused = run("protect", job, "--out", job.parent / "out")
    assert refused.returncode == 2
    assert "the format toy needs no_such_module; get it with: pip install 'toys[all]'" in refused.stderr


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"ending": ".csv"}, "writes t.csv, which a release has already"),
        ({"ending": "/x"}, "which is no plain name"),
        ({"more": "(folder / 'more').write_text('')"}, "does not write exactly the files that it names"),
        ({"more": "(folder / 't.toy').unlink()"}, "does not write exactly the files that it names"),
        ({"more": "(folder / 'deep').mkdir()"}, "does not write exactly the files that it names"),
    ],
)
def test_a_format_writes_what_it_names_and_nothing_of_others(site, job, monkeypatch, more, words):
    install(site, monkeypatch, **more)
    refused = run("protect", job, "--out", job.parent / "out")
    assert refused.returncode == 2 and words in refused.stderr and not (job.parent / "out").exists()


def test_two_packages_with_one_format_are_refused(site, monkeypatch):
    install(site, monkeypatch)
    install(site, monkeypatch, module="cellguard_other", package="cellguard-other")
    with pytest.raises(InputError, match="several formats 'toy': of cellguard-other and cellguard-toy"):
        formats.find_format("toy")


def test_no_package_takes_the_place_of_a_built_in_format(site, monkeypatch):
    install(site, monkeypatch, "csv", module="cellguard_false")
    assert formats.find_format("csv").__name__ == "cellguard.io.writers.csv_files"
    assert "cellguard_false" not in sys.modules


@pytest.mark.parametrize(
    ("text", "words"),
    [("raise ImportError", "cannot be loaded"), ("name = 'toy'", "lacks extra, write, files"), ("", "lacks name")],
)
def test_a_module_that_is_no_format_is_refused(site, monkeypatch, text, words):
    install(site, monkeypatch)
    (site / "cellguard_toy.py").write_text(text)
    with pytest.raises(InputError, match=words):
        formats.find_format("toy")


def test_the_built_in_formats_are_declared_like_any_other():
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["cellguard.formats"]
    assert said == formats._BUILT_IN
    assert [formats.find_format(name).name for name in said] == list(said)
    assert formats.format_names()[:10] == [
        *("csv", "csvw", "datapackage", "eurostat", "html", "parquet", "px", "sbs", "sdmx", "xlsx")
    ]


def test_a_release_without_tables_has_its_metadata(tmp_path):
    write_release(tmp_path / "release", Release(()))
    assert [path.name for path in (tmp_path / "release").iterdir()] == ["metadata.json"]
