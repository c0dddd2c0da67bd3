"""Decimal text to whole numbers, held against Python's own exact arithmetic."""

from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellguard.verifier.numbers import LARGEST, difference, floors, fraction, grains, plain, rounded, scaled
from cellguard.verifier.stages import Refused

NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**22), max_value=10**22)


@given(st.lists(NUMBERS, max_size=20), st.integers(0, 6))
def test_floors(numbers, decimals):
    low, exact = floors(pa.array([format(n, "f") for n in numbers], pa.string()), decimals, "x")
    true = [Fraction(n) * 10**decimals for n in numbers]
    assert low.tolist() == [t // 1 for t in true]
    assert exact.tolist() == [t.denominator == 1 for t in true]


@given(st.lists(st.integers(-(10**20), 10**20), min_size=1), st.integers(0, 5))
def test_rounding_is_half_to_even(numbers, places):
    array = np.array(numbers) if max(map(abs, numbers)) < 10**18 else np.array(numbers, dtype=object)
    with localcontext(prec=60):
        expected = [int((Decimal(n) / 10**places).quantize(Decimal(1), ROUND_HALF_EVEN)) for n in numbers]
        assert rounded(array, 10**places).tolist() == expected
        assert int((Decimal(-5) / 10).quantize(Decimal(1), ROUND_FLOOR)) == -1


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_floats_as_plain_text(numbers):
    words = plain(pa.chunked_array([pa.array(numbers, pa.float64())])).to_pylist()
    assert [float(word) for word in words] == numbers
    assert not any("e" in word for word in words)


@pytest.mark.parametrize(
    "text", ["", "1e3", "+1", "1.", ".5", "1,000", "nan", "inf", "0x1", "--1", "1 ", "\u0661", "1\n"]
)
def test_text_that_is_no_number(text):
    with pytest.raises(Refused):
        floors(pa.array([text]), 0, "x")
    with pytest.raises(Refused):
        fraction(text, "x")


def test_grains_are_whole():
    assert grains(pa.array(["1.50", "-0.0", "007"]), 1, "x").tolist() == [15, 0, 70]
    with pytest.raises(Refused, match="line 3"):
        grains(pa.array(["1.5", "1.55"]), 1, "x")
    with pytest.raises(Refused):
        grains(pa.array(["9" * 5000]), 0, "x")


def test_differences_are_cut_off_and_products_grow():
    assert difference(np.array([5, -7]), 10**30).tolist() == [-LARGEST, -LARGEST]
    assert difference(np.array([10**17]), np.array([-(10**17)])).tolist() == [2 * 10**17]
    assert difference(np.array([10**25], dtype=object), np.array([1])).tolist() == [LARGEST]
    assert scaled(np.array([10**17, -1]), 100).tolist() == [10**19, -100]
