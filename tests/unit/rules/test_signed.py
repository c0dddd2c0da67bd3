"""Contributions of either sign: facts against brute force, treatments, and the way each cell is decided."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cellguard as cg
from cellguard.errors import InputError
from cellguard.rules.all_of import All
from cellguard.rules.linear import Dominance, PPercent
from cellguard.rules.signed import EffectiveContributors, Signed, quantile_ratio, variance_ratio
from cellguard.rules.simple import MinFrequency
from cellguard.rules.statisticon import Statisticon
from cellguard.table.fact import Signs
from cellguard.table.negative import Negative, parse_negative
from cellguard.table.signed_cells import signed_contributions
from cellguard.table.signed_facts import Entropy, Extremes, Middle, Sizes, Squares

numbers = st.lists(st.integers(-6, 6), min_size=1, max_size=7)


def removed(cell, h):
    """Every choice of the h contributions farthest from 0."""
    far = sorted(map(abs, cell), reverse=True)[:h]
    return [c for c in combinations(range(len(cell)), h) if sorted((abs(cell[i]) for i in c), reverse=True) == far]


@settings(max_examples=200, deadline=None)
@given(numbers, st.integers(0, 4))
def test_ratios_are_the_smallest_over_all_ways_to_break_ties(cell, h):
    facts = signed_contributions(cell)
    n, values = len(cell), np.array(cell, float)
    median = np.median(values)
    variance, quantile = [], []
    for gone in removed(cell, min(h, n)):
        rest = np.delete(values, gone)
        if n - h >= 2:
            variance.append(1.0 if np.var(values) == 0 else np.var(rest, ddof=1) / np.var(values, ddof=1))
        about = ((values - median) ** 2).sum()
        quantile.append(1.0 if about == 0 else 1 - ((values[list(gone)] - median) ** 2).sum() / about)
    expected = min(quantile) if n > h or h == 0 else 0.0
    assert quantile_ratio(facts, h)[0] == pytest.approx(expected, abs=1e-12)
    if variance:
        assert variance_ratio(facts, h)[0] == pytest.approx(min(variance), abs=1e-12)
    else:
        assert np.isnan(variance_ratio(facts, h)[0])


@settings(max_examples=60, deadline=None)
@given(numbers, st.sampled_from([0.01, 2.0, 1000.0]))
def test_neither_order_nor_unit_matter(cell, factor):
    rule = Signed(PPercent(10))
    verdicts = {bool(rule.unsafe(signed_contributions(order))[0]) for order in list(permutations(cell))[:24]}
    assert verdicts == {bool(rule.unsafe(signed_contributions([x * factor for x in cell]))[0])}


def test_squares_are_not_differences_of_large_sums():
    """A billion beside thousandths: the spread of the rest keeps its digits."""
    cell = signed_contributions([1e9, 0.001, 0.002, 0.003])
    assert cell[Squares(1)][0, 1] == pytest.approx(2e-6, rel=1e-9)
    shifted = signed_contributions([1e9 + d for d in (0.001, 0.002, 0.003)])
    assert shifted[Squares(0)][0, 0] == pytest.approx(2e-6, rel=1e-3)


@pytest.mark.parametrize(
    ("cell", "reasons"),
    [
        pytest.param([5, -5], ["signed: fewer than 3 respondents"], id="few"),
        pytest.param([90, 5, 1, -1], ["signed: p_percent 10 on sizes"], id="one sign prevails"),
        pytest.param([9, 8, 7, 6, -1], [], id="one sign prevails, safe"),
        pytest.param([100, -100, 1, 2, 1, 0, -1], ["signed: spread of 2 extremes"], id="two extremes"),
        pytest.param([7, -6, 5, -4, 6, -5, 3], [], id="no extreme"),
        pytest.param([100, 0, 0, 0], ["signed: p_percent 10 on sizes"], id="the single one that is not 0"),
        pytest.param([0, 0, 0, 0], [], id="nothing but 0"),
        pytest.param([], [], id="empty"),
    ],
)
def test_what_decides(cell, reasons):
    facts = signed_contributions(cell)
    rule = Signed(PPercent(10))
    assert [reason for reason, cells in rule.branches(facts) if cells[0]] == reasons
    assert rule.unsafe(facts).tolist() == [bool(reasons)]


def test_two_large_contributions_of_three_are_not_safe_for_being_alike():
    """The second largest is the median, so that neither is far from it; the usual rule judges their sizes."""
    rule = Signed(Dominance(2, 90))
    cells = signed_contributions([100, 98, -12], [100, 99, 98, 98, -30])
    assert rule.unsafe(cells).tolist() == [True, False]
    assert [reason for reason, unsafe in rule.branches(cells) if unsafe[0]] == ["signed: dominance (2, 90) on sizes"]
    assert rule.upper(cells)[0] == Dominance(2, 90).upper(cells)[0] > 0
    assert [mask.tolist() for words, mask in rule.remarks(cells) if "stands out" in words] == [[False, True]]


@pytest.mark.parametrize("by", ["both", "variance", "quantile"])
def test_where_the_variance_grows_the_usual_rule_decides(by):
    """Without 100 the variance of (100, 90, -12) is larger than with it, and the two largest have 94 % of all sizes."""
    rule = Signed(Dominance(2, 90), by=by)
    cells = signed_contributions([100, 90, -12], [100, 80, -50], [7, -6, 5, -4, 6, -5, 3])
    assert (variance_ratio(cells, 1) > 1).tolist() == [True, True, False]
    assert rule.unsafe(cells).tolist() == [True, False, False]
    assert rule.upper(cells)[0] == Dominance(2, 90).upper(cells)[0] > 0
    assert [mask.tolist() for words, mask in rule.remarks(cells) if "above 1" in words] == [[False, True, False]]


def test_safe_cells_that_somebody_should_look_at():
    alike = [100, 100, 100, 101, -0.1]
    rule = Signed(PPercent(10), sign_ratio=0.0)
    cells = signed_contributions(alike, [100, 80, -50], [5, 5, -5])
    assert [int(mask.sum()) for _, mask in rule.remarks(cells)] == [1, 1]


def firms(**more):
    data = {"r": list("AAABBBBC"), "x": [50, -40, 3, 5, -6, 7, -4, 9], "jobs": [1, 2, 3, 90, 2, 1, 1, 4], **more}
    return cg.records(
        data, by=["r"], values=[name for name in data if name in ("x", "jobs")], **{k: k for k in more if k != "jobs"}
    )


def facts_of(negative, *rules, records=None):
    return cg.tabulate(records or firms(), by=["r"], value="x", rules=list(rules), negative=negative).facts


def test_treatments():
    plain = facts_of(None, MinFrequency(3))
    assert plain[Signs()].tolist() == [[74, -50], [53, -40], [12, -10], [9, 0]]
    absolute = facts_of(Negative(), PPercent(10))
    assert absolute.basis.tolist() == absolute.gross.tolist() == [124, 93, 22, 9]
    assert absolute.tops.tolist() == [[50, 40], [50, 40], [7, 6], [9, 0]]
    shifted = facts_of(Negative(shift=50), PPercent(10))
    assert shifted.basis.tolist() == [24 + 8 * 50, 13 + 150, 2 + 200, 59]
    assert shifted.tops.tolist() == [[100, 59], [100, 53], [57, 55], [59, 0]]
    assert shifted.gross.tolist() == [124, 93, 22, 9]
    proxy = facts_of(Negative(proxy="jobs"), PPercent(10))
    assert proxy.basis.tolist() == [124, 93, 22, 9]
    assert proxy.tops[2].tolist() == pytest.approx([22 * 90 / 94, 22 * 2 / 94])
    larger = facts_of(Negative(proxy="jobs", share=0.5), PPercent(10))
    assert larger.tops[2].tolist() == pytest.approx([22 * 45 / 62, 22 * 7 / 62])


def test_a_proxy_finds_a_large_unit_with_a_small_value():
    assert not PPercent(10).unsafe(facts_of(Negative(), PPercent(10)))[2]
    assert PPercent(10).unsafe(facts_of(Negative(proxy="jobs"), PPercent(10)))[2]


def test_holdings_count_once_with_the_sum_of_their_signs():
    """One holding has 50 and -40: it contributes 10, and the cell has two contributions."""
    facts = facts_of(Negative(), PPercent(10), Signed(PPercent(10)), records=firms(holding=list("aabcdefg")))
    assert facts.count[1] == 2 and facts.tops[1].tolist() == [10, 3] and facts.basis[1] == 13


def test_faults_of_treatments():
    for said, words in (
        ("sizes", "negative must be absolute"),
        ({"shift": 1, "proxy": "jobs"}, "one of shift and proxy"),
        ({"share": 1}, "share goes with proxy"),
        ({"shift": -1}, "shift must be above 0"),
        ({"shift": True}, "must be numbers"),
        ({"proxy": 1}, "name of a column"),
    ):
        with pytest.raises(InputError, match=words):
            parse_negative(said)
    with pytest.raises(InputError, match="still below 0; give a larger one"):
        facts_of(Negative(shift=39), PPercent(10))
    with pytest.raises(InputError, match="is 0 where 'x' is not"):
        facts_of(Negative(proxy="jobs"), PPercent(10), records=firms(jobs=[0] * 8))
    with pytest.raises(InputError, match="no column 'job'; did you mean 'jobs'"):
        facts_of(Negative(proxy="job"), PPercent(10))
    with pytest.raises(InputError, match="with weights only `negative: absolute`"):
        facts_of(Negative(shift=50), PPercent(10), records=firms(weight=[1] * 8))
    with pytest.raises(InputError, match="goes with survey virtual or handbook, not with sample"):
        data = cg.records({"r": ["A"], "x": [-1], "w": [2]}, by=["r"], values=["x"], weight="w")
        cg.tabulate(data, by=["r"], value="x", rules=PPercent(10), negative=Negative(), survey="sample")
    with pytest.raises(InputError, match="say `negative: absolute` of the table"):
        facts_of(None, Signed(PPercent(10)))
    with pytest.raises(InputError, match="counts are never negative"):
        cg.tabulate(firms(), by=["r"], value="count", rules=MinFrequency(3), negative=Negative())
    table = cg.tabulate(firms(), by=["r"], value="x", rules=PPercent(10))
    with pytest.raises(InputError, match="say what it sees instead, as `negative: absolute`"):
        cg.assess(table, PPercent(10))


def test_weighted_contributions_are_as_so_many_of_the_same_size():
    """Sizes, ranks and signs of whole weights are those of repeated records; the spread of the sample is stricter."""
    rng, differ = np.random.default_rng(1), 0
    rules = [Signed(Dominance(2, 90)), Dominance(2, 90), PPercent(10)]
    for _ in range(60):
        n = int(rng.integers(3, 9))
        value, weight = np.round(rng.lognormal(2, 1.5, n) * rng.choice([1, -1], n)), rng.integers(1, 5, n)
        facts = []
        for x, w in ((value, weight), (np.repeat(value, weight), None)):
            data = {"r": ["A"] * len(x), "x": x.tolist()} | ({} if w is None else {"w": w.tolist()})
            records = cg.records(data, by=["r"], values=["x"], weight=None if w is None else "w")
            facts.append(cg.tabulate(records, by=["r"], value="x", rules=rules, negative=Negative()).facts)
        one, many = facts
        assert one.basis == pytest.approx(many.basis) and one[Signs()] == pytest.approx(many[Signs()])
        assert [rule.unsafe(one)[1] for rule in rules[1:]] == [rule.unsafe(many)[1] for rule in rules[1:]]
        strict, lax = rules[0].unsafe(one)[1], rules[0].unsafe(many)[1]
        assert strict or not lax
        differ += strict != lax
    assert differ


def test_ready_made_cells_without_a_spread_are_unsafe_where_both_signs_count():
    cells = signed_contributions([100, 98, -2, 90, 85], [7, -6, 5, -4, 6], [90, 5, 1, -1], [5, -5])
    known = {
        fact: column for fact, column in cells.columns.items() if not isinstance(fact, (Extremes, Squares, Middle))
    }
    rule = Signed(PPercent(10))
    left = type(cells)(known)
    assert rule.unsafe(left).tolist() == [False, True, True, True]
    assert [reason for reason, mask in rule.branches(left) if mask[1]] == [
        "signed: both signs count, and no spread is known"
    ]
    assert not (rule.unsafe(cells) & ~rule.unsafe(left)).any()


def test_faults_of_rules():
    for parameters in ({"h": 0}, {"h": 6}, {"n": 0}, {"sign_ratio": 1}, {"limit": -0.1}, {"near": 2}, {"by": "mean"}):
        with pytest.raises(InputError, match="signed: "):
            Signed(PPercent(10), **parameters)
    for usual in (Signed(PPercent(10)), Statisticon(10), 10):
        with pytest.raises(InputError, match="usual must be a rule"):
            Signed(usual)
    with pytest.raises(InputError, match="n must be above 1"):
        EffectiveContributors(1)


def test_needs_are_a_percentage_of_sizes():
    """7 and -7 cancel to 0: a tenth of 14, and not of 0."""
    data = {"r": ["A", "A", "B", "B", "B"], "x": [7, -7, 30, -20, 40]}
    table = cg.tabulate(cg.records(data, by=["r"], values=["x"]), by=["r"], value="x", rules=MinFrequency(3))
    needs = cg.require(cg.assess(table, MinFrequency(3)), cg.Knowledge(lower=-np.inf))
    assert table.value.tolist() == [50, 0, 50]
    assert needs.upper == pytest.approx([0, 1.4, 0]) and needs.lower == pytest.approx([0, 1.4, 0])


def test_ready_made_cells_with_sums_of_sizes():
    from cellguard.table.binding import bind
    from cellguard.table.read import About, CellColumns, read_cells
    from cellguard.table.source import open_source

    data = {"r": ["Total", "N", "S"], "x": [-1, -9, 8], "s": [30, 12, 18], "a": [9, 9, 8], "b": [8, 1, 4]}

    def read(**changed):
        source = open_source({**data, **changed}, name="cells")
        return read_cells(source, bind(["r"], source), CellColumns("x", top=("a", "b"), sizes="s"), About())

    table = read()
    assert cg.assess(table, PPercent(25)).primary.tolist() == [False, True, False]
    assert cg.assess(table, Dominance(1, 70)).primary.tolist() == [False, True, False]
    for wrong, words in (
        ({"s": [30, 8, 18]}, "below that of contributions or total"),
        ({"b": [8, -1, 4]}, "give the sizes"),
    ):
        with pytest.raises(InputError, match=words):
            read(**wrong)


def test_rules_of_either_sign_go_with_others():
    facts = signed_contributions([5, -5], [100, -100, 1, 2, 1, 0, -1])
    assert All((Signed(PPercent(10)), MinFrequency(3))).unsafe(facts).tolist() == [True, False]
    assert Sizes() in facts and facts[Entropy()].shape == (2,) and facts[Middle()].shape == (2, 3)
    assert facts[Extremes(2)].tolist() == [[5, -5], [-100, 100]]
