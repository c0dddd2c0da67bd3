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


def books(seeds, monkeypatch):
    """Books in which groups alone entered moves, for patterns by chance that are safe against outsiders."""
    made = []
    monkeypatch.setattr(attack, "settle_among", lambda book, _: made.append(book) or [])
    for seed in seeds:
        data, trees, rules, rng = draw(seed)
        needs = assessed(data, [trees], rules)
        if needs.primary.any() and not needs.unprotectable.any():
            audit(needs, some_pattern(needs, rng), insiders=contributions_of(needs.tables))
    return made


def test_nobody_of_a_group_notices_its_moves_and_they_prove_most(only_groups, monkeypatch):
    group, made, credit, problem_of = [], [], InsiderProofSearch.credit_all, grouped.problem_of

    def asked(book, members, cells):
        group[:] = members.tolist()
        return problem_of(book, members, cells)

    def credited(book, moves, helped=None):
        if helped is not None:
            made.extend(notices.tolist() for notices in book.standing.notices(Stack.of(moves)))
            assert not any(set(notices) & set(group) for notices in made[-len(moves) :] if moves)
        return credit(book, moves, helped)

    monkeypatch.setattr(attack, "problem_of", asked)
    monkeypatch.setattr(InsiderProofSearch, "credit_all", credited)
    some = books(range(10), monkeypatch)
    unsafe = sum(int(book.target.sum()) for book in some)
    assert sum(map(bool, made)) > 5
    assert unsafe - sum(int(book.unproven().sum()) for book in some) > 0.5 * unsafe


def test_what_is_asked_against_a_group_is_the_most_that_any_of_it_is_short_of(only_groups, monkeypatch):
    compared = 0
    for book in books(range(10), monkeypatch):
        insiders = np.unique(book.standing.who).tolist()
        for cell in np.flatnonzero(book.target).tolist():
            open_ = book.open(cell)
            for group in (insiders[::2], insiders[1::2], insiders):
                assert_most(book, cell, frozenset(group), open_)
                compared += 1
        assert book.unproven().tolist() == [
            bool(book.target[cell]) and len(book.open(cell).who) > 0 for cell in range(len(book.target))
        ]
    assert compared > 25


def test_groups_part_all_who_are_left_and_set_those_aside_who_dominate_nothing(only_groups, monkeypatch):
    monkeypatch.setattr(grouped, "_MANY_ASIDE", 0)
    parted = 0
    for book in books(range(10), monkeypatch):
        cells = book.target
        dominant = grouped.dominating(book, cells)
        some = grouped.groups(book, cells, dominant, 0)
        assert sorted(who for group in some for who in group.tolist()) == book.left(cells).tolist()
        assert all(np.isin(group, dominant).all() or not np.isin(group, dominant).any() for group in some)
        parted += len(some) > 2
    assert parted > 1


def test_who_is_kept_apart_is_not_with_those_against_whom_its_cell_is_open():
    """Two cells, each open against whoever dominates the other: no group has both."""
    book = SimpleNamespace(noticing={0: frozenset({8}), 1: frozenset({7})}.get, dominating=lambda cell: [7 + cell])
    some = grouped._kept_apart(book, np.ones(2, bool), np.array([7, 8]), np.random.default_rng(0))
    assert sorted(group.tolist() for group in some) == [[7], [8]]


def test_a_move_narrows_who_is_left_for_a_cell_that_must_move_one_way_or_the_other(monkeypatch):
    for book in books(range(6), monkeypatch):
        cell = int(np.flatnonzero(book.target)[0])
        book._needs[cell] = {-1: (0, 0, 5), -2: (0, 0, 5)}
        book.served, book._always = {}, {}
        assert book.narrows(cell, 5, frozenset()) and book.narrows(cell, -6, frozenset({1}))
        assert not book.narrows(cell, 4, frozenset())


def test_the_moves_that_are_kept_prove_what_all_of_them_do(only_groups, monkeypatch):
    for book in books(range(10), monkeypatch):
        for cell in np.flatnonzero(book.target & ~book.unproven()).tolist():
            kept = set(book.needed(cell))
            assert not book._short(cell, [entry for entry in book.entries(cell) if entry[2] in kept])


def assert_most(book: InsiderProofSearch, cell, group, open_):
    """Compare with the list of all against whom the cell is open; ANYBODY stands for whoever contributes nothing."""
    inside = [who in group or (who == -1 and bool(group)) for who in open_.who.tolist()]
    asked = book.asked_against(cell, group)
    short = open_.asked.down > open_.down, open_.asked.up > open_.up
    for need, wanted, most in zip(asked, short, (open_.asked.down, open_.asked.up), strict=False):
        listed = max([m for m, s, i in zip(most.tolist(), wanted.tolist(), inside, strict=True) if s and i], default=0)
        assert need <= max(listed, need if -1 in open_.who else 0)
        named = [w >= 0 and i for w, i in zip(open_.who.tolist(), inside, strict=True)]
        least = max([m for m, s, i in zip(most.tolist(), wanted.tolist(), named, strict=True) if s and i], default=0)
        assert need >= least
