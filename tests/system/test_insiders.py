"""Whole jobs with `attack: {insiders: true}`: what is written, verified, explained; and forgeries that are refused."""

from __future__ import annotations

import hashlib
import json
import random

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import cellguard as cg
from cellguard.io.folder import OutputFolder
from cellguard.methods.suppress import judged_sums
from cellguard.pipeline import audit_folder, explain_cell, run, verify_inputs
from cellguard.verifier.verify import verify
from cellguard.world.determined_sums import Told

JOB = {
    "version": 1,
    "microdata": {"source": "r.csv", "respondent": "id", "holding": "g"},
    "attack": {"insiders": True},
    "tables": [
        {"name": "t", "by": ["region", "size"], "value": "x", "rules": [{"min_frequency": 3}, {"p_percent": 10}]},
        {"name": "n", "by": ["region", "size"], "value": "count", "rules": [{"min_frequency": 3}]},
    ],
}


def written(tmp_path, change=None):
    """A job's output folder."""
    draw = random.Random(3)  # noqa: S311
    lines = ["id,g,region,size,x"]
    lines += [
        f"{i},g{draw.randrange(90)},R{draw.randrange(5)},S{draw.randrange(5)},{draw.randrange(1, 200)}"
        for i in range(120)
    ]
    (tmp_path / "r.csv").write_text("\n".join(lines) + "\n")
    job = cg.Job.parse({**JOB, **(change or {})}, folder=tmp_path)
    outcome = run(job)
    OutputFolder(tmp_path / "out").write(outcome)
    return outcome, tmp_path / "out", job


def refusals(folder):
    return [check.number for check in verify(folder / "internal" / "certificate.json").checks if not check.passed]


def seal(folder):
    """Give the certificate the digests of the files as they are now."""
    path = folder / "internal" / "certificate.json"
    document = json.loads(path.read_text())
    document["files"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in document["files"]}
    document.pop("digest")
    plain = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    document["digest"] = hashlib.sha256(plain.encode()).hexdigest()
    path.write_text(json.dumps(document))


def change(folder, name, edit):
    path = folder / "internal" / name
    pq.write_table(edit(pq.ParquetFile(path).read()), path)
    seal(folder)


def test_a_job_is_safe_against_every_single_respondent(tmp_path):
    outcome, folder, job = written(tmp_path)
    assert outcome.verdict.text.startswith("Safe against outsiders and every single respondent")
    assert "insiders" not in outcome.summary["not_checked"]
    assert refusals(folder) == []
    assert all(check.passed for check in verify_inputs(folder / "internal", job))
    assert audit_folder(folder).verdict.kind == "safe"
    assert not list((folder / "release").glob("*insider*"))
    assert "Firm-level view" in (folder / "internal" / "report.html").read_text()
    assert "insider" not in (folder / "release" / "metadata.json").read_text()
    unsafe = next(line for line in (folder / "internal" / "t.csv").read_text().splitlines() if ",primary," in line)
    assert any("respondent" in line for line in explain_cell(folder, "/".join(unsafe.split(",")[:2]), table="t"))


def test_without_a_word_respondents_are_attackers_too(tmp_path):
    outcome, folder, _ = written(tmp_path, {"attack": {}})
    assert outcome.verdict.text.startswith("Safe against outsiders and every single respondent")
    assert refusals(folder) == []


def test_outsiders_only_where_the_job_says_so(tmp_path):
    outcome, folder, _ = written(tmp_path, {"attack": {"insiders": False}})
    assert "insiders not checked" in outcome.verdict.text
    assert refusals(folder) == []


def test_a_pattern_that_outsiders_accept_is_not_enough(tmp_path):
    outcome, folder, _ = written(tmp_path, {"attack": {"insiders": False}})
    path = folder / "internal" / "certificate.json"
    document = json.loads(path.read_text())
    document["insiders"] = {"witness": 0, "respondents": "records"}
    path.write_text(json.dumps(document))
    assert outcome.release is not None
    assert 8 in refusals(folder)


