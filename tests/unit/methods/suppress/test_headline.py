"""The headline: never safe without saying against whom, never green without rules, and the insiders' cells counted."""

import json
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import yaml

import cellguard as cg
from cellguard.errors import JobError, NotProtected
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.methods.suppress.headline import headline, single_respondent_cells
from cellguard.pipeline import assess_job, audit_folder, run
from cellguard.table.pattern import Pattern
from cellguard.verifier.verify import verify
from unit.verifier.folders import seal

ROWS = {"region": ["Total", "A", "B", "C"], "x": [200, 60, 40, 100], "n": [22, 1, 1, 20]}
CAVEAT = (
    "Insiders not checked; sums of suppressed cells (unions) not checked; earlier releases not checked; "
    "tables outside this set not checked."
)


def job(folder, *rules, **more):
    folder.mkdir(exist_ok=True)
    rows = [f"{r},{x},{n}" for r, x, n in zip(*ROWS.values(), strict=True)]
    (folder / "a.csv").write_text("\n".join(["region,x,n", *rows]))
    tables = [
        {"name": f"t{i}", "by": ["region"], "value": "x", "cells": {"source": "a.csv", "count": "n"}, "rules": rule}
        for i, rule in enumerate(rules)
    ]
    (folder / "job.yaml").write_text(yaml.safe_dump({"version": 1, "tables": tables, **more}))
    return Job.load(folder / "job.yaml")


def audited(tables, hidden):
    """The audit of a pattern that hides some cells, none of which is unsafe."""
    return cg.audit(cg.require(cg.assess(tables, [])), Pattern(tables, np.zeros(len(tables), bool), hidden))


def count_by_hand(table, hidden):
    """Hidden cells of one respondent with another hidden cell beside them in a sum, by looking at all pairs."""
    sums = [set(np.flatnonzero(row)) for row in table.relations.toarray()]
    pairs = {c for a, b in combinations(np.flatnonzero(hidden), 2) for c in (a, b) if any({a, b} <= s for s in sums)}
    return sum(table.facts.count[c] == 1 for c in pairs)


@pytest.mark.parametrize("seed", range(20))
def test_single_respondent_cells_are_counted(seed):
    rng = np.random.default_rng(seed)
    codes = [(a, b) for a in ("Total", *"pq") for b in ("Total", *"xyz")]
    inner = rng.integers(0, 9, (2, 3))
    full = np.pad(inner, ((1, 0), (1, 0)))
    full[0], full[:, 0] = full.sum(axis=0), full.sum(axis=1)
    full[0, 0] = inner.sum()
    data = {"a": [c[0] for c in codes], "b": [c[1] for c in codes], "v": full.ravel(), "n": rng.integers(1, 3, 12)}
    data["n"][0] = data["n"][:4] = 9
    data["n"][[4, 8]] = 9
    table = cg.cells({k: list(map(str, v)) for k, v in data.items()}, ["a", "b"], value="v", count="n")
    linked = cg.link(table)
    hidden = rng.random(len(linked)) < 0.4
    found = single_respondent_cells(audited(linked, hidden))
    assert found.cells == count_by_hand(table, hidden) and not found.unknown


@pytest.mark.parametrize("seed", [0, 1, 17])
def test_cells_that_no_table_shows_are_not_counted(seed, tmp_path):
    """Cells behind the tables and sums of cells are unsafe, too, but not hidden; a run and its audit count the same."""
    rng = np.random.default_rng(seed)
    lines = [
        f"{'pq'[i]},{'kl'[j]},{'xy'[k]},{x}" for *(i, j, k), x in rng.integers((2, 2, 2, 90), size=(9, 4)).tolist()
    ]
    (tmp_path / "r.csv").write_text("\n".join(["a,b,c,x", *lines]))
    rules = [{"min_frequency": 3}]
    tables = [{"name": "".join(by), "by": by, "value": "x", "rules": rules} for by in combinations("abc", 2)]
    words = {"version": 1, "microdata": {"source": "r.csv"}, "tables": [t | {"by": list(t["by"])} for t in tables]}
    outcome = run(Job.parse(words | {"attack": {"insiders": False}, "output": {"formats": ["csv"]}}, folder=tmp_path))
    OutputFolder(tmp_path / "out").write(outcome)
    pattern, alone = outcome.protected.audit.pattern, set()
    for table, cells in zip(pattern.tables.tables, pattern.tables.cells_of, strict=True):
        if table.release == "here":
            alone |= set(cells[pattern.hidden[cells] & (table.facts.count == 1)].tolist())
    found = outcome.summary["single_respondent_cells"]
    assert found == audit_folder(tmp_path / "out").summary["single_respondent_cells"] <= len(alone)


