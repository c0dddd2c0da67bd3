"""Ready-made cells under a recoded hierarchy."""

from __future__ import annotations

import pytest

from cellguard.hierarchy.build import flat, from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.hierarchy.recode import cut, merge
from cellguard.table.apriori import State
from cellguard.table.read import About, CellColumns, cells, read_cells
from cellguard.table.source import open_source
from cellguard.table.tableset import link
from unit.table.refusal import SECRET, refused

MERGED = merge(flat(["a", "b", "c"]), {"ab": ["a", "b"]})
DATA = {"r": ["Total", "b", "c", "a"], "x": [12, 4, 5, 3], "n": [6, 2, 3, 2], "t1": [5, 3, 5, 2], "t2": [3, 1, 0, 1]}


def named(table, column):
    return {table.cell_name(i): value for i, value in enumerate(column.tolist())}


def test_merged_cells_add_up():
    table = cells(DATA, {"r": MERGED}, value="x")
    assert named(table, table.value) == {"Total": 12, "ab": 7, "c": 5}
    assert len(link(table)) == 3


def test_merged_cells_keep_the_place_of_their_first_row():
    table = cells(DATA, {"r": MERGED}, value="x")
    assert table.where(table.find("ab")) == "table 'table' row 2"


def test_merged_cells_take_the_worst_case():
    """One respondent may sit in both parts: the larger count, and contributions of equal rank in one hand."""
    facts = cells(DATA, {"r": MERGED}, value="x", count="n", top=["t1", "t2"]).facts
    assert facts.count.tolist() == [6, 2, 3]
    assert facts.tops.tolist() == [[5, 3], [5, 2], [5, 0]]


def test_merged_frequencies_add_up():
    table = cells({"r": DATA["r"], "n": [7, 2, 3, 2]}, {"r": MERGED}, value="n", count="n")
    assert named(table, table.facts.count) == {"Total": 7, "ab": 4, "c": 3}


def test_a_mark_on_any_part_marks_the_merged_cell():
    table = cells({**DATA, "m": [0, 0, 0, 1]}, {"r": MERGED}, value="x", marks=["m"])
    assert named(table, table.facts.marks["m"]) == {"Total": False, "ab": True, "c": False}


def states(*said):
    source = open_source({**DATA, "status": list(said)})
    table = read_cells(source, {"r": Dimension("r", MERGED)}, CellColumns("x", status="status"), About())
    return State(table.apriori.state[table.find("ab")])


def test_a_waiver_of_one_part_does_not_waive_the_merged_cell():
    assert states("", "waived", "", "") != State.waived
    assert states("", "waived", "", "waived") == State.waived


@pytest.mark.parametrize("said", [("", "must_suppress", "", ""), ("", "", "", "must_suppress")])
def test_a_part_that_must_be_suppressed_is_not_forgotten(said):
    assert states(*said) == State.must_suppress


def test_merging_in_one_dimension_merges_every_combination():
    data = {"r": ["Total", "a", "b"] * 2, "s": ["Total"] * 3 + ["x"] * 3, "v": [3, 1, 2] * 2}
    table = cells(data, {"r": MERGED, "s": None}, value="v")
    assert named(table, table.value) == {"Total/Total": 3, "ab/Total": 3, "Total/x": 3, "ab/x": 3}


def test_a_duplicated_cell_is_refused_under_a_recoding_too():
    data = {"r": ["Total", "a", "b", "c", "c"], "x": [SECRET, 1, 2, 3, SECRET - 6]}
    with refused("row 5: the cell c is a duplicate of", "row 4"):
        cells(data, {"r": MERGED}, value="x")


def test_a_duplicated_part_of_a_merged_cell_is_refused():
    data = {"r": ["Total", "a", "b", "a", "c"], "x": [SECRET, 1, 2, SECRET - 6, 3]}
    with refused("row 4", "is a duplicate of", "row 2"):
        cells(data, {"r": MERGED}, value="x")


def test_codes_that_were_merged_twice_are_found():
    table = cells(DATA, {"r": merge(MERGED, {"all": ["ab", "c"]})}, value="x")
    assert named(table, table.value) == {"Total": 12, "all": 12}


def test_rows_of_codes_that_were_cut_off_are_dropped():
    nace = from_levels([("A", "A1"), ("A", "A2"), ("B", "B1")])
    data = {"r": ["Total", "A", "A1", "A2", "B", "B1"], "x": [12, 5, 3, 2, 7, 7]}
    table = cells(data, {"r": cut(nace, ["A"])}, value="x")
    assert named(table, table.value) == {"Total": 12, "A": 5, "B": 7, "B1": 7}
    assert table.where(3) == "table 'table' row 6"
    assert len(link(table)) == 4


def test_a_code_that_was_merged_and_then_cut_off_is_dropped():
    nace = from_levels([("A", "A1"), ("A", "A2"), ("B", "")])
    hierarchy = cut(merge(nace, {"A12": ["A1", "A2"]}), ["A"])
    data = {"r": ["Total", "A", "A1", "A2", "B"], "x": [12, 5, 3, 2, 7]}
    assert len(cells(data, {"r": hierarchy}, value="x")) == 3


def test_the_new_code_may_be_in_the_data_already():
    table = cells({"r": ["Total", "ab", "c"], "x": [12, 7, 5]}, {"r": MERGED}, value="x")
    assert named(table, table.value) == {"Total": 12, "ab": 7, "c": 5}
