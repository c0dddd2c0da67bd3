"""A rule that can never call a cell unsafe is no rule: nothing is called safe by it, in any face."""

import itertools
import json

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

import cellguard as cg
from cellguard.errors import InputError, JobError, NotProtected
from cellguard.faces.cli.main import cli
from cellguard.job.jobfile import Job
from cellguard.job.rulespec import dump_rule
from cellguard.pipeline import run
from cellguard.rules.all_of import All
from cellguard.rules.linear import Linear
from cellguard.rules.rows import GroupDisclosure
from cellguard.rules.simple import MinFrequency
from cellguard.table.facts import contributions
from cellguard.verifier.rule_words import parse_rule as twin
from cellguard.verifier.rules import can_fire
from cellguard.verifier.verify import verify

RECORDS = "id,region,x\n1,N,900\n2,S,20\n3,S,40\n4,S,35\n5,W,20\n6,W,25\n7,W,30\n"
IDLE = [
    [{"min_frequency": 1}],
    [{"min_frequency": {"n": 1, "hide": "small"}}],
    [{"linear": {"weights": [-1.0, 0.0], "rest": -1.0}}],
    [{"all": [{"min_frequency": 1}, {"p_percent": 10}]}],
    [{"min_frequency": 1}, {"linear": {"weights": [0.0], "rest": 0.0}}],
]


@pytest.fixture
def write(tmp_path):
    (tmp_path / "r.csv").write_text(RECORDS)

    def written(rules, name="job.yaml", **more):
        table = {"name": "t", "by": ["region"], "value": "x", "rules": rules, **more}
        spec = {"version": 1, "microdata": {"source": "r.csv", "respondent": "id"}, "tables": [table]}
        (tmp_path / name).write_text(yaml.safe_dump(spec))
        return str(tmp_path / name)

    return written


