"""A release in Parquet and Excel: it must show what the CSV files show, and nothing else may be in the folder."""

import re
import shutil
import zipfile

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_job
from cellguard.verifier.verify import verify
from unit.io import made_folders
from unit.verifier.folders import details, failed, seal

import quick_yaml

NAMES = ["plain", "three_dimensions", "linked", "counts", "publish_levels"]


@pytest.fixture(scope="module", params=NAMES)
def made(request, tmp_path_factory):
    """A whole folder with every format."""
    home = tmp_path_factory.mktemp("formats")
    path = made_folders.write_job(home, request.param)
    job = quick_yaml.load(path.read_text())
    path.write_text(quick_yaml.dump(job | {"output": {"formats": ["csv", "parquet", "html", "xlsx"]}}))
    OutputFolder(home / "out").write(audit_job(Job.load(path)))
    return home / "out"


@pytest.fixture
def out(made, tmp_path):
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


def certificate(out):
    return out / "internal/certificate.json"


def table_of(out):
    """The first Parquet file with a suppressed cell."""
    files = sorted((out / "release").glob("*.parquet"))
    return next(path for path in files if pq.read_table(path).column("value").null_count)


def test_a_folder_with_every_format_is_valid(out):
    assert [c.detail for c in verify(certificate(out)).checks if not c.passed] == []
    names = {p.name for p in (out / "release").iterdir()}
    assert {"report.html", "tables.xlsx", "metadata.json", table_of(out).name} <= names
    assert (out / "internal/report.html").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["release/report.html", "internal/report.html", "release/tables.xlsx"])
def test_a_change_without_a_new_digest_is_refused(out, name):
    with (out / name).open("ab") as file:
        file.write(b" ")
    assert 9 in failed(certificate(out))


def parquet(out, change):
    """Change the first Parquet file and make the digests anew, as somebody would on purpose."""
    path = table_of(out)
    pq.write_table(change(pq.read_table(path)), path)
    seal(out)
    return failed(certificate(out))


def first_row(table, hidden):
    gone = table.column("value").is_null().to_pylist()
    return gone.index(hidden)


def with_value(table, row, value):
    column = table.column("value").to_pylist()
    column[row] = value
    kind = table.schema.field("value").type
    return table.set_column(table.schema.get_field_index("value"), "value", pa.array(column, kind))


def test_parquet_that_shows_a_hidden_value(out):
    assert parquet(out, lambda t: with_value(t, first_row(t, True), 7)) == [3]
    assert "is not what" in details(certificate(out))


def test_parquet_with_another_value_or_none(out):
    assert parquet(out, lambda t: with_value(t, first_row(t, False), 7_777)) == [3]
    assert parquet(out, lambda t: with_value(t, first_row(t, False), None)) == [3]


def with_flags(table):
    flags = ["" for _ in range(len(table))]
    return table.set_column(table.schema.get_field_index("flag"), "flag", pa.array(flags, pa.string()))


