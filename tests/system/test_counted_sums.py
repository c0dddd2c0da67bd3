"""How many contribute to sums of suppressed cells, beside ready-made cells that count otherwise: what `verify` says."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import run, verify
from unit.verifier import folders

READY = {"name": "ready", "by": ["c"], "value": "count", "rules": [{"min_frequency": 3}]}
READY |= {"cells": {"source": "cells.csv", "count": "n"}}
MADE = {"name": "made", "by": ["c"], "value": "count", "zeros": "known", "rules": [{"min_frequency": 2}]}
MADE |= {"publish": {"c": [0, 1]}, "protect": {"cost": "constant"}}
BOTH = pytest.mark.parametrize("tables", [(READY, MADE), (MADE, READY)], ids=["ready first", "records first"])
RECORDS = ["a0 h6", *(f"a2 {h}" for h in ("h3", "h7", "h3", "h3", "h8", "h1", "h2", "h0"))]  # of six holdings in a2


def protected(folder, tables, records=RECORDS):
    """Protect a table of holdings by groups, and one that counts their records by codes."""
    (folder / "r.csv").write_text("\n".join(["id,c,h", *(f"{i},{r.replace(' ', ',')}" for i, r in enumerate(records))]))
    (folder / "cells.csv").write_text("c,n\nTotal,9\na0,1\na2,8\n")
    (folder / "c.csv").write_text("code,parent\nTotal,\nA0,Total\nA2,Total\na0,A0\na2,A2\n")
    job = {"version": 1, "microdata": {"source": "r.csv", "respondent": "id", "holding": "h"}}
    job |= {"dimensions": {"c": {"parents": "c.csv"}}, "tables": list(tables), "output": {"formats": ["csv"]}}
    outcome = run(Job.parse(job, folder=folder))
    assert outcome.protected.audit.verdict == "safe"
    OutputFolder(folder / "out").write(outcome)
    return folder / "out"


def refused(out):
    return [check.detail for check in verify(out / "internal/certificate.json").checks if not check.passed]


def forge(out, name, row, count):
    """Write another count to a row of facts."""
    path = out / f"internal/facts/{name}.parquet"
    facts = pq.read_table(path)
    place = facts.column_names.index("count")
    counts = facts.column("count").to_pylist()
    counts[row] = count
    pq.write_table(facts.set_column(place, "count", pa.array(counts, facts.schema.field("count").type)), path)


def impossible(name, row):
    return f"internal/facts/{name}.parquet row {row} has a count that its parts cannot have together"


@BOTH
def test_a_sum_of_holdings_is_not_compared_with_records(tmp_path, tables):
    """A cell of one holding and one of six are told together: seven, of whom a ready-made table has nine records."""
    out = protected(tmp_path, tables)
    told = pq.read_table(out / "internal/facts/told1.parquet")
    assert set(told.column("count").to_pylist()) == {7}
    assert refused(out) == []


@BOTH
@pytest.mark.parametrize("count", [5, 8])
def test_a_count_of_holdings_that_the_parts_cannot_have_is_refused(tmp_path, tables, count):
    """Fewer than in the larger part, and more than in both: also where the records would allow it."""
    out = protected(tmp_path, tables)
    sums = pq.read_metadata(out / "internal/facts/told1.parquet").num_rows
    assert sums == 2
    for row in range(sums):
        forge(out, "told1", row, count)
        folders.seal(out)
        assert refused(out) == [impossible("told1", row)]
        forge(out, "told1", row, 7)


def test_the_count_of_an_unsafe_sum_is_held_against_its_parts(tmp_path):
    """A sum that became a cell of the set: of one person and two there are not four, though four are too few, too."""
    made = {"name": "made", "by": ["c"], "value": "count", "rules": [{"min_frequency": 5}]}
    codes = [*"pqq", *"rrrrrr", *"ssssss"]
    (tmp_path / "r.csv").write_text("\n".join(["id,c", *(f"{i},{code}" for i, code in enumerate(codes))]))
    job = {"version": 1, "microdata": {"source": "r.csv", "respondent": "id"}, "tables": [made]}
    job |= {"attack": {"insiders": False}}
    out = tmp_path / "out"
    OutputFolder(out).write(run(Job.parse(job, folder=tmp_path)))
    assert refused(out) == []
    rows = folders.read_csv(out / "internal/sums.csv")
    place = rows[0].index("count")
    assert rows[1][place] == "3"
    rows[1][place] = "4"
    folders.write_csv(out / "internal/sums.csv", rows)
    forge(out, "sums", 0, 4)
    folders.seal(out)
    assert impossible("sums", 0) in refused(out)
