"""Attribute multipliers around a base, and responses that are sums of others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellguard.errors import InputError
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.draw.attributes import (
    Attributes,
    check_definitions,
    contributions,
    define,
    derived_multipliers,
    draw_attributes,
    far_derived,
)
from cellguard.methods.perturb.draw.zes import Zes, draw_multipliers


def firms(n=4000, seed=1):
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(50, 200, n).round(), rng.uniform(50, 200, n).round()
    return respondents({}, {"X": x, "Y": y, "Z": x + y, "W": x - y})


def test_additive_attribute_of_cuppen():
    firm = respondents({}, {"Z": [150], "X": [100], "Y": [50]})
    mine, sums = {"X": np.array([1.105]), "Y": np.array([1.098])}, define(["Z = X + Y"])
    assert contributions(firm, mine, sums, "Z")[0] == pytest.approx(165.4, abs=1e-9)
    assert derived_multipliers(firm, mine, sums, "Z")[0] == pytest.approx(1.102667, abs=1e-6)


def test_ratio_protection_of_cuppen():
    # Multipliers 1.105 and 1.098 make an increase of 5 percent one of 5.669 percent, 13.388 percent more.
    moved = 1.105 / 1.098 * 1.05
    assert moved / 1.05 == pytest.approx(1.006375, abs=1e-6)
    assert 100 * (moved - 1) == pytest.approx(5.669399, abs=1e-5)
    assert 100 * ((moved - 1) / 0.05 - 1) == pytest.approx(13.388, abs=1e-3)
    records = respondents({}, {"x": [100.0], "z": [105.0]})
    mine = {"x": np.array([1.098]), "z": np.array([1.105])}
    one, two = (contributions(records, mine, define([]), name)[0] for name in ("x", "z"))
    assert two / one == pytest.approx(moved)


@pytest.mark.parametrize("variant", ["delta", "factor"])
def test_spread_around_the_base(variant):
    records = firms()
    base = draw_multipliers(records, Zes(), 7)
    found = draw_attributes(records, base, ["X", "Y"], Attributes(variant), 7)
    extra = found["X"] - base if variant == "delta" else found["X"] / base - 1
    assert abs(extra.mean()) < 4 * 0.005 / np.sqrt(len(base))
    assert extra.std() == pytest.approx(0.005, rel=0.06)
    other = found["Y"] - base if variant == "delta" else found["Y"] / base - 1
    assert abs(np.corrcoef(extra, other)[0, 1]) < 0.06


def test_a_response_that_is_added_leaves_the_others_as_they_are():
    records, how = firms(), Attributes("factor")
    base = draw_multipliers(records, Zes(), 7)
    alone, both = (draw_attributes(records, base, names, how, 7) for names in (["X"], ["Y", "X"]))
    assert (alone["X"] == both["X"]).all()
    assert (draw_attributes(records, base, ["X"], how, 8)["X"] != alone["X"]).all()


def test_order_of_the_records_does_not_matter():
    values = np.arange(1.0, 51)
    keys = [f"k{i:02}" for i in range(50)]
    order = np.random.default_rng(0).permutation(50)
    one = respondents({}, {"X": values}, unit=keys)
    two = respondents({}, {"X": values[order]}, unit=[keys[i] for i in order])
    found = []
    for records in (one, two):
        base = draw_multipliers(records, Zes(), 3)
        mine = draw_attributes(records, base, ["X"], Attributes("delta"), 3)
        found.append(dict(zip(records.keys[records.unit], contributions(records, mine, define([]), "X"), strict=True)))
    assert found[0] == found[1]


def test_without_a_variant_every_response_has_the_base():
    records = firms(10)
    base = draw_multipliers(records, Zes(), 7)
    assert (draw_attributes(records, base, ["X"], Attributes(), 7)["X"] == base).all()


def test_no_multiplier_is_zero_or_below():
    records = firms(5000)
    base = np.full(records.units, 0.05)
    found = draw_attributes(records, base, ["X"], Attributes("delta", sd=0.1), 7)["X"]
    assert (found > 0).all()


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_sums_and_differences_stay_additive(seed):
    records = firms(40, seed)
    sums = define(["Z = X + Y", "W = X - Y"])
    base = draw_multipliers(records, Zes(), seed)
    mine = draw_attributes(records, base, ["X", "Y"], Attributes("factor"), seed)
    x, y, z, w = (contributions(records, mine, sums, name) for name in "XYZW")
    np.testing.assert_allclose(z, x + y, rtol=1e-12)
    np.testing.assert_allclose(w, x - y, rtol=1e-12, atol=1e-9)


def test_a_total_of_zero_takes_the_perturbed_sum():
    records = respondents({}, {"X": [10.0, 5], "Y": [10.0, 1], "W": [0.0, 4]})
    mine, sums = {"X": np.array([1.1, 1.0]), "Y": np.array([0.9, 1.0])}, define(["W = X - Y"])
    assert contributions(records, mine, sums, "W").tolist() == pytest.approx([2, 4])
    assert np.isnan(derived_multipliers(records, mine, sums, "W")[0])


def test_small_differences_are_reported():
    records = respondents({}, {"X": [100.0, 100], "Y": [99.0, 1], "W": [1.0, 99]}, unit=["near", "far"])
    mine, sums = {"X": np.array([1.1, 1.1]), "Y": np.array([1.0, 1.0])}, define(["W = X - Y"])
    assert far_derived(records, np.array([1.1, 1.1]), mine, sums, 0.2) == {"W": ("near",)}


def test_weights_leave_the_represented_units_alone():
    records = respondents({}, {"X": [100.0], "Y": [50.0], "Z": [150.0]}, weight=[3.0])
    mine, sums = {"X": np.array([1.105]), "Y": np.array([1.098])}, define(["Z = X + Y"])
    assert contributions(records, mine, sums, "Z")[0] == pytest.approx(450 + 15.4)
    assert derived_multipliers(records, mine, sums, "Z")[0] == pytest.approx(1.102667, abs=1e-6)


def test_trees_of_definitions():
    sums = define(["profit = revenue - cost", "revenue = home + export", "cost = wages + goods"])
    assert sums.of("profit") == {"home": 1, "export": 1, "wages": -1, "goods": -1}
    assert sums.of("other") == {"other": 1}


@pytest.mark.parametrize(
    ("equations", "words"),
    [
        (["Z = X + Y", "Z = V + W"], "'Z' has two definitions"),
        (["Z = X + Y", "X = Z - Y"], "go in a circle"),
        (["Z = "], "cannot read the equation"),
    ],
)
def test_definitions_that_cannot_be(equations, words):
    with pytest.raises(InputError, match=words):
        define(equations)


def test_records_must_satisfy_their_definitions():
    records = respondents({}, {"X": [1.0, 2], "Y": [1.0, 2], "Z": [2.0, 777]})
    with pytest.raises(InputError, match=r"'Z' is not X \+ Y in 1 records \(record '2'\)") as refused:
        check_definitions(records, define(["Z = X + Y"]))
    assert "777" not in str(refused.value)
    with pytest.raises(InputError, match="no response 'V'"):
        check_definitions(records, define(["Z = X + V"]))


@pytest.mark.parametrize("bad", [{"variant": "both"}, {"sd": 0}, {"limit": -1}])
def test_settings_check_themselves(bad):
    with pytest.raises(InputError):
        Attributes(**bad)
