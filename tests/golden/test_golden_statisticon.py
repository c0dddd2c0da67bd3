"""The Statisticon rule, and how far rules agree: the thesis on the rule of Johan Bring."""

import numpy as np
import pytest

from cellguard.evaluate.agreement import Agreement
from cellguard.rules.statisticon import Statisticon
from cellguard.table.facts import contributions
from golden.test_golden_rules import GROUP_A, GROUP_B


def near(value):
    return pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("cell", "low", "high", "percent"),
    [
        pytest.param((59, 40, 1), 40, 60, 20, id="2.4.5 one large"),
        pytest.param((41, 40, 19), 40, 60, 20, id="2.4.5 two large"),
        pytest.param((0.69, 0.23, 0.06, 0.02), 0.31, 0.77, 46, id="typical A, in print from 0.23"),
        pytest.param((0.45, 0.38, 0.12, 0.05), 0.38, 0.62, 24, id="typical B"),
        pytest.param((5,), 5, 5, 0, id="one contributor"),
        pytest.param((7, 3), 7, 7, 0, id="two contributors"),
        pytest.param((25, 25, 25, 25), 25, 75, 50, id="four equal ones"),
    ],
)
def test_interval_of_the_runner_up(cell, low, high, percent):
    facts = contributions([*cell], [0, 0])
    known = Statisticon(25).runner_up(facts)
    assert (known.low[0], known.high[0]) == near((low, high))
    assert known.length[0] == near(high - low)
    assert Statisticon(25).measure(facts)[0] == near(percent)
    if percent:
        assert Statisticon(percent + 1e-4).unsafe(facts)[0]
        assert not Statisticon(percent - 1e-4).unsafe(facts)[0]
    else:
        assert Statisticon(1e-6).unsafe(facts)[0]


def test_the_same_interval_is_judged_alike():
    cells = contributions([59, 40, 1], [41, 40, 19])
    assert Statisticon(25).unsafe(cells).tolist() == [True, True]
    assert Statisticon(15).unsafe(cells).tolist() == [False, False]


@pytest.mark.parametrize(("n", "percent"), [(3, 33.333333), (4, 50), (5, 60), (6, 66.666667), (10, 80), (20, 90)])
def test_the_longest_interval(n, percent):
    """(N - 2)/N of the total, where x2 is X/N: beyond that every cell is sensitive."""
    assert Statisticon(10).measure(contributions([1] * n))[0] == near(percent)
    rng = np.random.default_rng(n)
    drawn = contributions(*rng.exponential(1, (500, n)))
    assert (Statisticon(10).measure(drawn) <= percent + 1e-5).all()
    assert Statisticon(percent + 1e-3).unsafe(drawn).all()


def test_a_tie_is_unsafe_only_when_inclusive():
    cell = contributions([50, 40, 10])
    assert Statisticon(20).runner_up(cell).length[0] == 20
    assert not Statisticon(20).unsafe(cell).any()
    assert Statisticon(20, inclusive=True).unsafe(cell).all()


def test_the_largest_may_know_the_second_better():
    """(90, 10, 0): the second finds an interval of length 10 for the largest, the largest one of 5 for the second."""
    cell = contributions([90, 10, 0])
    assert Statisticon(8).runner_up(cell).length[0] == 10 and Statisticon(8).largest(cell).length[0] == 5
    assert not Statisticon(8).unsafe(cell).any()
    assert Statisticon(8, both_pairs=True).unsafe(cell).all()


def test_groups_on_which_p_percent_and_statisticon_disagree():
    """Example 3, at p = 18 and s = 27: A is sensitive by p %, B by Statisticon."""
    intervals = {
        "A": [41.317, 38.095, 33.723, 47.697, 37.405, 48.529, 48.235, 38.356],
        "B": [24.713, 22.768, 20.0, 23.902, 26.371, 26.154, 23.651, 24.681],
    }
    for group, name, unsafe in ((GROUP_A, "A", False), (GROUP_B, "B", True)):
        facts = contributions(*(cell for cell, *_ in group))
        assert Statisticon(27).measure(facts) == pytest.approx(intervals[name], abs=1e-3)
        assert Statisticon(27).unsafe(facts).tolist() == [unsafe] * len(group)


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        ((75, 124, 112, 689), 0.242556),
        ((78, 118, 109, 695), 0.267023),
        pytest.param((177, 22, 19, 782), 0.870659, id="printed as 0.81, which the printed counts do not give"),
    ],
)
def test_kappa(table, kappa):
    assert Agreement(*table).kappa == near(kappa)
