"""What hiding a cell costs."""

from dataclasses import replace

import numpy as np
import pytest

import cellguard as cg
from cellguard.errors import InputError
from cellguard.methods.suppress.costs import parse_cost, set_costs

NONE = np.zeros(5, bool)


def table(**more):
    region = cg.Hierarchy.from_levels([("N", "a"), ("N", "b"), ("S",)])
    data = {"r": ["Total", "N", "a", "b", "S"], "x": [100, 60, 40, 20, 40], "n": [12, 8, 5, 3, 4]}
    return cg.cells(data, by={"r": region}, value="x", count="n", **more)


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        ("value", [100, 60, 40, 20, 40]),
        ("count", [12, 8, 5, 3, 4]),
        ("constant", [1, 1, 1, 1, 1]),
        ("log", np.log1p([100, 60, 40, 20, 40])),
        ({"box_cox": 0.5}, np.sqrt([100, 60, 40, 20, 40])),
        ({"box_cox": 0}, np.log1p([100, 60, 40, 20, 40])),
        ({"inner_first": "constant"}, [4, 2, 1, 1, 2]),
        ({"sum": [{"cost": "value", "weight": 2}, {"cost": "constant", "weight": 5}]}, [205, 125, 85, 45, 85]),
    ],
)
def test_costs_follow_their_definition(cost, expected):
    assert parse_cost(cost)(table(), NONE) == pytest.approx(np.array(expected, float))


def test_distance_counts_relations_to_the_nearest_unsafe_cell():
    unsafe = np.array([False, False, True, False, False])
    assert parse_cost("distance")(table(), unsafe).tolist() == [3, 2, 1, 2, 3]


def test_costs_of_single_cells_replace_and_shared_cells_pay_the_highest():
    one = table(name="one")
    two = cg.cells({"s": ["Total", "x"], "x": [100, 100]}, by=["s"], value="x", name="two")
    one = replace(one, apriori=replace(one.apriori, cost=np.array([np.nan, 7, np.nan, np.nan, np.nan])))
    linked = cg.link([one, two])
    costs = {"one": parse_cost("constant"), "two": parse_cost("value")}
    assert set_costs(linked, np.zeros(len(linked), bool), costs).tolist() == [100, 7, 1, 1, 1, 100]


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        ("vlaue", "did you mean 'value'"),
        ({"boxcox": 1}, "did you mean 'box_cox'"),
        ({"sum": []}, "is written as"),
        ({"sum": [{"cost": "value"}]}, "the keys cost and weight"),
        ({"sum": [{"cost": "value", "weight": -1}]}, "above 0"),
        (3, "a cost is a name"),
    ],
)
def test_costs_that_make_no_sense_are_refused(cost, words):
    with pytest.raises(InputError, match=words):
        parse_cost(cost)


def test_box_cox_needs_an_exponent_between_0_and_1():
    with pytest.raises(InputError, match="between 0 and 1"):
        parse_cost({"box_cox": 2})(table(), NONE)


def test_the_cost_count_needs_counts():
    bare = cg.cells({"r": ["Total", "a"], "x": [1, 1]}, by=["r"], value="x")
    with pytest.raises(InputError, match="needs the number of respondents"):
        parse_cost("count")(bare, np.zeros(2, bool))


def test_a_cost_by_name_is_never_negative():
    table = cg.cells({"r": ["Total", "N", "S", "W"], "x": [0, -50, 20, 30], "n": [9, 1, 4, 4]},
                     by=["r"], value="x", count="n")  # fmt: skip
    needs = cg.require(cg.assess(table, [cg.MinFrequency(3)]), cg.Knowledge(lower=-np.inf))
    for cost in ("value", "count", "constant", "log"):
        chosen = cg.suppress(needs, cost)
        assert (chosen.costs > 0).all() and chosen.cost > 0 and chosen.bound >= 0
    assert cg.suppress(needs).costs.tolist() == [1, 50, 20, 30]
    with pytest.raises(InputError, match="a cost is negative, missing or infinite"):
        cg.suppress(needs, needs.tables.value)


def test_a_cost_may_be_a_function_or_numbers():
    table = cg.cells({"r": ["Total", "N", "S", "W"], "x": [100, 20, 50, 30], "n": [19, 1, 9, 9]},
                     by=["r"], value="x", count="n")  # fmt: skip
    needs = cg.require(cg.assess(table, [cg.MinFrequency(3)]))
    turned = cg.suppress(needs, lambda table, primary: 1000 - table.value)
    assert turned.pattern.secondary.tolist() == [True, False, False, False] and turned.cost == 900
    assert cg.suppress(needs, [1000, 1, 1, 1000]).pattern.secondary.tolist() == [False, False, True, False]
    for wrong, said in (
        (np.ones(3), "each of the 4 distinct cells"),
        ("valeu", "did you mean 'value'"),
        (1.0, "a name"),
    ):
        with pytest.raises(InputError, match=said):
            cg.suppress(needs, wrong)
