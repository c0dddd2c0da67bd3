"""What contributors can conclude about each other, by brute force over all of them, is what the rules say it is."""

from itertools import combinations, combinations_with_replacement

import pytest

from cellguard.rules.linear import Dominance, PPercent, PriorPosterior
from cellguard.rules.simple import MaxShare
from cellguard.table.facts import contributions

# Every cell of up to five whole contributions of at most 6, and some with a giant.
CELLS = [c for n in range(1, 6) for c in combinations_with_replacement(range(1, 7), n)]
CELLS += [(*c, 40) for c in combinations_with_replacement(range(7), 3)]


def worst_error(cell, coalition, known=100):
    """The smallest relative error with which some coalition can bound another contributor from above, in percent.

    The coalition takes its own from the total. Of everybody else it knows beforehand that they have at least 100 -
    ``known`` percent of what they have, and takes that off too.
    """
    errors = []
    for victim in range(len(cell)):
        others = [i for i in range(len(cell)) if i != victim]
        for together in combinations(others, min(coalition, len(others))):
            rest = sum(cell[i] for i in others if i not in together)
            bound = sum(cell) - sum(cell[i] for i in together) - (100 - known) / 100 * rest
            errors.append(100 * (bound - cell[victim]) / cell[victim] if cell[victim] else float("inf"))
    return min(errors)


@pytest.mark.parametrize("coalition", [1, 2, 3])
@pytest.mark.parametrize("p", [7, 33, 80])
def test_p_percent_is_the_best_estimate_of_anybody_by_any_coalition(p, coalition):
    rule = PPercent(p, coalition)
    unsafe = rule.unsafe(contributions(*CELLS, [0.0] * 5))
    assert unsafe[:-1].tolist() == [worst_error(cell, coalition) < p - 1e-9 for cell in CELLS]
    assert 0 < unsafe.sum() < len(CELLS)


@pytest.mark.parametrize("coalition", [1, 2])
@pytest.mark.parametrize(("p", "q"), [(10, 30), (20, 100), (25, 50)])
def test_prior_posterior_is_the_best_estimate_of_who_knows_the_rest_to_within_q(p, q, coalition):
    rule = PriorPosterior(p, q, coalition)
    unsafe = rule.unsafe(contributions(*CELLS, [0.0] * 5))
    assert unsafe[:-1].tolist() == [worst_error(cell, coalition, q) < p - 1e-9 for cell in CELLS]
    assert 0 < unsafe.sum() < len(CELLS)


@pytest.mark.parametrize(("n", "k"), [(1, 45), (2, 70), (3, 85)])
def test_dominance_is_the_share_of_some_group(n, k):
    rule = Dominance(n, k)
    unsafe = rule.unsafe(contributions(*CELLS, [0.0] * 5))[:-1].tolist()
    shares = [max(sum(g) for g in combinations(cell, min(n, len(cell)))) / sum(cell) for cell in CELLS]
    assert unsafe == [100 * share > k + 1e-9 for share in shares]
    if n == 1:
        assert MaxShare(k).unsafe(contributions(*CELLS, [0.0] * 5))[:-1].tolist() == unsafe