def ready_made(tmp_path, cells):
    text = "region,x,n,secret\nTotal,180,9,no\nA,50,1,yes\nB,30,1,yes\nC,100,7,no\n"
    (tmp_path / "t.csv").write_text(text)
    rule = {"given": {"column": "secret"}}
    table = {"name": "t", "by": ["region"], "value": "x", "rules": [rule], "cells": {"source": "t.csv", **cells}}
    job = cg.Job.parse({"version": 1, "attack": {"insiders": True}, "tables": [table]}, folder=tmp_path)
    return run(job)


def test_ready_made_tables_say_whom_they_do_not_know(tmp_path):
    outcome = ready_made(tmp_path, {"count": "n"})
    assert outcome.verdict.text == "Safe against outsiders and the respondents of single cells"
    assert "owners" in outcome.summary["not_checked"]
    OutputFolder(tmp_path / "out").write(outcome)
    assert refusals(tmp_path / "out") == []


def test_tables_that_do_not_tell_their_respondents_are_refused(tmp_path):
    with pytest.raises(cg.InputError, match="no table tells how many respondents"):
        ready_made(tmp_path, {})


def test_forged_contributions_are_refused(tmp_path):
    _, folder, job = written(tmp_path)

    def somebody_else(table):
        numbers = table.column("insider").to_numpy().copy()
        numbers[numbers >= 0] = range(1_000, 1_000 + int((numbers >= 0).sum()))
        return table.set_column(2, "insider", pa.array(numbers))

    change(folder, "insiders.parquet", somebody_else)
    # Who is in several cells is not in the facts: only the inputs can tell.
    assert [c.passed for c in verify_inputs(folder / "internal", job)] == [True, True, False]


@pytest.mark.parametrize(
    "edit",
    [
        lambda t: t.slice(1),
        lambda t: t.set_column(3, "amount", pc.multiply(t.column("amount"), 2)),
    ],
)
def test_contributions_that_are_not_those_of_the_facts_are_refused(tmp_path, edit):
    _, folder, _ = written(tmp_path)
    change(folder, "insiders.parquet", edit)
    assert refusals(folder) == [8]


@pytest.mark.parametrize(
    "edit",
    [
        lambda t: t.filter(pc.greater(t.column("insider"), 0)),
        lambda t: t.set_column(1, "row", pc.add(t.column("row"), 10_000)),
        lambda t: pa.concat_tables([t, t.slice(0, 1)]),
    ],
)
def test_contributions_that_nobody_can_read_prove_neither_sums_nor_insiders(tmp_path, edit):
    """Whether the sums of each holding were judged (check 5) is seen from who contributes, too."""
    _, folder, _ = written(tmp_path)
    change(folder, "insiders.parquet", edit)
    assert refusals(folder) == [5, 8]


@pytest.mark.parametrize(("lower", "seed"), [(0, 0), (0, 3), ("unbounded", 0)])
def test_negative_contributions_are_proven_and_verified(tmp_path, lower, seed):
    """Where only cells are known to be 0 or more, nobody gives less than nothing; else contributions bound nothing."""
    draw = random.Random(seed)  # noqa: S311
    rows = [f"{i},{draw.choice('ABCD')},{draw.choice('uvw')},{draw.randrange(20, 400)}" for i in range(51)]
    rows += [f"{i},{draw.choice('ABCD')},{draw.choice('uvw')},{-draw.randrange(1, 30)}" for i in range(51, 60)]
    (tmp_path / "r.csv").write_text("\n".join(["id,a,b,x", *rows]))
    table = {"name": "t", "by": ["a", "b"], "value": "x", "negative": "absolute", "rules": [{"p_percent": 15}]}
    words = {"version": 1, "microdata": {"source": "r.csv", "respondent": "id"}, "tables": [table]}
    job = cg.Job.parse({**words, "attack": {"lower": lower}}, folder=tmp_path)
    outcome = run(job)
    assert outcome.verdict.text == "Safe against outsiders and every single respondent"
    OutputFolder(tmp_path / "out").write(outcome)
    assert refusals(tmp_path / "out") == []
    assert all(check.passed for check in verify_inputs(tmp_path / "out" / "internal", job))