CHANGES = {
    "flags": with_flags,
    "order": lambda t: t.take(list(range(len(t)))[::-1]),
    "fewer rows": lambda t: t.slice(0, len(t) - 1),
    "more rows": lambda t: pa.concat_tables([t, t.slice(0, 1)]),
    "another column": lambda t: t.append_column("status", pa.array(["primary"] * len(t))),
    "column gone": lambda t: t.drop_columns(["flag"]),
    "other type": lambda t: t.set_column(t.num_columns - 2, "value", pc.cast(t.column("value"), pa.float64())),
    "metadata": lambda t: t.replace_schema_metadata({"secret": "1"}),
    "code": lambda t: t.set_column(0, t.schema.names[0], pa.array(["q"] * len(t), pa.string())),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_parquet_that_is_otherwise_not_the_release(out, change):
    assert parquet(out, change) == [3]


def test_parquet_of_some_tables_only(out):
    files = list((out / "release").glob("*.parquet"))
    files[0].unlink()
    seal(out)
    assert failed(certificate(out)) == ([9] if len(files) > 1 else [])


def workbook(out, change):
    """Change the parts of the workbook: {name: content} in, the same out; digests are made anew."""
    path = out / "release/tables.xlsx"
    with zipfile.ZipFile(path) as prover:
        parts = {name: prover.read(name).decode() for name in prover.namelist()}
    parts = change(parts)
    with zipfile.ZipFile(path, "w") as prover:
        for name, content in parts.items():
            prover.writestr(name, content)
    seal(out)
    return failed(certificate(out))


SHEET = "xl/worksheets/sheet2.xml"


def sheet(change):
    def changed(parts):
        other = change(parts[SHEET])
        assert other != parts[SHEET]
        return parts | {SHEET: other}

    return changed


SUPPRESSED = r'(<c r="([A-Z]+\d+)"[^>]*) t="inlineStr"><is><t>c</t></is></c>'
NUMBER = r"(<c [^>]*>)<v>[^<]*</v></c>"
BOOK_CHANGES = {
    "a hidden value": sheet(lambda x: re.sub(SUPPRESSED, r"\1><v>7</v></c>", x, count=1)),
    "a hidden value as text": sheet(lambda x: x.replace("<t>c</t>", "<t>7</t>", 1)),
    "nothing where c was": sheet(lambda x: re.sub(SUPPRESSED, r"\1/>", x, count=1)),
    "another number": sheet(lambda x: re.sub(NUMBER, r"\1<v>777777</v></c>", x, count=1)),
    "no number": sheet(lambda x: re.sub(NUMBER, r"\1<v>NaN</v></c>", x, count=1)),
    "a number as text": sheet(
        lambda x: re.sub(r'(<c r="[A-Z]+\d+"[^>]*)><v>([^<]*)</v>', r'\1 t="inlineStr"><is><t>\2</t></is>', x, count=1)
    ),
    "a formula": sheet(lambda x: re.sub(NUMBER, r"\1<f>1+1</f><v>2</v></c>", x, count=1)),
    "a row more": sheet(lambda x: x.replace("</sheetData>", '<row r="999"><c r="A999"><v>1</v></c></row></sheetData>')),
    "a cell twice": sheet(lambda x: re.sub(r"(<c [^>]*><v>[^<]*</v></c>)", r"\1\1", x, count=1)),
    "a link": sheet(lambda x: x.replace("</worksheet>", "<hyperlinks/></worksheet>")),
    "no place": sheet(lambda x: x.replace('r="A2"', 'r="2"', 1)),
    "no XML": sheet(lambda x: x[:-20]),
    "a sheet more": lambda parts: parts | {"xl/worksheets/sheet99.xml": parts[SHEET]},
    "a macro": lambda parts: parts | {"xl/vbaProject.bin": "x"},
    "a sheet less": lambda parts: {name: part for name, part in parts.items() if name != SHEET},
}


@pytest.mark.parametrize("change", BOOK_CHANGES.values(), ids=BOOK_CHANGES)
def test_a_workbook_that_is_not_the_release(out, change):
    assert workbook(out, change) == [3]


def test_a_workbook_rewritten_as_it_was_is_valid(out):
    assert workbook(out, lambda parts: parts) == []


def test_no_zip_at_all_and_entities_without_end(out):
    path = out / "release/tables.xlsx"
    bomb = (
        '<!DOCTYPE a [<!ENTITY a "x">'
        + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9))
        + "]><worksheet>&j;</worksheet>"
    )
    assert workbook(out, lambda parts: parts | {SHEET: bomb}) == [3]
    path.write_bytes(b"PK nonsense")
    seal(out)
    assert failed(certificate(out)) == [3]


@pytest.mark.parametrize(
    "name", ["release/other.xlsx", "release/more.parquet", "release/report.htm", "internal/x.html"]
)
def test_other_names_are_still_extra(out, name):
    (out / name).write_text("x")
    seal(out)
    assert failed(certificate(out)) == [9]
