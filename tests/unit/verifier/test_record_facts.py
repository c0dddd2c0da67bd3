"""Facts that only tables made from records have: the verifier's own formulas, and folders with such columns."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cellguard.job.rulespec import dump_rule
from cellguard.rules.linear import Dominance, Linear, PPercent, PriorPosterior
from cellguard.rules.simple import MaxShare, Request
from cellguard.table import facts as ours
from cellguard.table.fact import Base, Count, Excess, Requested, Top, Total, Unwaived
from cellguard.verifier.facts import Facts
from cellguard.verifier.rule_words import parse_rule
from cellguard.verifier.stages import Refused
from unit.verifier import folders
from unit.verifier.folders import details, failed, seal, write

import quick_yaml

RULES = [
    PPercent(10),
    PPercent(30, coalition=2, inclusive=True),
    PPercent(30, waivers=True),
    PPercent(30, coalition=2, waivers=True, zero_unsafe=True),
    PriorPosterior(20, 60, waivers=True),
    PriorPosterior(20, 60, coalition=2),
    Dominance(2, 80),
    Linear((0.5, 0.1, 0.0), -0.8),
    MaxShare(50),
    Request(40),
]


def both(rng, many=400):
    """The same random facts, as the rules and as the verifier have them."""
    tops = -np.sort(-rng.integers(0, 8, (many, 3)).astype(float), axis=1)
    excess = tops * rng.integers(0, 3, (many, 3))
    base = tops.sum(axis=1) + excess.sum(axis=1) + rng.integers(0, 4, many)
    unwaived = np.where(rng.random(many) < 0.2, np.nan, np.minimum(rng.integers(0, 8, many), tops[:, 0]))
    requested, count = rng.random(many) < 0.5, (tops > 0).sum(axis=1) + rng.integers(1, 3, many)
    total = base * rng.integers(1, 4, many)
    left = ours.Facts(
        {
            Total(): total,
            Count(): count.astype(float),
            Top(3): tops,
            Base(): base,
            Excess(3): excess,
            Unwaived(1): unwaived[:, None],
            Requested(): requested,
        }
    )
    nothing, none = np.full(many, np.nan), pa.nulls(many, pa.string())
    right = Facts(
        False, total, count.astype(float), tuple(tops.T), {}, np.full(many, -1), none, none, nothing, nothing,
        base, tuple(excess.T), unwaived, requested.astype(float),
    )  # fmt: skip
    return left, right


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_verifier_judges_as_the_rules_do(rule):
    left, right = both(np.random.default_rng(6))
    found = parse_rule(dump_rule(rule)).judge(right)
    unsafe = rule.unsafe(left)
    assert found.unsafe.tolist() == unsafe.tolist() and 0 < unsafe.sum() < len(unsafe)
    level = rule.upper(left)
    level = np.where(np.isnan(level), rule.protection_percent / 100 * left.total, level)
    assert np.allclose(found.upper[unsafe], level[unsafe])


def test_missing_columns_are_refused():
    _, right = both(np.random.default_rng(1))
    plain = {**right.__dict__, "unwaived": None, "requested": None, "excess": right.excess[:1]}
    for rule, words in (
        ({"p_percent": {"p": 10, "waivers": True}}, "fewer weights"),
        ({"request": 40}, "no column requested"),
    ):
        with pytest.raises(Refused, match=words):
            parse_rule(rule).judge(Facts(**plain))
    with pytest.raises(Refused, match="no column unwaived1"):
        parse_rule({"p_percent": {"p": 10, "waivers": True}}).judge(Facts(**{**plain, "excess": ()}))
    large = {**right.__dict__, "unwaived": right.tops[0] + 1}
    with pytest.raises(Refused, match="exceeds the largest"):
        parse_rule({"p_percent": {"p": 10, "waivers": True}}).judge(Facts(**large))
    with pytest.raises(Refused, match="parameter that is not known"):
        parse_rule({"dominance": {"n": 1, "k": 80, "waivers": True}})


WEIGHTED = {"source": "firms.csv", "weight": "w"}


def with_columns(folder, microdata=WEIGHTED, survey="sample", **columns):
    """A folder whose facts have further columns, {name: function of the table}, and whose job is from records."""
    path = write(folder, folders.square())
    job = quick_yaml.load((folder / "internal/job.yaml").read_text())
    job["tables"][0]["survey"] = survey
    if microdata:
        job["tables"][0]["cells"] = None
        job["microdata"] = dict.fromkeys(("rda", "weight", "waiver", "request")) | microdata
    folders.write_job(folder, job)
    facts = folder / "internal/facts/turnover.parquet"
    table = pq.read_table(facts)
    for name, column in columns.items():
        table = table.append_column(name, column(table))
    pq.write_table(table, facts)
    return seal(folder) if path else path


def test_a_folder_with_a_base_is_judged_by_it(tmp_path):
    # The folder claims nothing of sums, which come after the rules: by the rules it is right.
    same = with_columns(tmp_path / "same", base=lambda t: t["total"])
    assert failed(same) == [5] and "no sums of suppressed cells, although" in details(same)
    # Related to less than the published total, cells are unsafe that nobody hides.
    low = with_columns(tmp_path / "low", base=lambda t: pa.array(t["total"].to_numpy() * 0.2))
    assert failed(low) == [5] and "(Total, Total) is unsafe, but not primary" in details(low)


def test_facts_that_a_table_cannot_have_are_refused(tmp_path):
    def total(t):
        return t["total"]

    for name, microdata, survey, column, words in (
        ("cells", None, None, "base", "only weighted tables have"),
        ("plain", {"source": "firms.csv"}, None, "base", "only weighted tables have"),
        ("asked", None, None, "requested", "only tables from records have"),
    ):
        made = {"requested": lambda t: pa.array([True] * len(t)), "base": total}[column]
        path = with_columns(tmp_path / name, microdata, survey, **{column: made})
        assert 5 in failed(path) and words in details(path)
    twice = with_columns(tmp_path / "twice", survey="handbook", base=lambda t: pa.array(t["total"].to_numpy() * 2))
    assert 5 in failed(twice) and "base is not the total" in details(twice)
    minus = {f"excess{i}": lambda t: pa.array([-1.0] * len(t)) for i in (1, 2)}
    below = with_columns(tmp_path / "minus", survey="published_weights", base=total, **minus)
    assert failed(below) and "negative excess" in details(below)


def test_a_weighted_magnitude_is_no_frequency(tmp_path):
    path = with_columns(tmp_path / "f")
    folder = tmp_path / "f"
    job = quick_yaml.load((folder / "internal/job.yaml").read_text())
    certificate = json.loads((folder / "internal/certificate.json").read_text())
    for value, count, wrong in (("x", False, False), ("x", True, True), ("count", True, True), ("count", False, False)):
        job["tables"][0]["value"] = value
        certificate["tables"][0]["count"] = count
        folders.write_job(folder, job)
        (folder / "internal/certificate.json").write_text(json.dumps(certificate))
        assert ("differ on whether it has frequencies" in details(seal(folder))) == wrong
    assert path


def test_damaged_columns_of_records_are_refused(tmp_path):
    gap = with_columns(tmp_path / "gap", base=lambda t: pa.nulls(len(t), pa.float64()))
    assert failed(gap) and "misses a base" in details(gap)
    odd = with_columns(tmp_path / "odd", excess2=lambda t: t["total"])
    assert failed(odd) and "in order" in details(odd)
    new = with_columns(tmp_path / "new", bases=lambda t: t["total"])
    assert failed(new) and "exactly the columns" in details(new)