def command(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.mark.parametrize("rules", IDLE, ids=str)
def test_an_idle_rule_goes_the_way_of_no_rule(write, tmp_path, rules):
    more = {"value": "count"} if "hide" in str(rules) else {}
    path, out = write(rules, **more), tmp_path / "out"
    done = command("protect", path, "--out", out)
    assert done.exit_code == 1 and "No rule was applied, so nothing is known to be safe" in done.output, done.output
    assert "can never call a cell unsafe" in done.output and "Safe" not in done.output
    assert not out.exists()
    for words in (("assess", path), ("protect", path, "--dry-run"), ("audit", path)):
        done = command(*words)
        assert done.exit_code == 1 and "No rule was applied" in done.output, (words, done.output)
    done = command("protect", path, "--out", out, "--accept-no-rules", "--json")
    assert done.exit_code == 0 and json.loads(done.stdout)["verdict"] == "no rule"
    judged = verify(out / "internal/certificate.json")
    assert not judged.valid and any("no rule was applied to t" in check.detail for check in judged.checks)
    assert command("protect", write([], "empty.yaml"), "--out", tmp_path / "empty").exit_code == 1


def test_beside_a_rule_that_works_it_is_only_told(write, tmp_path):
    done = command("protect", write([{"min_frequency": 1}, {"p_percent": 10}]), "--out", tmp_path / "out")
    assert done.exit_code == 0 and "Safe against outsiders" in done.output
    assert "the rule min_frequency 1 can never call a cell unsafe" in done.output


def test_one_call_shows_nothing_either():
    frame = cg.protect({"r": list("ab"), "x": [1, 2]}, by=["r"], value="x", rules=cg.MinFrequency(1))
    with pytest.raises(NotProtected, match="No rule was applied"):
        _ = frame.table


def test_one_call_refuses_shares_for_percentages():
    data = {"r": list("ab"), "x": [1, 2]}
    with pytest.raises(InputError, match=r"p_percent: p is 0\.1 %; did you mean 10 %\?"):
        cg.protect(data, by=["r"], value="x", rules=cg.PPercent(0.1))
    assert cg.protect(data, by=["r"], value="x", rules={"p_percent": {"p": 0.1, "confirmed": True}}).why("a")


def test_a_confirmation_is_a_word_of_rules_with_percentages_only(tmp_path):
    table = {"name": "t", "by": ["r"], "value": "x", "cells": {"source": "t.csv"}}
    for rule, words in (
        ({"linear": {"weights": [1.0], "rest": -1.0, "confirmed": True}}, "no parameter 'confirmed'"),
        ({"p_percent": {"p": 0.1, "confirmed": "yes"}}, "confirmed must be true or false"),
        ({"p_percent": {"p": 0.1, "confirmed": False}}, "did you mean 10 %"),
        ({"statisticon": 0.2}, "did you mean 20 %"),
        ({"signed": {"usual": {"p_percent": 0.1}}}, "did you mean 10 %"),
    ):
        with pytest.raises(JobError, match=words):
            Job.parse({"version": 1, "tables": [table | {"rules": [rule]}]}, folder=tmp_path)


def test_policies_and_studies_know_the_word(write):
    path = write([{"p_percent": 10}])
    done = command("compare", path, "--rules", "p_percent p=0.1")
    assert isinstance(done.exception, InputError) and "confirmed" in str(done.exception)
    assert command("compare", path, "--rules", "p_percent p=0.1 confirmed=true").exit_code == 0
    done = command("compare-rules", "--rule", "p_percent p=0.1", "--rule", "dominance n=2")
    assert isinstance(done.exception, InputError) and "confirmed" in str(done.exception)
    rules = ("--rule", "p_percent p=0.5 confirmed=true", "--rule", "dominance n=2")
    assert command("compare-rules", *rules).exit_code == 0


def test_a_map_without_a_working_rule_is_refused(tmp_path):
    (tmp_path / "p.csv").write_text("x,y,v\n0,0,5\n0,1,6\n1,1,7\n")
    table = {"name": "t", "by": ["hexagon"], "value": "v", "rules": [{"min_frequency": 1}]}
    spec = {"version": 1, "microdata": {"source": "p.csv"}, "tables": [table | {"protect": {"method": "redistribute"}}]}
    with pytest.raises(JobError, match="a map needs `rules`"):
        run(Job.parse(spec, folder=tmp_path))


def test_what_cannot_fire_does_not_and_what_can_does():
    """Against all small cells: a rule that says it can fire does on some, and one that says it cannot on none."""
    cells = contributions(*(c for n in range(4) for c in itertools.product((0, 1, 2, 60), repeat=n)), [1.0] * 30)
    weights = (-1.0, 0.0, 0.5)
    rules = [MinFrequency(n, inclusive) for n in (1, 2, 3) for inclusive in (False, True)]
    rules += [
        Linear(pair, rest, inclusive, zeros)
        for pair in itertools.product(weights, repeat=2)
        for rest in weights
        for inclusive in (False, True)
        for zeros in (False, True)
    ]
    rules += [All((a, b)) for a, b in itertools.product(rules[:3], repeat=2)]
    assert sum(not rule.can_fire for rule in rules) >= 10
    for rule in rules:
        fires = bool(rule.unsafe(cells).any())
        assert fires <= rule.can_fire, rule
        if not isinstance(rule, All):
            assert fires == rule.can_fire, rule
        assert can_fire(twin(dump_rule(rule))) == rule.can_fire, rule


def test_rows_of_fewer_than_one_never_are():
    rows = {"r": ["Total"] * 3 + ["A"] * 3, "d": ["Total", "yes", "no"] * 2, "n": [9, 9, 0, 9, 9, 0]}
    about = cg.About(is_count=True, zeros="possible")
    table = cg.cells(rows, by=["r", "d"], value="n", count="n", about=about)
    for below in (0, 1, 2, 20):
        rule = GroupDisclosure("d", ("yes",), below)
        assert rule.can_fire == (below != 1) == can_fire(twin(dump_rule(rule)))
        assert not cg.assess(table, rule).primary.any() or rule.can_fire
    assert np.asarray(cg.assess(table, GroupDisclosure("d", ("yes",))).primary).any()


def test_counts_are_no_secret_only_beside_values_that_rules_judge(write, tmp_path):
    """`counts: shown` is such a rule; alone, or with another shape, counts under it are not called safe."""
    shown = write([{"p_percent": 10}], counts="shown")
    done = command("protect", shown, "--out", tmp_path / "out")
    assert done.exit_code == 0 and "Safe against" in done.output
    assert verify(tmp_path / "out/internal/certificate.json").valid
    spec = yaml.safe_load((tmp_path / "job.yaml").read_text())
    values, idle = spec["tables"][0] | {"counts": None}, [{"min_frequency": 1}]
    for others in (
        [{"name": "n", "by": ["region"], "value": "count", "rules": idle}],
        [values | {"rules": idle}, {"name": "n", "by": ["region"], "value": "count", "rules": idle}],
        [values, {"name": "n", "by": ["id"], "value": "count", "rules": idle}],
        [values, {"name": "n", "by": ["region"], "value": "count", "rules": []}],
    ):
        verdict = run(Job.parse(spec | {"tables": others}, folder=tmp_path), accept_no_rules=True).verdict
        assert verdict.kind == "no rule" and "n" in verdict.text, others
