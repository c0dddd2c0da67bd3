"""Minimum frequency, largest share, given marks, and `All`."""

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.rules.all_of import All
from cellguard.rules.linear import PPercent
from cellguard.rules.simple import Given, MaxShare, MinFrequency
from cellguard.table.fact import Count, Mark, Top, Total
from cellguard.table.facts import Facts, contributions

COUNTS = Facts({Total(): np.array([0.0, 5.0, 5.0, 5.0, 5.0]), Count(): np.array([0.0, 1.0, 2.0, 3.0, 4.0])})


def test_min_frequency_is_strict_unless_inclusive():
    assert MinFrequency(3).unsafe(COUNTS).tolist() == [False, True, True, False, False]
    assert MinFrequency(3, inclusive=True).unsafe(COUNTS).tolist() == [False, True, True, True, False]


def test_min_frequency_counts_respondents_whose_value_is_zero():
    assert MinFrequency(3).unsafe(contributions([0, 0])).tolist() == [True]


def test_min_frequency_says_how_many_respondents_are_missing():
    assert MinFrequency(3).sensitivity(COUNTS).tolist() == [-np.inf, 2, 1, 0, -1]
    assert MinFrequency(3).measure(COUNTS).tolist() == [0, 1, 2, 3, 4]


def test_max_share_is_strict_unless_inclusive():
    facts = contributions([51, 49], [50, 50], [0, 0])
    assert MaxShare(50).unsafe(facts).tolist() == [True, False, False]
    assert MaxShare(50, inclusive=True).unsafe(facts).tolist() == [True, True, False]
    assert MaxShare(50).sensitivity(facts).tolist() == [1, 0, 0]
    assert MaxShare(50).measure(facts)[:2].tolist() == [51, 50]
    assert np.isnan(MaxShare(50).measure(facts)[2])


def test_given_repeats_the_marks():
    facts = Facts({Total(): np.array([5.0, 0.0, 7.0]), Mark("secret"): np.array([True, True, False])})
    assert Given("secret").unsafe(facts).tolist() == [True, True, False]
    assert np.isnan(Given("secret").measure(facts)).all()


@pytest.mark.parametrize(
    ("rule", "facts"),
    [(MinFrequency(3), (Count(),)), (MaxShare(50), (Total(), Top(1))), (Given("secret"), (Mark("secret"),))],
    ids=str,
)
def test_rules_state_the_facts_that_they_need(rule, facts):
    assert rule.facts == facts


@pytest.mark.parametrize("rule", [MinFrequency(3), MaxShare(50), Given("secret")], ids=str)
def test_simple_rules_have_no_protection_formula(rule):
    assert np.isnan(rule.upper(contributions([9, 1], [5]))).tolist() == [True, True]
    assert rule.protection_percent == 10


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: MinFrequency(0), "n must be 1 or more, and whole, not 0"),
        (lambda: MinFrequency(3, protection_percent=0), "protection_percent must be above 0 and finite, not 0"),
        (lambda: MinFrequency(3, protection_percent=float("inf")), "protection_percent"),
        (lambda: MaxShare(100), "k must be above 0 and below 100 percent, not 100"),
        (lambda: MaxShare(50, protection_percent=-1), "protection_percent must be above 0"),
        (lambda: Given("secret", protection_percent=float("nan")), "protection_percent must be above 0"),
        (lambda: All((MinFrequency(3),)), "at least two rules"),
    ],
)
def test_parameters_check_themselves(wrong, said):
    with pytest.raises(InputError, match=said):
        wrong()


def test_all_is_unsafe_where_every_rule_is():
    facts = contributions([9, 1], [5, 5, 5], [9, 1, 0, 0])
    both = All((MinFrequency(3), PPercent(20)))
    assert MinFrequency(3).unsafe(facts).tolist() == [True, False, False]
    assert PPercent(20).unsafe(facts).tolist() == [True, False, True]
    assert both.unsafe(facts).tolist() == [True, False, False]


def test_all_takes_the_least_sensitivity_and_the_largest_level():
    facts = contributions([50, 30, 10, 10])
    both = All((PPercent(50), PPercent(80)))
    assert both.sensitivity(facts).tolist() == [25 - 20]
    assert both.upper(facts).tolist() == [40 - 20]
    assert np.isnan(both.measure(facts)).all()


def test_all_gathers_what_its_rules_need():
    both = All((MinFrequency(3, protection_percent=5), MaxShare(50, protection_percent=20)))
    assert both.facts == (Count(), Total(), Top(1))
    assert both.protection_percent == 20
    assert both.nonnegative
    assert not All((MinFrequency(3), Given("secret"))).nonnegative
    assert str(both) == "min_frequency 3 and max_share 50"
