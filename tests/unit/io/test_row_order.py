"""Rows of all released files are in hierarchy order: neither the input's order nor emptiness shows in it."""

import json
import re

import openpyxl
import pyarrow.parquet as pq
import pytest
import yaml

from cellguard.errors import InputError
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_folder, run
from cellguard.verifier.verify import verify
from unit.verifier.folders import read_csv, seal, write_csv

RECORDS = {"N": (1, 5, 9), "S": (0, 1, 8), "W": (6, 7, 7)}


def protected(folder, job, **files):
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    job = {"version": 1, "output": {"formats": ["csv", "parquet", "html", "xlsx"]}, **job}
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    OutputFolder(folder / "out").write(run(Job.load(folder / "job.yaml")))
    return folder / "out"


def counts(folder):
    people = [f"{r},{s + 1}" for r, many in RECORDS.items() for s, n in enumerate(many) for _ in range(n)]
    table = {"name": "t", "by": ["region", "size"], "value": "count", "rules": [{"min_frequency": 3}]}
    job = {"microdata": {"source": "r.csv"}, "tables": [table]}
    return protected(folder, job, r="\n".join(["region,size", *people]))


def by_value(folder, rows, **more):
    table = {"name": "t", "by": ["region"], "value": "x", "rules": [{"min_frequency": 3}]}
    job = {"tables": [{**table, "cells": {"source": "a.csv", "count": "n"}}], **more}
    return protected(folder, job, a="\n".join(["region,x,n", *rows]) + "\n", labels="code,label\nD,d\nB,b\n")


ROWS = ["Total,4208,80", "A,1500,20", "B,905,19", "C,903,1", "D,900,19", "E,0,0"]


def shown(out):
    """The codes of each released file, row by row."""
    found = {"csv": [row[:-2] for row in read_csv(out / "release/t.csv")[1:]]}
    table = pq.read_table(out / "release/t.parquet")
    found["parquet"] = [list(row) for row in zip(*(table[n].to_pylist() for n in table.column_names[:-2]), strict=True)]
    page = (out / "release/report.html").read_text()
    grid = json.loads(re.search(r'id="grids">(.*?)</script>', page, re.S).group(1))["tables"][0]
    codes = [[axis["codes"][i] for i in column] for axis, column in zip(grid["axes"], grid["codes"], strict=True)]
    found["html"] = [list(row) for row in zip(*codes, strict=True)]
    found["internal"] = [row[: len(grid["axes"])] for row in read_csv(out / "internal/t.csv")[1:]]
    return found


def test_zeros_do_not_stand_last(tmp_path):
    out = counts(tmp_path)
    wanted = [[r, s] for r in ("Total", *"NSW") for s in ("Total", *"123")]
    assert all(rows == wanted for rows in shown(out).values())
    assert verify(out / "internal/certificate.json").valid


def test_the_order_of_the_input_does_not_show(tmp_path):
    outs = [by_value(tmp_path / str(i), rows) for i, rows in enumerate((ROWS, ROWS[::-1], ROWS[3:] + ROWS[:3]))]
    wanted = [[code] for code in ("Total", *"ABCDE")]
    for out in outs:
        assert all(rows == wanted for rows in shown(out).values())
    for name in ("t.csv", "t.parquet", "tables.xlsx", "report.html"):
        assert len({(out / "release" / name).read_bytes() for out in outs}) == 1


def test_a_code_list_orders_the_rows(tmp_path):
    out = by_value(tmp_path, ROWS, dimensions={"region": {"labels": "labels.csv"}})
    assert all(rows == [[code] for code in ("Total", *"DBACE")] for rows in shown(out).values())
    sheet = openpyxl.load_workbook(out / "release/tables.xlsx")["t"]
    cells = [str(row[0]) for row in sheet.iter_rows(values_only=True) if row[0] is not None]
    assert [c for c in cells if c in ("Total", *"ABCDE")] == ["Total", *"DBACE"]


def test_a_folder_in_another_order_is_refused(tmp_path):
    out = by_value(tmp_path, ROWS)
    for name in ("release/t.csv", "internal/t.csv"):
        header, first, *rest = read_csv(out / name)
        write_csv(out / name, [header, *rest, first])
    facts = pq.read_table(out / "internal/facts/t.parquet")
    pq.write_table(facts.take([*range(1, len(facts)), 0]), out / "internal/facts/t.parquet")
    seal(out)
    found = verify(out / "internal/certificate.json")
    assert "is not in the order of the hierarchies" in found.checks[1].detail
    with pytest.raises(InputError, match="'t' are not in the order of its hierarchies"):
        audit_folder(out)
