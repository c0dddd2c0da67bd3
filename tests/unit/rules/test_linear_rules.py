"""Dominance, p %, prior-posterior and weights of one's own, by hand."""

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.rules.linear import Dominance, Linear, PPercent, PriorPosterior
from cellguard.table.fact import Count, Top, Total
from cellguard.table.facts import Facts, contributions

RULES = [Dominance(2, 80), PPercent(10), PriorPosterior(10, 50), Linear((0.5, 0.0), -1.0)]
by_rule = pytest.mark.parametrize("rule", RULES, ids=str)


@pytest.mark.parametrize(
    ("rule", "S"),
    [
        (Dominance(1, 80), 50 - 80),
        (Dominance(2, 80), 80 - 80),
        (Dominance(3, 80), 95 - 80),
        (PPercent(10), 5 - 20),
        (PPercent(10, coalition=2), 5 - 5),
        (PPercent(10, coalition=3), 5 - 0),
        (PPercent(150), 75 - 20),
        (PriorPosterior(10, 50), 5 - 0.5 * 20),
        (PriorPosterior(10, 50, coalition=2), 5 - 0.5 * 5),
        (Linear((1.0, 0.5, 0.25), -2.0), 50 + 15 + 3.75 - 10),
    ],
    ids=str,
)
def test_sensitivity_by_hand(rule, S):
    assert rule.sensitivity(contributions([50, 30, 15, 5]))[0] == pytest.approx(S)


@pytest.mark.parametrize(
    ("rule", "measure"),
    [
        (Dominance(1, 80), 50),
        (Dominance(2, 80), 80),
        (PPercent(10), 40),
        (PPercent(10, coalition=2), 10),
        (PriorPosterior(10, 50), 20),
        (Linear((1.0,), 0.0), 50),
    ],
    ids=str,
)
def test_measure_by_hand(rule, measure):
    assert rule.measure(contributions([50, 30, 15, 5]))[0] == pytest.approx(measure)


@by_rule
def test_measure_has_no_meaning_in_an_empty_cell(rule):
    assert np.isnan(rule.measure(contributions([0, 0, 0]))[0])


@pytest.mark.parametrize(
    ("rule", "upper"),
    [
        (Dominance(1, 40), 100 / 40 * 50 - 100),
        (PPercent(50), 25 - 20),
        (PriorPosterior(30, 60), 30 / 60 * 50 - 20),
        (Linear((0.5, 0.0), -0.5), (25 - 10) / 0.5),
    ],
    ids=str,
)
def test_upper_protection_level_by_hand(rule, upper):
    assert rule.upper(contributions([50, 30, 15, 5]))[0] == pytest.approx(upper)


@pytest.mark.parametrize("rest", [0.0, 1.0])
def test_without_a_negative_tail_there_is_no_protection_formula(rest):
    assert np.isnan(Linear((2.0,), rest).upper(contributions([5, 4])))


@pytest.mark.parametrize(
    ("kind", "tie"),
    [
        (lambda inclusive: Dominance(2, 80, inclusive=inclusive), [50, 30, 20]),
        (lambda inclusive: PPercent(10, inclusive=inclusive), [100, 50, 10]),
        (lambda inclusive: PriorPosterior(10, 50, inclusive=inclusive), [100, 50, 20]),
        (lambda inclusive: Linear((1.0,), -1.0, inclusive=inclusive), [10, 5, 5]),
    ],
    ids=["dominance", "p_percent", "prior_posterior", "linear"],
)
@pytest.mark.parametrize("scale", [1, 1 / 3, 0.1, 1e6 / 7])
def test_an_exact_tie_is_unsafe_only_when_inclusive_at_any_scale(kind, tie, scale):
    facts = contributions([x * scale for x in tie])
    assert not kind(False).unsafe(facts).any()
    assert kind(True).unsafe(facts).all()


