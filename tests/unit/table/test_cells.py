"""Ready-made cells: what each row says, and which rows cannot be right."""

from __future__ import annotations

import numpy as np
import pytest

from cellguard.errors import UnknownCode
from cellguard.hierarchy.build import flat, from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.apriori import State
from cellguard.table.fact import Count, Mark, Top, Total
from cellguard.table.read import About, CellColumns, cells, read_cells
from cellguard.table.source import open_source
from unit.table.refusal import SECRET, refused

REGION = Dimension("region", from_levels([("North", "N1"), ("North", "N2"), ("South", "")]))


def small(**columns):
    """Three cells: Total 12, North 5, South 7."""
    return {"region": ["Total", "North", "South"], "turnover": [12, 5, 7], **columns}


def test_rows_keep_their_order_and_place():
    table = cells(small(), ["region"], value="turnover", name="t")
    assert [table.cell_name(i) for i in range(3)] == ["Total", "North", "South"]
    assert table.where(2) == "table 't' row 3"


def test_a_dimension_may_be_flat_a_hierarchy_or_a_dimension():
    by_list = cells(small(), [REGION], value="turnover")
    by_hierarchy = cells(small(), {"region": REGION.main}, value="turnover")
    by_column = cells({"reg": small()["region"], "turnover": [12, 5, 7]}, {"reg": REGION}, value="turnover")
    assert by_list.codes[0].tolist() == by_hierarchy.codes[0].tolist() == by_column.codes[0].tolist() == [0, 1, 4]


def test_a_column_may_bear_its_dimensions_name():
    assert len(cells(small(), {"reg": REGION}, value="turnover")) == 3


def test_the_response_is_the_values_name_unless_given():
    assert cells(small(), ["region"], value="turnover").response == "turnover"
    assert cells(small(), ["region"], value="turnover", about=About(response="sales")).response == "sales"


def test_a_count_as_value_makes_a_frequency_table():
    table = cells(small(), ["region"], value="turnover", count="turnover")
    assert table.is_count
    assert table.facts.count.tolist() == [12, 5, 7]


def test_facts_come_from_their_columns():
    data = small(firms=[9, 2, 7], first=[4, 4, 3], second=[3, 1, 2], mark=["no", "yes", ""])
    facts = cells(data, ["region"], value="turnover", count="firms", top=["first", "second"], marks=["mark"]).facts
    assert facts.count.tolist() == [9, 2, 7]
    assert facts.top(2).tolist() == [3, 1, 2]
    assert facts.marks["mark"].tolist() == [False, True, False]
    assert facts.missing([Total(), Count(), Top(2), Mark("mark")]) is None


def test_facts_that_are_not_there_are_told_with_the_cure():
    facts = cells(small(first=[4, 4, 3]), ["region"], value="turnover", top=["first"]).facts
    assert "`count`" in facts.missing([Count()])
    assert "the 2 largest contributions of each cell, but 1 are given" in facts.missing([Top(2)])
    assert "'mark'" in facts.missing([Mark("mark")])
    with pytest.raises(IndexError, match="rank 2"):
        facts.top(2)


def test_holdings_are_the_count_where_given():
    source = open_source(small(firms=[9, 2, 7], groups=[5, 1, 4]))
    columns = CellColumns("turnover", count="firms", holdings="groups")
    assert read_cells(source, {"region": REGION}, columns, About()).facts.count.tolist() == [5, 1, 4]


@pytest.mark.parametrize(("values", "decimals"), [([12, 5, 7], 0), ([12.5, 5.5, 7], 2)])
def test_decimals_follow_from_the_values(values, decimals):
    table = cells({**small(), "turnover": values}, ["region"], value="turnover")
    assert table.decimals == decimals
    assert table.unit == 10.0**-decimals


def test_given_decimals_win():
    assert cells(small(), ["region"], value="turnover", about=About(decimals=3)).decimals == 3


def test_an_unknown_code_is_refused_with_row_column_and_the_nearest():
    data = {"region": ["Total", "Nord"], "turnover": [SECRET, SECRET]}
    with refused(
        "row 2, column 'region': 'Nord' is not in dimension 'region'; did you mean 'North'", error=UnknownCode
    ):
        cells(data, [REGION], value="turnover")


def test_codes_are_text():
    with refused("'1' is not in dimension", "did you mean '01'", error=UnknownCode):
        cells({"r": ["Total", "1"], "x": [SECRET, SECRET]}, {"r": flat(["01"])}, value="x")


def test_a_duplicated_cell_is_refused_with_both_rows():
    data = {"region": ["Total", "North", "South", "North"], "turnover": [SECRET, SECRET, 7, SECRET]}
    with refused("table 't' row 4: the cell North is a duplicate of table 't' row 2"):
        cells(data, [REGION], value="turnover", name="t")


