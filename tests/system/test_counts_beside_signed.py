"""Counts beside values that may be negative: whatever bounds the values, no count is below 0."""

import csv
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import cellguard as cg
from cellguard.attack.third_party import infer
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import audit_folder, run
from cellguard.table.apriori import State
from cellguard.table.read import About
from cellguard.table.table import Table
from cellguard.table.tableset import link
from cellguard.verifier.verify import verify
from cellguard.world.knowledge import Knowledge
from cellguard.world.world import see_world

# A count of 1 beside one of 0 in r1: hidden with those of r2 below them, 0 cannot become less, nor 1 more.
EXACT = {("r1", "c1"): 1, ("r1", "c3"): 9, ("r2", "c1"): 8, ("r2", "c3"): 9} | {("r3", f"c{i}"): 9 for i in (1, 2, 3)}
# Two counts of 2 that add up to 4, neither of which can then be 5.
SMALL = {("r1", "c1"): 2, ("r1", "c2"): 2, ("r1", "c3"): 5, ("r2", "c1"): 6, ("r2", "c2"): 7, ("r2", "c3"): 8}
SIGNED = [pytest.param("unbounded", id="unbounded"), pytest.param(-1000, id="a bound below 0")]


def protected(folder, counts, rule, lower, **attack):
    codes = [codes for codes, many in counts.items() for _ in range(many)]
    lines = [f"{i},{row},{col},{(-1) ** i * (11 + i)}" for i, (row, col) in enumerate(codes)]
    (folder / "r.csv").write_text("\n".join(["id,row,col,x", *lines]))
    tables = [
        {"name": "profit", "by": ["row"], "value": "x", "rules": [{"min_frequency": 3}]},
        {"name": "n", "by": ["row", "col"], "value": "count", "rules": [rule]},
    ]
    said = {"version": 1, "microdata": {"source": "r.csv", "respondent": "id"}, "tables": tables}
    outcome = run(Job.parse({**said, "attack": {"lower": lower, **attack}}, folder=folder))
    OutputFolder(folder / "out").write(outcome)
    return outcome


def reach(folder, cell):
    """What an outsider makes of a count: the least and the most of it in all tables that have what is released."""
    with (folder / "out/release/n.csv").open(newline="") as file:
        shown = {(row["row"], row["col"]): row["value"] for row in csv.DictReader(file)}
    inner = [(r, c) for r, c in shown if "Total" not in (r, c)]
    known = {codes: float(value) for codes, value in shown.items() if value}
    sums = [[float(r in ("Total", row) and c in ("Total", col)) for row, col in inner] for r, c in known]
    cost = np.array([float(codes == cell) for codes in inner])
    return [sign * linprog(sign * cost, A_eq=sums, b_eq=list(known.values()), bounds=(0, None)).fun for sign in (1, -1)]


@pytest.mark.parametrize("lower", SIGNED)
def test_no_count_is_told_exactly(tmp_path, lower):
    protected(tmp_path, EXACT, {"min_frequency": 3}, lower)
    low, high = reach(tmp_path, ("r1", "c1"))
    assert high - low >= 1
    assert verify(tmp_path / "out/internal/certificate.json").valid
    assert audit_folder(tmp_path / "out").protected.audit.verdict == "safe"


@pytest.mark.parametrize("lower", SIGNED)
def test_no_count_is_told_to_be_small(tmp_path, lower):
    protected(tmp_path, SMALL, {"min_frequency": {"n": 5, "hide": "small"}}, lower)
    assert reach(tmp_path, ("r1", "c1"))[1] >= 5 <= reach(tmp_path, ("r1", "c2"))[1]
    assert verify(tmp_path / "out/internal/certificate.json").valid


def test_respondents_bound_counts(tmp_path):
    """Who is one of a count knows that it is 1 or more, whatever the values beside it are."""
    outcome = protected(tmp_path, SMALL, {"min_frequency": 3}, "unbounded")
    knowledge = outcome.protected.audit.inside.knowledge
    counts = outcome.protected.audit.needs.world.is_count[knowledge.problem.cells]
    assert counts.any() and not knowledge.signed[counts].any()
    some = int(np.flatnonzero(counts & (np.diff(knowledge.start) > 0))[0])
    insider = knowledge.contributors(some)[:1]
    assert knowledge.limits(insider)[0][some] <= knowledge.value[some] - 1


def test_a_bound_of_a_single_count_is_not_below_0():
    table = cg.cells({"r": ["Total", "N", "S"], "n": [5, 2, 3]}, by=["r"], value="n", count="n")
    said = replace(table, apriori=replace(table.apriori, lower=np.array([np.nan, -7, -np.inf])))
    assert see_world(link([said]), Knowledge(lower=-np.inf)).lower.tolist() == [0, 0, 0]


@pytest.mark.parametrize("lower", SIGNED)
def test_verify_bounds_counts_by_itself(tmp_path, monkeypatch, lower):
    """A small count that is proven by negative ones: of other counts some witness may stay within bounds by chance."""
    monkeypatch.setattr(Table, "never_negative", False)
    protected(tmp_path, SMALL, {"min_frequency": {"n": 5, "hide": "small"}}, lower)
    checks = verify(tmp_path / "out/internal/certificate.json").checks
    assert [check.detail for check in checks if not check.passed]


def test_counts_between_tables_are_not_below_0():
    """Three tables of counts that cross: the counts behind them may not be negative either."""
    codes = {"a": "xxxxxxyyyyyy", "b": "mmnnmmnnmmnn", "c": "pqpqpqqpqpqp"}
    columns = {name: list(column) for name, column in codes.items()}
    records = cg.records({**columns, "v": [1] * 12}, by=list("abc"), values=["v"])
    tables = [
        cg.tabulate(records, by=list(by), value="count", rules=cg.MinFrequency(2), name=by) for by in ("ab", "bc", "ac")
    ]
    world = see_world(link(tables), Knowledge(lower=-np.inf))
    assert world.between and (world.lower >= 0).all()


def test_sums_of_weights_are_not_below_0():
    data = {"r": list("ABA"), "x": [-3, 5, 2], "w": [1.5, 2.5, 1.0]}
    records = cg.records(data, by=["r"], values=["x"], weight="w")
    tables = [cg.tabulate(records, by=["r"], value=v, rules=cg.MinFrequency(2), name=v) for v in ("count", "x")]
    lower = see_world(link(tables), Knowledge(lower=-np.inf)).lower
    assert lower.tolist() == [0, 0, 0, -np.inf, -np.inf, -np.inf]


def test_counts_of_another_tool_are_not_below_0():
    table = cg.cells(
        {"r": ["Total", "N", "S"], "n": [5, 2, 3]}, by=["r"], value="n", count="n", about=About(is_count=True)
    )
    state = np.array([State.none, State.secondary, State.secondary], np.int8)
    hidden = replace(table, apriori=replace(table.apriori, state=state), zeros="possible")
    found = infer(link([hidden]), Knowledge(lower=-np.inf))
    assert (found.lower.tolist(), found.upper.tolist()) == ([5, 0, 0], [5, 5, 5])
