"""Properties that hold for every cell."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellguard.rules.all_of import All
from cellguard.rules.conversions import estimate_from_dominance, k_from_p, p_from_k, p_from_prior_posterior
from cellguard.rules.linear import Dominance, Linear, PPercent, PriorPosterior
from cellguard.rules.simple import MaxShare, MinFrequency
from cellguard.rules.statisticon import Statisticon
from cellguard.table.fact import Total
from cellguard.table.facts import contributions

WIDTH = 6  # contributions that every rule below may ask for
quick = settings(max_examples=150, deadline=None)

values = st.integers(0, 10**6).map(float)
cells = st.lists(values, min_size=1, max_size=9)
percents = st.integers(1, 99).map(float)
coalitions = st.integers(1, 4)


@st.composite
def prior_posterior(draw):
    q = draw(st.integers(2, 100))
    return PriorPosterior(draw(st.integers(1, q - 1)), q, draw(coalitions))


linear_rules = st.one_of(
    st.builds(Dominance, st.integers(1, WIDTH), percents),
    st.builds(PPercent, st.integers(1, 300).map(float), coalitions),
    prior_posterior(),
)
rules = st.one_of(
    linear_rules,
    st.builds(Statisticon, percents, st.booleans()),
    st.builds(MaxShare, percents),
    st.builds(MinFrequency, st.integers(1, 9)),
    st.builds(lambda k, n: All((MaxShare(k), MinFrequency(n))), percents, st.integers(1, 9)),
)
weights = st.lists(st.integers(-8, 8).map(lambda n: n / 4), min_size=2, max_size=WIDTH)


def facts(*several):
    """The facts of cells, wide enough for every rule; the last cell is only there for its width."""
    return contributions(*several, [0.0] * WIDTH)


def score(rule, cell):
    return float(rule.sensitivity(facts(cell))[0])


def verdict(rule, cell):
    return bool(rule.unsafe(facts(cell))[0])


@quick
@given(linear_rules, cells)
def test_every_named_rule_equals_its_linear_form(rule, cell):
    same = Linear(rule.prefix, rule.tail)
    assert score(same, cell) == score(rule, cell)
    assert verdict(same, cell) == verdict(rule, cell)
    assert same.upper(facts(cell))[0] == rule.upper(facts(cell))[0]


@quick
@given(linear_rules, cells)
def test_sensitivity_is_the_weighted_sum_over_sorted_contributions(rule, cell):
    line = [*rule.prefix, *[rule.tail] * len(cell)]
    by_hand = sum(weight * x for weight, x in zip(line, sorted(cell, reverse=True), strict=False))
    assert score(rule, cell) == pytest.approx(by_hand, abs=1e-9 * max(sum(cell), 1))


@quick
@given(linear_rules, cells)
def test_raising_the_rest_by_the_upper_level_ends_the_sensitivity(rule, cell):
    """The protection level is what an attacker must not know of the rest of the cell."""
    known = facts(cell)
    level = float(rule.upper(known)[0])
    raised = known.plus({Total(): known.total + level})
    assert rule.sensitivity(raised)[0] == pytest.approx(0, abs=1e-9 * max(sum(cell), 1))


@quick
@given(weights, cells, cells)
def test_non_increasing_weights_are_sub_additive(line, x, y):
    line = sorted(line, reverse=True)
    rule = Linear(tuple(line[:-1]), line[-1])
    assert rule.subadditive
    assert score(rule, x + y) <= score(rule, x) + score(rule, y) + 1e-6


@quick
@given(linear_rules, cells, cells)
def test_a_union_of_safe_cells_is_safe(rule, x, y):
    if not verdict(rule, x) and not verdict(rule, y):
        assert not verdict(rule, x + y)


SHARED = st.lists(st.tuples(values, values), min_size=1, max_size=9)
subadditive = st.one_of(
    linear_rules, st.builds(MaxShare, percents), st.builds(MinFrequency, st.integers(1, 9), st.booleans())
)


@quick
@given(subadditive, SHARED)
def test_a_union_of_safe_cells_is_safe_though_holdings_are_in_both(rule, pairs):
    """What a holding has in both parts adds up in the union; those with nothing in a part are not in it."""
    assert rule.subadditive
    x, y = ([pair[side] for pair in pairs if pair[side]] for side in (0, 1))
    if x and y and not verdict(rule, x) and not verdict(rule, y):
        assert not verdict(rule, [a + b for a, b in pairs if a + b])


@pytest.mark.parametrize(
    ("rule", "parts"),
    [
        (Linear((0.0, 1.0), -1.0), ([5], [4])),
        (Statisticon(30), ([11, 4, 0, 0], [11, 3, 1, 0])),
        (All((Dominance(1, 30), MinFrequency(6))), ([5, 1, 1], [1] * 5)),
    ],
)
def test_rules_that_are_not_sub_additive(rule, parts):
    """The third by holdings that are in both parts: the union has five respondents, one of them with 6 of 12."""
    assert rule.subadditive is False
    if isinstance(rule, All):
        assert not verdict(rule, [1] * 5) and verdict(rule, [6, 2, 2, 1, 1])
        return
    assert not any(verdict(rule, part) for part in parts)
    assert verdict(rule, [x for part in parts for x in part])


@quick
@given(cells, st.integers(2, 5), st.integers(1, 99))
def test_safe_under_n_k_is_p_n_safe(cell, n, k):
    """Cuppen, theorem 4: also if the rest is known to within q percent."""
    if not verdict(Dominance(n, k), cell):
        assert not verdict(estimate_from_dominance(Dominance(n, k)), cell)
        if 100 * (100 - k) / k < 100:
            assert not verdict(estimate_from_dominance(Dominance(n, k), 60), cell)


def test_increasing_weights_are_not_sub_additive():
    rule = Linear((0.0, 1.0), -1.0)
    assert not rule.subadditive
    assert score(rule, [5]) == score(rule, [4]) == 0
    assert score(rule, [5, 4]) == 4


@quick
@given(rules, cells, st.sampled_from([0.5, 2.0, 10.0, 1024.0]))
def test_the_unit_of_the_values_does_not_matter(rule, cell, factor):
    assert verdict(rule, [x * factor for x in cell]) == verdict(rule, cell)


@quick
@given(rules, st.permutations(range(6)), st.lists(values, min_size=6, max_size=6))
def test_the_order_of_the_contributions_does_not_matter(rule, order, cell):
    assert score(rule, [cell[i] for i in order]) == score(rule, cell)


@quick
@given(rules, st.lists(cells, min_size=1, max_size=5))
def test_cells_are_judged_one_by_one(rule, several):
    together = rule.unsafe(facts(*several))[:-1]
    assert together.tolist() == [verdict(rule, cell) for cell in several]


@quick
@given(st.sampled_from([Dominance, PPercent, MaxShare, MinFrequency]), st.data(), cells)
def test_inclusive_is_at_least_as_strict(kind, data, cell):
    first = data.draw(st.integers(1, 6) if kind in (Dominance, MinFrequency) else percents)
    arguments = (first, data.draw(percents)) if kind is Dominance else (first,)
    if verdict(kind(*arguments), cell):
        assert verdict(kind(*arguments, inclusive=True), cell)


@quick
@given(st.integers(1, 200).map(float), cells)
def test_safe_under_two_k_implies_safe_under_p_percent(p, cell):
    if not verdict(Dominance(2, k_from_p(p)), cell):
        assert not verdict(PPercent(p), cell)


@quick
@given(st.floats(0.1, 1000))
def test_k_from_p_and_p_from_k_undo_each_other(p):
    assert p_from_k(k_from_p(p)) == pytest.approx(p)


@quick
@given(prior_posterior(), cells)
def test_prior_posterior_is_a_p_percent(rule, cell):
    assert verdict(rule, cell) == verdict(PPercent(p_from_prior_posterior(rule.p, rule.q), rule.coalition), cell)


@quick
@given(st.lists(values, min_size=3, max_size=9), st.integers(1, 99), st.integers(1, 99))
def test_a_larger_s_and_fewer_contributors_are_stricter(cell, a, b):
    mild, strict = sorted((a, b))
    assert verdict(Statisticon(mild), cell) <= verdict(Statisticon(strict), cell)
    assert verdict(Statisticon(a), cell) <= verdict(Statisticon(a, both_pairs=True), cell)
    assert verdict(Statisticon(a), [*cell, 0.0]) <= verdict(Statisticon(a), cell)


@quick
@given(linear_rules, cells, values)
def test_one_more_small_contributor_never_makes_a_cell_unsafe(rule, cell, more):
    """Monotony: whoever is no larger than all others adds to the rest, or is 0."""
    if not verdict(rule, cell):
        assert not verdict(rule, [*cell, min([more, *cell])])


@quick
@given(cells, st.integers(1, 99), st.integers(1, 99))
def test_a_larger_p_and_a_smaller_k_are_stricter(cell, a, b):
    mild, strict = sorted((a, b))
    assert verdict(PPercent(mild), cell) <= verdict(PPercent(strict), cell)
    assert verdict(Dominance(2, strict), cell) <= verdict(Dominance(2, mild), cell)


@quick
@given(rules, st.integers(0, 5))
def test_empty_cells_are_never_unsafe(rule, several):
    empty = facts(*[[] for _ in range(several + 1)])
    assert not rule.unsafe(empty)[:-1].any()
    assert np.all(empty.count[:-1] == 0)
