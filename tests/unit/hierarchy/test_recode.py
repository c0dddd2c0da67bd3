"""Coarser hierarchies remember what became of the old codes."""

from __future__ import annotations

import pytest

from cellguard.errors import HierarchyError
from cellguard.hierarchy.build import flat, from_levels
from cellguard.hierarchy.recode import cut, merge, to_level

NACE = from_levels([("A", "A1"), ("A", "A2"), ("B", "B1"), ("B", "B2", "B21"), ("C", "")], labels={"A": "Farms"})


def test_merged_inner_codes_share_their_children():
    h = merge(NACE, {"AB": ["A", "B"]})
    assert h.codes == ("Total", "AB", "A1", "A2", "B1", "B2", "B21", "C")
    assert h.children("AB") == ("A1", "A2", "B1", "B2")
    assert h.merged == {"A": "AB", "B": "AB"}


def test_several_groups_are_merged_at_once():
    h = merge(NACE, {"AB": ["A", "B"], "A1-2": ["A1", "A2"]})
    assert h.children("AB") == ("A1-2", "B1", "B2")


def test_a_code_may_take_in_its_neighbours():
    h = merge(NACE, {"A1": ["A1", "A2"]})
    assert h.children("A") == ("A1",)
    assert h.merged == {"A2": "A1"}


def test_merging_again_follows_the_old_codes_through():
    h = merge(merge(flat(["a", "b", "c"]), {"ab": ["a", "b"]}), {"abc": ["ab", "c"]})
    assert h.codes == ("Total", "abc")
    assert {code: h.merged[code] for code in "abc"} == {"a": "abc", "b": "abc", "c": "abc"}


def test_a_leaf_is_not_merged_with_a_code_that_has_children():
    with pytest.raises(HierarchyError, match="cannot merge 'B1', 'B2'"):
        merge(NACE, {"B12": ["B1", "B2"]})


def test_codes_of_different_parents_are_not_merged():
    with pytest.raises(HierarchyError, match="cannot merge 'A1', 'B1': only codes with the same parent"):
        merge(NACE, {"new": ["A1", "B1"]})


def test_the_total_is_not_merged():
    with pytest.raises(HierarchyError, match="cannot merge 'Total'"):
        merge(NACE, {"new": ["Total"]})


def test_a_name_in_use_is_refused():
    with pytest.raises(HierarchyError, match="cannot merge into 'C': the hierarchy has that code already"):
        merge(NACE, {"C": ["A", "B"]})


def test_a_code_is_merged_once():
    with pytest.raises(HierarchyError, match="'A' is merged twice, into 'x' and 'y'"):
        merge(NACE, {"x": ["A"], "y": ["A", "B"]})


@pytest.mark.parametrize("recoding", [lambda h: merge(h, {"x": ["A", "Q"]}), lambda h: cut(h, ["Q"])])
def test_an_unknown_code_is_refused(recoding):
    with pytest.raises(HierarchyError, match="no code 'Q'"):
        recoding(NACE)


def test_cutting_remembers_the_code_that_stands_for_the_rest():
    h = cut(NACE, ["A", "B2"])
    assert h.codes == ("Total", "A", "B", "B1", "B2", "C")
    assert h.cut_off == {"A1": "A", "A2": "A", "B21": "B2"}


def test_cutting_above_a_cut_stands_for_all_of_it():
    assert cut(NACE, ["B2", "B"]).cut_off == {"B1": "B", "B2": "B", "B21": "B"}


def test_cutting_at_a_leaf_changes_nothing():
    assert cut(NACE, ["A1"]).codes == NACE.codes


def test_a_level_is_cut_where_branches_reach_it():
    h = to_level(NACE, 2)
    assert h.codes == ("Total", "A", "A1", "A2", "B", "B1", "B2", "C")
    assert h.cut_off == {"B21": "B2"}


def test_level_zero_is_the_total_alone():
    assert to_level(NACE, 0).codes == ("Total",)


@pytest.mark.parametrize("level", [-1, 4])
def test_a_level_that_is_not_there_is_refused(level):
    with pytest.raises(HierarchyError, match=f"cannot recode to level {level}: the hierarchy has the levels 0 to 3"):
        to_level(NACE, level)


def test_recodings_add_up_and_keep_labels():
    h = cut(merge(NACE, {"BC": ["B"]}), ["A"])
    assert h.merged == {"B": "BC"}
    assert h.cut_off == {"A1": "A", "A2": "A"}
    assert h.labels == {"A": "Farms"}
