"""A dimension: one hierarchy and other groupings of the same leaves."""

from __future__ import annotations

import pytest

from cellguard.errors import HierarchyError
from cellguard.hierarchy.build import flat, from_parents
from cellguard.hierarchy.hierarchy import Dimension


def grouping(**above):
    return from_parents([("Total", ""), *above.items()])


MAIN = grouping(X="Total", c="Total", a="X", b="X")


def refusal(*hierarchies):
    with pytest.raises(HierarchyError) as caught:
        Dimension("region", *hierarchies)
    return str(caught.value)


def test_the_codes_of_the_main_hierarchy_come_first():
    dimension = Dimension("region", MAIN, grouping(Y="Total", a="Total", b="Y", c="Y"))
    assert dimension.codes == ("Total", "X", "a", "b", "c", "Y")
    assert dimension.total == "Total"


def test_each_hierarchy_has_its_own_parents():
    main, other = Dimension("region", MAIN, grouping(Y="Total", a="Total", b="Y", c="Y")).parents
    assert main.tolist() == [-1, 0, 1, 1, 0, -2]
    assert other.tolist() == [-1, -2, 0, 5, 5, 0]


def test_a_codes_level_is_that_of_the_first_hierarchy_that_has_it():
    deep = grouping(P="Total", Q="P", a="Q", b="Q", c="P")
    assert Dimension("region", MAIN, deep).level.tolist() == [0, 1, 2, 2, 1, 1, 2]


def test_labels_of_the_main_hierarchy_win():
    main = flat(["a"], labels={"a": "first"})
    other = from_parents([("Total", ""), ("g", "Total"), ("a", "g")], labels={"a": "second", "g": "group"})
    assert Dimension("d", main, other).labels == {"a": "first", "g": "group"}


def test_groupings_that_do_not_nest_are_told():
    assert Dimension("region", MAIN, grouping(Y="Total", a="Total", b="Y", c="Y")).overlaps() == [("X", "Y")]


def test_groupings_that_nest_do_not_overlap():
    assert Dimension("region", MAIN, grouping(Y="Total", X="Y", a="X", b="X", c="Y")).overlaps() == []


def test_another_total_is_refused():
    message = refusal(MAIN, flat("abc", total="EU"))
    assert message.startswith("dimension 'region': a second grouping has the total 'EU', the hierarchy has 'Total'")


def test_a_leaf_that_is_missing_or_new_is_refused():
    message = refusal(MAIN, flat("abd"))
    assert "dimension 'region'" in message
    assert "it lacks 'c' and it adds 'd'" in message


def test_a_code_with_another_meaning_is_refused():
    message = refusal(MAIN, grouping(X="Total", a="Total", b="X", c="X"))
    assert message.startswith("dimension 'region': the code 'X' means other leaves")


def test_a_code_with_another_meaning_in_a_third_grouping_is_refused():
    second = grouping(Y="Total", a="Total", b="Y", c="Y")
    third = grouping(Y="Total", b="Total", a="Y", c="Y")
    assert "the code 'Y' means other leaves" in refusal(MAIN, second, third)
