"""The verifier's own versions of the rules for either sign and of the runner-up's interval, and whole folders."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from cellguard.faces.cli.main import cli
from cellguard.job.rulespec import dump_rule
from cellguard.job.rulespec import parse_rule as ours
from cellguard.rules.linear import Dominance, PPercent
from cellguard.rules.signed import EffectiveContributors, Signed
from cellguard.rules.simple import MaxShare, MinFrequency
from cellguard.rules.statisticon import Statisticon
from cellguard.table.fact import NonZero, Signs
from cellguard.table.facts import contributions
from cellguard.table.signed_cells import signed_contributions
from cellguard.table.signed_facts import Entropy, Extremes, Middle, Squares
from cellguard.verifier.facts import Facts
from cellguard.verifier.rule_words import parse_rule
from cellguard.verifier.stages import Refused
from unit.rules.test_statisticon import needs_of
from unit.verifier.folders import seal

import quick_yaml

SIGNED = [
    Signed(PPercent(10)),
    Signed(PPercent(30), h=1, by="variance", n=1),
    Signed(Dominance(2, 70), h=5, by="quantile", limit=0.3),
    Signed(MaxShare(40, protection_percent=3), sign_ratio=0.5, limit=0.2, h=3, protection_percent=20),
    EffectiveContributors(3),
    EffectiveContributors(2.5, inclusive=True),
    MinFrequency(3, nonzero=True),
    PPercent(30),
]


def random_cells(rng, many=600):
    scale = rng.choice([1, 5, 60], many)
    return [np.round(rng.normal(rng.choice([0, 3]), scale[i], rng.integers(0, 9))) for i in range(many)]


def theirs(left, count=None):
    """The same facts as the verifier has them."""
    many = len(left.total)
    nothing, none = np.full(many, np.nan), pa.nulls(many, pa.string())
    return Facts(
        False, left.total, left.count, tuple(left.tops.T), {}, np.full(many, -1), none, none, nothing, nothing,
        nonzero=left.get(NonZero()),
        sizes=left.basis if Signs() in left else None,
        signs=tuple(left[Signs()].T) if Signs() in left else (),
        extremes=tuple(left[Extremes(5)].T) if Signs() in left else (),
        squares=tuple(left[Squares(5)].T) if Signs() in left else (),
        middle=tuple(left[Middle()].T) if Signs() in left else (),
        entropy=left[Entropy()] if Signs() in left else None,
    )  # fmt: skip


@pytest.mark.parametrize("rule", SIGNED, ids=str)
def test_the_verifier_judges_either_sign_as_the_rules_do(rule):
    left = signed_contributions(*random_cells(np.random.default_rng(2)), [0.0] * 8)
    verdict = parse_rule(json.loads(json.dumps(dump_rule(rule)))).judge(theirs(left))
    unsafe = rule.unsafe(left)
    assert verdict.unsafe.tolist() == unsafe.tolist() and 20 < unsafe.sum() < len(unsafe) - 20
    level = rule.upper(left)
    level = np.where(np.isnan(level), rule.protection_percent / 100 * left.gross, level)
    assert np.allclose(verdict.upper[unsafe], level[unsafe])
    assert ours(dump_rule(rule)) == rule


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("inclusive", [False, True])
def test_the_verifier_judges_intervals_as_the_rule_does(both, inclusive):
    rule = Statisticon(30, both_pairs=both, inclusive=inclusive)
    rng = np.random.default_rng(5)
    cells = [rng.integers(0, 9, rng.integers(1, 7)) * rng.choice([1, 7]) for _ in range(400)]
    left = contributions(*cells, [0.0] * 6)
    verdict = parse_rule(dump_rule(rule)).judge(theirs(left))
    assert verdict.unsafe.tolist() == rule.unsafe(left).tolist()
    for i, cell in enumerate(cells):
        _, up, down, width = needs_of(rule, cell)
        told = [
            float(np.broadcast_to(need, len(cells) + 1)[i]) for need in (verdict.further, verdict.below, verdict.wide)
        ]
        assert told == pytest.approx([up, down, width])


@pytest.mark.parametrize("rule", [rule for rule in SIGNED if isinstance(rule, Signed)], ids=str)
def test_without_a_spread_both_signs_are_unsafe_to_the_rule_and_the_verifier(rule):
    left = signed_contributions(*random_cells(np.random.default_rng(3)))
    kept = {fact: column for fact, column in left.items() if not isinstance(fact, (Extremes, Squares, Middle))}
    bare = replace(theirs(left), extremes=(), squares=(), middle=())
    verdict, unsafe = parse_rule(dump_rule(rule)).judge(bare), rule.unsafe(type(left)(kept, complete=True))
    assert verdict.unsafe.tolist() == unsafe.tolist()
    assert (unsafe & ~rule.unsafe(left)).sum() > 5


def test_missing_columns_are_refused():
    left = signed_contributions([5, -3, 2])
    bare = theirs(left)
    for rule, gone, words in (
        (Signed(PPercent(10)), {"sizes": None}, "lack sizes or signs"),
        (Signed(PPercent(10)), {"squares": bare.squares[:2]}, "lack extremes or squares"),
        (EffectiveContributors(3), {"entropy": None}, "no column entropy"),
        (MinFrequency(3, nonzero=True), {"nonzero": None}, "no column nonzero"),
        (PPercent(10), {"sizes": None}, "meets negative values"),
    ):
        with pytest.raises(Refused, match=words):
            parse_rule(dump_rule(rule)).judge(Facts(**{**bare.__dict__, **gone}))
    for rule in (
        {"statisticon": 101},
        {"statisticon": {"s": 10, "pairs": True}},
        {"signed": 10},
        {"signed": {"usual": {"p_percent": 10}, "limit": 1}},
        {"signed": {"usual": {"p_percent": 10}, "by": "mean"}},
        {"signed": {"usual": {"signed": {"usual": {"p_percent": 10}}}}},
        {"signed": {"usual": {"statisticon": 10}}},
        {"entropy": 1},
        {"min_frequency": {"n": 3, "nonzero": True, "hide": "small"}},
    ):
        with pytest.raises(Refused):
            parse_rule(rule)


def records(folder, rng, rules, **table):
    """A job of signed records over a region and an industry, and its file."""
    folder.mkdir()
    lines = ["region,industry,firm,x,jobs"]
    for number in range(260):
        value = int(rng.normal(0, 50)) if number % 40 else int(rng.choice([-1, 1]) * 4000)
        region, industry = "NSWE"[int(rng.integers(4))], "abcdef"[int(rng.integers(6))]
        lines.append(f"{region},{industry},{number},{value},{1 + number % 17}")
    (folder / "firms.csv").write_text("\n".join(lines))
    job = {
        "version": 1,
        "microdata": {"source": "firms.csv", "respondent": "firm"},
        "tables": [{"name": "t", "by": ["region", "industry"], "value": "x", "rules": rules, **table}],
        "attack": {"lower": "unbounded"},
    }
    path = folder / "job.yaml"
    path.write_text(quick_yaml.dump(job))
    return path


TREATED = [
    ("absolute", [{"signed": {"usual": {"p_percent": 10}}}, {"min_frequency": 3}]),
    ("absolute", [{"p_percent": 40}, {"entropy": 4}]),
    ({"shift": 100000}, [{"dominance": {"n": 1, "k": 20}}, {"min_frequency": 5}]),
    ({"proxy": "jobs"}, [{"dominance": {"n": 2, "k": 60}}]),
    ({"proxy": "jobs", "share": 10}, [{"p_percent": 50}]),
    (None, [{"min_frequency": {"n": 6, "nonzero": True}}]),
]


@pytest.mark.parametrize(("negative", "rules"), TREATED, ids=lambda value: json.dumps(value)[:40])
def test_negative_cells_are_protected_audited_and_verified(tmp_path, negative, rules):
    path = records(tmp_path / "in", np.random.default_rng(1), rules, negative=negative)
    out = tmp_path / "out"
    done = CliRunner().invoke(cli, ["protect", str(path), "--out", str(out)])
    assert done.exit_code == 0, done.output
    proven = CliRunner().invoke(cli, ["verify", str(out), "--job", str(path)])
    assert proven.exit_code == 0 and "Taken on trust" not in proven.output, proven.output
    facts = pq.read_table(out / "internal/facts/t.parquet")
    total = np.array(facts["total"].to_pylist())
    assert (total < 0).any()
    signs = np.array([facts["positive"].to_pylist(), facts["negative"].to_pylist()])
    assert np.allclose(signs.sum(axis=0), total)
    with (out / "internal/t.csv").open() as rows:
        assert min(float(row["cost"]) for row in csv.DictReader(rows)) > 0
    again = CliRunner().invoke(cli, ["audit", str(out)])
    assert again.exit_code == 0, again.output


def test_a_forged_sum_of_sizes_is_refused(tmp_path):
    path = records(tmp_path / "in", np.random.default_rng(1), [{"p_percent": 40}], negative="absolute")
    out = tmp_path / "out"
    assert CliRunner().invoke(cli, ["protect", str(path), "--out", str(out)]).exit_code == 0
    stored = out / "internal/facts/t.parquet"
    facts = pq.read_table(stored)
    bigger = pa.array([2 * value for value in facts["sizes"].to_pylist()])
    pq.write_table(facts.set_column(facts.schema.get_field_index("sizes"), "sizes", bigger), stored)
    seal(out)
    found = CliRunner().invoke(cli, ["verify", str(out)])
    assert found.exit_code == 1 and "sizes are not those that internal/job.yaml asks for" in found.output


def test_an_interval_need_is_proven(tmp_path):
    (tmp_path / "in").mkdir()
    path = tmp_path / "in/job.yaml"
    rng = np.random.default_rng(8)
    lines = ["region,industry,firm,x"]
    lines += [f"{'NSWE'[rng.integers(4)]},{'abcde'[rng.integers(5)]},{i},{int(rng.pareto(1) * 50)}" for i in range(200)]
    (tmp_path / "in/firms.csv").write_text("\n".join(lines))
    for number, rule in enumerate(({"s": 30}, {"s": 12, "both_pairs": True})):
        table = {"name": "t", "by": ["region", "industry"], "value": "x", "rules": [{"statisticon": rule}]}
        job = {"version": 1, "microdata": {"source": "firms.csv", "respondent": "firm"}, "tables": [table]}
        path.write_text(quick_yaml.dump(job))
        out = tmp_path / f"out{number}"
        done = CliRunner().invoke(cli, ["protect", str(path), "--out", str(out)])
        assert done.exit_code == 0, done.output
        proven = CliRunner().invoke(cli, ["verify", str(out), "--job", str(path)])
        assert proven.exit_code == 0 and "Taken on trust" not in proven.output, proven.output
