"""Rules that judge whole rows: which cells are unsafe, what they need, and what no hiding of cells can cure."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import cellguard as cg
from cellguard.errors import InputError
from cellguard.job.rulespec import dump_rule, parse_rule
from cellguard.job.trusted_rules import taken_on_trust
from cellguard.rules.all_of import All
from cellguard.rules.rows import (
    AttributeDisclosure,
    GroupDisclosure,
    KDisclosure,
    LoneOther,
    MaxFraction,
    MinOthers,
    Spread,
)
from cellguard.rules.simple import MinFrequency
from cellguard.table.apriori import State

ROWS, CODES = ("A", "B", "Total"), ("x", "y", "z", "Total")


def with_totals(inner):
    """Return tables of counts with the totals of their last two axes."""
    wide = np.concatenate([inner, inner.sum(axis=-1, keepdims=True)], axis=-1)
    return np.concatenate([wide, wide.sum(axis=-2, keepdims=True)], axis=-2)


def counts(inner, *, zeros="possible"):
    places = list(itertools.product(ROWS, CODES))
    data = {
        "r": [r for r, _ in places],
        "d": [d for _, d in places],
        "n": with_totals(np.array(inner)).ravel().tolist(),
    }
    about = cg.About(is_count=True, zeros=zeros)
    return cg.cells(data, by=["r", "d"], value="n", count="n", about=about)


def unsafe(findings):
    table = findings.by_table[0].table
    return {table.cell_name(c) for c in np.flatnonzero(findings.primary).tolist()}


def test_the_cells_of_the_category_and_all_others_are_unsafe():
    findings = cg.assess(counts([[5, 1, 1], [3, 4, 5]]), MinOthers("d", ("x",)))
    assert unsafe(findings) == {"A/x", "A/not x"}
    needs, table = cg.require(findings), findings.by_table[0].table
    others = table.find("A/not x")
    assert (needs.lower[others], needs.upper[others]) == (0, 1)  # 2 of them, and 3 are enough
    assert table.unpublished[others] and table.value[others] == 2
    assert findings.why("A/x") == ["min_others d (x), 3"]


def test_others_that_are_one_code_need_no_cell_of_their_own():
    table = counts([[5, 1, 1], [3, 4, 5]])
    findings = cg.assess(table, Spread("d", ("x",), 70))
    assert [c for c in findings.by_table[0].table.dimensions[1].codes if c not in CODES] == ["not x"]
    assert cg.assess(findings.tables, Spread("d", ("x",), 70)).tables is findings.tables
    two = cg.cells(
        {"r": ["Total", "A"] * 3, "d": ["Total", "Total", "yes", "yes", "no", "no"], "n": [5, 5, 4, 4, 1, 1]},
        by=["r", "d"],
        value="n",
        count="n",
        about=cg.About(is_count=True),
    )
    findings = cg.assess(two, MinOthers("d", ("yes",)))
    assert findings.tables.tables[0] is two and unsafe(findings) == {"A/yes", "A/no", "Total/yes", "Total/no"}


def test_several_categories_are_tested_one_by_one_and_together():
    table = counts([[3, 3, 1], [1, 1, 9]])
    assert unsafe(cg.assess(table, MinOthers("d", ("x", "y"), 2))) == {"A/x", "A/y", "A/z"}
    assert not unsafe(cg.assess(table, Spread("d", ("x", "y"), 60)))
    assert "A/x" in unsafe(cg.assess(table, MaxFraction("d", ("x", "y"), 60)))
    # Where all are sensitive, together they are everybody, which tells nothing.
    assert not unsafe(cg.assess(table, GroupDisclosure("d", ("x", "y", "z"))))


def test_a_large_group_is_a_statistic():
    table = counts([[9, 0, 0], [1, 2, 3]])
    assert "A/x" in unsafe(cg.assess(table, GroupDisclosure("d", ("x",), below=10)))
    assert not unsafe(cg.assess(table, GroupDisclosure("d", ("x",), below=9)))


def test_inner_codes_and_rows_of_totals_are_tested():
    tree = cg.Hierarchy.from_levels([("crime", "theft"), ("crime", "fraud"), ("none", "none")])
    cells = {"d": ["Total", "crime", "theft", "fraud", "none"], "n": [5, 5, 3, 2, 0]}
    about = cg.About(is_count=True, zeros="possible")
    table = cg.cells(cells, by={"d": cg.Dimension("d", tree)}, value="n", count="n", about=about)
    assert unsafe(cg.assess(table, AttributeDisclosure("d"))) == {"crime", "none"}
    assert unsafe(cg.assess(table, GroupDisclosure("d", ("theft", "fraud")))) == {"theft", "fraud", "none"}


def test_what_everybody_knows_to_be_empty_cannot_be_hidden(tmp_path):
    needs = cg.require(cg.assess(counts([[9, 0, 0], [1, 2, 3]], zeros="known"), GroupDisclosure("d", ("x",))))
    table = needs.tables.tables[0]
    bad = {table.cell_name(c) for c in np.flatnonzero(needs.unprotectable).tolist()}
    assert bad == {"A/x", "A/Total"}
    (tmp_path / "t.csv").write_text(
        "r,d,n\nTotal,Total,11\nTotal,x,8\nTotal,y,3\nA,Total,6\nA,x,6\nB,Total,5\nB,x,2\nB,y,3\n"
    )
    entry = {
        "name": "t",
        "by": ["r", "d"],
        "value": "count",
        "zeros": "known",
        "cells": {"source": "t.csv", "count": "n"},
    }
    rules = [{"group_disclosure": {"by": "d", "sensitive": ["x"]}}]
    job = cg.Job.parse({"version": 1, "tables": [entry | {"rules": rules}]}, folder=tmp_path)
    assert "make the codes coarser with `recode`" in cg.assess_job(job).warnings()[-1]
    with pytest.raises(cg.CellguardError, match=r"unprotectable.*`recode`"):
        cg.run(job)


def test_a_small_total_that_must_be_published_cannot_be_cured():
    table = counts([[1, 1, 0], [1, 2, 3]])
    state = table.apriori.state.copy()
    state[table.find("A/Total")] = State.must_publish
    table = replace(table, apriori=replace(table.apriori, state=state))
    assert cg.require(cg.assess(table, MinOthers("d", ("x",)))).unprotectable.any()
    assert not cg.require(cg.assess(table, MinOthers("d", ("x",), 2))).unprotectable.any()
    # Under a public total the share falls with what moves from the category to the others.
    shares = cg.require(cg.assess(table, MaxFraction("d", ("x",))))
    assert not shares.unprotectable.any() and shares.upper.max() == 1


def test_wrong_parameters_are_refused():
    table = counts([[5, 1, 1], [3, 4, 5]])
    sums = cg.cells({"d": ["Total", "x"], "n": [5, 5]}, by=["d"], value="n")
    for rule, words in (
        (MinOthers("e", ("x",)), "has no dimension 'e'"),
        (MinOthers("d", ("xx",)), "'d' has no category 'xx'; did you mean 'x'"),
        (MinOthers("d", ("Total",)), "'d' has no category 'Total'"),
    ):
        with pytest.raises(InputError, match=words):
            cg.assess(table, rule)
    with pytest.raises(InputError, match="is for tables of counts"):
        cg.assess(sums, AttributeDisclosure("d"))
    with pytest.raises(InputError, match="name the sensitive categories"):
        MinOthers("d", ())
    with pytest.raises(InputError, match="named twice"):
        Spread("d", ("x", "x"))
    with pytest.raises(InputError, match="p must be above 0 and at most 100"):
        Spread("d", ("x",), 101)
    with pytest.raises(InputError, match="`all` cannot take lone_other"):
        All((LoneOther("d"), MinFrequency(3)))
    with pytest.raises(InputError, match="apply it with `assess`"):
        LoneOther("d").unsafe(table.facts)


def test_nested_categories_are_refused():
    tree = cg.Hierarchy.from_levels([("crime", "theft"), ("crime", "fraud"), ("none", "none")])
    cells = {"d": ["Total", "crime", "theft", "fraud", "none"], "n": [5, 5, 3, 2, 0]}
    table = cg.cells(cells, by={"d": cg.Dimension("d", tree)}, value="n", count="n", about=cg.About(is_count=True))
    with pytest.raises(InputError, match="'crime' and 'theft' holds the other"):
        cg.assess(table, MinOthers("d", ("crime", "theft")))


def test_tables_that_do_not_show_what_must_be_judged_are_refused():
    tree = cg.Hierarchy.from_levels([("crime", "theft"), ("crime", "fraud"), ("none", "none")])
    about, by = cg.About(is_count=True), {"d": cg.Dimension("d", tree)}
    parts = cg.cells({"d": ["Total", "theft", "fraud"], "n": [5, 3, 2]}, by=by, value="n", count="n", about=about)
    with pytest.raises(InputError, match="codes within 'crime', but none of 'crime' itself"):
        cg.assess(parts, GroupDisclosure("d", ("crime",)))
    bare = cg.cells({"d": ["theft", "fraud"], "n": [3, 2]}, by=by, value="n", count="n", about=about)
    with pytest.raises(InputError, match="has no cells of the total 'Total' of 'd'"):
        cg.assess(bare, AttributeDisclosure("d"))


RULES = (
    GroupDisclosure("d", ("x",), 6),
    MaxFraction("d", ("x", "y"), 60.0),
    Spread("d", ("x", "y", "z"), 50.0),
    MinOthers("d", ("x", "y"), 3),
    KDisclosure("d", 2),
    AttributeDisclosure("d"),
    LoneOther("d", ("x", "z")),
)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_job_files_and_the_verifier_know_it(rule):
    assert parse_rule(dump_rule(rule)) == rule
    assert taken_on_trust([rule]) == []


def provable(rule, row, chosen):
    """Tell by the definition whether a row of counts makes a rule true of some of its categories."""
    s, T = sum(row[i] for i in chosen), sum(row)
    o = T - s
    if s == 0:
        return False
    match rule:
        case GroupDisclosure():
            return o == 0 and (not rule.below or rule.below > T)
        case Spread() | MaxFraction():
            return s / T >= rule.p / 100
        case MinOthers():
            return o < rule.n
        case KDisclosure():
            return o <= rule.k
        case AttributeDisclosure():
            return s == T
        case LoneOther():
            return o == 1


def grouped(rule):
    """Return the positions of the categories that a rule tests together, by its definition."""
    marked = [CODES.index(c) for c in (rule.sensitive or CODES[:3])]
    union = rule.sensitive and isinstance(rule, (GroupDisclosure, MaxFraction, MinOthers)) and type(rule) is not Spread
    return [[i] for i in marked] + ([marked] if union and 1 < len(marked) < 3 else [])


MOST = 7  # the largest count of an attacker's worlds
WORLDS = with_totals(np.array(list(itertools.product(range(MOST + 1), repeat=6)), np.int16).reshape(-1, 2, 3))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_an_attacker_cannot_prove_what_a_rule_protects(rule):
    """Of every unsafe row some world that fits the release says otherwise; safe rows have no unsafe cell."""
    rng = np.random.default_rng(14)
    decided = 0
    for _ in range(24):
        inner = np.minimum(rng.poisson(1.0, (2, 3)), 4)
        table, true = counts(inner), with_totals(inner)
        bad = {(r, tuple(g)) for r in range(3) for g in grouped(rule) if provable(rule, true[r, :3].tolist(), g)}
        findings = cg.assess(table, rule)
        wanted = {f"{ROWS[r]}/{CODES[c]}" for r, group in bad for c in group if true[r, c]}
        assert wanted <= unsafe(findings) and {name.split("/")[0] for name in unsafe(findings)} == {
            ROWS[r] for r, _ in bad
        }
        if not bad:
            continue
        needs = cg.require(findings)
        judged = cg.audit(needs, cg.suppress(needs).pattern)
        released = judged.release()["table"]
        shown = [
            (ROWS.index(r), CODES.index(d), v) for r, d, v in zip(*released.codes, released.value, strict=True) if v
        ]
        fits = np.logical_and.reduce([WORLDS[:, r, c] == int(v) for r, c, v in shown] or [WORLDS[:, 0, 0] >= 0])
        for r, group in bad:
            rows = np.unique(WORLDS[fits][:, r, :3], axis=0).tolist()
            assert any(not provable(rule, row, group) for row in rows)
            decided += 1
    assert decided >= 5
