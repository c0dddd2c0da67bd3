"""A dimension may be called like any column of our own files: every face must still tell the two apart."""

import csv
import json
from itertools import product

import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner

from cellguard.errors import InputError
from cellguard.faces.cli.main import cli
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import assess_job, audit_folder
from cellguard.pipeline import run as run_job
from cellguard.verifier.verify import verify

NAMES = [
    "value", "flag", "count", "status", "reasons", "cost", "need_lower", "need_upper", "need_sliding", "interval_lower",
    "interval_upper", "total", "top1", "topic", "base", "excess1", "unwaived1", "requested", "state", "lower", "upper",
    "table", "witness", "row", "move", "hierarchy", "code", "parent", "label",
]  # fmt: skip
SIZES = ("a", "b", "c")


def records():
    """One record a firm: one size is small in the North, and gets company there."""
    for (region, size), firms in zip(product("NS", SIZES), (2, 6, 5, 7, 4, 9), strict=True):
        for i in range(firms):
            yield region, size, 10 + i * 7


def write_records(folder, name, first="region"):
    rows = [(region, size, x, "no") for region, size, x in records()]
    with (folder / "firms.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([(first, name, "turnover", "secret"), *rows])


def run(*words):
    """Run a command; return what it prints, after it ended well."""
    done = CliRunner().invoke(cli, [str(word) for word in words])
    assert done.exit_code == 0, (words, done.output, done.exception)
    return done.output


def protect(folder, job):
    path = folder / "job.yaml"
    path.write_text(yaml.safe_dump({"version": 1, **job}), encoding="utf-8")
    OutputFolder(folder / "out").write(run_job(Job.load(path)), force=True)
    return folder / "out"


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


PAIRS = [*zip(NAMES[::2], NAMES[1::2], strict=False), (NAMES[-1], NAMES[0])]  # both dimensions clash with something


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_tables_from_records(tmp_path, first, second):
    write_records(tmp_path, second, first)
    rules = [{"min_frequency": 3}, {"p_percent": 5}]
    table = {"name": "t", "by": [first, second], "value": "turnover", "rules": rules}
    people = {"name": "people", "by": [second], "value": "count", "rules": [{"min_frequency": 3}]}
    job = {"microdata": {"source": "firms.csv"}, "tables": [table, people]}
    job["output"] = {"formats": ["csv", "parquet", "html", "xlsx"]}
    out = protect(tmp_path, job)
    found = verify(out / "internal/certificate.json")
    assert [c.detail for c in found.checks if not c.passed] == []
    check_files(out, [first, second])
    check_commands(out, first, second)


def check_files(out, by):
    """Every header is without repeats, and the codes of the dimensions are where they should be."""
    heads = [f"by:{name}" if name in {"value", "flag"} else name for name in by]
    codes = [{"Total", "N", "S"}, {"Total", *SIZES}]
    released = rows_of(out / "release/t.csv")
    assert list(released[0]) == [*heads, "value", "flag"]
    assert [{row[head] for row in released} for head in heads] == codes
    assert {row["flag"] for row in released} == {"", "c"}
    typed = pq.read_table(out / "release/t.parquet")
    assert typed.schema.names == [*heads, "value", "flag"]
    assert [typed[head].to_pylist() for head in heads] == [[row[head] for row in released] for head in heads]
    internal = rows_of(out / "internal/t.csv")
    assert {row["status"] for row in internal} == {"published", "primary", "secondary"}
    assert len(internal[0]) == 2 + 10
    assert all(head in (name, f"by:{name}") for head, name in zip(list(internal[0])[:2], by, strict=True))
    assert [{row[list(row)[i]] for row in internal} for i in (0, 1)] == codes
    facts = pq.read_table(out / "internal/facts/t.parquet")
    assert [set(facts[f"by:{name}"].to_pylist()) for name in by] == codes
    assert json.loads((out / "release/metadata.json").read_text())["tables"]["t"]["by"] == by
    assert all(name in (out / "release/report.html").read_text(encoding="utf-8") for name in by)


def check_commands(out, first, second):
    assert audit_folder(out).protected.audit.verdict == "safe"
    assert "Valid." in run("verify", out)
    assert run("audit", out).startswith("Safe against outsiders")
    assert "N/a is primary: min_frequency 3" in run("explain", out, "N/a", "--table", "t")
    shown = run("show", out, "t", "--where", f"{second}=a", "--internal")
    assert "●" in shown and f"{second} = a" in shown
    assert f"{first} = N" in run("show", out, "t", "--where", f"{first}=N")
    assert f"{first} \\ {second}" in run("show", out, "t")
    assert "0 cells differ" in run("diff", out, out)


@pytest.mark.parametrize("name", ["value", "status", "cost", "lower", "total", "top1", "table"])
def test_ready_made_cells_with_everything_said_of_them(tmp_path, name):
    """The columns of the cells are named by the job; the a-priori file and the known totals have names of their own."""
    write_cells(tmp_path, name)
    said = {"status", "cost", "lower", "upper", "need_lower", "need_upper"}
    column = f"by:{name}" if name in said else name
    (tmp_path / "said.csv").write_text(f"region,{column},status,cost\nS,a,,3\nS,c,waived,\n", encoding="utf-8")
    column = f"by:{name}" if name in {"table", "value"} else name
    (tmp_path / "known.csv").write_text(f"region,{column},value\nTotal,a,\n", encoding="utf-8")
    cells = {"source": "t.csv", "count": "N", "top": ["X1"], "upper": "MOST"}
    table = {"name": "t", "by": ["region", name], "value": "X", "cells": cells, "apriori": "said.csv"}
    table["rules"] = [{"given": "SECRET"}, {"max_share": 95}]
    out = protect(tmp_path, {"tables": [table], "known": "known.csv"})
    found = verify(out / "internal/certificate.json")
    assert [c.detail for c in found.checks if not c.passed] == []
    stored = pq.read_table(out / "internal/facts/t.parquet").to_pylist()
    assert {(r["by:region"], r[f"by:{name}"]): r["cost"] for r in stored}["S", "a"] == 3
    assert audit_folder(out).protected.audit.verdict == "safe"
    assert "is primary: given SECRET" in run("explain", out, "N/a")


def write_cells(folder, name):
    totals = {}
    for region, size, x in records():
        for cell in ((region, size), (region, "Total"), ("Total", size), ("Total", "Total")):
            totals.setdefault(cell, []).append(x)
    lines = [["region", name, "X", "N", "X1", "MOST", "SECRET"]]
    for cell, xs in totals.items():
        secret = "yes" if cell == ("N", "a") else ""
        lines.append([*cell, sum(xs), len(xs), max(xs), 3 * sum(xs), secret])
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(lines)


def test_the_clash_of_an_apriori_file_is_told_with_its_cure(tmp_path):
    write_cells(tmp_path, "status")
    (tmp_path / "said.csv").write_text("region,status,cost\nS,a,3\n", encoding="utf-8")
    table = {"name": "t", "by": ["region", "status"], "value": "X", "cells": {"source": "t.csv"}, "apriori": "said.csv"}
    job = {"version": 1, "tables": [table | {"rules": [{"given": "SECRET"}]}]}
    with pytest.raises(InputError, match=r"said\.csv: no column 'by:status'.* dimension 'status' are in 'by:status'"):
        assess_job(Job.parse(job, folder=tmp_path))
    (tmp_path / "said.hst").write_text("S,a,c,3\n", encoding="utf-8")
    job["tables"][0]["apriori"] = "said.hst"
    assert assess_job(Job.parse(job, folder=tmp_path)).tables["t"].apriori.cost.tolist().count(3.0) == 1


def test_a_column_cannot_be_a_dimension_and_a_statement(tmp_path):
    write_cells(tmp_path, "status")
    cells = {"source": "t.csv", "status": "status"}
    table = {"name": "t", "by": ["region", "status"], "value": "X", "cells": cells, "rules": [{"given": "SECRET"}]}
    with pytest.raises(InputError, match="'status' is both a dimension and a statement about cells"):
        assess_job(Job.parse({"version": 1, "tables": [table]}, folder=tmp_path))


def test_a_release_is_audited_as_a_table_made_elsewhere(tmp_path):
    write_records(tmp_path, "value")
    table = {"name": "t", "by": ["region", "value"], "value": "turnover", "rules": [{"min_frequency": 3}]}
    out = protect(tmp_path, {"microdata": {"source": "firms.csv"}, "tables": [table]})
    words = ("--dim", "region", "--dim", "by:value:total=Total", "--flag", "flag")
    assert "0 disclosed" in run("audit", "--table", out / "release/t.csv", *words)


@pytest.mark.parametrize("name", ["value", "status", "noise", "need", "S_N", "flag"])
def test_perturbed_tables(tmp_path, name):
    write_records(tmp_path, name)
    table = {"name": "t", "by": ["region", name], "value": "turnover", "rules": [{"p_percent": 5}]}
    job = {"version": 1, "microdata": {"source": "firms.csv"}, "perturb": {"seed": 7}}
    job["tables"] = [table | {"protect": {"method": "perturb"}}]
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job), encoding="utf-8")
    done = CliRunner().invoke(cli, ["perturb", str(tmp_path / "job.yaml"), "--out", str(tmp_path / "out")])
    assert done.exit_code in (0, 1), done.output
    assert f"region \\ {name}" in run("show", tmp_path / "out", "t", "--internal")
    assert len(set(rows_of(tmp_path / "out/internal/t.csv")[0])) == 2 + 8