@by_rule
def test_an_empty_cell_is_safe_even_when_inclusive_or_zero_unsafe(rule):
    empty = Facts({Total(): np.zeros(1), Count(): np.zeros(1), Top(3): np.zeros((1, 3))})
    changed = {f: getattr(rule, f) for f in rule.__dataclass_fields__} | {"inclusive": True, "zero_unsafe": True}
    assert not type(rule)(**changed).unsafe(empty).any()


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize("zero_unsafe", [False, True])
def test_a_total_of_zero_with_respondents_is_unsafe_only_if_so_asked(inclusive, zero_unsafe):
    rule = PPercent(10, inclusive=inclusive, zero_unsafe=zero_unsafe)
    assert rule.unsafe(contributions([0, 0, 0])).tolist() == [zero_unsafe]


@pytest.mark.parametrize("rule", [Dominance(2, 90), PPercent(1), PriorPosterior(1, 100)], ids=str)
def test_one_or_two_contributors_are_always_unsafe(rule):
    assert rule.unsafe(contributions([5], [5, 4])).tolist() == [True, True]


@pytest.mark.parametrize("rule", [Dominance(3, 90), PPercent(10), PPercent(10, coalition=4)], ids=str)
def test_contributions_that_are_not_there_count_as_zero(rule):
    assert rule.unsafe(contributions([5])).tolist() == [True]
    assert rule.unsafe(contributions([])).tolist() == [False]


def test_a_larger_coalition_knows_more():
    facts = contributions([100, 30, 30, 5])
    assert [PPercent(10, coalition=m).unsafe(facts)[0] for m in (1, 2, 3)] == [False, True, True]


@pytest.mark.parametrize(
    ("rule", "ranks"),
    [(Dominance(3, 70), 3), (PPercent(10), 2), (PPercent(10, coalition=3), 4), (Linear((1.0,), -1.0), 1)],
    ids=str,
)
def test_a_rule_asks_for_as_many_contributions_as_have_weights(rule, ranks):
    assert rule.facts == (Total(), Top(ranks))


@pytest.mark.parametrize(("weights", "rest", "holds"), [((2, 1), 1, True), ((1, 1), -1, True), ((0, 1), -1, False)])
def test_subadditive_means_that_weights_never_rise(weights, rest, holds):
    assert Linear(weights, rest).subadditive is holds


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Dominance(0, 80), "n must be 1 or more, and whole, not 0"),
        (lambda: Dominance(1, 100), "k must be above 0 and below 100 percent, not 100"),
        (lambda: Dominance(1, 0), "k must be above 0"),
        (lambda: Dominance(1, float("nan")), "k must be above 0"),
        (lambda: PPercent(0), "p must be above 0 and finite, not 0"),
        (lambda: PPercent(float("inf")), "p must be"),
        (lambda: PPercent(10, coalition=0), "the coalition must be 1 or more"),
        (lambda: PriorPosterior(50, 50), "0 < p < q <= 100, not p = 50, q = 50"),
        (lambda: PriorPosterior(10, 101), "0 < p < q <= 100"),
        (lambda: PriorPosterior(10, 50, coalition=-1), "the coalition must be 1 or more"),
        (lambda: Linear((), -1.0), "at least one weight"),
        (lambda: Linear((1.0,), float("nan")), "finite"),
    ],
)
def test_parameters_check_themselves(wrong, said):
    with pytest.raises(InputError, match=said):
        wrong()


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (Dominance(2, 85.0), "dominance (2, 85)"),
        (PPercent(12.5), "p_percent 12.5"),
        (PPercent(10, coalition=2), "p_percent 10 with coalitions of 2"),
        (PriorPosterior(10, 50), "prior_posterior (10, 50)"),
        (Linear((0.5, 0.0), -1.0), "linear (0.5, 0; rest -1)"),
    ],
)
def test_rules_are_named_as_people_write_them(rule, name):
    assert str(rule) == name
