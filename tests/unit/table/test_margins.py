"""Counts and largest contributions of ready-made cells must fit their margins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellguard.errors import InputError, NotAdditive
from cellguard.hierarchy.build import from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.hierarchy.recode import merge
from cellguard.table.apriori import NUMBERS
from cellguard.table.read import About, CellColumns, cells, read_cells
from cellguard.table.source import open_source
from cellguard.table.tableset import link
from unit.table.refusal import SECRET, refused

TREE = from_levels([("North", "N1"), ("North", "N2"), ("South", "")])


def data(**changed):
    """Total = North (N1 + N2) + South, with counts and the largest contribution, all in order."""
    columns = {
        "region": ["Total", "North", "N1", "N2", "South"],
        "x": [100, 60, 40, 20, 40],
        "n": [9, 5, 3, 2, 4],
        "x1": [30, 30, 25, 15, 20],
    }
    return columns | changed


def linked(columns, **about):
    by = {"region": Dimension("region", TREE)}
    return link(cells(columns, by, value="x", count="n", top=["x1"], about=About("t", **about)))


def test_figures_in_order_are_taken():
    assert len(linked(data())) == 5


def test_a_total_with_fewer_respondents_than_a_part_names_both_rows():
    with refused("table 't' row 2: the count of respondents of North is below that of its part N2 (table 't' row 4)"):
        linked(data(n=[SECRET, 5, 3, 6, 4]))


def test_a_total_whose_largest_is_below_that_of_a_part_names_both_rows():
    with refused(
        "table 't' row 1: the largest contribution of Total is below that of its part North (table 't' row 2)"
    ):
        linked(data(x1=[29, 30, 25, 15, 20]))


def test_how_many_pairs_are_wrong_is_told():
    with refused("(2 pairs of cells have this fault)"):
        linked(data(n=[9, 2, 3, 3, 4]))


def test_a_file_is_named_with_its_lines(tmp_path):
    path = tmp_path / "cells.csv"
    path.write_text("region,x,n\nTotal,10,2\nN,4,3\nS,6,1\n")
    with refused("cells.csv line 2", "(cells.csv line 3)"):
        link(cells(path, ["region"], value="x", count="n"))


def test_with_negative_values_a_part_may_have_the_larger_contribution():
    columns = data(x=[40, 60, 40, 20, -20], x1=[20, 30, 25, 15, 5])
    assert len(linked(columns)) == 5


def test_a_tolerance_holds_for_these_figures_too():
    rounded = data(n=[9, 5, 3, 6, 4], x1=[29, 30, 25, 15, 20])
    assert len(linked(rounded, tolerance=1)) == 5
    with refused("count of respondents"):
        linked(data(n=[9, 5, 3, 8, 4]), tolerance=1)


def test_decimals_may_be_off_by_their_rounding():
    columns = data(x=[100.1, 60.1, 40.0, 20.1, 40.0], x1=[30.0, 30.05, 25.0, 15.0, 20.0])
    assert len(linked(columns)) == 5


def test_sums_that_do_not_hold_are_told_first():
    with refused("is not additive", error=NotAdditive):
        linked(data(x=[100, 60, 40, 21, 40], n=[1, 5, 3, 2, 4]))


def test_merged_cells_have_the_worst_case_and_are_not_held_to_it():
    by = {"region": Dimension("region", merge(TREE, {"Both": ["N1", "N2"]}))}
    table = cells(data(), by, value="x", count="n", top=["x1"])
    assert table.origin == "merged" and table.facts.tops[table.find("Both"), 0] == 40
    assert len(link(table)) == 4


def test_what_an_output_folder_stores_is_not_judged_again():
    stored = CellColumns("x", "n", top=("x1",), status="state", origin="stored", **{name: name for name in NUMBERS})
    blank = {name: [None] * 5 for name in ("state", *NUMBERS)}
    blank = {name: np.array(column, float) if name != "state" else [""] * 5 for name, column in blank.items()}
    by = {"region": Dimension("region", TREE)}
    table = read_cells(open_source(data(x1=[29, 30, 25, 15, 20], **blank)), by, stored, About())
    assert table.origin == "stored" and len(link(table)) == 5


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 4), st.integers(0, 50)), min_size=1), st.data())
def test_tables_made_from_respondents_fit_and_a_lowered_total_does_not(records, draw):
    """Respondents may have several records, in several cells: the sums by hand are the oracle."""

    def figures(chosen):
        given = {}
        for _, who, value in chosen:
            given[who] = given.get(who, 0) + value
        return sum(given.values()), len(given), max(given.values())

    codes = sorted({code for code, *_ in records})
    rows = [figures(records), *(figures([r for r in records if r[0] == code]) for code in codes)]
    columns = {"r": ["Total", *codes]} | dict(zip(("x", "n", "x1"), map(list, zip(*rows, strict=True)), strict=True))

    def read():
        return link(cells(columns, ["r"], value="x", count="n", top=["x1"]))

    assert len(read()) == len(rows)
    name = draw.draw(st.sampled_from(["n", "x1"]))
    largest = max(columns[name][1:])
    if largest >= 2 or (name == "x1" and largest):
        columns[name][0] = largest - 1
        with pytest.raises(InputError):
            read()
