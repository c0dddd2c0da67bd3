"""Tables from records, end to end as a user runs it; and the demo, which starts from records."""

import json
import re

import duckdb
import pytest
import yaml

from cellguard.faces.cli import demo_data
from cellguard.faces.cli.demo_data import firms, people, write_records

from system.command import run

SECRET = str(48151)


FIRMS = """id,region,size,group,turnover,w
1,N1,small,a,50,1
2,N1,small,b,7,2
3,N2,small,a,8,1.5
4,N2,large,c,90,1
5,N2,large,d,85,1
6,S,large,e,70,1
7,S,large,f,65,1
8,S,small,g,20,3
9,S,small,h,22,3
10,N1,large,i,75,1
11,N1,large,j,61,1
12,N1,small,k,12,1
13,N2,small,l,31,1
14,S,small,m,9,1
15,N2,small,n,28,1
"""
JOB = """version: 1
microdata: {source: firms.csv, respondent: id, holding: group}
dimensions:
  region: {parents: regions.csv}
tables:
  - {name: turnover, by: [region, size], value: turnover, rules: [{min_frequency: 3}, {p_percent: 10}]}
  - {name: firms, by: [region], value: count, rules: [{min_frequency: 3}]}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "firms.csv").write_text(FIRMS)
    (tmp_path / "regions.csv").write_text("code,parent\nTotal,\nNorth,Total\nS,Total\nN1,North\nN2,North\n")
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


def oracle():
    """The cells of the first table in plain Python: total and number of holdings."""
    above = {"N1": ["N1", "North", "Total"], "N2": ["N2", "North", "Total"], "S": ["S", "Total"]}
    totals, holders = {}, {}
    for line in FIRMS.splitlines()[1:]:
        _, region, size, group, turnover, _ = line.split(",")
        for cell in [(r, s) for r in above[region] for s in (size, "Total")]:
            totals[cell] = totals.get(cell, 0) + float(turnover)
            holders.setdefault(cell, set()).add(group)
    return {cell: (totals[cell], len(holders[cell])) for cell in totals}


def internal(folder, table):
    rows = [line.split(",") for line in (folder / f"internal/{table}.csv").read_text().splitlines()]
    return [dict(zip(rows[0], row, strict=False)) for row in rows[1:]]


def test_from_records_to_a_verified_release(folder):
    done = run("protect", "job.yaml", "--out", "out", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["microdata"] == {"records": 15, "respondents": 14}
    assert set(summary["inputs"]) == {"firms.csv", "regions.csv"}
    found = {
        (r["region"], r["size"]): (float(r["value"]), int(r["count"])) for r in internal(folder / "out", "turnover")
    }
    assert found == oracle()
    assert run("verify", "out", cwd=folder).returncode == 0
    assert run("audit", "out", cwd=folder).returncode == 0


def test_assess_dry_run_and_audit_of_a_job(folder):
    found = json.loads(run("assess", "job.yaml", "--json", cwd=folder).stdout)
    assert found["tables"]["turnover"]["cells"] == len(oracle())
    assert found["tables"]["firms"]["cells"] == 5
    dry = run("protect", "job.yaml", "--dry-run", cwd=folder)
    assert dry.returncode == 0 and "may take some" in dry.stdout
    assert run("audit", "job.yaml", cwd=folder).returncode in {0, 1}


def test_weights_gaps_and_dropped_records_are_reported(folder):
    text = FIRMS.replace("2,N1,small,b,7,2", "2,N1,small,,7,0.5").replace("8,S,small,g,20,3", "8,S,small,g,,3")
    (folder / "firms.csv").write_text(text)
    job = JOB.replace("holding: group}", "holding: group, weight: w, missing: {holding: own, value: drop}}")
    (folder / "job.yaml").write_text(job)
    found = json.loads(run("assess", "job.yaml", "--json", cwd=folder).stdout)
    assert found["warnings"][:3] == [
        "firms.csv: 1 record with no value in 'turnover': left out",
        "firms.csv: 1 record with no holding in 'group', taken as holdings of their own",
        "1 records have a weight below 1; the rules take it for 1, the published totals do not",
    ]
    protected = run("protect", "job.yaml", "--out", "out", cwd=folder)
    assert protected.returncode == 0, protected.stderr
    assert "Warning: firms.csv: 1 record with no value" in protected.stdout
    assert run("verify", "out", cwd=folder).returncode == 0


@pytest.mark.parametrize("survey", ["virtual", "sample", "rounded", "alternating", "handbook", "published_weights"])
def test_every_survey_mode_is_protected_and_verified(folder, survey):
    job = JOB.replace("holding: group}", "holding: group, weight: w}")
    job = job.replace("value: turnover,", f"value: turnover, survey: {survey},")
    (folder / "job.yaml").write_text(job)
    done = run("protect", "job.yaml", "--out", "out", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    weighted = sum(float(t) * float(w) for *_, t, w in (line.split(",") for line in FIRMS.splitlines()[1:]))
    total = next(r for r in internal(folder / "out", "turnover") if (r["region"], r["size"]) == ("Total", "Total"))
    assert float(total["value"]) == weighted
    checked = run("verify", "out", cwd=folder)
    assert checked.returncode == 0, checked.stdout


def test_records_and_ready_made_cells_in_one_set(folder):
    cells = "size,turnover,n\nTotal,633,14\nsmall,187,9\nlarge,446,6\n"
    (folder / "sizes.csv").write_text(cells)
    job = JOB + "  - {name: sizes, by: [size], value: turnover, cells: {source: sizes.csv, count: n}, rules: []}\n"
    (folder / "job.yaml").write_text(job)
    found = json.loads(run("assess", "job.yaml", "--json", cwd=folder).stdout)
    assert found["tables"]["sizes"]["cells"] == 3
    (folder / "sizes.csv").write_text(cells.replace("187", "188").replace("633", "634"))
    done = run("assess", "job.yaml", cwd=folder)
    assert done.returncode == 2 and "sizes" in done.stderr and "turnover" in done.stderr


def test_missing_codes_as_a_category_stand_below_the_total(folder):
    (folder / "firms.csv").write_text(FIRMS.replace("8,S,", "8,,").replace("9,S,", "9,,"))
    (folder / "job.yaml").write_text(JOB.replace("holding: group}", "holding: group, missing: {code: category}}"))
    found = json.loads(run("assess", "job.yaml", "--json", cwd=folder).stdout)
    assert found["tables"]["firms"]["cells"] == 6
    assert "firms.csv: 2 records with no code in 'region', taken as 'Missing'" in found["warnings"]


def test_a_query_on_a_database(folder):
    with duckdb.connect(str(folder / "firms.duckdb")) as connection:
        connection.execute(f"CREATE TABLE firms AS FROM read_csv('{folder / 'firms.csv'}')")
    query = 'source: firms.duckdb, query: "select * from firms where turnover > 10"'
    (folder / "job.yaml").write_text(JOB.replace("source: firms.csv", query))
    found = json.loads(run("assess", "job.yaml", "--json", cwd=folder).stdout)
    assert found["microdata"]["records"] == 12


RDA = """region 1 2 99
  <RECODEABLE>
  <HIERCODELIST> "Regions.hrc"
  <HIERLEADSTRING> "@"
  <CODELIST> "regions.cdl"
  <TOTCODE> "All"
