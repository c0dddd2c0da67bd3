"""Finding and naming cells."""

from __future__ import annotations

import numpy as np
import pytest

from cellguard.errors import UnknownCode
from cellguard.hierarchy.build import flat
from cellguard.table.facts import contributions
from cellguard.table.read import cells
from cellguard.table.table import rounding_of
from unit.table.refusal import refused

DATA = {"region": ["Total", "North", "North"], "size": ["Total", "Total", "1/2"], "x": [5, 5, 5]}
TABLE = cells(DATA, {"region": flat(["North", "South"]), "size": flat(["1/2", "B"])}, value="x", name="t")


def test_a_cell_is_found_by_its_name_or_its_codes():
    assert TABLE.find("North/Total") == TABLE.find(("North", "Total")) == 1
    assert TABLE.find(["North", "1/2"]) == 2


def test_every_cell_is_found_by_its_codes():
    assert [TABLE.cell_name(TABLE.find(codes)) for codes in [("Total", "Total"), ("North", "1/2")]] == [
        "Total/Total",
        "North/1/2",
    ]


def test_an_empty_combination_is_no_cell():
    with refused("table 't' has no cell 'South/B': the combination is empty"):
        TABLE.find("South/B")


def test_an_unknown_code_is_told_with_the_nearest():
    with refused("no code 'Nord' in dimension 'region'; did you mean 'North'", error=UnknownCode):
        TABLE.find("Nord/B")


def test_a_name_with_too_few_codes_is_refused():
    with refused("written as region/size", "'North' has 1 codes"):
        TABLE.find("North")


def test_a_cell_is_placed_by_its_row():
    assert TABLE.where(0) == "table 't' row 1"


@pytest.mark.parametrize(
    ("values", "half"),
    [([1, 2e15], 0.0), ([0.1, 3], 0.05), ([1.25], 0.005), ([-1.25], 0.005), ([0.1 + 0.2], 0.05), ([1e9 + 0.25], 0.005)],
)
def test_rounding_is_half_a_unit_of_the_last_decimal(values, half):
    assert rounding_of(np.array(values, float)) == pytest.approx(half)


def test_values_with_many_decimals_are_not_rounded():
    assert np.isnan(rounding_of(np.array([1 / 3])))


def test_contributions_are_sorted_and_padded():
    facts = contributions([1, 5], [2], [])
    assert facts.tops.tolist() == [[5, 1], [2, 0], [0, 0]]
    assert facts.count.tolist() == [2, 1, 0]
    assert facts.total.tolist() == [6, 2, 0]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_contribution_is_finite(bad):
    with refused("missing or infinite"):
        contributions([1, bad])
