"""Coalitions: what several respondents work out together, against brute force, and in cases that are easy to see."""

from __future__ import annotations

import numpy as np
import pytest

import cellguard as cg
import insider_oracle
from cellguard.attack.audit import audit
from cellguard.hierarchy.build import flat
from cellguard.methods.suppress.suppress import suppress
from cellguard.table.contributions import contributions_of
from cellguard.table.fact import Holdings
from cellguard.table.pattern import Pattern
from cellguard.table.read import About
from cellguard.table.tabulate import Wanted, make_tables
from insider_cases import MANY, REGION, assessed, draw, hiding, rows, some_pattern

FEW = [cg.MinFrequency(3)]
SOME = [(20 + i, "C", 9) for i in range(5)]


def near(needs, pattern, size):
    """The coalitions (numbers) and cells that fail, of a pattern that is safe against outsiders."""
    judged = audit(needs, pattern, insiders=contributions_of(needs.tables), coalition=size)
    assert judged.inside is not None
    assert not judged.inside.undecided
    name = needs.tables.cell_name
    return {(p.members, name(int(judged.problem.cells[p.cell])).split(": ")[1]) for p in judged.inside.failing}


def test_two_of_three_single_respondents_in_a_sum_know_the_third():
    needs = assessed(rows((1, "A", 50), (2, "B", 30), (3, "C", 40), *MANY), [REGION], FEW)
    assert near(needs, hiding(needs), 1) == set()
    assert near(needs, hiding(needs), 2) == {((1, 2), "A"), ((0, 2), "B"), ((0, 1), "C")}
    assert near(needs, hiding(needs, "D"), 2) == set()
    mended = suppress(needs, insiders=contributions_of(needs.tables), coalition=2).pattern
    assert near(needs, mended, 2) == set()
    assert mended.secondary.sum() == 1


def test_three_respondents_know_what_no_two_of_them_do():
    tree = {"r": flat(list("ABCDE"))}
    entries = [(1, "A", 50), (2, "B", 30), (3, "C", 40), (4, "E", 45)]
    needs = assessed(rows(*entries, *MANY), [tree], FEW)
    assert near(needs, hiding(needs), 2) == set()
    assert len(near(needs, hiding(needs), 3)) == 4
    assert near(needs, hiding(needs, "D"), 3) == set()


def test_two_respondents_who_fill_a_cell_know_it():
    needs = assessed(rows((1, "A", 50), (2, "A", 30), (3, "B", 40), *SOME, *MANY), [REGION], FEW)
    assert near(needs, hiding(needs), 1) == {((2,), "A")}  # whoever is alone in B knows what is left
    assert near(needs, hiding(needs, "C"), 1) == set()
    assert near(needs, hiding(needs, "C"), 2) == set()  # two respondents do not fill C
    two = assessed(rows((1, "A", 50), (2, "A", 30), (3, "B", 40), (4, "C", 20), (5, "C", 30), *MANY), [REGION], FEW)
    assert near(two, hiding(two), 1) == set()
    assert {((0, 1), "B"), ((0, 1), "C")} & near(two, hiding(two), 2) == set()
    assert near(two, hiding(two), 2) == set()  # A and C stay unknown to 3, A and B to 4 and 5
    assert near(two, hiding(two), 3) != set()  # 1, 2 and 3 know what 4 and 5 have together


def test_joint_contributions_elsewhere_estimate_too_well():
    large = [(3, "B", 48), (4, "B", 47), *[(30 + i, "B", 1) for i in range(5)]]
    needs = assessed(rows((1, "A", 100), *large, *MANY), [REGION], FEW)
    # B is 100, of which 3 and 4 have 95 together: they can tell that A is at most 105.
    assert near(needs, hiding(needs, "B"), 1) == set()
    assert near(needs, hiding(needs, "B"), 2) == {((1, 2), "A")}
    assert near(needs, hiding(needs, "B", "D"), 2) == set()


