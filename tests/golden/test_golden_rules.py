"""Worked examples of dominance, p % and prior-posterior.

Sources: [T] the thesis on the Statisticon rule, [L] the lecture "Problems and criteria", [M] Lee, Choi & O'Keefe,
"Confidentialising Count and Magnitude Data", [C] Cuppen, "Source Data Perturbation in Statistical Disclosure Control".
"""

import numpy as np
import pytest

from cellguard.rules.conversions import k_from_p, p_from_k
from cellguard.rules.linear import Dominance, PPercent, PriorPosterior
from cellguard.rules.simple import MaxShare
from cellguard.table.fact import Top, Total
from cellguard.table.facts import Facts, contributions

PIANO = (81, 5, 2, 2, 2)


def near(value):
    return pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("cell", "ratio"),
    [
        pytest.param((59, 40, 1), 1.694915, id="T 2.4.5 one large"),
        pytest.param((41, 40, 19), 46.341463, id="T 2.4.5 two large"),
        pytest.param((0.69, 0.23, 0.06, 0.02), 11.594203, id="T typical A"),
        pytest.param((0.45, 0.38, 0.12, 0.05), 37.777778, id="T typical B"),
        pytest.param(PIANO, 7.4074074, id="L piano"),
        pytest.param((178, 99, 2, 1, 4, 3, 2), 6.741573, id="M 6.2.3"),
        pytest.param((600, 90, 60, 10, 10, 10, 10, 10, 10), 20.0, id="L violins"),
        pytest.param((690, 60, 10, 10, 10, 10, 10, 10), 8.695652, id="L violins, one holding"),
        pytest.param((600, 10, 10), 1.666667, id="L violins in A"),
        pytest.param((90, 60, 10), 11.111111, id="L violins in B"),
        pytest.param((10, 10, 10), 100.0, id="L violins in C"),
    ],
)
def test_p_percent_is_unsafe_just_above_the_ratio(cell, ratio):
    facts = contributions(cell)
    assert PPercent(10).measure(facts)[0] == near(ratio)
    assert PPercent(ratio + 1e-4).unsafe(facts).all()
    assert not PPercent(ratio - 1e-4).unsafe(facts).any()


@pytest.mark.parametrize(
    ("cell", "n", "k", "share", "unsafe"),
    [
        pytest.param((0.69, 0.23, 0.06, 0.02), 2, 89, 92.0, True, id="T typical A"),
        pytest.param((0.45, 0.38, 0.12, 0.05), 2, 89, 83.0, False, id="T typical B"),
        pytest.param(PIANO, 2, 85, 93.478261, True, id="L piano"),
        pytest.param((25, 19, 13, 8, 2), 3, 85, 85.074627, True, id="L relative X1"),
        pytest.param((25, 19, 12, 8, 2), 3, 85, 84.848485, False, id="L relative Y1"),
        pytest.param((41, 40, 40, 20, 1), 3, 85, 85.211268, True, id="L relative X2"),
        pytest.param((81, 20, 20, 20, 1), 3, 85, 85.211268, True, id="L relative Y2"),
        pytest.param((48, 7, 4, 9, 6), 1, 90, 64.864865, False, id="M 6.2.1 at 90"),
        pytest.param((48, 7, 4, 9, 6), 1, 50, 64.864865, True, id="M 6.2.1 at 50"),
        pytest.param((4000, 2500, 1500, 850, 600, 550), 3, 70, 80.0, True, id="C table 2.3"),
    ],
)
def test_dominance(cell, n, k, share, unsafe):
    facts = contributions(cell)
    assert Dominance(n, k).measure(facts)[0] == near(share)
    assert Dominance(n, k).unsafe(facts).tolist() == [unsafe]


@pytest.mark.parametrize(
    ("cell", "estimate", "relative"),
    [
        ((25, 19, 13, 8, 2), 35, 1.4),
        ((25, 19, 12, 8, 2), 35, 1.4),
        ((41, 40, 40, 20, 1), 62, 1.512195),
        ((81, 20, 20, 20, 1), 102, 1.259259),
    ],
)
def test_dominance_does_not_control_the_relative_error_of_a_coalition(cell, estimate, relative):
    """[L]: the 2nd and 3rd together estimate the largest as total - x2 - x3, whatever the share of all three."""
    error = PPercent(10, coalition=2).measure(contributions(cell))[0]
    assert 1 + error / 100 == near(relative)
    assert (1 + error / 100) * cell[0] == near(estimate)


@pytest.mark.parametrize(
    ("rule", "S", "upper"),
    [
        pytest.param(PPercent(10), 2.1, 2.1, id="L p percent"),
        pytest.param(Dominance(2, 85), 7.8, 9.176471, id="L dominance"),
        pytest.param(PriorPosterior(10, 50), 5.1, 10.2, id="T prior-posterior"),
    ],
)
def test_piano_sensitivity_and_protection_level(rule, S, upper):
    facts = contributions(PIANO)
    assert rule.sensitivity(facts)[0] == near(S)
    assert rule.upper(facts)[0] == near(upper)
    assert rule.unsafe(facts).all()


def test_dominance_sensitivity_of_cuppen_table_2_3():
    assert Dominance(3, 70).sensitivity(contributions([4000, 2500, 1500, 850, 600, 550]))[0] == near(1000)


