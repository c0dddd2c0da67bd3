"""Counts behind ready-made tables: judged and protected like listed ones, or named as not checked."""

import csv
import json
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_folder, run, verify_inputs
from cellguard.verifier.clusters import Piece, Pieces
from cellguard.verifier.cover_cells import Between
from cellguard.verifier.fitted import check_parted
from cellguard.verifier.stages import Refused
from cellguard.verifier.verify import verify
from cellguard.world import fitted
from unit.verifier import folders

from fuzz.cases import read_case
from fuzz.ready import ReadyCase, told_cells

CASES = Path(__file__).parents[1] / "cases"
COLUMNS = ["gender", "city", "record"]


def ready(name):
    case = read_case(CASES / name)
    people = list(zip(*(case.records.codes[column] for column in COLUMNS), strict=True))
    return ReadyCase(dict(case.job), COLUMNS, people, {})


def written(name, folder, **more):
    job = Job.load(CASES / name / "job.yaml")
    outcome = run(job.model_copy(update=more))
    out = OutputFolder(folder / "out")
    out.write(outcome)
    return job, outcome, out


@pytest.mark.parametrize("name", ["crossing-ready-made", "crossing-ready-made-row"])
def test_booksellers_are_told_nothing(name, tmp_path):
    job, outcome, out = written(name, tmp_path)
    assert outcome.verdict.text.startswith("Safe against outsiders only; insiders")
    unsafe, told = told_cells(ready(name), outcome.release)
    assert unsafe
    assert told == []
    assert "latent" not in {attack.key for attack in audit_folder(out.path).verdict.not_checked}
    assert not any(path.stem.startswith("latent") for path in out.outside.iterdir())
    assert [check.detail for check in verify_inputs(out.inside, job) if not check.passed] == []


@pytest.mark.parametrize("name", ["crossing-ready-made", "crossing-ready-made-row"])
def test_they_would_be_told_if_nobody_looked(name, tmp_path, monkeypatch):
    monkeypatch.setattr(fitted, "MOST", 0)
    monkeypatch.setattr(fitted.fitted_table, "__defaults__", (0,))
    _, outcome, out = written(name, tmp_path)
    assert told_cells(ready(name), outcome.release)[1]
    assert "latent" in {attack.key for attack in outcome.verdict.not_checked}
    assert verify(out.inside / "certificate.json").valid


def test_counts_that_fit_may_be_others_next_time(tmp_path):
    """Two people more, so that the tables leave a choice: another world behind them is the same release."""
    job, _, out = written("crossing-ready-made", tmp_path)
    facts = out.inside / "facts" / "latent.parquet"
    stored = pq.read_table(facts)
    assert stored.column_names[3:5] == ["total", "count"]
    changed = stored.set_column(3, "total", [[n.as_py() + 1 for n in stored.column("total")]])
    pq.write_table(changed.cast(stored.schema), facts)
    assert [check.passed for check in verify_inputs(out.inside, job)] == [True] * 3


def forged(out, change):
    """Rewrite the certificate of a folder, with fresh digests; return what check 5 says."""
    path = out.inside / "certificate.json"
    document = json.loads(path.read_text())
    change(document["tables"][3])
    folders.write_json(path, document)
    folders.seal(out.path)
    return next(check for check in verify(path).checks if check.number == 5)


def test_a_milder_rule_is_refused(tmp_path):
    _, _, out = written("crossing-ready-made", tmp_path)
    found = forged(out, lambda table: table["rules"][0]["min_frequency"].update(n=2))
    assert found.detail == "internal/latent.csv was not judged by all rules of the tables in front of it"


def test_zeros_that_tell_are_refused(tmp_path):
    _, _, out = written("crossing-ready-made", tmp_path)
    found = forged(out, lambda table: table.update(zeros="known"))
    assert found.detail == "internal/latent.csv is no crossing table of counts whose zeros are not public"


def test_a_sum_left_out_is_refused(tmp_path):
    _, _, out = written("crossing-ready-made", tmp_path)
    path = out.inside / "latent.csv"
    with path.open(newline="") as stream:
        rows = list(csv.reader(stream))
    at = next(i for i, row in enumerate(rows) if row[:3] == ["M", "Total", "yes"])
    folders.write_csv(path, rows[:at] + rows[at + 1 :])
    facts = out.inside / "facts" / "latent.parquet"
    stored = pq.read_table(facts).to_pylist()
    kinds = pq.read_schema(facts)
    pq.write_table(pq.read_table(facts).from_pylist(stored[: at - 1] + stored[at:], schema=kinds), facts)
    found = forged(out, lambda table: None)
    assert not found.passed
    assert found.detail == "internal/latent.csv lacks a sum of its rows by city"


