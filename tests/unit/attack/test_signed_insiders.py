"""Insiders where values may be negative: an attacker without bounds knows what linear algebra tells, and no more.

The special cases of the tests beside this one, again: there a contribution bounds a cell, here it never does.
"""

from __future__ import annotations

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.hierarchy.build import flat
from cellguard.methods.suppress.suppress import suppress
from cellguard.table.contributions import contributions_of
from cellguard.table.pattern import Pattern
from insider_cases import MANY, REGION, assessed, hiding, rows

FEW = [cg.MinFrequency(3)]
SOME = [(20 + i, "C", (-1) ** i * 9) for i in range(5)]
BOTH_WAYS = [(10 + i, "D", (-1) ** i * 20) for i in range(6)]


def signed(records, by, rules=FEW, **more):
    return assessed(records, by, rules, lower=-np.inf, **more)


def near(needs, pattern, coalition=1):
    """The insiders (numbers) and cells that fail, of a pattern that outsiders accept."""
    judged = audit(needs, pattern, insiders=contributions_of(needs.tables), coalition=coalition)
    assert not judged.failing.any()
    assert judged.inside is not None
    assert not judged.inside.undecided
    name = needs.tables.cell_name
    return {(p.members, name(int(judged.problem.cells[p.cell])).split(": ")[1]) for p in judged.inside.failing}


def cured(needs, coalition=1):
    """Whether the engine finds a pattern that no insider gets through."""
    pattern = suppress(needs, insiders=contributions_of(needs.tables), coalition=coalition).pattern
    return near(needs, pattern, coalition) == set()


@pytest.mark.parametrize("amounts", [(-50, 30), (50, -30), (-50, -30), (0, -30)])
def test_two_single_respondents_in_a_sum(amounts):
    first, second = amounts
    needs = signed(rows((1, "A", first), (2, "B", second), *SOME, *BOTH_WAYS), [REGION])
    assert near(needs, hiding(needs)) == {((0,), "B"), ((1,), "A")}
    assert near(needs, hiding(needs, "C")) == set()
    assert cured(needs)


def test_one_holding_alone_in_several_cells():
    needs = signed(rows((1, "A", 50), (1, "B", -50), (2, "C", -40), *BOTH_WAYS), [REGION])
    assert near(needs, hiding(needs)) == {((0,), "C")}
    assert cured(needs)
    other = signed(rows((1, "A", 50), (3, "B", -50), (2, "C", -40), *BOTH_WAYS), [REGION])
    assert near(other, hiding(other)) == set()


def test_a_respondent_whose_own_amounts_cancel_is_alone_all_the_same():
    needs = signed(rows((1, "A", 50), (1, "A", -50), (2, "B", 30), *SOME, *BOTH_WAYS), [REGION])
    assert near(needs, hiding(needs)) == {((0,), "B"), ((1,), "A")}


def test_a_large_contribution_bounds_nothing():
    """Where no value is negative, 95 of 100 tell that A is at most 105; here the others may have any amount."""
    near_to = [(3, "B", 95), *[(30 + i, "B", 1) for i in range(5)]]
    plain = assessed(rows((1, "A", 100), *near_to, *MANY), [REGION], FEW)
    assert near(plain, hiding(plain, "B")) == {((1,), "A")}
    needs = signed(rows((1, "A", 100), *near_to, *MANY), [REGION])
    assert near(needs, hiding(needs, "B")) == set()


