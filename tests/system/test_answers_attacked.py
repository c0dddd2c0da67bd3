"""Random sequences of questions to small sources of every method, each answer taken by an attacker of its own."""

import numpy as np
import pytest

from answers_campaign import Perturbed, attack
from cellguard.errors import InputError
from cellguard.methods.keys.perturbation_table import PerturbationTable
from cellguard.methods.perturb.answers import domination, system
from cellguard.methods.perturb.answers.asked import ask_cells

from answers_oracle import Guard, chance_of_small, known_contributions, known_in_sums


def attacked(method, seeds):
    """Attack sources, of which none may tell anything; return what share of the cells they show."""
    told = [(seed, known, cells, shown) for seed, known, cells, shown in attack(method, seeds)]
    assert [(seed, known) for seed, known, _, _ in told if known] == []
    return sum(shown for *_, shown in told) / sum(cells for _, _, cells, _ in told)


@pytest.mark.parametrize(
    ("method", "seeds", "least"),
    # Of 1000, 1005 and 1022 answers failed: tables of other values and populations before them had other codes.
    [("perturb", range(16), 0.15), ("suppress", [1_000, 1_005, 1_022], 0.3), ("keys", range(12), 0.3)],
)
def test_no_sequence_of_answers_tells_a_contribution_within_the_rule(method, seeds, least):
    assert attacked(method, seeds) > least, "hardly anything is shown"


@pytest.mark.parametrize(
    ("rows", "who", "found"),
    [
        ([[1, 1, 1, 0], [0, 0, 0, 1]], "p", {3}),  # alone, so known to all
        ([[1, 1, 1, 0], [0, 1, 1, 1]], "p", {0, 3}),  # each of the two learns the other: they differ by what is known
        ([[1, 1, 1, 1]], "p", set()),
        ([[1, 1, 0, 0], [0, 0, 1, 1]], "few", {0, 2}),
        ([[1, 1, 1, 1]], "few", set()),
    ],
)
def test_the_attacker_of_sums_by_hand(rows, who, found):
    guard = Guard(1, 0.15) if who == "p" else Guard(0, 0.15, fewest=3)
    known = known_in_sums(rows, np.array([50.0, 40, 30, 50]), np.arange(4), [guard])
    assert {victim[0] for _, victim, *_ in known} == found


def test_the_attacker_of_noisy_sums_by_hand():
    rows, size = [[1, 1, 1, 0], [0, 1, 1, 1]], np.array([50.0, 40, 30, 50])
    both = known_contributions([*rows, [0, 1, 1, 0]], size, np.zeros(4), p=0.1, q=1.0, n=2)
    assert {kind for record, kind in both if record in {0, 3}} == {"determined", "dominated"}
    assert (3, "tied") in known_contributions(rows, size, np.zeros(4), p=0.1, q=1.0, n=2)
    assert known_contributions([[1, 1, 1, 1]], size, np.zeros(4), p=0.1, q=1.0, n=2) == []


def test_the_attacker_of_counts_by_hand():
    """A coin that adds 1 or takes it: 1 is published as 0 or 2, 2 as 1 or 3."""
    ends = np.array([0.5, 1.0])
    coin = PerturbationTable((np.array([0]), *[np.array([-1, 1])] * 9), (np.array([1.0]), *[ends] * 9), "coin")
    assert chance_of_small([2], [[0]], [True], coin, 3) == pytest.approx(0.5)  # 1 or 3
    assert chance_of_small([2, 1], [[0, 1], [0]], [True, True], coin, 3) > 0.5


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
def test_the_attacker_finds_what_a_source_without_memory_tells():
    """Of most sources of keys there are too many truths to list, so only those that suppress show that it finds any."""
    assert [seed for seed, known, _, _ in attack("suppress", range(12), memory=False) if known]