def counts(folder, name, by, people, columns):
    """Write the counts of people by some columns, totals included."""
    codes = [["Total", *sorted({person[columns.index(column)] for person in people})] for column in by]
    rows = []
    for row in product(*codes):
        places = [columns.index(column) for column in by]
        n = sum(all(c in ("Total", person[at]) for c, at in zip(row, places, strict=True)) for person in people)
        rows.append([*row, str(n)])
    folders.write_csv(folder / f"{name}.csv", [[*by, "n"], *rows])


def job_of(folder, tables, **more):
    said = [
        {"name": name, "by": by, "value": "count", "rules": [{"min_frequency": 3}],
         "cells": {"source": f"{name}.csv", "count": "n"}}
        for name, by in tables.items()
    ]  # fmt: skip
    return Job.parse({"version": 1, "tables": said, **more}, folder=folder)


def test_groups_that_overlap(tmp_path):
    """One table by two groupings, a and the rest, a and b and the rest: b has one person, and is in no row."""
    (tmp_path / "main.csv").write_text("code,parent\nTotal,\none,Total\na,one\nrest,Total\nb,rest\nc,rest\nd,rest\n")
    (tmp_path / "other.csv").write_text(
        "code,parent\nTotal,\ntwo,Total\na,two\nb,two\nothers,Total\nc,others\nd,others\n"
    )
    (tmp_path / "t.csv").write_text("r,n\nTotal,31\none,10\nrest,21\ntwo,11\nothers,20\n")
    dimensions = {"r": {"parents": "main.csv", "also": [{"name": "other", "parents": "other.csv"}]}}
    job = job_of(tmp_path, {"t": ["r"]}, dimensions=dimensions)
    outcome = run(job)
    shown = dict(zip(*outcome.release["t"].codes, outcome.release["t"].value, strict=True))
    assert outcome.verdict.text.startswith("Safe against outsiders only; insiders")
    assert shown["Total"]
    assert not ((shown["one"] or shown["rest"]) and (shown["two"] or shown["others"]))  # 11 - 10
    out = OutputFolder(tmp_path / "out")
    out.write(outcome)
    assert verify(out.inside / "certificate.json").valid


def test_codes_that_only_hang_on_what_crosses_need_no_crossing_cells(tmp_path):
    """One table divides A, by itself: what lies behind the other, whose groups overlap, does not need A's parts."""
    (tmp_path / "a.csv").write_text("code,parent\nTotal,\nA,Total\na1,A\na2,A\nB,Total\n")
    (tmp_path / "main.csv").write_text("code,parent\nTotal,\none,Total\np,one\nrest,Total\nq,rest\nr,rest\n")
    (tmp_path / "other.csv").write_text("code,parent\nTotal,\ntwo,Total\np,two\nq,two\nothers,Total\nr,others\n")
    (tmp_path / "t.csv").write_text("a,n\nTotal,40\nA,25\na1,12\na2,13\nB,15\n")
    (tmp_path / "u.csv").write_text(
        "a,b,n\nA,one,9\nA,rest,16\nA,two,14\nA,others,11\nB,one,5\nB,rest,10\nB,two,8\nB,others,7\n"
    )
    grouped = {"parents": "main.csv", "also": [{"name": "other", "parents": "other.csv"}]}
    dimensions = {"a": {"parents": "a.csv"}, "b": grouped}
    outcome = run(job_of(tmp_path, {"t": ["a"], "u": ["a", "b"]}, dimensions=dimensions))
    out = OutputFolder(tmp_path / "out")
    out.write(outcome)
    assert [str(check) for check in verify(out.inside / "certificate.json").checks if not check.passed] == []
    with (out.inside / "latent.csv").open(newline="") as stream:
        assert not {"a1", "a2"} & {row["a"] for row in csv.DictReader(stream)}


def behind(clusters, between):
    """Check clusters of the response n (tables 0 and 1, and the crossing table 2), with a latent cell in some."""
    tables = [SimpleNamespace(group=("n", "all"), where="fitted" if i == 2 else "here", name=f"t{i}") for i in range(3)]
    for table in tables:
        table.internal = f"internal/{table.name}.csv"
    pieces = [Piece(tables, {0: np.array(parts)}, None, False) for tables, parts in clusters]
    zeros = np.zeros(len(between), np.int64)
    check_parted(
        SimpleNamespace(tables=tables),
        Pieces((("n", "all"),), (tuple(pieces),), ()),
        Between(zeros, np.array(between, np.int64), zeros[:, None], zeros),
    )