def test_a_hidden_cell_on_its_own_is_not_counted():
    linked = cg.link(cg.cells(ROWS, ["region"], value="x", count="n"))
    alone = audited(linked, np.array([False, True, False, False]))
    assert str(single_respondent_cells(alone)) == "0 single-respondent cells are suppressed in the same sums as others"


def test_without_counts_the_number_is_not_known():
    known = cg.cells(ROWS, ["region"], value="x", count="n", name="known")
    bare = cg.cells({"size": ["Total", "s", "l"], "x": [200, 90, 110]}, ["size"], value="x", name="bare")
    linked = cg.link([known, bare])
    hidden = np.array([False, True, True, False, True, True])
    some = single_respondent_cells(audited(linked, hidden))
    assert (some.cells, some.unknown) == (2, ("bare",))
    assert str(some) == (
        "at least 2, but it is not known how many single-respondent cells are suppressed in the same sums as "
        "others, since "
        "table 'bare' does not give the number of respondents"
    )
    shown = single_respondent_cells(audited(linked, hidden & (np.arange(6) < 4)))
    assert shown.unknown == ()


def test_safe_is_safe_against_outsiders_only(tmp_path):
    done = run(job(tmp_path, [{"min_frequency": 3}]))
    cells = "2 single-respondent cells are suppressed in the same sums as others"
    text = f"Safe against outsiders only; insiders not checked: {cells}"
    summary = done.summary
    assert (summary["verdict"], summary["headline"], summary["caveat"]) == ("safe", text, CAVEAT)
    assert summary["not_checked"] == ["insiders", "unions", "earlier_releases", "other_tables"]
    assert summary["single_respondent_cells"] == 2 and summary["insiders"] == "not checked"
    OutputFolder(tmp_path / "out").write(done)
    certificate = json.loads((tmp_path / "out/internal/certificate.json").read_text())
    assert (certificate["headline"], certificate["not_checked"]) == (text, summary["not_checked"])
    assert json.loads((tmp_path / "out/internal/summary.json").read_text())["headline"] == text
    inside, public = ((tmp_path / "out" / half / "report.html").read_text() for half in ("internal", "release"))
    assert f"{text}." in inside and "sums of suppressed cells (unions) not checked" in inside
    assert "Sums of suppressed cells (unions)</th>" in inside
    assert not re.search("single-respondent|insider", public)
    assert verify(tmp_path / "out/internal/certificate.json").valid
    assert audit_folder(tmp_path / "out").verdict.text == text


def test_unsafe_is_said_with_its_cells():
    findings = cg.assess(
        cg.cells(ROWS | {"n": [22, 1, 11, 10]}, ["region"], value="x", count="n"), [cg.MinFrequency(3)]
    )
    needs = cg.require(findings)
    found = headline(findings, cg.audit(needs, Pattern(needs.tables, needs.primary, np.zeros(4, bool))))
    assert (found.kind, found.text) == (
        "unsafe",
        "UNSAFE: an outsider can estimate too closely 1 unsafe cell; do not publish",
    )


def test_without_rules_nothing_is_green(tmp_path):
    done = run(job(tmp_path, []))
    assert done.protected.audit.verdict == "safe"
    assert (done.verdict.kind, done.verdict.text) == (
        "no rule",
        "No rule was applied, so nothing is known to be safe",
    )
    assert done.summary["verdict"] == "no rule"
    with pytest.raises(NotProtected, match="No rule was applied, so nothing is known to be safe; give every table"):
        OutputFolder(tmp_path / "out").write(done)
    assert not (tmp_path / "out").exists()
    OutputFolder(tmp_path / "out").write(run(job(tmp_path, []), accept_no_rules=True))
    inside = (tmp_path / "out/internal/report.html").read_text()
    assert 'class="verdict undecided"' in inside and "No rule was applied" in inside
    assert "✓" not in re.sub(r"<script.*", "", inside, flags=re.S)
    assert json.loads((tmp_path / "out/internal/certificate.json").read_text())["headline"].startswith("No rule")


