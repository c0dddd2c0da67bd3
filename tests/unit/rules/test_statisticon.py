"""The Statisticon rule: what the two largest can conclude, by brute force, and what protects it."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cellguard as cg
from cellguard.errors import InputError
from cellguard.rules.statisticon import Statisticon
from cellguard.table.fact import Contributors, Count, Top, Total
from cellguard.table.facts import Facts, contributions


def cells_of(total, n):
    """Every cell of n whole contributions with a total, largest first."""
    return [c[::-1] for c in combinations_with_replacement(range(total + 1), n) if sum(c) == total]


@pytest.mark.parametrize("total", range(1, 9))
@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_runner_up_can_conclude_exactly_the_interval(total, n):
    """Among all cells with his X, x2 and N, the largest contribution takes on both ends and nothing beyond."""
    cells = cells_of(total, n)
    facts = contributions(*cells)
    known = Statisticon(25).runner_up(facts)
    for i, cell in enumerate(cells):
        largest = [other[0] for other in cells if other[1] == cell[1]]
        assert (known.low[i], known.high[i]) == (min(largest), max(largest))


@pytest.mark.parametrize("total", range(1, 9))
@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_largest_can_conclude_exactly_the_interval(total, n):
    """In whole numbers the lower end is the next above (X - x1) / (N - 1)."""
    cells = cells_of(total, n)
    facts = contributions(*cells)
    known = Statisticon(25).largest(facts)
    for i, cell in enumerate(cells):
        second = [other[1] for other in cells if other[0] == cell[0]]
        assert (np.ceil(known.low[i] - 1e-9), known.high[i]) == (min(second), max(second))


numbers = st.lists(st.integers(0, 60), min_size=1, max_size=7).filter(any)


def needs_of(rule, cell):
    facts = contributions(cell, [0, 0])
    table = cg.cells({"r": ["Total", "N"], "x": [sum(cell)] * 2}, by=["r"], value="x")
    both = Facts({fact: np.repeat(column[:1], 2, axis=0) for fact, column in facts.items()}, complete=True)
    judged = rule.look(_with(table, both))
    return judged, float(judged.reach[0]), float(np.asarray(judged.fall)[0]), float(judged.width[0])


def _with(table, facts):
    object.__setattr__(table, "facts", facts)
    return table


@settings(max_examples=300, deadline=None)
@given(numbers, st.integers(1, 99), st.booleans(), st.floats(0, 1))
def test_an_interval_that_meets_the_needs_hides_the_largest(cell, s, both, lean):
    """With X anywhere in an interval as needed, however it leans, both intervals are s percent of X long."""
    rule = Statisticon(s, both_pairs=both)
    judged, up, down, width = needs_of(rule, cell)
    if not judged.unsafe[0] or judged.hopeless[0]:
        return
    x = [*sorted(cell, reverse=True), 0]
    X, first, second, N = sum(cell), x[0], x[1], len(cell)
    spare = max(width - up - down, 0)
    u, low = up + lean * spare, down + (1 - lean) * spare
    low = min(low, X)
    length = (X + u - second) - max(second, X - low - (N - 1) * second)
    if low == down + (1 - lean) * spare:
        assert length >= s / 100 * X - 1e-9
    if both and N > 1:
        rest = X - first
        assert min(first, rest + u) - (rest - low) / (N - 1) >= s / 100 * (first + second) - 1e-9


@settings(max_examples=300, deadline=None)
@given(numbers, st.integers(1, 99))
def test_less_than_the_needs_is_not_enough(cell, s):
    """The needs are exact: a little less above and as much as one likes below, or a little less width, is too short."""
    judged, up, _, width = needs_of(Statisticon(s), cell)
    if not judged.unsafe[0] or width < 1e-6:
        return
    x = [*sorted(cell, reverse=True), 0]
    X, second, N = sum(cell), x[1], len(cell)

    def length(u, low):
        return (X + u - second) - max(second, X - low - (N - 1) * second)

    assert length(width - 1e-3, 0) < s / 100 * X
    if up > 1e-3:
        assert length(up - 1e-3, X) < s / 100 * X


def test_with_both_pairs_a_cell_of_alike_contributors_is_unsafe_and_a_margin_passes():
    """Of twenty alike the largest knows the second exactly; in a margin of many sizes it is far from that."""
    both = Statisticon(25, both_pairs=True)
    judged, _, down, _ = needs_of(both, [10] * 20)
    assert judged.unsafe[0] and not judged.hopeless[0] and down == pytest.approx(95)
    assert not needs_of(Statisticon(25), [10] * 20)[0].unsafe[0]
    margin = [*range(1, 41)]
    assert max(margin) < 0.25 * sum(margin), "the largest has less than s percent of the total"
    assert not needs_of(both, margin)[0].unsafe[0]


def test_where_others_have_too_little_nothing_helps():
    judged, *_ = needs_of(Statisticon(70, both_pairs=True), [60, 40, 10])
    assert judged.unsafe[0] and judged.hopeless[0]


def test_more_contributors_never_make_a_cell_less_safe():
    cell = {Total(): np.full(6, 100.0), Top(2): np.tile([40.0, 12.0], (6, 1)), Count(): np.arange(2, 8.0)}
    assert (np.diff(Statisticon(10).runner_up(Facts(cell)).length) >= 0).all()


def test_weights_count_as_contributors():
    """100 and 10 of weight 5 each: X = 550 is made of ten contributions, of which the two largest are 100."""
    data = {"r": ["A", "A", "B"], "x": [100, 10, 7], "w": [5, 5, 1]}
    firms = cg.records(data, by=["r"], values=["x"], weight="w")
    rule = Statisticon(20)
    table = cg.tabulate(firms, by=["r"], value="x", rules=rule)
    assert table.facts[Contributors()].tolist() == [11, 10, 1]
    facts = table.facts.take(np.array([1]))
    assert facts.tops[:, :2].tolist() == [[100, 100]]
    assert rule.measure(facts)[0] == pytest.approx(100 * (550 - 200) / 550)
    sample = cg.tabulate(firms, by=["r"], value="x", rules=rule, survey="sample")
    assert Contributors() not in sample.facts.columns and sample.facts[Contributors()].tolist() == [3, 2, 1]


def test_faults():
    for s in (0, -1, 101):
        with pytest.raises(InputError, match="s must be above 0 and at most 100 percent"):
            Statisticon(s)
    with pytest.raises(InputError, match="number of contributions"):
        Statisticon(10).unsafe(Facts({Total(): np.array([1.0]), Top(2): np.array([[1.0, 0.0]])}))
    table = cg.cells({"r": ["Total", "N"], "x": [5, 5], "a": [5, 5], "b": [0, 0]}, by=["r"], value="x", top=["a", "b"])
    with pytest.raises(InputError, match="name its column with `count`"):
        cg.assess(table, Statisticon(10))