def one_holding_in_two_cells(tmp_path, name):
    rows = ["1,A,60", "1,B,40", *(f"{10 + i},C,5" for i in range(20))]
    (tmp_path / "r.csv").write_text("\n".join(["g,region,x", *rows]))
    table = {"name": "t", "by": ["region"], "value": "x", "rules": [{"min_frequency": 3}, {"p_percent": 10}]}
    job = {"version": 1, "microdata": {"source": "r.csv", "holding": "g"}, "tables": [table]}
    OutputFolder(tmp_path / name).write(run(cg.Job.parse(job, folder=tmp_path)))
    return tmp_path / name


def test_sums_of_hidden_cells_are_part_of_the_claim(tmp_path, monkeypatch):
    cured = one_holding_in_two_cells(tmp_path, "cured")
    claimed = json.loads((cured / "internal" / "certificate.json").read_text())["sums"]
    assert claimed == {"tables": ["sums"], "told": [], "beyond": []} and refusals(cured) == []
    assert "C,,c" in (cured / "release" / "t.csv").read_text()
    monkeypatch.setattr(judged_sums, "holding_sums", lambda *_: [])
    monkeypatch.setattr(judged_sums, "determined_sums", lambda *_, **__: Told(()))
    told = one_holding_in_two_cells(tmp_path, "told")  # which claims that there were no sums to judge
    assert "C,100,\n" in (told / "release" / "t.csv").read_text()
    (wrong,) = (check for check in verify(told / "internal" / "certificate.json").checks if not check.passed)
    assert wrong.number == 5 and "a sum of suppressed cells that attackers can work out was not judged" in wrong.detail


def test_a_set_with_tables_of_sums_claims_something_of_sums(tmp_path):
    folder = one_holding_in_two_cells(tmp_path, "cured")
    path = folder / "internal" / "certificate.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"sums": None}))
    seal(folder)
    details = {check.detail for check in verify(path).checks}
    assert details == {"certificate.json: sums is nothing, but tables has sums"}


def test_missing_witnesses_are_noticed(tmp_path):
    _, folder, _ = written(tmp_path)
    path = folder / "internal" / "certificate.json"
    first = json.loads(path.read_text())["insiders"]["witness"]
    every = pq.ParquetFile(folder / "internal" / "certificate.parquet").read()
    many = int(pc.max(every.column("witness")).as_py()) + 1
    noticed = 0
    for gone in range(first, many):
        left = every.filter(pc.not_equal(every.column("witness"), gone))
        later = pc.cast(pc.greater(left.column("witness"), gone), pa.int32())
        left = left.set_column(0, "witness", pc.subtract(left.column("witness"), later))
        pq.write_table(left, folder / "internal" / "certificate.parquet")
        document = json.loads(path.read_text())
        path.write_text(json.dumps({**document, "witnesses": many - 1}))
        noticed += 8 in refusals(folder)
    assert noticed > (many - first) / 2
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "insiders": {"witness": many - 1, "respondents": "records"}}))
    assert 8 in refusals(folder)


def test_the_headline_itself_says_what_is_not_proven_where_tables_have_cells_between(tmp_path, monkeypatch):
    rows = [f"f{i},{'AB'[i % 2]},{'xyz'[i % 3]},{'uvw'[i // 3 % 3]},{50 + 37 * i % 90}" for i in range(54)]
    (tmp_path / "r.csv").write_text("id,a,b,c,x\nbig,A,x,u,9000\n" + "\n".join(rows) + "\n")
    tables = [
        {"name": "t" + "".join(by), "by": by, "value": "x", "rules": [{"p_percent": 10}]}
        for by in (["a", "b"], ["a", "c"], ["b", "c"])
    ]
    data = {"version": 1, "microdata": {"source": "r.csv", "respondent": "id"}, "tables": tables}
    job = cg.Job.parse({**data, "attack": {"insiders": True}}, folder=tmp_path)
    outcome = run(job)
    assert not outcome.protected.audit.needs.world.between  # the latent table has them
    assert outcome.verdict.kind == "safe"
    assert "what respondents know beyond listed cells" not in outcome.verdict.text
    monkeypatch.setattr("cellguard.inputs.latent.MOST", 0)
    outcome = run(job)
    assert outcome.verdict.kind == "safe" and outcome.protected.audit.needs.world.between
    assert outcome.verdict.text == (
        "Safe against outsiders and every single respondent, what respondents know beyond listed cells not checked, "
        "cells that no table lists (latent cells) not checked"
    )


