"""`require`: how far an attacker's interval must reach."""

from dataclasses import replace

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.protection import require
from cellguard.rules.all_of import All
from cellguard.rules.assess import assess
from cellguard.rules.linear import Dominance, Linear, PPercent, PriorPosterior
from cellguard.rules.simple import Given, MaxShare, MinFrequency
from cellguard.table.read import About, cells
from cellguard.table.tableset import link
from cellguard.world.knowledge import Knowledge

# North is the cell that the rules find: 81 + 5 + 2 + 2 + 2.
NORTH = 1
REGIONS = {
    "region": ["Total", "North", "South", "West"],
    "x": [342, 92, 100, 150],
    "n": [25, 2, 10, 13],
    "x1": [81, 81, 30, 40],
    "x2": [40, 5, 30, 40],
    "secret": [0, 1, 0, 0],
}


def regions(about=None, **said):
    """The regions with what is said of North beforehand: state, lower, upper, need_lower, need_upper."""
    table = cells(
        REGIONS, by=["region"], value="x", count="n", top=["x1", "x2"], marks=["secret"], about=about or About("t")
    )
    return say(table, NORTH, **said)


def say(table, cell, **said):
    columns = {}
    for name, value in said.items():
        column = getattr(table.apriori, name).copy()
        column[cell] = value
        columns[name] = column
    return replace(table, apriori=replace(table.apriori, **columns))


def need(needs, cell=NORTH):
    return tuple(float(a[cell].round(6)) for a in (needs.lower, needs.upper, needs.sliding))


@pytest.mark.parametrize(
    ("rule", "level"),
    [
        (PPercent(10), 8.1 - 6),
        (Dominance(2, 85), 100 / 85 * 86 - 92),
        (PriorPosterior(10, 50), 10 / 50 * 81 - 6),
        (Linear((0.2, 0.0), -2.0), (16.2 - 12) / 2),
    ],
    ids=str,
)
def test_the_level_is_the_formula_of_the_rule_below_and_above(rule, level):
    assert need(require(assess(regions(), [rule]))) == pytest.approx((level, level, 0), abs=1e-6)


@pytest.mark.parametrize(
    ("rule", "percent"),
    [
        (MinFrequency(3), 10),
        (MinFrequency(3, protection_percent=25), 25),
        (MaxShare(70), 10),
        (Given("secret", protection_percent=5), 5),
        (Linear((1.0,), 0.0), 10),
        (All((MinFrequency(3), Given("secret", protection_percent=20))), 20),
    ],
    ids=str,
)
def test_without_a_formula_the_level_is_a_percentage_of_the_value(rule, percent):
    level = 92 * percent / 100
    assert need(require(assess(regions(), [rule]))) == pytest.approx((level, level, 0))


def test_must_suppress_without_a_rule_needs_ten_percent():
    assert need(require(assess(regions(state=2), []))) == (9.2, 9.2, 0)


def test_a_safe_cell_needs_nothing_whatever_is_given():
    needs = require(assess(regions(need_lower=5, need_upper=5), []))
    assert not needs.primary.any()
    for level in (needs.lower, needs.upper, needs.sliding):
        assert not level.any()
    assert not needs.unprotectable.any()


def test_of_several_rules_the_largest_level_counts():
    assert need(require(assess(regions(), [PPercent(10), Dominance(2, 85)])))[1] == pytest.approx(9.176471)
    assert need(require(assess(regions(), [PPercent(10), MinFrequency(3)])))[1] == 9.2


def test_a_rule_that_did_not_fire_asks_for_nothing():
    assert need(require(assess(regions(), [PPercent(10), MaxShare(95)])))[1] == 2.1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"need_upper": 5}, (5, 5, 0)),
        ({"need_lower": 5}, (5, 2.1, 0)),
        ({"need_lower": 1, "need_upper": 7}, (1, 7, 0)),
        ({"need_lower": 0, "need_upper": 0}, (0, 0, 1)),
    ],
)
def test_needs_that_are_given_replace_the_formula(given, expected):
    assert need(require(assess(regions(**given), [PPercent(10)]))) == expected


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"lower": 91}, (1, 2.1, 0)),
        ({"upper": 93.5}, (2.1, 1.5, 0)),
        ({"lower": 91.5, "upper": 93}, (0.5, 1, 0)),
    ],
)
def test_needs_are_capped_by_the_bounds_that_the_attacker_knows(bounds, expected):
    assert need(require(assess(regions(**bounds), [PPercent(10)]))) == expected