def test_the_total_of_a_flat_dimension_must_be_there():
    with refused("table 't': no row has the total 'Total' in column 'region'", "`total`"):
        cells({"region": ["All", "North"], "turnover": [SECRET, SECRET]}, ["region"], value="turnover", name="t")


def test_a_table_needs_a_dimension():
    with refused("at least one dimension"):
        cells(small(), [], value="turnover")


def test_a_column_is_not_both_dimension_and_figure():
    with refused("column 'region' is both a dimension and a figure"):
        cells(small(), ["region"], value="region")


@pytest.mark.parametrize(
    ("figures", "what"),
    [
        ({"firms": [9, -1, 7]}, "row 2, column 'firms': a count must not be below 0"),
        ({"firms": [9, 1.5, 7]}, "row 2, column 'firms': a count must be a whole number"),
        ({"firms": [9, 0, 7]}, "row 2, column 'turnover': the count is 0, but the value is not"),
        ({"first": [10, SECRET + 1, 3]}, "row 2, column 'first': the largest contributions together exceed"),
        (
            {"first": [10, 2, 3], "second": [1, 3, 2]},
            "row 2, column 'second': the largest contributions are not sorted",
        ),
        ({"firms": [9, 1, 7], "first": [9, 4, 3], "second": [3, 1, 2]}, "row 2, column 'second': more contributions"),
    ],
    ids=["below 0", "not whole", "count 0", "above total", "unsorted", "too many"],
)
def test_facts_that_contradict_each_other_are_refused(figures, what):
    tops = [name for name in ("first", "second") if name in figures]
    count = "firms" if "firms" in figures else None
    data = {"region": ["Total", "North", "South"], "turnover": [SECRET + 7, SECRET, 7], **figures}
    with refused(what):
        cells(data, ["region"], value="turnover", count=count, top=tops)


def test_contributions_may_exceed_the_total_of_a_cell_with_a_negative_one():
    table = cells(small(first=[6, 9, 8], second=[6, -4, -1]), ["region"], value="turnover", top=["first", "second"])
    assert table.facts.top(1).tolist() == [6, 9, 8]


def test_contributions_may_exceed_a_total_whose_negative_ones_are_not_among_the_largest():
    """The total is 9 + 8 - 4 - 1."""
    table = cells(small(first=[9, 9, 8], second=[8, -4, -1]), ["region"], value="turnover", top=["first", "second"])
    assert table.facts.top(2).tolist() == [8, -4, -1]


def test_rounded_contributions_may_exceed_the_total_by_their_rounding():
    data = {"r": ["Total", "a"], "x": [10.1, 10.1], "first": [5.1, 5.1], "second": [5.1, 5.1]}
    assert cells(data, ["r"], value="x", top=["first", "second"]).facts.known_tops == 2


@pytest.mark.parametrize(("value", "what"), [(-3, "must not be below 0"), (2.5, "must be a whole number")])
def test_frequencies_are_counts(value, what):
    with refused("row 2, column 'n'", what):
        cells({"r": ["Total", "a"], "n": [SECRET, value]}, ["r"], value="n", count="n")


def test_an_empty_cell_may_have_a_row():
    table = cells({"r": ["Total", "a", "b"], "x": [5, 5, 0], "n": [2, 2, 0]}, ["r"], value="x", count="n")
    assert table.value.tolist() == [5, 5, 0]


def test_levels_that_are_not_shown_are_unpublished():
    data = {"region": list(REGION.codes), "turnover": [12, 5, 2, 3, 7]}
    table = cells(data, [REGION], value="turnover", about=About(publish={"region": [0, 2]}))
    hidden = [table.cell_name(i) for i in np.flatnonzero(table.unpublished)]
    assert hidden == ["North", "South"]


def test_a_manual_state_does_not_show_a_level_that_is_not_shown():
    source = open_source(small(status=["", "must_suppress", ""]))
    about = About(publish={"region": [0]})
    table = read_cells(source, {"region": REGION}, CellColumns("turnover", status="status"), about)
    assert [State(s).name for s in table.apriori.state] == ["none", "must_suppress", "none"]
    assert table.unpublished.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("publish", "what"),
    [({"regon": [0]}, "`publish` names 'regon'; did you mean 'region'"), ({"region": [3]}, "level 3 of 'region'")],
)
def test_levels_that_are_not_there_are_refused(publish, what):
    with refused("table 'table'", what):
        cells(small(), [REGION], value="turnover", about=About(publish=publish))


@pytest.mark.parametrize("option", ["by", "top", "marks"])
def test_a_word_where_a_list_belongs_is_refused(option):
    given = {"by": ["region"], "value": "turnover"} | {option: "region"}
    with refused(f"`{option}` must be a list of names; give ['region']"):
        cells(small(), **given)