def test_largest_share_of_lee_choi_okeefe():
    facts = contributions([48, 7, 4, 9, 6])
    assert MaxShare(50).measure(facts)[0] == near(64.864865)
    assert MaxShare(50).unsafe(facts).all()
    assert not MaxShare(90).unsafe(facts).any()


def test_prior_posterior_equals_p_percent_of_100_p_over_q():
    """[T] 2.4.4: p = 10, q = 50 is the p % rule with p = 20."""
    cells = contributions(PIANO, (100, 50, 20), (100, 50, 19), (100, 50, 21))
    assert PriorPosterior(10, 50).unsafe(cells).tolist() == PPercent(20).unsafe(cells).tolist()
    assert PriorPosterior(10, 50).upper(cells) == pytest.approx(PPercent(20).upper(cells))


@pytest.mark.parametrize(
    ("cell", "strict", "inclusive"),
    [
        pytest.param((100, 50, 10), PPercent(10), PPercent(10, inclusive=True), id="p percent"),
        pytest.param((60, 20, 20), Dominance(1, 60), Dominance(1, 60, inclusive=True), id="dominance"),
    ],
)
def test_a_tie_is_unsafe_only_when_inclusive(cell, strict, inclusive):
    assert not strict.unsafe(contributions(cell)).any()
    assert inclusive.unsafe(contributions(cell)).all()


def test_k_equivalent_to_p():
    assert [k_from_p(p) for p in (10, 25)] == near([90.909091, 80.0])
    assert [p_from_k(k) for k in (100 / 1.1, 80)] == near([10, 25])


def test_safe_for_p_percent_but_not_for_the_dominance_rule_of_the_same_strictness():
    """[T]: the converse of the relation between both rules fails."""
    cell = contributions([52, 50, 8])
    assert not PPercent(10).unsafe(cell).any()
    assert Dominance(2, k_from_p(10)).unsafe(cell).all()


def test_discussion_example_with_largest_59_percent():
    """[T] Discussion: remainder 0.18 against 18 % of 0.59 = 0.1062."""
    cell = Facts({Total(): np.array([1.0]), Top(2): np.array([[0.59, 0.23]])})
    assert PPercent(18).sensitivity(cell)[0] == near(0.1062 - 0.18)
    assert not PPercent(18).unsafe(cell).any()


def test_first_whole_p_that_makes_a_dataset_sensitive():
    """[T] example 2, row 5."""
    cell = contributions([0.09, 2.49, 0.07, 0.69])
    assert next(p for p in range(1, 101) if PPercent(p).unsafe(cell).all()) == 7


# [T] example 3: contributions, share of the two largest, p % ratio. Group A is sensitive at p = 18, group B is not.
GROUP_A = [
    ((0.09, 2.49, 0.07, 0.69), 95.21, 6.426),
    ((4.49, 0.04, 1.24, 0.74), 88.018, 17.372),
    ((1.7, 2.94, 0.17, 0.32), 90.448, 16.667),
    ((1.59, 0.28, 0.06, 4.15), 94.408, 8.193),
    ((0, 0.82, 1.73, 0.07), 97.328, 4.046),
    ((0.13, 0.01, 0.89, 0.33), 89.706, 15.73),
    ((0.02, 1.19, 0.44, 0.05), 95.882, 5.882),
    ((0.07, 1.77, 0.9, 0.18), 91.438, 14.124),
]
GROUP_B = [
    ((0.15, 1.31, 1.78, 0.24), 88.793, 21.91),
    ((1.73, 0.22, 1.93, 0.6), 81.696, 42.487),
    ((1.31, 1.08, 0.07, 0.24), 88.519, 23.664),
    ((0.67, 0.11, 1.56, 1.76), 80.976, 44.318),
    ((0.8, 0.03, 1.41, 1.59), 78.329, 52.201),
    ((0.18, 1.1, 0.36, 0.96), 79.231, 49.091),
    ((0.85, 1.84, 0.02, 2.11), 81.95, 41.232),
    ((0.28, 1.69, 0.09, 0.29), 84.255, 21.893),
]


@pytest.mark.parametrize(("group", "unsafe"), [(GROUP_A, True), (GROUP_B, False)], ids=["A", "B"])
def test_groups_on_which_rules_disagree(group, unsafe):
    cells, shares, ratios = zip(*group, strict=True)
    facts = contributions(*cells)
    assert Dominance(2, 89).measure(facts) == pytest.approx(shares, abs=1e-3)
    assert PPercent(18).measure(facts) == pytest.approx(ratios, abs=1e-3)
    assert PPercent(18).unsafe(facts).tolist() == [unsafe] * len(group)


@pytest.mark.parametrize(("n", "k", "minimum"), [(3, 70, 5), (2, 90, 3), (1, 50, 2), (3, 75, 4), (2, 85, 3)])
def test_dominance_implies_a_minimum_of_contributions(n, k, minimum):
    """[L]: with fewer, even equal contributions are unsafe."""
    rule = Dominance(n, k)
    assert rule.minimum_contributions == minimum
    assert not rule.unsafe(contributions([1] * minimum)).any()
    assert rule.unsafe(contributions([1] * (minimum - 1), [0] * n))[0]


def test_equal_contributions_under_3_70():
    """[L]: three have 100 %, four 75 %, five 60 %."""
    facts = contributions([1] * 3, [1] * 4, [1] * 5)
    assert Dominance(3, 70).measure(facts).tolist() == pytest.approx([100, 75, 60])
    assert Dominance(3, 70).unsafe(facts).tolist() == [True, True, False]
