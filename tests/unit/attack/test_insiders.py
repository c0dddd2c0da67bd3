"""Insiders: what a single respondent can work out, against brute force, and in cases that are easy to see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.attack.coalition_knowledge import Coalitions
from cellguard.errors import Stopped
from cellguard.hierarchy.build import flat, from_parents
from cellguard.methods.suppress.engines.engine_result import EngineResult
from cellguard.methods.suppress.headline import headline
from cellguard.methods.suppress.suppress import suppress
from cellguard.proofs.exact import Move
from cellguard.proofs.stack import Stack
from cellguard.run_context import Run
from cellguard.table.contributions import contributions_of
from cellguard.table.fact import Holdings
from cellguard.table.pattern import Pattern
from cellguard.table.read import About
from cellguard.table.tabulate import Wanted, make_tables
from insider_cases import MANY, REGION, RULES, against_brute_force, assessed, draw, hiding, rows, some_pattern


def near(needs, pattern):
    """The pairs (holding's number, cell's name) that fail, of a pattern that is safe against outsiders."""
    judged = audit(needs, pattern, insiders=contributions_of(needs.tables))
    assert not judged.failing.any()
    assert judged.inside is not None
    assert not judged.inside.undecided
    return pairs(judged)


def pairs(judged, some=None):
    names, some = judged.needs.tables.cell_name, judged.inside.failing if some is None else some
    return {(p.insider, names(int(judged.problem.cells[p.cell])).split(": ")[1]) for p in some}


def test_two_single_respondents_in_a_sum_know_each_other():
    needs = assessed(rows((1, "A", 50), (2, "B", 30), *[(20 + i, "C", 9) for i in range(5)], *MANY), [REGION], RULES[0])
    assert near(needs, hiding(needs)) == {(0, "B"), (1, "A")}
    assert near(needs, hiding(needs, "C")) == set()


def test_one_holding_alone_in_several_cells_knows_them_all():
    needs = assessed(rows((1, "A", 50), (1, "B", 30), (2, "C", 40), *MANY), [REGION], RULES[0])
    assert near(needs, hiding(needs)) == {(0, "C")}
    other = assessed(rows((1, "A", 50), (3, "B", 30), (2, "C", 40), *MANY), [REGION], RULES[0])
    assert near(other, hiding(other)) == set()


def test_nothing_tells_respondents_that_they_are_alone_in_cells_that_no_table_lists():
    """They know that it is at least what they contribute, by themselves or together."""
    needs = assessed(rows((1, "A", 50), (2, "B", 30), *[(20 + i, "C", 9) for i in range(5)], *MANY), [REGION], RULES[0])
    judged = audit(needs, hiding(needs, "C"), insiders=contributions_of(needs.tables))
    listed = judged.inside.knowledge
    names = [needs.tables.cell_name(cell) for cell in judged.problem.cells.tolist()]
    a, b, c = (names.index(f"t0: {code}") for code in "ABC")
    unlisted = replace(listed, unlisted=np.ones(len(listed.value), bool))
    more = Stack.of([Move(np.array([a, c]), np.array([1, -1]), 1), Move(np.array([a, c]), np.array([-1, 1]), 1)])
    for knowledge, ends, noticing in ((listed, (0, 0), [0, 0]), (unlisted, (0, listed.problem.up[a]), [None, 0])):
        assert tuple(limit[a] for limit in knowledge.limits(np.array([0]))) == ends
        assert tuple(limit[b] for limit in Coalitions(knowledge, 2).limits([0, 1])) == (0, ends[1])
        assert [next(iter(who.tolist()), None) for who in knowledge.notices(more)] == noticing
        traces = [Coalitions(knowledge, 2).trace(more[number]) for number in range(2)]
        assert [trace.noticed_by([0, 1]) for trace in traces] == [who is not None for who in noticing]


def test_a_large_contributor_elsewhere_estimates_too_well():
    near_to = [(3, "B", 95), *[(30 + i, "B", 1) for i in range(5)]]
    needs = assessed(rows((1, "A", 100), *near_to, *MANY), [REGION], [cg.MinFrequency(3)])
    # B is 100, of which holding 3 has 95: it can tell that A is at most 105.
    assert near(needs, hiding(needs, "B")) == {(1, "A")}
    assert near(needs, hiding(needs, "B", "D")) == set()


def test_an_insider_of_another_size_class_bounds_a_single_firm():
    """A firm in another class of a cube, which owns one of the few cells that protect a single firm's cell."""
    entries = [
        # holding, industry, region, size, amount: one firm in a0 b0 s0, to which holding 2 comes within 7 %
        (1, "a0", "b0", "s0", 100),
        (2, "a0", "b0", "s1", 93),
        (3, "a0", "b0", "s1", 4),
        (4, "a0", "b0", "s1", 3),
        *[(10 + i, a, b, s, 40) for i, (a, b, s) in enumerate(
            (a, b, s) for a in ("a0", "a1") for b in ("b0", "b1") for s in ("s0", "s1")
            for _ in range(4) if (a, b, s) not in {("a0", "b0", "s0"), ("a0", "b0", "s1")}
        )],
    ]  # fmt: skip
    records = {name: [entry[i] for entry in entries] for i, name in enumerate(("g", "a", "b", "s", "x"))}
    trees = {c: flat([f"{c}0", f"{c}1"]) for c in "abs"}
    needs = assessed(records, [trees], [cg.MinFrequency(3)])
    square = ("a0/b0/s1", "a1/b0/s0", "a1/b0/s1", "a0/b1/s0", "a0/b1/s1", "a1/b1/s0", "a1/b1/s1")
    pattern = hiding(needs, *square)
    assert cg.audit(needs, pattern).verdict == "safe"
    assert near(needs, pattern) == {(1, "a0/b0/s0")}  # a0/b0/s1 is 100, of which holding 2 has 93
    mended = suppress(needs, insiders=contributions_of(needs.tables)).pattern
    assert near(needs, mended) == set()


