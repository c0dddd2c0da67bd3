"""Folders that cellguard makes of tables tied only by the world behind them: valid, and refused once changed."""

import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import run
from cellguard.verifier.verify import verify
from unit.verifier.folders import seal

FEWER = [{"min_frequency": 3}]
LEVELS = "code,parent\nTotal,\nNorth,Total\nSouth,Total\nN1,North\nN2,North\nS1,South\nS2,South\n"
TOUR = "code,parent\nTotal,\nX,Total\nY,Total\nN1,X\nS1,X\nN2,Y\nS2,Y\n"
SIZES = "code,parent\nTotal,\nsmall,Total\nlarge,Total\n"


def ready(name, by, **more):
    """A ready-made table of magnitudes x with n contributors."""
    return {
        "name": name,
        "by": by,
        "value": "x",
        "cells": {"source": f"{name}.csv", "count": "n"},
        "rules": FEWER,
    } | more


def levels():
    coarse = "region,x,n\nTotal,400,60\nNorth,120,20\nSouth,280,40\n"
    fine = "region,x,n\nTotal,400,60\nN1,20,1\nN2,100,19\nS1,220,20\nS2,60,20\n"
    job = {"dimensions": {"region": {"parents": "region.csv"}}}
    tables = [ready("coarse", ["region"]), ready("fine", ["region"])]
    return job | {"tables": tables}, {"region.csv": LEVELS, "coarse.csv": coarse, "fine.csv": fine}


def margin():
    short = "region,x,n\nTotal,400,60\nNorth,120,20\nSouth,280,40\n"
    long = "region,size,x,n\nNorth,small,20,1\nNorth,large,100,19\nSouth,small,220,20\nSouth,large,60,20\n"
    job = {"dimensions": {"region": {"parents": "region.csv"}, "size": {"parents": "size.csv"}}}
    tables = [ready("short", ["region"]), ready("long", ["region", "size"])]
    return job | {"tables": tables}, {"region.csv": LEVELS, "size.csv": SIZES, "short.csv": short, "long.csv": long}


def groupings():
    text = "region,x,n\nTotal,400,60\nNorth,20,1\nSouth,380,59\nX,150,20\nY,250,40\n"
    job = {"dimensions": {"region": {"parents": "region.csv", "also": [{"name": "tour", "parents": "tour.csv"}]}}}
    return job | {"tables": [ready("t", ["region"])]}, {"region.csv": LEVELS, "tour.csv": TOUR, "t.csv": text}


def records():
    """Up to five respondents in each of 3 x 3 x 3 combinations."""
    lines, number = ["id,a,b,c,x"], 0
    draw = np.random.default_rng(1)
    for a, b, c in itertools.product(range(3), repeat=3):
        for _ in range(draw.integers(0, 6)):
            number += 1
            lines.append(f"{number},a{a},b{b},c{c},{10 + (37 * number) % 91}")
    return "\n".join(lines) + "\n"


def two_way(value):
    tables = [{"name": "".join(by), "by": list(by), "value": value, "rules": FEWER} for by in ("ab", "ac", "bc")]
    return {"microdata": {"source": "r.csv", "respondent": "id"}, "tables": tables}, {"r.csv": records()}


def crossing():
    return two_way("x")


def two_way_ready(value):
    """Three two-way tables of counts, or of values of 7 a respondent, ready-made."""
    rows = [line.split(",")[1:4] for line in records().splitlines()[1:]]
    tables, files = [], {}
    for one, other in itertools.combinations(range(3), 2):
        by = ["abc"[one], "abc"[other]]
        counts = Counter(
            (a, b) for row in rows for a, b in itertools.product((row[one], "Total"), (row[other], "Total"))
        )
        lines = [",".join([*by, "n", "x"]), *(f"{a},{b},{n},{7 * n}" for (a, b), n in counts.items())]
        name = "".join(by)
        files[f"{name}.csv"] = "\n".join(lines) + "\n"
        tables.append(ready(name, by, value=value))
    return {"tables": tables}, files


def crossing_values():
    """What lies behind them is between the cells that they list."""
    return two_way_ready("x")


def crossing_counts():
    """What lies behind them is a table of the set."""
    return two_way_ready("count")


def responses():
    """Turnover beside persons: empty cells of turnover are public, so that there is nobody, and nobody else is."""
    job, files = two_way("x")
    job["tables"] = [
        {"name": "turnover", "by": ["a", "b"], "value": "x", "rules": FEWER},
        {"name": "persons", "by": ["a", "b"], "value": "count", "rules": FEWER},
    ]
    return job, files


ALL = {f.__name__: f for f in (levels, margin, groupings, crossing, crossing_counts, crossing_values, responses)}


@pytest.fixture
def out(request, tmp_path):
    job, files = ALL[request.param]()
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    OutputFolder(tmp_path / "out").write(run(Job.parse({"version": 1, **job}, folder=tmp_path)))
    return tmp_path / "out"


def problems(folder):
    return [check.detail for check in verify(folder / "internal/certificate.json").checks if not check.passed]


@pytest.mark.parametrize("out", ALL, indirect=True)
def test_what_cellguard_makes_is_valid(out):
    assert problems(out) == []


@pytest.mark.parametrize("out", ["groupings", "crossing_values"], indirect=True)
def test_changed_cells_between_are_refused(out):
    path = out / "internal/world.parquet"
    table = pq.read_table(path)
    assert table.num_rows
    for name in table.column_names:
        values = table[name].to_pylist()
        column = pa.array([values[0] + 2_000_000, *values[1:]], table.schema.field(name).type)
        pq.write_table(table.set_column(table.column_names.index(name), name, column), path)
        seal(out)
        assert problems(out), name
    for rows in (table.slice(1), pa.concat_tables([table, table.slice(0, 1)]), table.slice(0, 0)):
        pq.write_table(rows, path)
        seal(out)
        assert problems(out)


@pytest.mark.parametrize("out", ["crossing_counts", "crossing_values", "levels", "margin"], indirect=True)
def test_witnesses_without_what_is_behind_them_are_refused(out):
    path = out / "internal/certificate.parquet"
    table = pq.read_table(path)
    between = table.filter(pa.compute.not_equal(table["table"], -1))
    for changed in (between, table.slice(1)):
        if changed.num_rows < table.num_rows:
            pq.write_table(changed, path)
            seal(out)
            assert problems(out)
