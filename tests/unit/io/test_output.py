"""Real output folders: the certificate holds, and any change of any field is refused."""

import copy
import itertools
import json
import shutil
import stat

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from cellguard.errors import InputError, NotProtected
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_folder, audit_job
from cellguard.verifier.verify import verify
from sampling import SPARSE_OR_DENSE, on_diagonals, shape
from unit.io import made_folders
from unit.verifier.folders import read_csv, seal, sign, write_csv

NAMES = list(made_folders.ALL)
# What a reader may like to see, but no proof needs.
IDLE = {"reasons", "cost", "interval_lower", "interval_upper"}
NEEDS = {"need_lower", "need_upper", "need_sliding"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Each folder is made once."""
    home = tmp_path_factory.mktemp("made")
    return {name: made_folders.make(home / name, name) for name in NAMES}


@pytest.fixture
def out(folders, request, tmp_path):
    """A copy of one folder, free to be damaged."""
    shutil.copytree(folders[request.param], tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def step(dense, request):
    """Every fourth field of some folders is changed; of the others every twelfth, to save time."""
    return 1 if dense else 4 if request.node.callspec.params["out"] in ("plain", "counts") else 12


every = pytest.mark.parametrize("out", NAMES, indirect=True)
some = pytest.mark.parametrize("out", ["plain"], indirect=True)


def certificate(out):
    return out / "internal" / "certificate.json"


def refused(out, what):
    """Whether the folder is refused, by whatever check."""
    assert not verify(certificate(out)).valid, what


@every
def test_a_made_folder_is_valid(out):
    found = verify(certificate(out))
    assert [c.detail for c in found.checks if not c.passed] == []
    assert found.valid and found.trusted == ()


@every
def test_a_folder_reads_back_as_what_was_audited(out, request):
    job = made_folders.write_job(out.parent / "job", request.node.callspec.params["out"])
    first, again = (
        audited.protected.audit
        for audited in (audit_job(Job.load(job), intervals=True), audit_folder(out, intervals=True))
    )
    assert again.verdict == "safe"
    assert np.array_equal(first.lower, again.lower) and np.array_equal(first.upper, again.upper)
    assert np.array_equal(first.pattern.unknown, again.pattern.unknown)


@every
def test_the_release_holds_no_hidden_value(out):
    for path in (out / "internal").glob("*.csv"):
        header, *rows = read_csv(path)
        shown = [row for row in rows if row[header.index("status")] != "unpublished"]
        head, *released = read_csv(out / "release" / path.name)
        assert head == [*header[: header.index("value")], "value", "flag"]
        for row, line in zip(shown, released, strict=True):
            hidden = row[header.index("status")] != "published"
            assert (line[-2] == "") == hidden and line[-1] == ("c" if hidden else "")


def test_internal_is_for_its_owner_only(folders):
    assert stat.S_IMODE((folders["plain"] / "internal").stat().st_mode) == 0o700


# Single fields, digests left as they were.


def changed(field):
    """Some other value of the same kind."""
    if isinstance(field, bool):
        return not field
    if isinstance(field, str):
        return f"{field}1"
    return 1 if field is None else field + type(field)([1] if isinstance(field, list) else 1)


def fields(document, path=()):
    """The place of every field of a JSON document."""
    inner = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in inner:
        if isinstance(value, dict | list) and value:
            yield from fields(value, (*path, key))
        else:
            yield (*path, key)


def with_change(document, path, change):
    document = copy.deepcopy(document)
    place = document
    for key in path[:-1]:
        place = place[key]
    change(place, path[-1])
    return document


def replace_field(place, key):
    place[key] = changed(place[key])


def drop_field(place, key):
    del place[key]


@some
@pytest.mark.parametrize("change", [replace_field, drop_field])
def test_every_field_of_the_certificate(out, change):
    path = certificate(out)
    document = json.loads(path.read_text())
    for place in fields(document):
        path.write_text(json.dumps(with_change(document, place, change)))
        refused(out, place)


def looked_at(document, usual, number, step):
    """The fields of a certificate that are changed; what the plain one has too, by turns from folder to folder."""
    known = {shape(place) for place in fields(usual)} if step > 1 else set()
    for at, place in enumerate(fields(document)):
        if shape(place) not in known or on_diagonals(at, number, step // 2):
            yield place


@every
@SPARSE_OR_DENSE
@pytest.mark.parametrize("change", [replace_field, drop_field])
def test_every_field_of_the_certificate_signed_again(out, folders, change, step, request):
    path = certificate(out)
    document, usual = json.loads(path.read_text()), json.loads(certificate(folders["plain"]).read_text())
    number = NAMES.index(request.node.callspec.params["out"])
    for place in looked_at(document, usual, number, step):
        # A finer grain only shortens the moves, which may still reach far enough.
        finer = place[0] == "grains" and place[-1] == "decimals" and change is replace_field
        default = "rules" in place and change is drop_field
        if not finer and not default and place[-1] not in IDLE | {"digest"}:
            sign(path, with_change(document, place, change))
            refused(out, place)


def csv_changes(path, skip=(), step=1):
    """Write the file once for each field changed (of every ``step``-th), and once for rows left out or repeated."""
    lines = read_csv(path)
    for i in range(1, len(lines)):
        for j, column in enumerate(lines[0]):
            if column not in skip and on_diagonals(i, j, step):
                write_csv(
                    path, [*lines[:i], [*lines[i][:j], changed(lines[i][j]), *lines[i][j + 1 :]], *lines[i + 1 :]]
                )
                yield path.name, i, column
    for what, rows in (
        ("last left out", lines[:-1]),
        ("first left out", lines[:1] + lines[2:]),
        ("twice", [*lines, lines[-1]]),
    ):
        write_csv(path, rows)
        yield path.name, what
    write_csv(path, lines)


@some
@SPARSE_OR_DENSE
def test_every_field_of_every_csv_file(out, step):
    for path in sorted(out.rglob("*.csv")):
        for what in csv_changes(path, step=step):
            refused(out, what)


@every
@SPARSE_OR_DENSE
def test_every_field_of_every_csv_file_sealed_again(out, step):
    for path in sorted(out.rglob("*.csv")):
        for what in csv_changes(path, IDLE | NEEDS, step):
            seal(out)
            refused(out, what)


@every
def test_every_need_lowered_and_sealed_again(out):
    for path in sorted((out / "internal").glob("*.csv")):
        lines = read_csv(path)
        for i, j in itertools.product(range(1, len(lines)), [lines[0].index(name) for name in sorted(NEEDS)]):
            if lines[i][j] not in ("", "0"):
                write_csv(path, [*lines[:i], [*lines[i][:j], "", *lines[i][j + 1 :]], *lines[i + 1 :]])
                seal(out)
                refused(out, (i, j))
        write_csv(path, lines)


def parquet_changes(path, columns=None, step=1):
    """Write the file once for each field changed (of every ``step``-th), and once for rows left out."""
    table = pq.read_table(path)
    for j, name in enumerate(columns or table.column_names):
        kind, values = table.schema.field(name).type, table[name].to_pylist()
        for i, value in enumerate(values):
            if not on_diagonals(i, j, step):
                continue
            if pa.types.is_list(kind):
                new = [] if value is None else None
            else:
                new = {"string": "waived", "double": 1.0}.get(str(kind), 1) if value is None else changed(value)
            column = pa.array([*values[:i], new, *values[i + 1 :]], kind)
            pq.write_table(table.set_column(table.column_names.index(name), name, column), path)
            yield path.name, i, name
    for first, last in ((1, table.num_rows), (0, table.num_rows - 1)) if table.num_rows else ():
        pq.write_table(table.slice(first, last - first), path)
        yield path.name, first, "left out"
    pq.write_table(table, path)


@some
@SPARSE_OR_DENSE
def test_every_field_of_every_parquet_file(out, step):
    for path in sorted(out.rglob("*.parquet")):
        for what in parquet_changes(path, step=step):
            refused(out, what)


@every
@SPARSE_OR_DENSE
def test_every_field_of_the_witnesses_sealed_again(out, step):
    for what in parquet_changes(out / "internal" / "certificate.parquet", step=step):
        seal(out)
        refused(out, what)


@every
@SPARSE_OR_DENSE
def test_codes_totals_and_counts_of_the_facts_sealed_again(out, step):
    for path in sorted((out / "internal" / "facts").iterdir()):
        names = pq.read_schema(path).names
        for what in parquet_changes(path, names[: names.index("count") + 1], step):
            seal(out)
            refused(out, what)


@every
@pytest.mark.parametrize("name", ["internal/job.yaml", "internal/summary.json", "release/metadata.json"])
def test_other_files(out, name):
    path = out / name
    text = path.read_bytes()
    for damaged in (text[:-2], text + b"\n", text.replace(b"a", b"b", 1), b""):
        path.write_bytes(damaged)
        refused(out, damaged[-20:])
    path.unlink()
    refused(out, "missing")
    path.write_bytes(text)
    (path.parent / "more.csv").write_text("a\n")
    refused(out, "extra")


# What is said on purpose, with all digests computed anew.


def test_a_contribution_that_makes_a_published_cell_unsafe(folders, tmp_path):
    out = shutil.copytree(folders["all_of"], tmp_path / "out")
    path = out / "internal" / "facts" / "t.parquet"
    table = pq.read_table(path)
    at = next(i for i, r in enumerate(table.to_pylist()) if r["by:region"] == "N" and r["by:size"] == "Total")
    for name, value in (("count", 2), ("top1", table["total"][at].as_py())):
        values = table[name].to_pylist()
        column = pa.array([*values[:at], value, *values[at + 1 :]], table.schema.field(name).type)
        table = table.set_column(table.column_names.index(name), name, column)
    pq.write_table(table, path)
    seal(out)
    assert [c.number for c in verify(certificate(out)).checks if not c.passed] == [2, 5]


@pytest.mark.parametrize(("key", "value"), [("lower", "5"), ("upper", "30"), ("percent", "2")])
def test_an_attacker_who_knows_more(folders, tmp_path, key, value):
    out = shutil.copytree(folders["plain"], tmp_path / "out")
    document = json.loads(certificate(out).read_text())
    document["attack"][key] = value
    sign(certificate(out), document)
    refused(out, key)


# Writing.


def test_an_unsafe_pattern_is_not_written(tmp_path):
    job = made_folders.write_job(tmp_path, "plain")
    (tmp_path / "t.csv").write_text((tmp_path / "t.csv").read_text().replace("secondary", ""))
    done = audit_job(Job.load(job))
    with pytest.raises(NotProtected, match="nothing is released: UNSAFE"):
        OutputFolder(tmp_path / "out").write(done)
    assert {p.name for p in tmp_path.iterdir()} == {"job.yaml", "t.csv"}


def test_an_existing_folder_is_replaced_only_by_force(tmp_path):
    out = made_folders.make(tmp_path, "plain")
    done = audit_job(Job.load(made_folders.write_job(tmp_path / "other", "counts")))
    with pytest.raises(InputError, match="--force"):
        OutputFolder(out).write(done)
    assert (out / "release" / "t.csv").exists()
    OutputFolder(out).write(done, force=True)
    assert {p.name for p in (out / "release").iterdir()} == {"people.csv", "metadata.json", "report.html"}
    assert {p.name for p in tmp_path.iterdir()} == {"job", "other", "out"}


def test_a_fault_in_the_middle_leaves_the_old_folder_and_nothing_else(tmp_path, monkeypatch):
    out = made_folders.make(tmp_path, "plain")
    before = certificate(out).read_bytes()

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("cellguard.methods.suppress.pattern_method.write_certificate", stop)
    done = audit_job(Job.load(tmp_path / "job" / "job.yaml"))
    with pytest.raises(KeyboardInterrupt):
        OutputFolder(out).write(done, force=True)
    with pytest.raises(KeyboardInterrupt):
        OutputFolder(tmp_path / "new").write(done)
    assert certificate(out).read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {"job", "out"}


@pytest.mark.parametrize("status", ["must_suppress", "waived"])
def test_a_level_not_shown_stays_so_whatever_else_is_said_of_its_cells(tmp_path, status):
    job = made_folders.write_job(tmp_path, "publish_levels")
    content = yaml.safe_load(job.read_text())
    content["tables"] = content["tables"][1:]
    job.write_text(yaml.safe_dump(content))
    text = (tmp_path / "coarse.csv").read_text()
    lines = [line + status if line.startswith("A1,") else line for line in text.splitlines()]
    lines = [line + "must_suppress" if line.startswith("B1,") else line for line in lines]
    (tmp_path / "coarse.csv").write_text("\n".join(lines) + "\n")
    OutputFolder(tmp_path / "out").write(audit_job(Job.load(job)))
    assert verify(certificate(tmp_path / "out")).valid
    found = audit_folder(tmp_path / "out").protected.audit
    assert found.verdict == "safe" and found.pattern.unpublished.sum() == 4
