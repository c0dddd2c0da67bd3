"""Tables that do not add up are refused, with the relation and without a value."""

from __future__ import annotations

import pytest

from cellguard.errors import NotAdditive
from cellguard.hierarchy.build import from_levels
from cellguard.table.additivity import check_additive
from cellguard.table.read import About, cells
from unit.table.refusal import SECRET, refused

NACE = from_levels([("A", "A1"), ("A", "A2"), ("B", "")])


def table(values, codes=("Total", "A", "B"), **about):
    data = {"nace": list(codes), "x": values}
    return cells(data, {"nace": NACE}, value="x", about=About(name="t", **about))


def adds_up(values, codes=("Total", "A", "B"), **about):
    try:
        check_additive(table(values, codes, **about))
    except NotAdditive:
        return False
    return True


def test_the_failing_relation_is_named():
    with refused("table 't'", "1 of 1 relations do not hold", "Total = A + B", "`tolerance`", error=NotAdditive):
        check_additive(table([SECRET, 5, 7]))


def test_a_missing_part_counts_as_zero():
    with refused("A = A1\n", error=NotAdditive):
        check_additive(table([12, 5, 7, 4], ["Total", "A", "B", "A1"]))


def test_a_missing_whole_counts_as_zero():
    data = {"nace": ["Total", "A", "A", "A1"], "r": ["Total", "Total", "N", "N"], "x": [5, 5, 5, 5]}
    with refused("Total/N (no such row, so 0) = A/N", error=NotAdditive):
        check_additive(cells(data, {"nace": NACE, "r": None}, value="x"))


def test_a_whole_without_parts_is_named():
    data = {"nace": ["Total", "A", "Total", "A"], "r": ["Total", "Total", "N", "S"], "x": [5, 5, 5, 5]}
    with refused("Total/N = nothing (all its parts are empty)", error=NotAdditive):
        check_additive(cells(data, {"nace": NACE, "r": None}, value="x"))


def test_at_most_five_relations_are_named():
    codes = [f"c{i}" for i in range(8)]
    pairs = [("Total", "Total", 8), *(("Total", c, 1) for c in codes), *(("N", c, 2) for c in codes), ("N", "Total", 8)]
    data = dict(zip(["r", "c", "x"], map(list, zip(*pairs, strict=True)), strict=True))
    with refused("9 of 11 relations", "Total/c0 = N/c0", "and 4 more", error=NotAdditive):
        check_additive(cells(data, ["r", "c"], value="x"))


def test_whole_values_must_be_exact():
    assert adds_up([10**12, 10**12 - 1, 1])
    assert not adds_up([10**12, 10**12 - 1, 2])


def test_rounded_values_may_be_off_by_half_a_unit_each():
    assert adds_up([10.1, 5.04, 5.05])
    assert adds_up([10.11, 5.04, 5.06])
    assert not adds_up([10.12, 5.04, 5.06])


def test_unrounded_values_may_be_off_by_dust():
    assert adds_up([1 / 3 + 1 / 7, 1 / 3, 1 / 7])
    assert adds_up([1 / 3 + 1 / 7 + 1e-10, 1 / 3, 1 / 7])
    assert not adds_up([1 / 3 + 1 / 7 + 1e-6, 1 / 3, 1 / 7])


@pytest.mark.parametrize(("gap", "holds"), [(3, True), (-3, True), (4, False)])
def test_a_tolerance_adds_to_each_relation(gap, holds):
    assert adds_up([12 + gap, 5, 7], tolerance=3) is holds


def test_left_out_levels_are_skipped():
    assert adds_up([12, 2, 3, 7], ["Total", "A1", "A2", "B"])
    assert adds_up([2, 3], ["A1", "A2"])


def test_negative_values_add_up_too():
    assert adds_up([-2, 5, -7])