def test_the_lower_need_stops_at_zero_since_values_are_not_negative():
    needs = require(assess(regions(need_upper=200), [PPercent(10)]))
    assert need(needs) == (92, 200, 0)


def test_below_one_unit_on_every_side_the_interval_must_be_one_unit_wide():
    rule = PPercent(7.5)  # needs 0.075 * 81 - 6 = 0.075
    assert need(require(assess(regions(), [rule]))) == (0.075, 0.075, 1)
    assert need(require(assess(regions(About("t", decimals=1)), [rule]))) == (0.075, 0.075, 0.1)
    assert need(require(assess(regions(About("t", decimals=2)), [rule]))) == (0.075, 0.075, 0)


def test_a_level_of_exactly_one_unit_is_enough():
    assert need(require(assess(regions(need_upper=1), [PPercent(10)]))) == (1, 1, 0)


def flat(values, counts=None, **more):
    codes = ["Total", *"abcdefg"[: len(values) - 1]]
    data = {"r": codes, "x": values, "n": counts or values}
    return cells(data, by=["r"], value="x", count="n", **more)


def test_a_count_needs_an_interval_one_wide():
    table = cells({"r": ["Total", "a", "b"], "n": [9, 2, 7]}, by=["r"], value="n", count="n")
    needs = require(assess(table, [MinFrequency(3)]))
    assert need(needs, 1) == (0, 0, 1)
    assert need(needs, 0) == need(needs, 2) == (0, 0, 0)
    assert not needs.unprotectable.any()


def test_a_must_suppress_count_needs_an_interval_one_wide():
    table = cells({"r": ["Total", "a", "b"], "n": [9, 2, 7]}, by=["r"], value="n", count="n")
    assert need(require(assess(say(table, 2, state=2), [])), 2) == (0, 0, 1)


def test_a_zero_valued_primary_needs_an_interval_one_unit_wide():
    table = flat([12, 0, 5, 7], [9, 1, 4, 4])
    needs = require(assess(table, [MinFrequency(3)]))
    assert need(needs, 1) == (0, 0, 1)
    assert not needs.unprotectable.any()


def test_a_negative_value_needs_a_percentage_of_its_size():
    table = flat([40, -60, 100], [12, 2, 10])
    needs = require(assess(table, [MinFrequency(3)]), Knowledge(lower=-np.inf))
    assert need(needs, 1) == (6, 6, 0)


def test_of_several_tables_the_largest_of_each_level_counts():
    first = regions(need_lower=1, need_upper=8)
    second = replace(regions(need_lower=6, need_upper=2), name="again")
    needs = require(assess(link([first, second]), [PPercent(10)]))
    assert need(needs) == (6, 8, 0)


def test_a_need_given_in_one_table_holds_for_a_cell_that_only_another_table_finds_unsafe():
    first, second = regions(need_upper=50), replace(regions(), name="again")
    needs = require(assess(link([first, second]), {"t": [], "again": [PPercent(10)]}))
    assert need(needs) == (50, 50, 0)


def test_the_coarsest_unit_of_the_tables_counts():
    first, second = regions(About("t", decimals=0)), regions(About("again", decimals=2))
    needs = require(assess(link([first, second]), [PPercent(7.5)]))
    assert need(needs) == (0.075, 0.075, 1)


@pytest.mark.parametrize("bounds", [((50, 200), (80, 300)), ((80, 300), (50, 200))])
def test_of_bounds_in_several_tables_the_narrowest_count(bounds):
    (low, high), (other_low, other_high) = bounds
    first = regions(lower=low, upper=high)
    second = replace(regions(lower=other_low, upper=other_high), name="again")
    needs = require(assess(link([first, second]), []))
    assert (needs.world.lower[NORTH], needs.world.upper[NORTH]) == (80, 200)


def test_by_default_the_attacker_knows_that_values_are_not_negative():
    needs = require(assess(regions(), []))
    assert needs.world.lower.tolist() == [0] * 4
    assert needs.world.upper.tolist() == [np.inf] * 4


