"""Counts of respondents published beside values: what is released, what it gives away, and what is refused."""

from __future__ import annotations

import csv

import pytest
import yaml
from click.testing import CliRunner

from cellguard.errors import JobError
from cellguard.faces.cli.main import cli
from cellguard.job.jobfile import Job
from cellguard.pipeline import run
from cellguard.verifier.verify import verify

from fuzz.generator import draw_case
from fuzz.run import Kind, run_seed

RULES = [{"min_frequency": 3}]
ROWS = """region,size,x,n
Total,Total,1000,100
Total,S,500,34
Total,L,500,66
N,Total,300,30
N,S,180,2
N,L,120,28
W,Total,300,27
W,S,150,15
W,L,150,12
E,Total,400,43
E,S,170,17
E,L,230,26
"""


def job(folder, counts, text=ROWS, **more):
    """Write a ready-made table of turnover with its counts, and return the job."""
    (folder / "t.csv").write_text(text)
    cells = {"source": "t.csv", "count": "n", "cost": "x"}
    table = {"name": "t", "by": ["region", "size"], "value": "x", "cells": cells, "rules": RULES, "counts": counts}
    return {"version": 1, "tables": [table | more]}


def hidden(outcome, table):
    """Return the hidden cells of a released table."""
    shown = outcome.release[table]
    return {codes for codes, gone in zip(zip(*shown.codes, strict=True), shown.suppressed, strict=True) if gone}


def test_a_job_is_spelled_out_and_means_the_same(tmp_path):
    plain = Job.parse(job(tmp_path, "hidden_with_values", publish={"size": [0, 1]}), folder=tmp_path)
    values, counts = plain.tables
    assert (values.protect.hide_with, counts.protect.hide_with) == (["count"], ["x"])
    assert (counts.name, counts.value, counts.zeros, counts.publish) == ("t_count", "count", "known", values.publish)
    assert [str(rule) for rule in counts.rules] == ["min_frequency 3"]
    assert counts.cells.count == "n" and counts.cells.cost is None
    again = Job.parse(plain.model_dump(), folder=tmp_path)
    assert again.model_dump() == plain.model_dump()
    shown = Job.parse(job(tmp_path, "shown"), folder=tmp_path)
    assert [str(rule) for rule in shown.tables[1].rules] == ["min_frequency 1"]
    assert not any(table.protect.hide_with for table in shown.tables)


def test_counts_are_shown_everywhere_or_where_values_are(tmp_path):
    shown = run(Job.parse(job(tmp_path, "shown"), folder=tmp_path))
    assert len(hidden(shown, "t")) == 4 and not hidden(shown, "t_count")
    together = run(Job.parse(job(tmp_path, "hidden_with_values"), folder=tmp_path))
    assert hidden(together, "t") == hidden(together, "t_count") != set()
    assert together.protected.audit.verdict == "safe"


def test_a_folder_is_whole_and_verified(tmp_path):
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job(tmp_path, "hidden_with_values")))
    done = CliRunner().invoke(cli, ["protect", str(tmp_path / "job.yaml"), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert verify(tmp_path / "out/internal/certificate.json").valid
    again = CliRunner().invoke(cli, ["verify", str(tmp_path / "out"), "--job", str(tmp_path / "job.yaml")])
    assert again.exit_code == 0, again.output
    files = [tmp_path / "out/release" / name for name in ("t.csv", "t_count.csv")]
    values, counts = (list(csv.DictReader(file.read_text().splitlines())) for file in files)
    assert [row["flag"] for row in values] == [row["flag"] for row in counts]
    page = (tmp_path / "out/internal/report.html").read_text()
    assert "suppressed with count" in page and "suppressed with x" in page


def test_a_published_count_of_nobody_gives_the_value_away(tmp_path):
    """Without counts an empty row may hide an unsafe one; a reader of counts knows that it is empty."""
    text = "region,x,n,down,up\nTotal,560,30,,\nN,60,1,6,0\nW,0,0,,\nE,500,29,,\n"
    cells = {"source": "t.csv", "count": "n", "need_lower": "down", "need_upper": "up"}
    said = {"by": ["region"], "zeros": "possible", "cells": cells}
    assert hidden(run(Job.parse(job(tmp_path, None, text, **said), folder=tmp_path)), "t") == {("N",), ("W",)}
    for counts in ("shown", "hidden_with_values"):
        done = run(Job.parse(job(tmp_path, counts, text, **said), folder=tmp_path))
        assert hidden(done, "t") >= {("N",), ("E",)}


@pytest.mark.parametrize("seed", [66, 74, 104, 242, 314, 368, 91, 139, 148, 212, 243, 254])
def test_readers_of_counts_and_values_are_brute_forced(tmp_path, seed):
    assert any("counts" in spec for spec in draw_case(seed).job["tables"])
    assert run_seed(seed, tmp_path).kind == Kind.safe


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"value": "count"}, "this is a frequency table"),
        ({"cells": {"source": "t.csv"}}, "need a column of counts"),
        ({"apriori": "said.csv"}, "`apriori` speaks of values"),
        ({"protect": {"method": "perturb"}}, "values of which some are suppressed"),
    ],
)
def test_what_counts_cannot_go_with_is_refused(tmp_path, more, words):
    with pytest.raises(JobError, match=words):
        Job.parse(job(tmp_path, "shown", **more), folder=tmp_path)
