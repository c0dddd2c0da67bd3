"""Codes that no file puts in order stand in natural order, or in that of a code list; never in that of the data."""

import itertools

import pytest

from cellguard.hierarchy.build import by_digits
from cellguard.hierarchy.code_order import in_code_order


@pytest.mark.parametrize(
    "ordered",
    [
        ["1-9", "10-49", "50-249", "250+"],
        ["2", "10"],
        ["a2", "A10", "b1"],
        ["01", "1", "02"],
        ["0", "9" * 5000, "1" + "0" * 5000],
        ["", "1", "x"],
    ],
)
def test_natural_order(ordered):
    for given in itertools.permutations(ordered):
        assert in_code_order(given) == ordered


def test_a_code_list_goes_first():
    assert in_code_order(["b", "10", "a", "9"], ["b", "a", "unused"]) == ["b", "a", "9", "10"]


def test_digits_do_not_keep_the_order_of_the_data():
    codes = ["1011", "102", "20", "1012", "B"]
    for given in itertools.permutations(codes):
        tree = by_digits(given, [1, 1, 1, 1])
        assert tree.codes == ("Total", "1", "10", "101", "1011", "1012", "102", "2", "20", "B")


def test_digits_follow_the_labels():
    labels = {"2": "two", "1": "one", "12": "twelve", "11": "eleven"}
    assert by_digits(["11", "12", "21", "13"], [1, 1], labels=labels).codes == (
        *("Total", "2", "21", "1", "12", "11", "13"),
    )
