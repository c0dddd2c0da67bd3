"""Hierarchies from level columns, digits and flat lists."""

from __future__ import annotations

import pytest

from cellguard.errors import HierarchyError
from cellguard.hierarchy.build import by_digits, flat, from_levels


def tree(hierarchy):
    return {code: hierarchy.parent_of(code) for code in hierarchy.codes}


def level_refusal(*rows):
    with pytest.raises(HierarchyError) as caught:
        from_levels(rows, source="nace.csv", lines=range(2, 99))
    return str(caught.value)


def test_blanks_at_the_right_end_a_branch():
    expected = {"Total": None, "A": "Total", "A1": "A", "A11": "A1", "B": "Total"}
    assert tree(from_levels([("A", "A1", "A11"), ("B", "", "")])) == expected


def test_a_repeated_code_means_no_deeper_level():
    expected = {"Total": None, "A": "Total", "A1": "A", "B": "Total"}
    assert tree(from_levels([("A", "A1", "A1"), ("B", "B", "B")])) == expected


def test_a_code_repeated_above_a_deeper_one_is_one_level():
    assert tree(from_levels([("A", "A", "A1")])) == {"Total": None, "A": "Total", "A1": "A"}


def test_equal_rows_and_rows_of_inner_codes_say_nothing_new():
    assert tree(from_levels([("A", "A1"), ("A", ""), ("A", "A1")])) == {"Total": None, "A": "Total", "A1": "A"}


def test_a_blank_in_the_middle_is_refused():
    message = level_refusal(("A", "A1", "A11"), ("B", "", "B11"))
    assert message.startswith("nace.csv line 3: the code 'B11' follows a blank level")


def test_a_blank_row_is_refused():
    assert level_refusal(("A", "A1"), ("", "")).startswith("nace.csv line 3: the row is blank")


def test_a_code_under_two_parents_is_refused():
    message = level_refusal(("A", "x"), ("B", "x"))
    assert message.startswith("nace.csv line 3: the code 'x' has two parents: 'B' here and 'A' (see nace.csv line 2)")


def test_a_code_at_two_depths_is_refused():
    assert "'A1' has two parents" in level_refusal(("A", "A1"), ("A1", "A11"))


def test_a_code_under_itself_is_refused():
    assert level_refusal(("A", "B", "A")).startswith("nace.csv line 2: the code 'A' stands under itself: a cycle")


def test_a_cycle_over_several_rows_is_refused():
    assert "two parents" in level_refusal(("A", "B"), ("B", "A"))


def test_the_total_is_in_no_level_column():
    assert level_refusal(("Total", "A")).startswith("nace.csv line 2: the total 'Total' does not belong")


def test_the_total_may_have_another_name():
    assert from_levels([("A", "A1")], total="EU").codes == ("EU", "A", "A1")
    assert flat(["A"], total="EU").total == "EU"


def test_flat_codes_keep_their_order():
    assert flat(["b", "a"]).codes == ("Total", "b", "a")


def test_a_flat_code_given_twice_is_refused():
    with pytest.raises(HierarchyError, match="'a' is a duplicate"):
        flat(["a", "a"])


def test_a_flat_list_with_the_total_is_refused():
    with pytest.raises(HierarchyError, match="'Total'"):
        flat(["a", "Total"])


def test_digits_spell_the_levels():
    expected = {"Total": None, "1": "Total", "10": "1", "1011": "10", "1012": "10", "2": "Total"}
    assert tree(by_digits(["1011", "Total", "1012", "2", "10"], [1, 1, 2])) == expected


def test_a_leading_zero_is_part_of_a_code():
    assert tree(by_digits(["01", "02"], [1, 1])) == {"Total": None, "0": "Total", "01": "0", "02": "0"}


def test_a_code_of_a_length_that_no_level_has_is_refused():
    with pytest.raises(HierarchyError, match=r"'101' has 3 characters, but digits \[1, 1, 2\] allow only 1, 2, 4"):
        by_digits(["101"], [1, 1, 2])


@pytest.mark.parametrize("digits", [[], [0], [1, -1]])
def test_digits_are_above_zero(digits):
    with pytest.raises(HierarchyError, match="digits must be whole numbers above 0"):
        by_digits(["1"], digits)