def test_an_insider_of_another_size_class_knows_only_what_it_owns():
    """The cube in which a firm of another class comes within 7 %: with negative values only if it is alone there."""
    for others in ([(3, "a0", "b0", "s1", 4), (4, "a0", "b0", "s1", -3)], []):
        entries = [(1, "a0", "b0", "s0", 100), (2, "a0", "b0", "s1", 93), *others]
        free = [(a, b, s) for a in ("a0", "a1") for b in ("b0", "b1") for s in ("s0", "s1") if (a, b) != ("a0", "b0")]
        entries += [(10 + i, *cell, (-1) ** i * 40) for i, cell in enumerate(cell for cell in free for _ in range(4))]
        data = {name: [entry[i] for entry in entries] for i, name in enumerate(("g", "a", "b", "s", "x"))}
        needs = signed(data, [{c: flat([f"{c}0", f"{c}1"]) for c in "abs"}], [cg.MinFrequency(2)])
        square = [f"{a}/{b}/{s}" for a in ("a0", "a1") for b in ("b0", "b1") for s in ("s0", "s1")]
        assert near(needs, hiding(needs, *square)) == (set() if others else {((1,), "a0/b0/s0"), ((0,), "a0/b0/s1")})
    assert cured(needs)


def test_an_insider_of_another_table():
    entries = [(1, "A", "s", 50), (2, "A", "t", -30), *[(i + 5, r, z, (-1) ** i * 20) for i, (r, z) in enumerate(
        [("B", "s")] * 4 + [("B", "t")] * 4 + [("C", "t")] * 5 + [("C", "s")] * 4)]]  # fmt: skip
    data = {name: [entry[i] for entry in entries] for i, name in enumerate(("g", "r", "z", "x"))}
    by = [{"r": flat(["A", "B", "C"])}, {"r": flat(["A", "B", "C"]), "z": flat(["s", "t"])}]
    needs = signed(data, by)
    # A has two respondents, each alone in a cell of the other table: with A published they know each other.
    assert needs.primary.sum() == 3
    assert cured(needs)
    shown = Pattern(needs.tables, needs.primary, ~needs.primary)
    assert near(needs, shown) == set()


@pytest.mark.parametrize("survey", ["virtual", "sample", "handbook", "published_weights"])
def test_weights(survey):
    data = rows((1, "A", 50), (2, "B", -30), *SOME, *BOTH_WAYS)
    data["w"] = [2.0] * len(data["g"])
    needs = signed(data, [REGION], weight="w", survey=survey)
    assert near(needs, hiding(needs)) == {((0,), "B"), ((1,), "A")}
    assert near(needs, hiding(needs, "C")) == set()


def ready_made(lower, **columns):
    data = {"r": ["Total", "A", "B", "C"], **columns}
    top = [name for name in data if name.startswith("top")]
    table = cg.cells(data, by=["r"], value="x", count="n", top=top)
    return cg.require(cg.assess(table, FEW), cg.Knowledge(lower=lower))


def test_ready_made_cells_with_one_respondent():
    needs = ready_made(-np.inf, x=[120, 50, -30, 100], n=[9, 1, 1, 7])
    assert {cell for _, cell in near(needs, hiding(needs))} == {"A", "B"}
    assert near(needs, hiding(needs, "C")) == set()


def test_ready_made_cells_with_two_respondents_and_the_larger():
    """The larger of two in B, with 55 of 60, can tell that A is at most 105; without ``top`` nobody knows of it."""
    whole = {"x": [260, 100, 60, 100], "n": [10, 1, 2, 7]}
    told = ready_made(0.0, **whole, top1=[100, 100, 55, 30])
    blind = ready_made(0.0, **whole)
    assert {len(who) for who, cell in near(told, hiding(told)) if cell == "A"} == {1}
    assert {cell for _, cell in near(blind, hiding(blind))} == {"B"}  # whoever is alone in A knows B
    both = ready_made(-np.inf, **whole, top1=[100, 100, 55, 30])
    assert {cell for _, cell in near(both, hiding(both))} == {"B"}  # two in B: neither of them is alone
    assert near(told, hiding(told, "C")) == set()


@pytest.mark.parametrize("amounts", [(-50, 80, 40), (50, 30, -40)])
def test_coalitions_know_what_they_fill(amounts):
    needs = signed(rows(*zip((1, 2, 3), "ABC", amounts, strict=True), *BOTH_WAYS), [REGION])
    assert near(needs, hiding(needs)) == set()
    assert len(near(needs, hiding(needs), 2)) == 3
    assert cured(needs, 2)