def test_one_table_without_rules_is_enough(tmp_path):
    found = assess_job(job(tmp_path, [{"min_frequency": 3}], []))
    assert (
        found.headline == found.summary()["headline"] == "No rule was applied to 't1', so nothing is known to be safe"
    )
    done = run(job(tmp_path, [{"min_frequency": 3}], []))
    assert done.verdict.kind == "no rule" and done.release is None
    assert replace(done.protected, accept_no_rules=True).release is not None


def test_no_rules_do_not_hide_that_a_pattern_is_unsafe():
    table = cg.cells(ROWS, ["region"], value="x", count="n")
    findings = cg.assess(table, [cg.MinFrequency(3)])
    needs = cg.require(findings)
    pattern = Pattern(needs.tables, needs.primary & (np.arange(4) == 1), np.zeros(4, bool))
    found = headline(cg.assess(table, []), cg.audit(needs, pattern))
    assert found.kind == "unsafe" and found.text.endswith("do not publish. No rule was applied")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"p_percent": 0.1}, "the rule p_percent 0.1: p is 0.1 %; did you mean 10 %?"),
        ({"dominance": {"n": 1, "k": 0.85}}, "k is 0.85 %; did you mean 85 %?"),
        ({"prior_posterior": {"p": 0.1, "q": 0.5}}, "q is 0.5 %; did you mean 50 %?"),
        ({"max_share": 0.7}, "k is 0.7 %; did you mean 70 %?"),
        ({"min_frequency": {"n": 3, "protection_percent": 0.2}}, "protection_percent is 0.2 %; did you mean 20 %?"),
        ({"all": [{"min_frequency": 3}, {"max_share": 0.7}]}, "k is 0.7 %; did you mean 70 %?"),
    ],
)
def test_a_percentage_below_one_is_refused_unless_it_is_confirmed(tmp_path, rule, said):
    with pytest.raises(JobError, match=r"did you mean \d+ %\? Percentages are written as .*confirmed: true") as refused:
        job(tmp_path, [rule])
    cure = yaml.safe_load(str(refused.value).split("confirm it: ")[1])
    first = job(tmp_path, [cure if "all" not in rule else {"all": [rule["all"][0], cure]}])
    assert Job.parse(first.model_dump(), folder=tmp_path).tables[0].rules == first.tables[0].rules
    tops = first.tables[0].cells.model_copy(update={"top": ["x", "z"]})
    (tmp_path / "a.csv").write_text("region,x,n,z\nTotal,200,22,0\nA,60,1,0\nB,40,1,0\nC,100,20,0\n")
    changed = first.model_copy(update={"tables": [first.tables[0].model_copy(update={"cells": tops})]})
    changed._folder = tmp_path
    found = assess_job(changed).summary()["warnings"]
    assert any(line.startswith("table 't0': ") and line.endswith(f"{said} (the job confirms it)") for line in found), (
        found
    )


def test_usual_percentages_are_not_asked_about(tmp_path):
    found = assess_job(job(tmp_path, [{"min_frequency": 3}], attack={"percent": 50})).summary()
    assert found["warnings"] == []
    asked = assess_job(job(tmp_path, [{"min_frequency": 3}], attack={"percent": 0.5})).summary()
    assert "attack: percent is 0.5 %; did you mean 50 %?" in asked["warnings"]


def test_the_questions_reach_report_summary_and_folder(tmp_path):
    rule = {"min_frequency": {"n": 3, "protection_percent": 0.5, "confirmed": True}}
    done = run(job(tmp_path, [rule]))
    OutputFolder(tmp_path / "out").write(done)
    said = "did you mean 50 %?"
    assert said in (tmp_path / "out/internal/report.html").read_text()
    assert said in (tmp_path / "out/internal/summary.json").read_text()
    assert said in audit_folder(tmp_path / "out").summary["warnings"][0]
    assert all(said not in p.read_text() for p in (tmp_path / "out/release").iterdir())
    assert verify(tmp_path / "out/internal/certificate.json").valid


@pytest.mark.parametrize(
    ("changes", "both"),
    [({"headline": "Safe"}, False), ({"not_checked": []}, True), ({"not_checked": ["insiders"]}, True)],
)
def test_verify_refuses_words_that_say_more(tmp_path, changes, both):
    OutputFolder(tmp_path / "out").write(run(job(tmp_path, [{"min_frequency": 3}])))
    for name in ("certificate.json", "summary.json")[: 1 + both]:
        path = tmp_path / "out/internal" / name
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    path = seal(tmp_path / "out")
    assert [c.number for c in verify(path).checks if not c.passed] == [8]
