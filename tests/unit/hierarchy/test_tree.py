"""`grow` accepts exactly the trees with one total, and says what is wrong with anything else."""

from __future__ import annotations

import pytest

from cellguard.errors import HierarchyError
from cellguard.hierarchy.build import from_levels, from_parents

REGION = from_parents([("Total", ""), ("North", "Total"), ("South", "Total"), ("N1", "North"), ("N2", "North")])


def refusal(*pairs):
    with pytest.raises(HierarchyError) as caught:
        from_parents(pairs, source="nace.csv", lines=range(2, 99))
    return str(caught.value)


def test_a_cycle_is_refused_with_its_codes_and_line():
    message = refusal(("Total", ""), ("A", "C"), ("B", "A"), ("C", "B"))
    assert message.startswith("nace.csv line 3: ")
    assert "'A' under 'C' under 'B' under 'A'" in message
    assert "cycle" in message


def test_codes_below_a_cycle_are_not_blamed_for_it():
    message = refusal(("Total", ""), ("leaf", "A"), ("A", "B"), ("B", "A"))
    assert "'leaf'" not in message
    assert "'A' under 'B' under 'A'" in message


def test_a_code_under_itself_is_a_cycle():
    assert "'A' under 'A'" in refusal(("Total", ""), ("A", "A"))


def test_a_code_with_two_parents_is_refused_with_both_lines():
    message = refusal(("Total", ""), ("A", "Total"), ("B", "Total"), ("x", "A"), ("x", "B"))
    assert message.startswith("nace.csv line 6: the code 'x' has two parents: 'B' here and 'A' (see nace.csv line 5)")


def test_an_unknown_parent_is_refused_with_the_nearest_codes():
    message = refusal(("Total", ""), ("North", "Total"), ("N1", "Nort"))
    assert message.startswith("nace.csv line 4: the parent 'Nort' of 'N1'")
    assert "did you mean 'North'" in message


def test_a_duplicate_is_refused_with_both_lines():
    message = refusal(("Total", ""), ("A", "Total"), ("A", "Total"))
    assert message.startswith("nace.csv line 4: the code 'A' is a duplicate (see nace.csv line 3)")


def test_a_missing_total_is_refused_with_the_cure():
    message = refusal(("A", "B"), ("B", "A"))
    assert message.startswith("nace.csv: the total is missing")
    assert "blank parent" in message


def test_no_codes_at_all_means_no_total():
    with pytest.raises(HierarchyError, match="the total is missing"):
        from_parents([])


def test_two_totals_are_refused_with_both_lines():
    message = refusal(("Total", ""), ("All", ""))
    assert message.startswith("nace.csv line 3: 'All' has a blank parent, and so has 'Total' (see nace.csv line 2)")


def test_a_blank_code_is_refused_with_its_line():
    assert refusal(("Total", ""), ("", "Total")).startswith("nace.csv line 3: a code is blank")


def test_without_a_source_messages_name_codes_only():
    with pytest.raises(HierarchyError, match=r"^the code 'A' is a duplicate; list it once$"):
        from_parents([("Total", ""), ("A", "Total"), ("A", "Total")])


def test_codes_are_in_depth_first_order():
    assert REGION.codes == ("Total", "North", "N1", "N2", "South")
    assert REGION.parent.tolist() == [-1, 0, 1, 1, 0]


def test_branches_may_be_of_unequal_depth():
    assert REGION.level.tolist() == [0, 1, 2, 2, 1]
    assert REGION.leaves == ("N1", "N2", "South")


def test_single_child_levels_are_kept():
    chain = from_levels([("A", "A1", "A11")])
    assert chain.codes == ("Total", "A", "A1", "A11")
    assert chain.leaf_sets()["A"] == {"A11"}


def test_relatives_of_a_code():
    assert REGION.children("North") == ("N1", "N2")
    assert REGION.children("N1") == ()
    assert REGION.parent_of("N1") == "North"
    assert REGION.parent_of("Total") is None


def test_an_unknown_code_is_refused_with_the_nearest():
    with pytest.raises(HierarchyError, match=r"no code 'Nord' in the hierarchy; did you mean 'North'"):
        REGION.children("Nord")


def test_a_total_alone_is_a_hierarchy():
    alone = from_parents([("Total", "")])
    assert alone.leaves == ("Total",)
    assert alone.level.tolist() == [0]


def test_deep_hierarchies_need_no_recursion():
    codes = [f"c{i}" for i in range(3000)]
    deep = from_parents([("Total", ""), *zip(codes, ["Total", *codes], strict=False)])
    assert int(deep.level.max()) == 3000
    assert deep.leaf_sets()["Total"] == {"c2999"}


def test_labels_of_other_codes_are_left_out():
    h = from_parents([("Total", ""), ("A", "Total")], labels={"A": "Agriculture", "Z": "Zoos"})
    assert h.labels == {"A": "Agriculture"}