def test_bounds_for_all_and_bounds_of_a_cell():
    needs = require(assess(regions(lower=-10, upper=95), []), Knowledge(lower=50, upper=1000))
    assert needs.world.lower.tolist() == [50, -10, 50, 50]
    assert needs.world.upper.tolist() == [1000, 95, 1000, 1000]


def test_an_attacker_who_knows_every_value_to_within_a_percentage():
    needs = require(assess(regions(), [MinFrequency(3)]), Knowledge(percent=5))
    assert needs.world.lower == pytest.approx(np.array([342, 92, 100, 150]) * 0.95)
    assert needs.world.upper == pytest.approx(np.array([342, 92, 100, 150]) * 1.05)
    assert need(needs) == (4.6, 4.6, 0)


def test_percentage_and_bounds_hold_together():
    needs = require(assess(regions(), []), Knowledge(lower=0, upper=350, percent=200))
    assert needs.world.lower.tolist() == [0] * 4
    assert needs.world.upper == pytest.approx([350, 276, 300, 350])


def test_a_value_outside_the_bounds_is_refused_without_telling_it():
    with pytest.raises(InputError) as error:
        require(assess(regions(upper=91), []))
    message = str(error.value)
    assert "row 2: the value of North lies outside the attacker's a-priori bounds" in message
    assert "(1 cells do)" in message
    assert "92" not in message
    assert "91" not in message


def test_negative_values_need_unbounded_knowledge():
    table = flat([40, -60, 100], [12, 5, 10])
    with pytest.raises(InputError, match=r"row 2: the value of a lies outside .*attack: \{lower: unbounded\}"):
        require(assess(table, []))
    assert not require(assess(table, []), Knowledge(lower=-np.inf)).unprotectable.any()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Knowledge(lower=5, upper=5), "lower must be below upper"),
        (lambda: Knowledge(lower=float("nan")), "lower must be below upper"),
        (lambda: Knowledge(percent=0), "percent must be above 0, not 0"),
        (lambda: Knowledge(percent=-3), "percent must be above 0"),
    ],
)
def test_knowledge_checks_itself(wrong, said):
    with pytest.raises(InputError, match=said):
        wrong()


def test_a_zero_whose_siblings_hang_on_a_missing_parent_is_unprotectable():
    """No row has a/Total, so a/x + a/y = 0, and values that are not negative are all 0."""
    data = {
        "r": ["Total", "Total", "Total", "a", "a", "b", "b", "b"],
        "s": ["Total", "x", "y", "x", "y", "Total", "x", "y"],
        "v": [12, 5, 7, 0, 0, 12, 5, 7],
        "n": [12, 6, 6, 1, 1, 12, 5, 5],
    }
    table = cells(data, by=["r", "s"], value="v", count="n")
    needs = require(assess(table, [MinFrequency(3)]))
    assert [table.cell_name(i) for i in np.flatnonzero(needs.unprotectable)] == ["a/x", "a/y"]
    assert need(needs, table.find("a/x")) == (0, 0, 1)


def test_bounds_that_leave_no_room_make_a_cell_unprotectable():
    needs = require(assess(regions(lower=92, upper=92), [PPercent(10)]))
    assert need(needs) == (0, 0, 1)
    assert needs.unprotectable.tolist() == [False, True, False, False]


@pytest.mark.parametrize(("total", "sibling"), [("lower", "upper"), ("upper", "lower")], ids=["downwards", "upwards"])
def test_bounds_of_the_other_cells_can_make_a_cell_unprotectable(total, sibling):
    """Known bounds of the total and of every sibling pin the cell down on one side, whatever is hidden."""
    table = say(regions(), 0, **{total: 342})
    for cell, value in ((2, 100), (3, 150)):
        table = say(table, cell, **{sibling: value})
    needs = require(assess(table, [PPercent(10)]))
    assert need(needs) == (2.1, 2.1, 0)
    assert needs.unprotectable.tolist() == [False, True, False, False]


def test_a_safe_cell_without_room_is_not_called_unprotectable():
    assert not require(assess(regions(lower=92, upper=92), [])).unprotectable.any()


def test_a_zero_count_total_leaves_nothing_to_protect():
    table = cells({"r": ["Total", "a", "b"], "n": [0, 0, 0]}, by=["r"], value="n", count="n")
    needs = require(assess(say(table, 1, state=2), []))
    assert need(needs, 1) == (0, 0, 1)
    assert not needs.unprotectable.any()
