"""Worked examples of rules for frequency tables.

Sources: [L] the lecture "Problems and criteria", frequency slides; [T] the thesis on the Statisticon rule, table 1.
"""

import numpy as np
import pytest

import cellguard as cg
from cellguard.rules.rows import AttributeDisclosure, GroupDisclosure, LoneOther, MaxFraction, MinOthers, Spread
from cellguard.rules.simple import MinFrequency


def crossed(rows, columns, **about):
    """Return a table of counts with the totals of rows and columns."""
    inner = np.array(list(rows.values()))
    outer = np.vstack([inner, inner.sum(axis=0)])
    outer = np.hstack([outer, outer.sum(axis=1, keepdims=True)])
    names, codes = [*rows, "Total"], [*columns, "Total"]
    cells = {"r": np.repeat(names, len(codes)), "d": codes * len(names), "n": outer.ravel()}
    shape = cg.About(is_count=True, **({"zeros": "possible"} | about))
    return cg.cells({k: list(map(str, v)) for k, v in cells.items()}, by=["r", "d"], value="n", count="n", about=shape)


def unsafe_rows(table, rule):
    """Return the rows, but for that of the totals, in which a rule makes a cell unsafe."""
    here = cg.assess(table, rule).by_table[0]
    cells = np.flatnonzero(here.primary)
    return sorted({here.table.cell_name(c).split("/")[0] for c in cells.tolist()} - {"Total"})


OFFENDERS = {"A": [9, 0], "B": [14, 2], "C": [1, 1], "D": [1, 9]}  # L


def test_offenders():
    table = crossed(OFFENDERS, ["yes", "no"])
    yes = ("yes",)
    assert unsafe_rows(table, GroupDisclosure("d", yes)) == ["A"]
    assert unsafe_rows(table, MaxFraction("d", yes, 40)) == ["A", "B", "C"]
    assert unsafe_rows(table, MinOthers("d", yes, 3)) == ["A", "B", "C"]
    assert unsafe_rows(table, [GroupDisclosure("d", yes), MaxFraction("d", yes), MinOthers("d", yes)]) == [
        "A",
        "B",
        "C",
    ]


@pytest.mark.parametrize(("row", "share"), [("A", 1.0), ("B", 0.875), ("C", 0.5), ("D", 0.1)])
def test_a_fraction_of_the_limit_is_unsafe_and_one_below_is_not(row, share):
    table = crossed(OFFENDERS, ["yes", "no"])
    assert row in unsafe_rows(table, MaxFraction("d", ("yes",), 100 * share))
    assert share == 1 or row not in unsafe_rows(table, MaxFraction("d", ("yes",), 100 * share + 0.01))


def test_a_row_whose_categories_are_all_sensitive_but_spread_is_fine():  # L
    table = crossed({"A": [1, 3, 1, 2, 3]}, list("vwxyz"))
    for rule in (Spread("d", tuple("vwxyz")), MaxFraction("d", tuple("vwxyz")), GroupDisclosure("d", tuple("vwxyz"))):
        assert not cg.assess(table, rule).primary.any()
    assert unsafe_rows(table, Spread("d", tuple("vwxyz"), 30)) == ["A"]  # the largest share is 30 %


def test_incomes():  # T
    table = crossed({"A": [8, 4], "B": [10, 1], "C": [1, 0], "D": [5, 0]}, ["low", "high"])
    assert table.value[table.find("Total/low")] == 24 and table.value[table.find("Total/Total")] == 29
    assert unsafe_rows(table, AttributeDisclosure("d")) == ["C", "D"]
    assert unsafe_rows(table, LoneOther("d")) == ["B"]
    totals = cg.assess(table, MinFrequency(2)).by_table[0]
    assert [r for r in "ABCD" if totals.why(f"{r}/Total")] == ["C"]  # the unique individual
