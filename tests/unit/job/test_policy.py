"""House policies: files of rules and defaults, and the conventions of other tools."""

from itertools import combinations

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

import cellguard as cg
from cellguard.errors import JobError
from cellguard.faces.cli.main import cli
from cellguard.job.jobfile import Job
from cellguard.job.rulespec import parse_rule
from cellguard.rules.linear import Dominance, PPercent
from cellguard.rules.presets import PRESETS, as_in
from cellguard.rules.simple import MinFrequency
from cellguard.table.signed_cells import signed_contributions

POLICY = """\
version: 1
like: gauss_suppression
rules:
  business: [{min_frequency: 3}, {p_percent: 10}]
  wages:
    - all: [{min_frequency: 5}, {dominance: {n: 2, k: 85}}]
tables: {zeros: known, decimals: 1}
attack: {upper: unbounded, percent: 50}
"""
TABLE = {"name": "t", "by": ["r"], "value": "x", "cells": {"source": "t.csv", "count": "n"}, "rules": "business"}


def parse(folder, policy=POLICY, **changes):
    (folder / "house.yaml").write_text(policy)
    job = {"version": 1, "policy": "house.yaml", "tables": [{**TABLE, **changes}]}
    return Job.parse(job, folder=folder)


def test_a_table_names_a_list_of_the_policy(tmp_path):
    table = parse(tmp_path).tables[0]
    assert table.rules == [MinFrequency(3, inclusive=True), PPercent(10)]
    assert (table.zeros, table.decimals) == ("known", 1)
    both = parse(tmp_path, rules="wages").tables[0].rules[0]
    assert both.rules == (MinFrequency(5, inclusive=True), Dominance(2, 85, inclusive=True))


def test_what_the_job_says_goes_first(tmp_path):
    table = parse(tmp_path, decimals=3, rules=[{"min_frequency": {"n": 3, "inclusive": False}}]).tables[0]
    assert table.decimals == 3 and table.rules == [MinFrequency(3)]
    job = parse(tmp_path)
    assert job.attack.percent == 50
    said = {"version": 1, "policy": "house.yaml", "tables": [TABLE], "attack": {"percent": 20}}
    assert Job.parse(said, folder=tmp_path).attack.percent == 20


def test_the_stored_job_has_everything_spelled_out(tmp_path):
    job = parse(tmp_path)
    stored = job.model_dump()
    assert stored["policy"] is None and job.policy_file == "house.yaml"
    assert Job.parse(yaml.safe_load(yaml.safe_dump(stored))).model_dump() == stored


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ("version: 1\nrules:\n  business:\n    - min_frequenzy: 3", "house.yaml line 4: rules.business.*unknown rule"),
        ("version: 1\nrule: {}", "house.yaml line 2: rule: unknown key 'rule'; did you mean 'rules'"),
        ("version: 1\nlike: argus", "house.yaml line 2: like: must be"),
        ("version: 1\ntables: {rules: []}", "`tables` cannot say 'rules': every table has its own"),
        (
            "version: 1\ntables: {zeroes: known}",
            "house.yaml line 2: tables.zeroes: unknown key 'zeroes'; did you mean 'zeros'",
        ),
        ("version: 1\nattack: {percent: -1}", "house.yaml line 2: attack.percent"),
        ("- 1", "a policy is a mapping"),
        ("version: 1\nrules: {busines: [{p_percent: 10}]}", "no rules named 'business'; did you mean 'busines'"),
    ],
)
def test_faults_are_told_with_their_place(tmp_path, policy, words):
    with pytest.raises(JobError, match=words):
        parse(tmp_path, policy)


def test_names_without_a_policy(tmp_path):
    with pytest.raises(JobError, match="name of a list of rules; say with `policy` which file has it"):
        Job.parse({"version": 1, "tables": [TABLE]})
    with pytest.raises(JobError, match=r"no file 'tau-argus'; did you mean 'tau_argus'"):
        Job.parse({"version": 1, "policy": "tau-argus", "tables": [TABLE]}, folder=tmp_path)


def test_weights_follow_the_tool_only_where_there_are_any():
    records = {"version": 1, "policy": "sdctable", "microdata": {"source": "x.csv", "weight": "w"}}
    table = {"name": "t", "by": ["r"], "value": "x", "rules": [{"min_frequency": 3}]}
    assert Job.parse({**records, "tables": [table]}).tables[0].survey == "alternating"
    assert Job.parse({**records, "tables": [{**table, "survey": "sample"}]}).tables[0].survey == "sample"
    unweighted = {**records, "microdata": {"source": "x.csv"}, "tables": [table]}
    assert Job.parse(unweighted).tables[0].survey is None