size 4 1
  <RECODEABLE>
turnover 6 6
  <NUMERIC>
  <DECIMALS> 1
w 13 3
  <WEIGHT>
"""


def test_fixed_width_records_with_metadata(folder):
    (folder / "firms.rda").write_text(RDA)
    (folder / "REGIONS.HRC").write_text("North\n@ 1\n@ 2\n 3\n")
    (folder / "regions.cdl").write_text(" 1,One\n")
    rows = [(1, "s", 50.5, 1), (1, "l", 7, 2), (2, "s", 8, 1), (2, "l", 9, 1), (3, "s", 12, 1), (3, "l", 4, 3)]
    (folder / "firms.asc").write_text("".join(f"{r:2d} {s} {x:6.1f} {w:3d}\n" for r, s, x, w in rows))
    (folder / "job.yaml").write_text(
        "version: 1\nmicrodata: {source: firms.asc, rda: firms.rda}\n"
        "tables: [{name: t, by: [region, size], value: turnover, rules: [{min_frequency: 1}]}]\n"
    )
    done = run("protect", "job.yaml", "--out", "out", "--json", "--accept-no-rules", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert {"firms.asc", "firms.rda", "Regions.hrc", "regions.cdl"} <= set(json.loads(done.stdout)["inputs"])
    found = {(r["region"], r["size"]): r["value"] for r in internal(folder / "out", "t")}
    assert float(found["All", "Total"]) == sum(x * w for *_, x, w in rows)
    assert float(found["North", "s"]) == 58.5 and (" 1", "l") in found
    released = (folder / "out/release/t.csv").read_text()
    assert "All,s,70.5," in released


@pytest.mark.parametrize("keyword", ["HIERCODELIST", "CODELIST"])
def test_metadata_that_name_files_elsewhere_need_leave(folder, keyword):
    (folder / "sub").mkdir(exist_ok=True)
    (folder / "secret.txt").write_text(f"{SECRET}, 1\n")
    metadata = f'region 1 2\n  <RECODEABLE>\n  <{keyword}> "../secret.txt"\nx 4 2\n <NUMERIC>\n'
    (folder / "sub/firms.rda").write_text(metadata)
    (folder / "sub/firms.asc").write_text("N   5\nS   6\n")
    (folder / "sub/job.yaml").write_text(
        "version: 1\nmicrodata: {source: firms.asc, rda: firms.rda}\n"
        "tables: [{name: t, by: [region], value: x, rules: [{min_frequency: 1}]}]\n"
    )
    done = run("assess", "job.yaml", cwd=folder / "sub")
    assert done.returncode == 2 and "outside of its folder" in done.stderr and str(SECRET) not in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("turnover,w", "turnover,turnover", "firms.csv: the header names 'turnover' twice"),
        ("1,N1,small,a,50,1", f"1,N1,small,a,{SECRET}?,1", "firms.csv line 2, column 'turnover': not a number"),
        ("1,N1,small,a,50,1", "1,N1,small,a,,1", "firms.csv line 2, column 'turnover': the value is missing"),
        (
            "1,N1,small,a,50,1",
            "1,Nx,small,a,50,1",
            "line 2, column 'region': 'Nx' is not in dimension 'region'; did you",
        ),
        ("1,N1,small,a,50,1", "1,North,small,a,50,1", "line 2, column 'region': 'North' has codes below it"),
        ("1,N1,small,a,50,1", "1,N1,Total,a,50,1", "line 2, column 'size': 'Total' is the total of dimension 'size'"),
        ("1,N1,small,a,50,1", "1,N1,small,,50,1", "line 2, column 'group': the holding is blank"),
        ("1,N1,small,a,50,1", "1,N1,small", "firms.csv line 2: fewer fields than columns"),
        (FIRMS, "", "firms.csv: the file is empty"),
        (FIRMS[30:], "", "firms.csv: there are no rows"),
    ],
)
def test_faults_in_records_are_told_without_values_and_nothing_is_written(folder, old, new, words):
    assert old in FIRMS
    (folder / "firms.csv").write_text(FIRMS.replace(old, new))
    done = run("protect", "job.yaml", "--out", "out", cwd=folder)
    assert done.returncode == 2 and words in done.stderr
    assert SECRET not in done.stderr + done.stdout and not (folder / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("microdata: {source: firms.csv,", "microdata: {source: nowhere.csv,", "no file 'nowhere.csv'"),
        ("holding: group", "holdng: group", "microdata.holdng: unknown key 'holdng'; did you mean 'holding'"),
        ("holding: group", "holding: grup", "firms.csv: no column 'grup'; did you mean 'group'?"),
        ("value: turnover", "value: turnvoer", "firms.csv: no column 'turnvoer'; did you mean 'turnover'?"),
        ("by: [region]", "by: [regin]", "no column 'regin'; did you mean 'region'"),
        ("holding: group", "missing: {value: ignore}", "microdata.missing.value: must be 'error', 'drop' or 'zero'"),
        ("holding: group", "query: select, rda: x.rda", "give one of query and rda, not both"),
        ("microdata: {source: firms.csv, respondent: id, holding: group}\n", "", "table 'turnover' has no data"),
        ("value: turnover,", "value: turnover, survey: guess,", "tables[0].survey: must be"),
        ("rules: [{min_frequency: 3}]", "rules: [{given: {column: x}}]", "'given'"),
    ],
)
def test_faults_in_the_job(folder, old, new, words):
    assert old in JOB
    (folder / "job.yaml").write_text(JOB.replace(old, new, 1) if "given" not in new else JOB.replace(old, new))
    done = run("assess", "job.yaml", cwd=folder)
    assert done.returncode == 2
    assert words in done.stderr or ("given" in new and "'x'" in done.stderr), done.stderr


def test_init_guesses_the_roles_and_assess_accepts_them(tmp_path):
    rows = [
        f"F{i},N{i % 4},{'small' if i % 3 else 'large'},G{i // 2},{100 + 7 * i}.5,{1 + i % 2}.25" for i in range(240)
    ]
    (tmp_path / "firms.csv").write_text("firm,region,size,group,turnover,weight\n" + "\n".join(rows) + "\n")
    done = run("init", "firms.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "job.yaml").read_text()
    job = yaml.safe_load(text)
    assert job["microdata"] == {"source": "firms.csv", "respondent": "firm", "holding": "group", "weight": "weight"}
    assert (job["tables"][0]["by"], job["tables"][0]["value"]) == (["region", "size"], "turnover")
    assert "hierarchy" in text and "industry" not in text
    found = json.loads(run("assess", "job.yaml", "--json", cwd=tmp_path).stdout)
    assert found["tables"]["firms"]["cells"] == 15 and found["microdata"]["respondents"] == 120


def test_init_knows_decimal_commas_and_counts(tmp_path):
    (tmp_path / "a.csv").write_text("region;turnover\n" + "".join(f"N{i % 2};{i},5\n" for i in range(20)))
    assert run("init", "a.csv", "--out", "a.yaml", cwd=tmp_path).returncode == 0
    assert yaml.safe_load((tmp_path / "a.yaml").read_text())["microdata"]["decimal"] == ","
    assert run("assess", "a.yaml", cwd=tmp_path).returncode == 0
    (tmp_path / "b.csv").write_text("region,sex\n" + "".join(f"N{i % 2},{1 + i % 2}\n" for i in range(80)))
    assert run("init", "b.csv", "--out", "b.yaml", cwd=tmp_path).returncode == 0
    assert yaml.safe_load((tmp_path / "b.yaml").read_text())["tables"][0]["value"] == "count"
    (tmp_path / "c.csv").write_text("name,turnover\nx,5\ny,7\n")
    done = run("init", "c.csv", "--out", "c.yaml", cwd=tmp_path)
    assert done.returncode == 2 and "no column looks like codes" in done.stderr


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A small demo in words; its usual size, which `make demo` runs too, has a test of its own."""
    folder = tmp_path_factory.mktemp("demo")
    done = run("demo", "--rows", "100", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.mark.endless
def test_the_demo_protects_a_survey_and_a_register(tmp_path):
    done = run("demo", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["verdict"], summary["valid"], summary["insiders"]) == ("safe", True, "checked")
    assert (summary["register"]["verdict"], summary["register"]["valid"]) == ("safe", True)
    assert summary["microdata"]["records"] == summary["register"]["microdata"]["records"] == 20_000
    assert summary["tables"]["industry_region"]["primary"] > 0
    assert summary["register"]["tables"]["region_age_status"]["primary"] > 0


def test_the_demo_is_the_same_every_time(demo, tmp_path):
    path = write_records(tmp_path / "firms", 100, firms)
    assert path.read_bytes() == (demo[0] / "cellguard-demo/firms.csv").read_bytes()


def test_the_demo_refuses_a_folder_that_is_not_empty(demo):
    again = run("demo", cwd=demo[0])
    assert again.returncode == 2
    assert "not empty" in again.stderr and "--force" in again.stderr


def test_the_demo_in_words_and_in_another_size(demo):
    folder, words = demo[0] / "cellguard-demo", demo[1]
    assert re.search(r"^Safe against outsiders and every single respondent", words, re.M)
    assert words.count("Valid.") == 2
    caveat = (
        "espondents together not checked; sums of three or more suppressed "
        "cells that only several relations together give not checked; earlier releases not checked; "
        "tables outside this set not checked; what the choice of cells reveals not checked."
    )
    firms, register = f"R{caveat}", f"Some sums of suppressed cells not checked; r{caveat}"
    said = [line for line in words.splitlines() if "respondents together" in line.lower()]
    assert said == [firms, f"Claimed: {firms}", register, f"Claimed: {register}"]
    assert "\x1b" not in words
    assert len((folder / "firms.csv").read_text().splitlines()) == 101
    for name in ("protected/release/industry_region.csv", "protected_register/release/region_sex_status.csv"):
        assert (folder / name).exists()
    for name in ("protected", "protected_register"):
        summary = json.loads((folder / name / "internal/summary.json").read_text())
        assert summary["verdict"] == "safe" and summary["microdata"]["records"] == 100


def test_a_large_demo_is_written_in_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(demo_data, "CHUNK", 1000)
    monkeypatch.setattr(demo_data, "LARGEST_CSV", 3000)
    path = write_records(tmp_path / "people", 3001, people)
    assert path.suffix == ".parquet"
    found = duckdb.read_parquet(str(path)).aggregate("count(*), count(DISTINCT person)").fetchall()
    assert found == [(3001, 3001)]