def test_a_crossing_table_that_leaves_something_crossing_is_refused():
    behind([((0,), [0, 0, 1]), ((1,), [0, 1, 1]), ((2,), [0, 1, 2])], [0, 1])
    with pytest.raises(Refused, match=r"internal/t2.csv: tables of n still cross"):
        behind([((0, 1), [0, 1, 2]), ((2,), [0, 1, 2])], [])
    with pytest.raises(Refused, match=r"internal/t2.csv: lacks cells of the cover table of table t1"):
        behind([((0,), [0, 0, 1]), ((1,), [0, 1, 2]), ((2,), [0, 0, 1])], [0, 1])
    with pytest.raises(Refused, match=r"internal/t2.csv: lacks cells of the cover table of table t2"):
        behind([((0,), [0, 0, 1]), ((1,), [0, 1, 2]), ((2,), [0, 1, 2])], [2])


def test_codes_that_one_table_shows_as_empty_need_not_be_apart_behind_others(tmp_path):
    """c1 and c2 are empty where a table of some lists them; the crossing table has none of either."""
    (tmp_path / "all.csv").write_text("c,n\nTotal,17\nc0,16\nc3,1\n")
    (tmp_path / "some.csv").write_text("c,n\nTotal,2\nc0,2\nc1,0\nc2,0\nc3,0\n")
    (tmp_path / "c.csv").write_text("code,parent\nTotal,\nc0,Total\nc1,Total\nc2,Total\nc3,Total\n")
    (tmp_path / "a.csv").write_text("code,parent\nTotal,\na0,Total\nA1,Total\na1,A1\n")
    table = {"by": ["c"], "value": "count", "rules": [{"min_frequency": 2}]}
    tables = [
        table | {"name": "all", "zeros": "known", "cells": {"source": "all.csv", "count": "n"}},
        table | {"name": "some", "where": {"a": ["a1"]}, "cells": {"source": "some.csv", "count": "n"}},
    ]
    dimensions = {name: {"parents": f"{name}.csv"} for name in "ac"}
    outcome = run(Job.parse({"version": 1, "dimensions": dimensions, "tables": tables}, folder=tmp_path))
    out = OutputFolder(tmp_path / "out")
    out.write(outcome)
    assert (out.inside / "latent.csv").exists()
    assert [check.detail for check in verify(out.inside / "certificate.json").checks if not check.passed] == []


def test_what_is_tied_to_other_responses_is_named(tmp_path):
    people = [(a, b, c) for a, b, c in product(("a1", "a2"), ("b1", "b2"), ("c1", "c2")) for _ in range(4)]
    tables = {"ab": ["a", "b"], "ac": ["a", "c"], "bc": ["b", "c"]}
    for name, by in tables.items():
        counts(tmp_path, name, by, people, ["a", "b", "c"])
    assert "latent" not in {a.key for a in run(job_of(tmp_path, tables)).verdict.not_checked}
    open_ = run(job_of(tmp_path, tables, attack={"crossing": "not_checked"}))
    assert {"latent", "crossing"} <= {a.key for a in open_.verdict.not_checked}
    inside = run(job_of(tmp_path, tables, attack={"insiders": True}))
    assert inside.verdict.kind == "safe"


def test_a_code_that_others_tell_apart_does_not_stand_for_the_rest(tmp_path):
    """Behind `b by a3` all but b0 is one part. Shown as b3, it would be where another table says that nobody is."""
    for name, codes in {"a": ["a1", "a2", "a3"], "b": ["b3", "b2", "b0", "b1"]}.items():
        lines = ["code,parent", "Total,", *(f"{code},Total" for code in codes)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    (tmp_path / "all.csv").write_text("b,n\nTotal,23\nb1,21\nb2,0\nb3,0\nb0,2\n")
    (tmp_path / "some.csv").write_text("b,n\nTotal,2\nb0,2\n")
    table = {"by": ["b"], "value": "count", "zeros": "possible", "rules": [{"min_frequency": 3}]}
    tables = [
        table | {"name": "all", "cells": {"source": "all.csv", "count": "n"}},
        table | {"name": "some", "where": {"a": ["a3"]}, "cells": {"source": "some.csv", "count": "n"}},
    ]
    dimensions = {name: {"parents": f"{name}.csv"} for name in "ab"}
    job = Job.parse({"version": 1, "dimensions": dimensions, "tables": tables}, folder=tmp_path)
    outcome = run(job)
    out = OutputFolder(tmp_path / "out")
    out.write(outcome)
    assert "latent" in {attack.key for attack in outcome.verdict.not_checked}
    assert verify(out.inside / "certificate.json").valid
