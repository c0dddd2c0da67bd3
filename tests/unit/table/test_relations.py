"""Relations of small tables, written out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from cellguard.hierarchy.build import flat, from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.read import cells
from cellguard.table.relations import distinct_rows
from cellguard.table.tableset import link

import oracle


def relations(table):
    return sorted(table.relation_name(i) for i in range(table.relations.shape[0]))


def of_codes(dimension, *codes):
    """The relations of a table that has one dimension and these codes."""
    return relations(cells({"d": list(codes), "x": [0] * len(codes)}, {"d": dimension}, value="x"))


NACE = from_levels([("A", "A1"), ("A", "A2"), ("B", "B1"), ("C", "")])


def test_a_hierarchy_of_unequal_depth_and_single_children():
    assert of_codes(NACE, *NACE.codes) == ["A = A1 + A2", "B = B1", "Total = A + B + C"]


def test_children_of_a_left_out_code_hang_on_the_next_one_above():
    assert of_codes(NACE, "Total", "A1", "A2", "B", "C") == ["Total = A1 + A2 + B + C"]


def test_without_the_total_there_is_nothing_above():
    assert of_codes(NACE, "A", "A1", "A2", "C") == ["A = A1 + A2"]


def test_one_code_has_no_relations():
    assert of_codes(NACE, "A1") == []


def test_two_dimensions_relate_in_each_direction():
    data = {"r": ["Total", "Total", "N", "N"], "s": ["Total", "a", "Total", "a"], "x": [5, 5, 5, 5]}
    expected = ["N/Total = N/a", "Total/Total = N/Total", "Total/Total = Total/a", "Total/a = N/a"]
    assert relations(cells(data, ["r", "s"], value="x")) == expected


def test_missing_cells_have_no_term():
    data = {"r": ["Total", "N", "S", "Total", "N"], "s": ["Total"] * 3 + ["a"] * 2, "x": [5, 5, 0, 5, 5]}
    assert "Total/a = N/a" in relations(cells(data, ["r", "s"], value="x"))
    assert "S/Total = nothing (all its parts are empty)" in relations(cells(data, ["r", "s"], value="x"))


def test_a_second_grouping_adds_its_own_relations():
    coast = from_levels([("sea", "a"), ("sea", "b"), ("inland", "c")])
    dimension = Dimension("d", flat("abc"), coast)
    assert of_codes(dimension, *"abc", "Total", "sea", "inland") == [
        "Total = a + b + c",
        "Total = sea + inland",
        "inland = c",
        "sea = a + b",
    ]
    assert of_codes(dimension, *"abc", "Total") == ["Total = a + b + c"]


def test_a_second_grouping_may_be_deeper_than_the_first():
    """Codes of many left-out levels, own and shared, lie between a leaf and its total."""
    main = from_levels([("X", "Y", "a"), ("Z", "b")])
    other = from_levels([("P1", "P2", "P3", "X", "Y", "a"), ("Q", "b")])
    assert of_codes(Dimension("d", main, other), "Total", "a", "b", "Q") == ["Q = b", "Total = a + Q", "Total = a + b"]


def test_long_relations_are_named_in_part():
    codes = [f"c{i}" for i in range(8)]
    assert of_codes(flat(codes), "Total", *codes) == ["Total = c0 + c1 + c2 + c3 + c4 + c5 + 2 more"]


def test_more_code_combinations_than_64_bits_have():
    codes = [f"c{i}" for i in range(10_000)]
    dims = [Dimension(f"d{i}", flat(codes)) for i in range(6)]
    names = [("Total",) * 6, *((*("Total",) * i, "c9999", *("Total",) * (5 - i)) for i in range(6)), ("c9999",) * 6]
    data = {d.name: list(column) for d, column in zip(dims, zip(*names, strict=True), strict=True)}
    table = cells({**data, "x": [0] * 8}, dims, value="x")
    assert set(oracle.rows(table.relations)) == oracle.relations(table)
    assert table.find(("c9999",) * 6) == 7
    assert len(link([table])) == 8


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        ([[1, -1, 0], [0, 0, 0], [1, -1, 0]], [[1, -1, 0]]),
        ([[1, -1, -1], [1, -1, 0], [1, -1, -1], [1, -1, 0]], [[1, -1, -1], [1, -1, 0]]),
        ([[0, 0]], []),
        ([[1, -1], [-1, 1]], [[1, -1], [-1, 1]]),
    ],
)
def test_distinct_rows_keep_the_first_of_each_in_order(matrix, expected):
    assert distinct_rows(sp.csr_array(np.array(matrix, float))).toarray().tolist() == expected


def test_distinct_rows_do_not_depend_on_the_order_of_terms():
    swapped = sp.csr_array((np.array([1.0, -1, -1, 1]), np.array([0, 1, 1, 0]), np.array([0, 2, 4])), shape=(2, 2))
    assert distinct_rows(swapped).toarray().tolist() == [[1, -1]]