def test_a_partner_is_not_protected_from_the_coalition_but_a_single_respondent_is():
    """With 3 the runner-up of A is one of two who attack: then only the smallest is left, who needs little."""
    needs = assessed(rows((1, "A", 100), (2, "A", 4), (3, "A", 1), *SOME, *MANY), [REGION], [cg.PPercent(10)])
    assert [needs.tables.cell_name(c) for c in np.flatnonzero(needs.primary)] == ["t0: A"]
    assert near(needs, hiding(needs, "C"), 2) == set()
    tight = assessed(rows((1, "A", 100), (2, "A", 4), (3, "A", 1), (4, "C", 2), (5, "C", 2), *MANY), [REGION], FEW)
    assert near(tight, hiding(tight, "A"), 2) == set()


def test_counts_are_known_to_those_who_fill_them():
    entries = [*[(1, "A", 0)] * 2, *[(2, "B", 0)] * 2, *[(3, "C", 0)] * 2, *MANY]
    needs = assessed(rows(*entries), [REGION], FEW, value="count")
    assert near(needs, hiding(needs), 1) == set()
    assert len(near(needs, hiding(needs), 2)) == 3
    assert near(needs, hiding(needs, "D"), 2) == set()


def test_negative_contributions_leave_only_what_a_coalition_fills():
    data = rows((1, "A", -50), (2, "A", 80), (3, "B", 40), (4, "C", 30), *MANY)
    grouped = cg.records(data, by=["r"], values=["x"], holding="g")
    table = make_tables(grouped, [Wanted(REGION, "x", About("t"), (*FEW[0].facts, Holdings()))])[0]
    needs = cg.require(cg.assess(table, FEW), cg.Knowledge(lower=-np.inf))
    assert near(needs, hiding(needs), 1) == set()
    assert near(needs, hiding(needs), 2) == {((2, 3), "A")}  # 1 and 2 fill A, but still do not know B and C apart
    assert near(needs, hiding(needs, "D"), 2) == set()


def against_brute_force(seed, size=2):
    """Compare one table, cell by cell; tell whether it came to coalitions."""
    data, trees, rules, rng = draw(seed)
    needs = assessed(data, [trees], rules)
    if not needs.primary.any() or needs.unprotectable.any():
        return False
    known = contributions_of(needs.tables)
    try:
        mended = suppress(needs, insiders=known, coalition=size, effort="quick").pattern
        pattern = some_pattern(needs, rng) if rng.random() < 0.5 else suppress(needs, insiders=known).pattern
    except cg.NotProtected:
        return False
    parts = insider_oracle.contributions(needs.tables.tables[0], data, list(trees), "x", "g")
    accuracy = max(rule.accuracy for rule in rules)

    def too_near(pattern):
        sizes = range(1, size + 1)
        failing = (insider_oracle.failing(needs, pattern.unknown, parts, accuracy, size=k) for k in sizes)
        return {cell for coalitions in failing for _, cell in coalitions}

    judged = audit(needs, pattern, insiders=known, coalition=size)
    if judged.inside is not None and judged.inside.size == size:
        found = {int(judged.problem.cells[pair.cell]) for pair in judged.inside.failing}
        assert too_near(pattern) == found
        assert not judged.inside.undecided
    again = audit(needs, mended, insiders=known, coalition=size)
    if again.verdict == "safe":
        assert too_near(mended) == set()
    else:
        everything = Pattern(needs.tables, needs.primary, ~needs.primary)
        assert audit(needs, everything, insiders=known, coalition=size).verdict == "unsafe"
    return judged.inside is not None and judged.inside.size == size


# Tables by chance: a few in `make test`, some more in the long run, and 5,000 before a release.
CHUNKS = [pytest.param(k, marks=pytest.mark.long if k < 200 else pytest.mark.endless) for k in range(100, 5_200, 100)]


@pytest.mark.parametrize("first", [0, *CHUNKS])
def test_every_coalition_against_brute_force(first):
    decided = [against_brute_force(seed) for seed in range(first, first + {0: 6, 100: 60}.get(first, 100))]
    assert sum(decided) > len(decided) / 5
