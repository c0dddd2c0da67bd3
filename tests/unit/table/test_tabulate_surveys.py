"""Weighted surveys: what the rules see in each mode, on cells worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.rules.linear import Dominance, PPercent, PriorPosterior
from cellguard.rules.simple import MaxShare, Request
from cellguard.table.fact import Count, Excess, Requested, Top, Unwaived
from cellguard.table.survey import SURVEYS, light_weights, virtual
from cellguard.table.tableset import link
from cellguard.table.tabulate import Wanted, make_tables
from unit.table.tabulate_oracle import make_units

from grouped_units import group_units

SHOP = {"shop": Dimension("shop", flat(["A", "B"]))}


def cell(pairs, survey=None, *, top=3, holding=None, response="x", **more):
    """The facts of the only cell of (value, weight) pairs."""
    names = holding or [f"h{i:03}" for i in range(len(pairs))]
    values, weight = zip(*pairs, strict=True)
    units = make_units({"shop": ["A"] * len(pairs)}, {"x": values}, names, weight=weight, **more)
    facts = (Count(), Top(top), Requested(), *(() if survey == "published_weights" else (Unwaived(1),)))
    (table,) = make_tables(group_units(units), [Wanted(SHOP, response, facts=facts, survey=survey)])
    link(table)
    assert table.facts.total[0] == table.facts.total[1]
    return table.facts


def test_a_weight_of_five_is_five_contributions():
    # Lecture "Problems and criteria", survey slides: 100 with weight 5.
    facts = cell([(100, 5)], top=7)
    assert facts.tops[0].tolist() == [100, 100, 100, 100, 100, 0, 0]
    assert facts.total[0] == 500 and facts.base[0] == 500 and facts.count[0] == 1


@pytest.mark.parametrize(
    ("pairs", "top_sum", "total"), [([(100, 4), (10, 7)], 200, 470), ([(100, 1.5), (10, 7)], 155, 220)]
)
def test_the_two_largest_of_a_weighted_cell(pairs, top_sum, total):
    # The first also in the Handbook; fractions share a rank.
    facts = cell(pairs, top=2)
    assert facts.tops[0].sum() == top_sum and facts.total[0] == total
    share = Dominance(2, 85).measure(facts)[0]
    assert share == pytest.approx(100 * top_sum / total)
    assert PPercent(10).sensitivity(facts)[0] == pytest.approx(0.1 * 100 + top_sum - total)


def test_the_sample_alone():
    facts = cell([(100, 4), (10, 7), (5, 2)], "sample")
    assert facts.total[0] == 480 and facts.base[0] == 115 and facts.tops[0].tolist() == [100, 10, 5]
    assert PPercent(10).unsafe(facts)[0] and PPercent(10).upper(facts)[0] == pytest.approx(5 * 480 / 115)
    assert Dominance(1, 85).measure(facts)[0] == pytest.approx(100 * 100 / 115)
    assert MaxShare(80).unsafe(facts)[0] and not MaxShare(87).unsafe(facts)[0]


def test_the_handbooks_form_relates_the_sample_to_the_weighted_total():
    pairs = [(100, 1.1), (10, 1.2), (5, 1)]
    facts = cell(pairs, "handbook")
    assert facts.base[0] == facts.total[0] == 127 and facts.tops[0].tolist() == [100, 10, 5]
    assert PPercent(10).sensitivity(facts)[0] == pytest.approx(0.1 * 100 - (127 - 100 - 10))
    assert not PPercent(10).unsafe(facts)[0]
    assert PPercent(10, coalition=2).sensitivity(facts)[0] == pytest.approx(0.1 * 100 - (127 - 100 - 10 - 5))


def test_published_weights_are_subtracted():
    pairs = [(100, 1.1), (10, 1.2), (5, 2)]
    facts = cell(pairs, "published_weights")
    total = 110 + 12 + 10
    assert facts.total[0] == total and np.allclose(facts[Excess(3)][0], [10, 2, 5])
    assert PPercent(10).sensitivity(facts)[0] == pytest.approx(0.1 * 100 - (total - 110 - 12))
    assert PPercent(10, coalition=2).sensitivity(facts)[0] == pytest.approx(0.1 * 100)
    assert PPercent(12).unsafe(facts)[0] and not PPercent(9).unsafe(facts)[0]
    assert PriorPosterior(10, 50).sensitivity(facts)[0] == pytest.approx(0.1 * 100 - 0.5 * (total - 110 - 12))
    assert MaxShare(50).measure(facts)[0] == pytest.approx(100 * 100 / (total - 10))


def test_the_level_of_a_sample_is_that_of_what_is_published():
    # All weights 10: the runner-up knows 1060 / 10 - 5, so 10 percent of the largest are 100 of the total.
    facts = cell([(100, 10), (5, 10), (1, 10)], "sample")
    assert PPercent(10).sensitivity(facts)[0] == pytest.approx(9) and PPercent(10).upper(facts)[0] == pytest.approx(90)


def test_what_does_not_go_together_is_refused():
    units = make_units({"shop": ["A"]}, {"x": [3]}, ["a"], weight=[2])
    with pytest.raises(InputError, match="waivers do not go with survey: published_weights"):
        make_tables(group_units(units), [Wanted(SHOP, "x", facts=(Unwaived(1),), survey="published_weights")])
    silent = replace(group_units(units), has_requests=False)
    with pytest.raises(InputError, match="name the column of requests with `request`"):
        make_tables(silent, [Wanted(SHOP, "x", facts=(Requested(),))])


def test_rounded_weights():
    facts = cell([(100, 1.5), (10, 7.4), (5, 0.3)], "rounded")
    assert facts.total[0] == pytest.approx(150 + 74 + 1.5)
    assert facts.base[0] == 200 + 70 + 5 and facts.tops[0].tolist() == [100, 100, 10]


def test_alternating_weights_go_up_and_down_in_the_order_of_holdings():
    pairs = [(8, 2.5), (4, 3), (2, 1.5), (1, 1.9)]
    facts = cell(pairs, "alternating", top=9)
    assert facts.base[0] == 8 * 3 + 4 * 3 + 2 * 1 + 1 * 2
    assert facts.tops[0].tolist() == [8, 8, 8, 4, 4, 4, 2, 1, 1]


def test_a_weight_below_one_counts_as_one_and_a_weight_of_zero_not_at_all():
    facts = cell([(100, 0.5), (10, 0), (4, 3)])
    assert facts.total[0] == 62 and facts.tops[0].tolist() == [100, 4, 4] and facts.count[0] == 2
    units = make_units({"shop": ["A"] * 3}, {"x": [1, 2, 3]}, ["a", "b", "c"], weight=[0.5, 0, 2])
    assert light_weights(group_units(units)) == 1


def test_a_holding_with_weights_counts_once_with_its_unweighted_sum():
    facts = cell([(100, 2), (50, 3), (10, 4)], holding=["h", "h", "k"])
    assert facts.tops[0].tolist() == [150, 10, 10] and facts.total[0] == 390 and facts.count[0] == 2
    facts = cell([(100, 2), (50, 3), (10, 4)], "published_weights", holding=["h", "h", "k"])
    assert facts.tops[0].tolist() == [150, 10, 0] and facts[Excess(3)][0].tolist() == [200, 30, 0]


def test_weighted_counts_are_no_whole_frequencies():
    units = make_units({"shop": ["A", "A", "B"]}, {}, ["a", "b", "c"], weight=[1.5, 2, 4])
    (table,) = make_tables(group_units(units), [Wanted(SHOP, "count")])
    assert not table.is_count and table.value.tolist() == [7.5, 3.5, 4] and table.facts.count.tolist() == [3, 2, 1]


def test_without_weights_there_is_no_survey_mode():
    units = make_units({"shop": ["A", "A", "B"]}, {"x": [3, 4, 5]}, ["a", "b", "c"])
    (table,) = make_tables(group_units(units), [Wanted(SHOP, "x", facts=(Top(2),))])
    assert table.facts.base is None and table.facts.tops.tolist() == [[5, 4], [4, 3], [5, 0]]
    for survey in SURVEYS:
        with pytest.raises(InputError, match="`survey` is for weighted records"):
            make_tables(group_units(units), [Wanted(SHOP, "x", facts=(Top(2),), survey=survey)])
    with pytest.raises(InputError, match="unknown survey mode 'sampel'; did you mean 'sample'"):
        make_tables(group_units(units), [Wanted(SHOP, "x", survey="sampel")])


def test_virtual_contributions_keep_the_sum_of_the_first_ranks():
    rng = np.random.default_rng(2)
    tops = -np.sort(-rng.integers(0, 50, (200, 4)).astype(float), axis=1)
    weights = 1 + rng.random((200, 4)) * 3
    found = virtual(tops, weights)
    for row in range(200):
        for m in range(1, 5):
            taken, expected = 0.0, 0.0
            for x, w in zip(tops[row], weights[row], strict=True):
                part = min(w, m - taken)
                taken, expected = taken + part, expected + part * x
            assert found[row, :m].sum() == pytest.approx(expected)


def waiver_by_hand(values, waived, p, coalition):
    """Unsafe iff X - x_s - (the largest others) < p/100 x_s, with s the largest without a waiver."""
    free = [i for i in range(len(values)) if not waived[i]]
    if not free:
        return -np.inf
    s = max(free, key=lambda i: values[i])
    others = sorted((values[i] for i in range(len(values)) if i != s), reverse=True)
    return p / 100 * values[s] - (sum(values) - values[s] - sum(others[:coalition]))


def test_the_victim_is_the_largest_without_a_waiver():
    rng = np.random.default_rng(4)
    for _ in range(200):
        many, coalition = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        values, waived = rng.integers(0, 9, many).tolist(), (rng.random(many) < 0.6).tolist()
        units = make_units({"shop": ["A"] * many}, {"x": values}, [f"h{i}" for i in range(many)], waived=waived)
        rule = PPercent(20, coalition=coalition, waivers=True)
        (table,) = make_tables(group_units(units), [Wanted(SHOP, "x", facts=rule.facts)])
        expected = waiver_by_hand(values, waived, 20, coalition)
        assert rule.sensitivity(table.facts)[0] == pytest.approx(expected)
        assert rule.unsafe(table.facts)[0] == (expected > 1e-9 and sum(values) > 0)
    assert str(rule).endswith(", waivers")


def test_without_waivers_the_two_forms_agree():
    units = make_units({"shop": ["A"] * 5}, {"x": [81, 5, 2, 2, 2]}, list("abcde"))
    for rule, plain in (
        (PPercent(10, waivers=True), PPercent(10)),
        (PriorPosterior(10, 50, 2, waivers=True), PriorPosterior(10, 50, 2)),
    ):
        (table,) = make_tables(group_units(units), [Wanted(SHOP, "x", facts=rule.facts)])
        for name in ("sensitivity", "measure", "upper"):
            assert np.allclose(getattr(rule, name)(table.facts), getattr(plain, name)(table.facts))


def test_a_request_counts_if_the_largest_made_it():
    def asked(values, requested, k):
        units = make_units({"shop": ["A"] * 3}, {"x": values}, list("abc"), requested=requested)
        rule = Request(k)
        (table,) = make_tables(group_units(units), [Wanted(SHOP, "x", facts=rule.facts)])
        return bool(rule.unsafe(table.facts)[0])

    assert asked([80, 10, 10], [True, False, False], 70)
    assert not asked([80, 10, 10], [True, False, False], 80)
    assert not asked([80, 10, 10], [False, True, True], 70)
    # One of a holding's records says so in another cell: the holding asks everywhere.
    units = make_units({"shop": ["A", "B"]}, {"x": [9, 1]}, ["h", "h"], requested=[False, True])
    (table,) = make_tables(group_units(units), [Wanted(SHOP, "x", facts=Request(50).facts)])
    assert Request(50).unsafe(table.facts).all()