def together(tmp_path, size):
    return written(tmp_path, {"attack": {"insiders": True, "coalition": size}})


def test_a_job_is_safe_against_two_respondents_together(tmp_path):
    outcome, folder, job = together(tmp_path, 2)
    assert outcome.verdict.text == "Safe against outsiders and up to 2 respondents together"
    assert "More than 2 respondents together not checked" in outcome.verdict.caveat
    assert outcome.summary["coalition"] == 2
    assert refusals(folder) == []
    assert all(check.passed for check in verify_inputs(folder / "internal", job))
    assert audit_folder(folder).verdict.text == outcome.verdict.text
    page = (folder / "internal" / "report.html").read_text()
    assert "either outsiders nor up to 2 respondents together" in page
    assert "<td>insiders " in page
    named = {outcome.protected.audit.needs.tables.cell_name(n.cell) for n in outcome.protected.nearest if n.others}
    lines = [line for cell in named for line in explain_cell(folder, cell)]
    assert any("together can estimate" in line for line in lines)


def test_a_claim_about_more_respondents_than_are_proven_is_refused(tmp_path):
    _, folder, _ = together(tmp_path, 2)
    path = folder / "internal" / "certificate.json"
    document = json.loads(path.read_text())
    for size in (3, 1, 0, 9, True):
        changed = {**document, "insiders": {**document["insiders"], "coalition": size}}
        path.write_text(json.dumps(changed))
        seal(folder)
        assert 8 in refusals(folder) or 5 in refusals(folder), size
    single = {key: value for key, value in document["insiders"].items() if key != "coalition"}
    path.write_text(json.dumps({**document, "insiders": single}))
    seal(folder)
    assert refusals(folder)  # the job and the summary say two


def test_a_proof_against_single_respondents_is_none_against_two(tmp_path):
    _, folder, _ = written(tmp_path)
    for name in ("certificate.json", "summary.json"):
        path = folder / "internal" / name
        document = json.loads(path.read_text())
        if name == "summary.json":
            document["coalition"], document["settings"]["attack"]["coalition"] = 2, 2
        else:
            document["insiders"]["coalition"] = 2
        path.write_text(json.dumps(document))
    job = folder / "internal" / "job.yaml"
    job.write_text(job.read_text().replace("insiders: true\n  coalition: 1", "insiders: true\n  coalition: 2"))
    seal(folder)
    assert refusals(folder) == [8]


def test_coalitions_need_records_and_insiders(tmp_path):
    (tmp_path / "t.csv").write_text("region,x,n\nTotal,180,9\nA,50,1\nB,30,1\nC,100,7\n")
    table = {"name": "t", "by": ["region"], "value": "x", "rules": [{"min_frequency": 3}]}
    made = {"version": 1, "tables": [{**table, "cells": {"source": "t.csv", "count": "n"}}]}
    attack = {"insiders": True, "coalition": 2}
    with pytest.raises(cg.InputError, match=r"coalition: 2: 't' does not tell who is in which cells together"):
        run(cg.Job.parse({**made, "attack": attack}, folder=tmp_path))
    with pytest.raises(cg.InputError, match="say insiders: true"):
        cg.Job.parse({**made, "attack": {"insiders": False, "coalition": 2}}, folder=tmp_path)
    with pytest.raises(cg.InputError, match="coalition"):
        cg.Job.parse({**made, "attack": {**attack, "coalition": 5}}, folder=tmp_path)
