"""Codes that look alike."""

from __future__ import annotations

import pytest

from cellguard.errors import HierarchyError
from cellguard.hierarchy.build import by_digits
from cellguard.hierarchy.lookalike_codes import lookalike_note, lookalikes


def test_blanks_at_the_ends_and_capital_letters_make_twins():
    assert lookalikes(["S", "s", " S ", "N", "N S", "NS"]) == [("S", "s"), ("S", " S ")]


def test_only_some_are_shown():
    (note,) = lookalike_note("region", [word for c in "abcde" for word in (c, c.upper())], rows=100)
    assert "'a' and 'A', 'b' and 'B', 'c' and 'C' and 2 more pairs are different codes" in note
    assert lookalike_note("region", ["a", "b"], rows=2) == []


def test_an_error_about_digits_names_the_dimension():
    with pytest.raises(HierarchyError, match="dimension 'industry': the code '123' has 3 characters"):
        by_digits(["123"], [1, 1], name="industry")