def test_who_has_zero_counts_only_in_sums_of_records():
    made = {"version": 1, "policy": "g_confid", "microdata": {"source": "x.csv"}}
    rules = [{"min_frequency": 3}]
    tables = [{"name": n, "by": ["r"], "value": v, "rules": rules} for n, v in (("a", "x"), ("b", "count"))]
    sums, counts = Job.parse({**made, "tables": tables}).tables
    assert sums.rules == [MinFrequency(3, nonzero=True)] and counts.rules == [MinFrequency(3)]


@pytest.mark.parametrize("policy", PRESETS)
def test_maps_take_only_what_they_can(policy):
    table = {"name": "m", "by": ["h"], "value": "x", "rules": [{"min_frequency": 3}, {"p_percent": 10}]}
    table["protect"] = {"method": "redistribute"}
    records = {"version": 1, "policy": policy, "microdata": {"source": "x.csv", "weight": "w"}}
    made = Job.parse({**records, "tables": [table]}).tables[0]
    assert made.survey is None and not made.rules[0].nonzero


def test_perturbed_tables_take_only_what_they_can():
    records = {"version": 1, "policy": "g_confid", "microdata": {"source": "x.csv", "weight": "w"}}
    rules = [{"min_frequency": 3}, {"p_percent": 10}]
    table = {"name": "t", "by": ["r"], "value": "x", "rules": rules, "protect": {"method": "perturb"}}
    for policy in PRESETS:
        noisy = Job.parse({**records, "policy": policy, "tables": [table]}).tables[0]
        assert noisy.survey is None and not noisy.rules[0].nonzero


CELLS = [
    ((60, 25, 15), {"dominance": {"n": 2, "k": 85}}, {"gauss_suppression", "acro"}),
    ((9, 8, 7), {"min_frequency": 3}, {"sdctable", "gauss_suppression"}),
    ((9, 8, 0), {"min_frequency": 3}, {"sdctable", "gauss_suppression", "g_confid"}),
    ((100, 50, 10), {"p_percent": 10}, set()),
    ((0, 0, 0), {"p_percent": 10}, set()),
    ((9,), {"dominance": {"n": 2, "k": 85}}, set(PRESETS)),
]


@pytest.mark.parametrize(("cell", "rule", "unsafe"), CELLS, ids=[str(cell) for cell, _, _ in CELLS])
def test_one_cell_per_difference(cell, rule, unsafe):
    facts = signed_contributions(cell)
    judged = {name: parse_rule(as_in(preset, rule)).unsafe(facts)[0] for name, preset in PRESETS.items()}
    assert {name for name, verdict in judged.items() if verdict} == unsafe


def test_every_two_tools_differ_on_one_of_the_cells():
    for a, b in combinations(PRESETS, 2):
        assert any((a in unsafe) != (b in unsafe) for _, _, unsafe in CELLS[:3])


def test_presets_reach_rules_inside_rules():
    nested = {"signed": {"usual": {"dominance": {"n": 1, "k": 80}}}}
    assert parse_rule(as_in(PRESETS["acro"], nested)).usual == Dominance(1, 80, inclusive=True)
    for odd in ("p_percent", {}, {"a": 1, "b": 2}, {"nobody": 3}, {"dominance": 3}):
        assert as_in(PRESETS["acro"], odd) == odd


def test_a_job_with_a_policy_runs_and_names_it_among_its_inputs(tmp_path):
    (tmp_path / "t.csv").write_text("r,x,n\nTotal,300,30\nN,100,3\nS,120,13\nW,80,14\n")
    (tmp_path / "house.yaml").write_text("version: 1\nlike: sdctable\nrules: {all_of_us: [{min_frequency: 3}]}\n")
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump({"version": 1, "policy": "house.yaml", "tables": [{**TABLE, "rules": "all_of_us"}]}))
    out = tmp_path / "out"
    done = CliRunner().invoke(cli, ["protect", str(path), "--out", str(out)])
    assert done.exit_code == 0, done.output
    summary = yaml.safe_load((out / "internal/summary.json").read_text())
    assert set(summary["inputs"]) == {"t.csv", "house.yaml"} and summary["set"]["primary"] == 1
    proven = CliRunner().invoke(cli, ["verify", str(out), "--job", str(path)])
    assert proven.exit_code == 0, proven.output
    assert np.isfinite(cg.Job.load(path).tables[0].rules[0].n)
