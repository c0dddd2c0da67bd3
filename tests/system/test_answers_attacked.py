"""Random sequences of questions to small sources of every method, each answer taken by an attacker of its own."""

import pytest

from answers_campaign import Perturbed, attack
from cellguard.errors import InputError
from cellguard.methods.perturb.answers import domination, system
from cellguard.methods.perturb.answers.asked import ask_cells


def attacked(method, seeds):
    """Attack sources, of which none may tell anything; return what share of the cells they show."""
    told = [(seed, known, cells, shown) for seed, known, cells, shown in attack(method, seeds)]
    assert [(seed, known) for seed, known, _, _ in told if known] == []
    return sum(shown for *_, shown in told) / sum(cells for _, _, cells, _ in told)


@pytest.mark.parametrize(("method", "many", "least"), [("perturb", 16, 0.15), ("suppress", 3, 0.3), ("keys", 12, 0.3)])
def test_no_sequence_of_answers_tells_a_contribution_within_the_rule(method, many, least):
    assert attacked(method, range(many)) > least, "hardly anything is shown"


def test_floats_alone_let_nothing_through(monkeypatch):
    """Large systems are decided by floats, and here small ones, too."""
    monkeypatch.setattr(system, "_EXACT_ROWS", -1)
    monkeypatch.setattr(domination, "_ROWS", -1)
    assert attacked("perturb", range(50, 62)) > 0.1


@pytest.mark.long
@pytest.mark.parametrize(("method", "many"), [("perturb", 60), ("suppress", 30), ("keys", 60)])
def test_more_sequences(method, many):
    attacked(method, range(100, 100 + many))


@pytest.mark.endless
@pytest.mark.parametrize(("method", "many"), [("perturb", 1_600), ("suppress", 1_200), ("keys", 1_200)])
def test_four_thousand_sequences(method, many):
    attacked(method, range(1_000, 1_000 + many))


def test_the_attacker_finds_what_an_unguarded_source_tells():
    """Without the check of all answers together, the same questions tell contributions: the attacker is real."""
    found = 0
    for seed in range(8):
        source = Perturbed(seed)
        for _ in range(8):
            try:
                question = source.question()
                asked = ask_cells(question, source.response, source.variables, [source.rule], fewest=3, most=1000)
            except InputError:
                continue
            source.see(question, asked, asked.alone)
        found += bool(source.known())
    assert found >= 5


@pytest.mark.long
@pytest.mark.parametrize("method", ["suppress", "keys"])
def test_the_attacker_finds_what_a_source_without_memory_tells(method):
    assert [seed for seed, known, _, _ in attack(method, range(12), memory=False) if known]
