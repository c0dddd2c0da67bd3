"""Groups of insiders: moves that nobody of a group notices, and patterns that these make, against brute force."""

from types import SimpleNamespace

import numpy as np
import pytest

from cellguard.attack import insider_groups as grouped
from cellguard.attack import insiders as attack
from cellguard.attack.audit import audit
from cellguard.attack.insider_proofs import InsiderProofSearch
from cellguard.proofs.stack import Stack
from cellguard.table.contributions import contributions_of
from insider_cases import against_brute_force, assessed, draw, some_pattern


@pytest.fixture
def only_groups(monkeypatch):
    """No circuits: what programs for single insiders do not find is left to groups, however few cells are open."""
    monkeypatch.setattr(grouped, "_MANY", 0)
    monkeypatch.setattr(grouped, "_FEW", 1)
    monkeypatch.setattr(attack, "enter_circuits", lambda *_, **__: None)
    monkeypatch.setattr(attack, "STEPS", ())


LARGE = pytest.param(100, 30, marks=pytest.mark.long), pytest.param(200, 200, marks=pytest.mark.endless)


@pytest.mark.parametrize(("first", "seeds"), [(0, 5), *LARGE])
def test_groups_decide_as_brute_force_does(only_groups, first, seeds):
    decided = [against_brute_force(seed) for seed in range(first, first + seeds)]
    assert sum(decided) > len(decided) / 3


def provers(seeds, monkeypatch):
    """Books in which groups alone entered moves, for patterns by chance that are safe against outsiders."""
    made = []
    monkeypatch.setattr(attack, "settle_among", lambda prover, _: made.append(prover) or [])
    for seed in seeds:
        data, trees, rules, rng = draw(seed)
        needs = assessed(data, [trees], rules)
        if needs.primary.any() and not needs.unprotectable.any():
            audit(needs, some_pattern(needs, rng), insiders=contributions_of(needs.tables))
    return made


def test_nobody_of_a_group_notices_its_moves_and_they_prove_most(only_groups, monkeypatch):
    group, made, credit, problem_of = [], [], InsiderProofSearch.credit_all, grouped.problem_of

    def asked(prover, members, cells):
        group[:] = members.tolist()
        return problem_of(prover, members, cells)

    def credited(prover, moves, helped=None):
        if helped is not None:
            made.extend(notices.tolist() for notices in prover.knowledge.notices(Stack.of(moves)))
            assert not any(set(notices) & set(group) for notices in made[-len(moves) :] if moves)
        return credit(prover, moves, helped)

    monkeypatch.setattr(attack, "problem_of", asked)
    monkeypatch.setattr(InsiderProofSearch, "credit_all", credited)
    some = provers(range(10), monkeypatch)
    unsafe = sum(int(prover.target.sum()) for prover in some)
    assert sum(map(bool, made)) > 5
    assert unsafe - sum(int(prover.unproven().sum()) for prover in some) > 0.5 * unsafe


def test_what_is_asked_against_a_group_is_the_most_that_any_of_it_is_short_of(only_groups, monkeypatch):
    compared = 0
    for prover in provers(range(10), monkeypatch):
        insiders = np.unique(prover.knowledge.who).tolist()
        for cell in np.flatnonzero(prover.target).tolist():
            open_ = prover.open(cell)
            for group in (insiders[::2], insiders[1::2], insiders):
                assert_most(prover, cell, frozenset(group), open_)
                compared += 1
        assert prover.unproven().tolist() == [
            bool(prover.target[cell]) and len(prover.open(cell).who) > 0 for cell in range(len(prover.target))
        ]
    assert compared > 25


def test_groups_part_all_who_are_left_and_set_those_aside_who_dominate_nothing(only_groups, monkeypatch):
    monkeypatch.setattr(grouped, "_MANY_ASIDE", 0)
    parted = 0
    for prover in provers(range(10), monkeypatch):
        cells = prover.target
        dominant = grouped.dominating(prover, cells)
        some = grouped.groups(prover, cells, dominant, 0)
        assert sorted(who for group in some for who in group.tolist()) == prover.left(cells).tolist()
        assert all(np.isin(group, dominant).all() or not np.isin(group, dominant).any() for group in some)
        parted += len(some) > 2
    assert parted > 1


def test_who_is_kept_apart_is_not_with_those_against_whom_its_cell_is_open():
    """Two cells, each open against whoever dominates the other: no group has both."""
    prover = SimpleNamespace(noticing={0: frozenset({8}), 1: frozenset({7})}.get, dominating=lambda cell: [7 + cell])
    some = grouped._kept_apart(prover, np.ones(2, bool), np.array([7, 8]), np.random.default_rng(0))
    assert sorted(group.tolist() for group in some) == [[7], [8]]


def test_a_move_narrows_who_is_left_for_a_cell_that_must_move_one_way_or_the_other(monkeypatch):
    for prover in provers(range(6), monkeypatch):
        cell = int(np.flatnonzero(prover.target)[0])
        prover._needs[cell] = {-1: (0, 0, 5), -2: (0, 0, 5)}
        prover.served, prover._always = {}, {}
        assert prover.narrows(cell, 5, frozenset()) and prover.narrows(cell, -6, frozenset({1}))
        assert not prover.narrows(cell, 4, frozenset())


def test_the_moves_that_are_kept_prove_what_all_of_them_do(only_groups, monkeypatch):
    for prover in provers(range(10), monkeypatch):
        for cell in np.flatnonzero(prover.target & ~prover.unproven()).tolist():
            kept = set(prover.needed(cell))
            assert not prover._short(cell, [entry for entry in prover.entries(cell) if entry[2] in kept])


def assert_most(prover: InsiderProofSearch, cell, group, open_):
    """Compare with the list of all against whom the cell is open; ANYBODY stands for whoever contributes nothing."""
    inside = [who in group or (who == -1 and bool(group)) for who in open_.who.tolist()]
    asked = prover.asked_against(cell, group)
    short = open_.asked.down > open_.down, open_.asked.up > open_.up
    for need, wanted, most in zip(asked, short, (open_.asked.down, open_.asked.up), strict=False):
        listed = max([m for m, s, i in zip(most.tolist(), wanted.tolist(), inside, strict=True) if s and i], default=0)
        assert need <= max(listed, need if -1 in open_.who else 0)
        named = [w >= 0 and i for w, i in zip(open_.who.tolist(), inside, strict=True)]
        least = max([m for m, s, i in zip(most.tolist(), wanted.tolist(), named, strict=True) if s and i], default=0)
        assert need >= least
