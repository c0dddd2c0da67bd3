"""Linked tables: which cells are one, and what they must agree on."""

from __future__ import annotations

import pytest

from cellguard.errors import Disagreement, NotAdditive
from cellguard.hierarchy.build import flat, from_parents
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.read import About, cells
from cellguard.table.tableset import link
from unit.table.refusal import SECRET, refused

REGION, SIZE = Dimension("region", flat(["N", "S"])), Dimension("size", flat(["a", "b"]))


def by_region(values=(5, 2, 3), name="regions", dimension=REGION, **about):
    data = {dimension.name: ["Total", "N", "S"], "x": list(values)}
    return cells(data, [dimension], value="x", about=About(name=name, **about))


def by_size(values=(5, 1, 4), name="sizes", **about):
    return cells({"size": ["Total", "a", "b"], "x": list(values)}, [SIZE], value="x", about=About(name=name, **about))


def by_both():
    rows = {"Total/Total": 5, "N/Total": 2, "S/Total": 3, "Total/a": 1, "S/a": 1, "Total/b": 4, "N/b": 2, "S/b": 2}
    region, size = zip(*(row.split("/") for row in rows), strict=True)
    return cells({"region": region, "size": size, "x": list(rows.values())}, [REGION, SIZE], value="x", name="both")


def test_a_dimension_that_a_table_lacks_is_at_its_total():
    linked = link([by_region(), by_size()])
    assert len(linked) == 5
    assert [c.tolist() for c in linked.cells_of] == [[0, 1, 2], [0, 3, 4]]
    assert linked.value.tolist() == [5, 2, 3, 1, 4]


def test_a_cell_of_a_small_table_is_a_margin_of_a_large_one():
    linked = link([by_both(), by_region(), by_size()])
    assert len(linked) == 8
    assert [c.tolist() for c in linked.cells_of[1:]] == [[0, 3, 5], [0, 1, 2]]


@pytest.mark.parametrize("about", [{"response": "y"}, {"population": "large"}])
def test_tables_about_different_things_share_no_cell(about):
    assert len(link([by_region(), by_region((9, 4, 5), "other", **about)])) == 6


def test_equal_relations_are_kept_once():
    linked = link([by_region(), by_region(name="again")])
    assert linked.relations.toarray().tolist() == [[1, -1, -1]]


def test_a_single_table_is_a_set_of_one():
    assert link(by_region()).cells_of[0].tolist() == [0, 1, 2]


def test_cells_are_named_by_the_first_table_that_shows_them():
    linked = link([by_region(), by_size()])
    assert [linked.cell_name(i) for i in range(5)] == [
        "regions: Total",
        "regions: N",
        "regions: S",
        "sizes: a",
        "sizes: b",
    ]
    assert linked.first[0].tolist() == [0, 0, 0, 1, 1]
    assert linked.first[1].tolist() == [0, 1, 2, 1, 2]


def test_the_unit_of_a_shared_cell_is_the_coarsest():
    linked = link([by_region(decimals=0), by_size(decimals=1)])
    assert linked.unit.tolist() == [1, 1, 1, 0.1, 0.1]


def test_a_table_is_found_by_its_name():
    linked = link([by_region(), by_size()])
    assert linked["sizes"] is linked.tables[1]
    with refused("no table 'size'; did you mean 'sizes'"):
        linked["size"]


def test_different_values_of_one_cell_are_refused_with_both_places():
    with refused(
        "tables 'regions' and 'sizes' give different values for the same cell",
        "Total (table 'regions' row 1) and Total (table 'sizes' row 1)",
        "1 shared cells differ",
        "`population`",
        error=Disagreement,
    ):
        link([by_region(), by_size((SECRET, SECRET, 0))])


def test_a_third_table_is_compared_with_the_first_that_shows_the_cell():
    third = by_region((SECRET, 2, SECRET - 2), "third")
    with refused("tables 'sizes' and 'third'", "2 shared cells differ", error=Disagreement):
        link([by_size(), by_region(), third])


def test_shared_cells_may_differ_by_their_rounding():
    assert len(link([by_region((5.0, 2.2, 2.8)), by_size((5.04, 1.04, 4.0))])) == 5
    with refused("give different values", error=Disagreement):
        link([by_region((5.0, 2.2, 2.8)), by_size((5.14, 1.14, 4.0))])


def test_each_table_must_add_up():
    with refused("table 'sizes' is not additive", "Total = a + b", error=NotAdditive):
        link([by_region(), by_size((5, 1, SECRET))])


def test_no_tables_are_no_set():
    with refused("at least one table"):
        link([])


def test_names_are_used_once():
    with refused("two tables are named 'regions'"):
        link([by_region(), by_region()])


def test_one_name_means_one_dimension():
    other = Dimension("region", from_parents([("Total", ""), ("N", "Total"), ("S", "N")]))
    with refused("table 'again' uses another dimension 'region'"):
        link([by_region(), by_region((5, 5, 5), "again", other)])


def test_equal_dimensions_are_one():
    assert len(link([by_region(), by_region(name="again", dimension=Dimension("region", flat(["N", "S"])))])) == 3


def test_a_response_is_a_count_or_a_sum():
    with refused("tables 'regions' and 'sizes' have the same response 'x', but one counts"):
        link([by_region(), by_size(is_count=True)])


def test_counts_and_sums_may_stand_in_one_set():
    linked = link([by_region(), by_size((9, 4, 5), is_count=True, response="n")])
    assert linked.is_count.tolist() == [False] * 3 + [True] * 3