def test_an_insider_in_another_table():
    entries = [(1, "A", "s", 50), (2, "A", "s", 30), *[(i + 5, r, z, 20) for i, (r, z) in enumerate(
        [("B", "s")] * 4 + [("B", "t")] * 4 + [("C", "t")] * 5 + [("C", "s")])]]  # fmt: skip
    records = {name: [entry[i] for entry in entries] for i, name in enumerate(("g", "r", "z", "x"))}
    by = [{"r": flat(["A", "B", "C"])}, {"r": flat(["A", "B", "C"]), "z": flat(["s", "t"])}]
    needs = assessed(records, by, [cg.MinFrequency(3)])
    mended = suppress(needs, insiders=contributions_of(needs.tables)).pattern
    assert near(needs, mended) == set()
    plain = suppress(needs).pattern
    assert audit(needs, plain).verdict == "safe"


def test_ready_made_cells_with_one_respondent_are_their_own_insiders():
    table = cg.cells(
        {"r": ["Total", "A", "B", "C"], "x": [180, 50, 30, 100], "n": [9, 1, 1, 7]}, by=["r"], value="x", count="n"
    )
    needs = cg.require(cg.assess(table, [cg.MinFrequency(3)]))
    known = contributions_of(needs.tables)
    assert not known.linked
    judged = audit(needs, Pattern(needs.tables, needs.primary, np.zeros(4, bool)), insiders=known)
    assert {name for _, name in pairs(judged)} == {"A", "B"}


def test_a_sum_of_one_respondent_and_its_part_have_one_owner():
    tree = from_parents([("Total", ""), ("G", "Total"), ("a", "G"), ("b", "Total"), ("c", "Total")])
    data = {"r": ["Total", "G", "a", "b", "c"], "x": [180, 50, 50, 30, 100], "n": [9, 1, 1, 1, 7]}
    table = cg.cells(data, by={"r": tree}, value="x", count="n")
    known = contributions_of(cg.link(table))
    owner = dict(zip(data["r"], known.owner[cg.link(table).cells_of[0]].tolist(), strict=True))
    assert owner["G"] == owner["a"] >= 0
    assert owner["b"] not in {owner["a"], -1}


def test_an_insider_of_a_count_knows_its_own_cell():
    entries = [*[(1, "A", 0)] * 2, *[(2, "B", 0)] * 2, *[(20 + i, "C", 0) for i in range(5)], *MANY]
    needs = assessed(rows(*entries), [REGION], [cg.MinFrequency(3)], value="count")
    assert near(needs, hiding(needs)) == {(0, "B"), (1, "A")}
    assert near(needs, hiding(needs, "C")) == set()


@pytest.mark.parametrize("survey", ["virtual", "sample", "handbook", "published_weights"])
def test_weights_are_part_of_what_an_insider_knows(survey):
    data = rows((1, "A", 50), (2, "B", 30), *[(20 + i, "C", 9) for i in range(5)], *MANY)
    data["w"] = [2.0] * len(data["g"])
    needs = assessed(data, [REGION], [cg.MinFrequency(3)], weight="w", survey=survey)
    assert near(needs, hiding(needs)) == {(0, "B"), (1, "A")}
    assert near(needs, hiding(needs, "C")) == set()


