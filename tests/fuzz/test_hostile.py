"""The generator of hostile jobs: the same seed gives the same job, and all that it should draw does turn up."""

from collections import Counter
from functools import cache

import pytest

from fuzz.cases import read_case
from fuzz.generator import draw_any, draw_case
from fuzz.hostile import MATTERS, SHAPES, draw_hostile
from fuzz.judge import cells_of, has_holdings, members
from fuzz.public import columns, read_axes


@cache
def cases():
    return [draw_case(seed, draw_hostile) for seed in range(400)]


def tables():
    return [spec for case in cases() for spec in case.job["tables"]]


def rules():
    """The names of all rules, and those of their parameters that are said."""
    said = [entry for spec in tables() for rule in spec["rules"] for entry in rule.items()]
    return {name for name, _ in said} | {key for _, given in said if isinstance(given, dict) for key in given}


def test_a_seed_is_a_job(tmp_path):
    assert [draw_case(seed, draw_hostile) for seed in range(20)] == cases()[:20]
    assert len({str(case.job) for case in cases()}) > 390
    for case in cases()[:40]:
        found = read_case(case.write(tmp_path / str(case.seed)))
        assert (found.job, found.records, found.files) == (case.job, case.records, case.files)
    assert draw_case(7, draw_any) == cases()[7]


def test_all_shapes_and_matters_are_drawn():
    assert {case.features[0] for case in cases()} == set(SHAPES)
    assert {case.features[1] for case in cases()} == set(MATTERS)
    assert {spec["value"] for spec in tables()} == {"x", "count"}
    assert {spec.get("zeros") for spec in tables()} == {None, "known", "possible"}
    wanted = {
        "min_frequency",
        "p_percent",
        "dominance",
        "prior_posterior",
        "statisticon",
        "entropy",
        "request",
        "max_share",
    }
    assert rules() >= wanted | {"nonzero", "waivers", "hide"}
    for key in ("publish", "where", "negative", "protect"):
        assert any(key in spec for spec in tables()), key


def test_what_jobs_say_besides():
    said = [case.job for case in cases()]
    assert any(job.get("policy") == "g_confid" for job in said)
    assert any(job.get("attack", {}).get("lower") == "unbounded" for job in said)
    assert Counter(has_holdings(case) for case in cases())[True] > 250
    assert any(job["microdata"]["respondent"] == "holding" for job in said)
    weights = [case.records.weight for case in cases() if case.records.weight]
    assert any(set(column) == {1} for column in weights)
    assert any(len(set(column)) > 1 for column in weights)
    assert any(min(case.records.values["x"]) < 0 for case in cases())


def test_two_tables_with_other_rules_over_the_same_cells():
    pairs = [case.job["tables"] for case in cases() if case.features[0] == "twice"]
    assert any(one["by"] == two["by"] and one["rules"] != two["rules"] for one, two, *_ in pairs)


@pytest.fixture(scope="module")
def crowds():
    """How many records the largest cell without a total has, by case."""
    largest = []
    for case in cases():
        axes = read_axes(case)
        spec = case.job["tables"][0]
        own = [axes[name] for name in columns(spec)]
        leaves = [c for c in cells_of(spec, own, case) if "Total" not in c]
        largest.append(max((len(members(case.records, own, c)) for c in leaves), default=0))
    return largest


def test_cells_with_many_respondents_and_relations_of_many_cells(crowds):
    assert sum(many > 50 for many in crowds) > 10
    long = [case for case in cases() if len(set(case.records.codes["a"])) > 40]
    assert 0 < len(long) < 10


def test_jobs_are_small():
    assert sorted(len(case.records) for case in cases())[len(cases()) // 2] < 90
    assert max(len(case.records) for case in cases()) < 300
