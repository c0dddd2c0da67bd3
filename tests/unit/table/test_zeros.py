"""Empty cells: known to be empty, or possible."""

from __future__ import annotations

import numpy as np
import pytest

from cellguard.table import zeros
from cellguard.table.read import About, cells
from cellguard.table.source import open_source
from cellguard.table.tableset import link
from unit.table.refusal import SECRET, refused

DATA = {"r": ["Total", "N", "S", "Total", "Total", "N", "S"], "s": [*["Total"] * 3, "a", "b", "a", "b"]}
VALUE = [5, 2, 3, 2, 3, 2, 3]


def table(impossible=None, **about):
    source = open_source(impossible, name="impossible.csv") if impossible else None
    return cells({**DATA, "n": VALUE}, ["r", "s"], value="n", about=About(impossible=source, **about))


def test_magnitudes_have_known_zeros_and_counts_possible_ones():
    assert cells({**DATA, "n": VALUE}, ["r", "s"], value="n").zeros == "known"
    assert cells({**DATA, "n": VALUE}, ["r", "s"], value="n", count="n").zeros == "possible"


def test_known_zeros_are_no_cells():
    assert len(table(zeros="known")) == 7


def test_possible_zeros_are_cells_without_a_row():
    filled = table(zeros="possible")
    assert [filled.cell_name(i) for i in np.flatnonzero(filled.rows < 0)] == ["N/b", "S/a"]
    assert filled.value.tolist() == [5, 2, 3, 2, 2, 0, 3, 0, 3]
    assert filled.where(5) == "table 'table' (an empty combination)"
    assert link(filled).relations.shape == (6, 9)


def test_only_combinations_of_observed_codes_are_possible():
    data = {"r": ["Total", "N"], "n": [2, 2]}
    assert len(cells(data, ["r"], value="n", about=About(zeros="possible"))) == 2


def test_possible_zeros_have_facts_and_say_nothing():
    data = {**DATA, "n": VALUE, "firms": [1] * 7, "top": VALUE, "mark": ["yes"] * 7}
    about = About(zeros="possible")
    filled = cells(data, ["r", "s"], value="n", count="firms", top=["top"], marks=["mark"], about=about)
    empty = filled.rows < 0
    assert filled.facts.count[empty].tolist() == filled.facts.top(1)[empty].tolist() == [0, 0]
    assert filled.facts.marks["mark"].tolist() == (~empty).tolist()
    assert not filled.apriori.state[empty].any()


def test_impossible_combinations_are_no_cells():
    filled = table({"r": ["N"], "s": ["b"]}, zeros="possible")
    assert [filled.cell_name(i) for i in np.flatnonzero(filled.rows < 0)] == ["S/a"]


def test_an_impossible_combination_with_a_value_is_refused():
    with refused("impossible.csv row 2: this combination is said to be impossible, but its cell is not 0"):
        data = {**DATA, "n": [SECRET, 2, SECRET - 2, 2, SECRET - 2, 2, SECRET - 2]}
        impossible = open_source({"r": ["N", "S"], "s": ["b", "b"]}, name="impossible.csv")
        cells(data, ["r", "s"], value="n", about=About(zeros="possible", impossible=impossible))


def test_an_unknown_impossible_code_is_refused():
    with refused("impossible.csv row 1, column 'r': 'Nord' is not in dimension 'r'"):
        table({"r": ["Nord"], "s": ["b"]}, zeros="possible")


def test_too_many_combinations_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(zeros, "_MOST", 8)
    with refused("table 'table'", "9 cells", "zeros: known"):
        table(zeros="possible")
