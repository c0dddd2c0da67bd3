"""Reports and further formats from the command line, with and without the extras."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from unit.methods.suppress.report import cases

from system.command import run


def run_without(module, *arguments, cwd):
    """Run the command line as it is where an extra is not installed."""
    code = f"import sys; sys.modules[{module!r}] = None; from cellguard.faces.cli.main import main; main()"
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], cwd=cwd, capture_output=True, text=True)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Two linked tables as files, and a job that asks for a report."""
    folder = tmp_path_factory.mktemp("report")
    axes = ("A1", "A2", "B1", "B2"), ("N", "S", "W")
    for name, some in (("wide", axes), ("short", axes[:1])):
        write_cells(folder / f"{name}.csv", cases.cube(axes), len(some))
    (folder / "industry.csv").write_text("code,parent\n" + "".join(f"{c},{p}\n" for c, p in cases.INDUSTRY))
    with_formats(folder, "job.yaml", "[csv, html]")
    done = run("protect", "job.yaml", "--out", "protected", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Read first: protected/internal/report.html" in done.stdout
    return folder


def write_cells(path, cells, many):
    """Write the cells that stand at the total of all but the first ``many`` dimensions."""
    kept = {c[:many]: figures for c, figures in cells.items() if all(code == "Total" for code in c[many:])}
    header = ",".join([*("industry", "region")[:many], "turnover", "firms"])
    path.write_text("\n".join([header, *(",".join([*c, str(v), str(n)]) for c, (v, n) in kept.items())]) + "\n")


def with_formats(home, name, formats):
    """Write the job with other formats."""
    cells = "value: turnover, rules: [{min_frequency: 4}], cells: {count: firms, source:"
    (home / name).write_text(f"""version: 1
dimensions: {{industry: {{parents: industry.csv}}}}
tables:
  - {{name: wide, by: [industry, region], {cells} wide.csv}}}}
  - {{name: short, by: [industry], {cells} short.csv}}}}
output: {{formats: {formats}}}
""")
    return name


def test_a_run_makes_both_pages(home):
    inside = (home / "protected/internal/report.html").read_text()
    assert "Safe against outsiders only; insiders not checked" in inside
    assert "suppressed" in (home / "protected/release/report.html").read_text()


def test_every_format_is_written_and_verified(home):
    job = with_formats(home, "all.yaml", "[csv, parquet, html, xlsx]")
    assert run("protect", job, "--out", "all", "--quiet", cwd=home).returncode == 0
    assert run("verify", "all", cwd=home).returncode == 0
    names = {path.name for path in (home / "all/release").iterdir()}
    tables = {"wide", "short"}
    assert names == {f"{t}.{kind}" for t in tables for kind in ("csv", "parquet")} | {
        "tables.xlsx",
        "report.html",
        "metadata.json",
    }
    released = pq.read_table(home / "all/release/wide.parquet")
    lines = (home / "all/release/wide.csv").read_text().splitlines()[1:]
    assert [("" if v is None else str(v)) for v in released.column("value").to_pylist()] == [
        line.split(",")[2] for line in lines
    ]


def test_csv_is_always_written_and_nothing_else_unless_asked(home):
    job = with_formats(home, "few.yaml", "[parquet]")
    assert run("protect", job, "--out", "few", "--quiet", cwd=home).returncode == 0
    assert {p.suffix for p in (home / "few/release").iterdir()} == {".csv", ".parquet", ".json"}
    assert not (home / "few/internal/report.html").exists()


@pytest.mark.parametrize(
    ("formats", "words"), [("[csv, pdf]", "'parquet', 'px', 'sbs', 'sdmx' or 'xlsx'"), ("[csv, csv]", "twice")]
)
def test_wrong_formats_are_refused_before_any_work(home, formats, words):
    done = run("protect", with_formats(home, "wrong.yaml", formats), "--out", "wrong", cwd=home)
    assert done.returncode == 2 and words in done.stderr and not (home / "wrong").exists()


def test_without_jinja2_tables_are_protected_and_one_is_told_how_to_get_a_report(home):
    done = run_without("jinja2", "protect", "job.yaml", "--out", "plain", cwd=home)
    assert done.returncode == 0, done.stderr
    assert "pip install 'cellguard[report]'" in done.stdout
    assert not list((home / "plain").rglob("report.html"))
    assert run("verify", "plain", cwd=home).returncode == 0
    quiet = run_without("jinja2", "protect", "job.yaml", "--out", "plain2", "--json", cwd=home)
    assert json.loads(quiet.stdout)["verdict"] == "safe"


def test_the_demo_works_without_any_extra(tmp_path):
    done = run_without("jinja2", "demo", "--rows", "100", cwd=tmp_path)
    assert done.returncode == 0 and "pip install 'cellguard[report]'" in done.stdout


def test_without_xlsxwriter_excel_is_refused_before_any_work(home):
    job = with_formats(home, "excel.yaml", "[csv, xlsx]")
    done = run_without("xlsxwriter", "protect", job, "--out", "excel", cwd=home)
    assert done.returncode == 2 and "pip install 'cellguard[excel]'" in done.stderr
    assert not (home / "excel").exists()


def test_help_loads_no_extra(tmp_path):
    code = (
        "import sys, cellguard.faces.cli.main as m\nsys.argv = ['cellguard', 'show', '--help']\n"
        "try:\n    m.main()\nexcept SystemExit:\n    pass\n"
        "print([n for n in ('jinja2', 'matplotlib', 'xlsxwriter', 'rich', 'numpy') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


def test_show_prints_the_release_and_the_internal_table(home):
    shown = run("show", "protected", "wide", cwd=home)
    assert shown.returncode == 0 and "c suppressed" in shown.stdout
    released = [line.split(",") for line in (home / "protected/release/wide.csv").read_text().splitlines()[1:]]
    wanted = {r: f"{int(v):,}" if v else "c" for i, r, v, _ in released if i == "A1"}
    line = next(line for line in shown.stdout.splitlines() if line.split()[:1] == ["A1"])
    assert line.split() == ["A1", *(wanted[r] for r in ("Total", "N", "S", "W"))] and "c" in line
    inside = run("show", "protected", "wide", "--internal", cwd=home).stdout
    assert "Confidential" in inside and "●" in inside and "○" in inside
    assert run("show", "protected", cwd=home).returncode == 2
    some = run("show", "protected", "wide", "--where", "region=N", "--depth", "1", cwd=home).stdout
    assert "region = N" in some and "A1" not in some
