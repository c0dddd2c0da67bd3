"""Every rule has a figure in words for every cell, whatever decides there."""

from types import SimpleNamespace

import numpy as np
import pytest

import cellguard as cg
from cellguard.rules.rows import AttributeDisclosure, KDisclosure, MaxFraction, MinOthers
from cellguard.rules.signed import EffectiveContributors, Signed
from cellguard.rules.simple import Given
from cellguard.rules.statisticon import Statisticon
from cellguard.table.fact import Mark, Requested, Top, Total
from cellguard.table.facts import Facts, contributions
from cellguard.table.signed_cells import signed_contributions

MIXED = [-19302, -18599, -1409, -582, 1356, 715, 391, 236, 32, 11, 0, -463]


def table_of(facts):
    """A table of cells with these facts, as far as rules about contributions look at it."""
    return SimpleNamespace(facts=facts, decimals=0)


def figure(rule, *cells, make=contributions):
    return rule.figures(table_of(make(*cells)), np.array([0]))[0]


def test_rules_of_contributions():
    cells = [59, 40, 1], [5, 5, 5, 5]
    assert figure(cg.PPercent(10), *cells) == "1.7 %"
    assert figure(cg.MinFrequency(3), *cells) == "3"
    assert figure(cg.All((cg.MinFrequency(3), cg.Dominance(1, 50))), *cells) == "3 and 59.0 %"
    assert figure(EffectiveContributors(3), [90, -5, 5], make=signed_contributions) == "1.48"


def test_a_cell_of_zeros_has_words_in_place_of_a_share():
    assert figure(cg.Dominance(1, 50), [0, 0]) == "no share, since the contributions add up to 0"


def test_the_runner_up_is_told_before_and_after():
    rule = Statisticon(25)
    table = table_of(contributions([59, 40, 1], [5, 5]))
    assert rule.figures(table, [0]) == ["20.0 %; the runner-up knows the largest to be between 40 and 60"]
    assert rule.after(table, 0, 80, 130) == "after suppression between 40 and 90"
    assert rule.after(table, 0, 80, np.inf).endswith("and no limit")


def test_contributions_of_either_sign_have_each_ratio_with_its_h():
    rule = Signed(cg.PPercent(10))
    assert figure(rule, [-4, 5], make=signed_contributions) == "2 respondents"
    told = figure(rule, MIXED, make=signed_contributions)
    assert told.startswith("T_R = 0.068; S_R,1 = ") and all(name in told for name in ("S_R,2", "Q_R,1", "Q_R,2"))
    assert "S_R" not in figure(Signed(cg.PPercent(10), by="quantile"), MIXED, make=signed_contributions)
    assert figure(rule, [90, 8, 5, 3], make=signed_contributions) == "T_R = 0.000; p_percent 10: 8.9 % on sizes"


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (MaxFraction("d", ("yes",)), "10 of 11 in the row (90.9 %) have yes, 1 have not"),
        (MinOthers("d", ("yes",)), "10 of 11 in the row (90.9 %) have yes, 1 have not"),
        (KDisclosure("d", 1), "10 of 11 in the row (90.9 %) have yes, 1 have not"),
        (AttributeDisclosure("d"), "10 of 11 in the row (90.9 %) have yes, 1 have not"),
    ],
)
def test_rules_of_rows_tell_those_of_the_category_and_the_others(rule, told):
    rows = {"r": ["Total"] * 3 + ["A"] * 3 + ["B"] * 3, "d": ["Total", "yes", "no"] * 3}
    about = cg.About(is_count=True, zeros="possible")
    counts = rows | {"n": [11, 10, 1, 11, 10, 1, 0, 0, 0]}
    table = cg.cells(counts, by=["r", "d"], value="n", count="n", about=about)
    here = cg.assess(table, rule).by_table[0].table
    figures = rule.figures(here, np.array([here.find("A/yes"), here.find("B/yes")]))
    assert figures == [told, "nobody in the row has a tested category"]


def test_marks_and_requests():
    marked = Facts({Total(): np.array([5.0, 7.0]), Mark("secret"): np.array([True, False])})
    assert Given("secret").figures(table_of(marked), np.array([0, 1])) == ["yes", "no"]
    asked = Facts({Total(): np.array([10.0]), Top(1): np.array([[9.0]]), Requested(): np.array([False])})
    assert cg.Request(70).figures(table_of(asked), np.array([0])) == ["90.0 %, did not ask for protection"]
