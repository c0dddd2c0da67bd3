"""Names that become files: of tables and dimensions, in jobs and from Python."""

from dataclasses import replace

import pytest

import cellguard as cg
from cellguard.errors import InputError, JobError
from cellguard.io.folder import OutputFolder
from cellguard.job.names import check_names, collision, dimension_fault, name_fault, plain_name, table_fault
from cellguard.pipeline import audit_folder, diff_folders, run

SPECIAL = [
    *(".", "..", "...", ".hidden", "-rf", "a.", "", " ", "a/b", "../a", "/a", "a\\b", "a\0b", "a\nb", "a\tb", "a:b"),
    *("con", "CON", "Aux.x", "nul.tar.gz", "com1", "LPT9", "com¹", "\uff23\uff2f\uff2e", "x" * 101, "東" * 80),
    *("a*", "a?", '"a"', "<a>", "\u202ea", "a\u200b", "=a", "+a", "@a", "~a", "$HOME"),
]
PLAIN = ["turnover", "T.2024-25_a", "région", "größe", "_x", "1", "東京", "console", "com10", "x" * 100]
JOB = """\
version: 1
dimensions: {plain: {column: r}}
tables:
  - {name: t, by: [plain], value: x, cells: {source: a.csv, count: n}, rules: [{min_frequency: 3}]}
output: {formats: [csv]}
"""


@pytest.mark.parametrize("name", SPECIAL)
def test_what_a_file_system_takes_otherwise_is_refused(name):
    assert name_fault(name) and table_fault(name) and dimension_fault(name)


@pytest.mark.parametrize("name", PLAIN)
def test_plain_names_are_allowed(name):
    assert table_fault(name) is None and dimension_fault(name) is None


def test_a_dimension_may_have_single_blanks_between_words():
    assert dimension_fault("size class") is None and table_fault("size class")
    for name in (" a", "a ", "a  b", "a ."):
        assert dimension_fault(name)


@pytest.mark.parametrize("text", [*SPECIAL, *PLAIN, "my table (1)", "hierarchies", "CON.x"])
def test_any_text_becomes_a_plain_name(text):
    assert table_fault(plain_name(text)) is None


def test_names_that_differ_by_capitals_or_accents_only_collide():
    assert collision(["a", "b", "A"]) == ("a", "A")
    assert collision(["é", "e\u0301"]) == ("é", "e\u0301")
    assert collision(["a", "b", "a"]) is None


@pytest.fixture
def write(tmp_path):
    (tmp_path / "a.csv").write_text("r,x,n\nTotal,100,20\nN,10,1\nS,40,9\nW,50,10\n")

    def job(old="", new=""):
        assert old in JOB
        (tmp_path / "job.yaml").write_text(JOB.replace(old, new, 1) if old else JOB)
        return tmp_path / "job.yaml"

    return job


@pytest.mark.parametrize("name", ["../../../evil", "..", "a/b", "con", "e:vil"])
def test_a_job_with_a_dimension_that_leads_out_of_the_folder_is_refused(write, name):
    path = write("{plain: {column: r}}", f"{{{name!r}: {{column: r}}}}")
    path.write_text(path.read_text().replace("[plain]", f"[{name!r}]"))
    with pytest.raises(JobError, match=r"names a file, and .*; call it something else, and name its column"):
        cg.Job.load(path)


def test_a_dimension_that_no_table_uses_is_refused_too(write):
    with pytest.raises(JobError, match=r"the dimension '\.\./x' names a file"):
        cg.Job.load(write("{plain: {column: r}}", "{plain: {column: r}, '../x': {}}"))


@pytest.mark.parametrize("name", [".", "..", "hierarchies", "-x"])
def test_a_job_with_a_table_that_names_no_file_is_refused(write, name):
    with pytest.raises(JobError, match=r"tables\[0\]\.name: files are named after a table, and"):
        cg.Job.load(write("name: t,", f"name: {name!r},"))


def test_tables_and_dimensions_that_would_be_one_file_are_refused(write):
    table = "  - {name: T, by: [plain], value: x, cells: {source: a.csv, count: n}, rules: [{min_frequency: 3}]}\n"
    with pytest.raises(JobError, match="the tables 't' and 'T' would be one file"):
        cg.Job.load(write("output:", table + "output:"))
    with pytest.raises(JobError, match="the dimensions 'plain' and 'PLAIN' would be one file"):
        cg.Job.load(write("{plain: {column: r}}", "{plain: {column: r}, PLAIN: {}}"))


def test_tables_from_python_are_checked_before_anything_is_written(write, tmp_path):
    done = run(cg.Job.load(write()))
    OutputFolder(tmp_path / "fine").write(done)
    tables = done.protected.audit.needs.tables
    bad = cg.Dimension("../../evil", tables.tables[0].dimensions[0].main)
    for change in ({"dimensions": (bad,)}, {"name": "../evil"}, {"name": ".."}):
        evil = replace(tables, tables=(replace(tables.tables[0], **change),))
        world = done.protected.audit.needs.world
        needs = replace(
            done.protected.audit.needs, world=replace(world, constraints=replace(world.constraints, tables=evil))
        )
        audit = replace(done.protected.audit, needs=needs, pattern=replace(done.protected.audit.pattern, tables=evil))
        with pytest.raises(InputError, match="names a file"):
            check_names(evil.tables)
        with pytest.raises(InputError, match="names a file"):
            OutputFolder(tmp_path / "out").write(replace(done, protected=replace(done.protected, audit=audit)))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "fine", "job.yaml"]


def test_a_folder_that_names_files_outside_is_not_read(write, tmp_path):
    OutputFolder(tmp_path / "out").write(run(cg.Job.load(write())))
    path = tmp_path / "out/internal/certificate.json"
    path.write_text(path.read_text().replace('"name": "t"', '"name": "../../a"'))
    for read in (audit_folder, lambda folder: diff_folders(folder, folder)):
        with pytest.raises(InputError, match="names files outside of it"):
            read(tmp_path / "out")