def test_negative_contributions_leave_only_lone_cells_known():
    data = rows((1, "A", -50), (2, "B", 30), *[(20 + i, "C", 9) for i in range(5)], *MANY)
    grouped = cg.records(data, by=["r"], values=["x"], holding="g")
    table = make_tables(grouped, [Wanted(REGION, "x", About("t"), (*cg.MinFrequency(3).facts, Holdings()))])[0]
    needs = cg.require(cg.assess(table, [cg.MinFrequency(3)]), cg.Knowledge(lower=-np.inf))
    assert near(needs, hiding(needs)) == {(0, "B"), (1, "A")}
    assert near(needs, hiding(needs, "C")) == set()


def test_ctrl_c_leaves_undecided_what_is_not_proven(monkeypatch):
    needs = assessed(rows((1, "A", 50), (2, "B", 30), *[(20 + i, "C", 9) for i in range(5)], *MANY), [REGION], RULES[0])
    known = contributions_of(needs.tables)

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("cellguard.attack.insiders.enter_circuits", stop)
    monkeypatch.setattr("cellguard.methods.suppress.engines.insider_repair.enter_circuits", stop)
    judged = audit(needs, hiding(needs, "C"), insiders=known)
    assert (judged.verdict, judged.inside.failing) == ("undecided", []) and judged.inside.undecided
    with pytest.raises(Stopped, match="what respondents know"):
        suppress(needs, insiders=known)


def test_ctrl_c_in_the_search_ends_only_the_search():
    needs = assessed(rows((1, "A", 50), (2, "B", 30), *[(20 + i, "C", 9) for i in range(5)], *MANY), [REGION], RULES[0])
    known, told = contributions_of(needs.tables), []

    def stopped(system, **_):
        return EngineResult(system.merge(needs.primary), 0.0, 0.0, False, frozenset(), by_hand=True)

    found = suppress(needs, engine=stopped, insiders=known, run=Run(lambda event: told.append(event.text)))
    assert not found.finished and audit(needs, found.pattern, insiders=known).verdict == "safe"
    assert any("Ctrl-C again ends all" in words for words in told)
    assert not suppress(needs, engine=stopped).finished


def look_at_nothing(monkeypatch):
    """Let programs look at nothing: what circuits do not prove is left open."""
    monkeypatch.setattr("cellguard.attack.insider_proofs._LOOKS", -1)
    monkeypatch.setattr("cellguard.attack.insider_proofs._LEAST", -1)
    for module in ("attack.insiders", "methods.suppress.engines.insider_repair"):
        monkeypatch.setattr(f"cellguard.{module}._LEAST", -1)
        monkeypatch.setattr(f"cellguard.{module}._LOOKS", -1)


def test_where_looking_takes_too_long_it_ends_and_says_what_is_open(monkeypatch):
    needs = assessed(rows((1, "A", 50), (2, "B", 30), *[(20 + i, "C", 9) for i in range(5)], *MANY), [REGION], RULES[0])
    look_at_nothing(monkeypatch)
    known = contributions_of(needs.tables)
    judged = audit(needs, hiding(needs), insiders=known)
    assert (judged.verdict, judged.inside.failing) == ("undecided", [])
    assert {(0, "B"), (1, "A")} <= pairs(judged, judged.inside.undecided)
    words = headline(cg.assess(needs.tables, RULES[0]), judged).text
    assert words.startswith("NOT PROVEN: what respondents can work out of 2 unsafe cells")
    assert "insiders: false" in words
    together = replace(judged, inside=replace(judged.inside, size=2))
    assert "coalition: 1" in headline(cg.assess(needs.tables, RULES[0]), together).text
    assert audit(needs, suppress(needs, insiders=known).pattern, insiders=known).verdict == "undecided"


def test_what_fails_is_never_proven_however_short_the_look(monkeypatch):
    fallen = 0
    for seed in range(12):
        data, trees, rules, rng = draw(seed)
        needs = assessed(data, [trees], rules)
        if not needs.primary.any() or needs.unprotectable.any():
            continue
        try:
            pattern = some_pattern(needs, rng)
        except cg.NotProtected:
            continue
        known = contributions_of(needs.tables)
        whole = audit(needs, pattern, insiders=known).inside
        with monkeypatch.context() as short:
            look_at_nothing(short)
            inside = audit(needs, pattern, insiders=known).inside
        if whole is not None:
            cells = {pair.cell for pair in whole.failing}
            assert cells <= {pair.cell for pair in [*inside.failing, *inside.undecided]}
            fallen += len(cells)
    assert fallen > 5


SOME = [pytest.param(k, marks=pytest.mark.long if k < 200 else pytest.mark.endless) for k in range(100, 5_100, 100)]


@pytest.mark.parametrize("first", [0, *SOME])
def test_every_insider_against_brute_force(first):
    decided = [against_brute_force(seed) for seed in range(first, first + (25 if first == 0 else 100))]
    assert sum(decided) > len(decided) / 3
