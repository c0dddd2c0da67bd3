"""τ-ARGUS hierarchy files."""

from __future__ import annotations

import pytest

from cellguard.errors import HierarchyError, InputError
from cellguard.hierarchy.hrc import parse_hrc, read_hrc


def refusal(text):
    with pytest.raises(HierarchyError) as caught:
        parse_hrc(text, source="region.hrc")
    return str(caught.value)


def test_a_file_is_read_with_blank_lines_and_blanks_behind_codes(tmp_path):
    path = tmp_path / "region.hrc"
    path.write_bytes("North  \r\n@N1\r\n\r\n@@N11\r\nÖst\r\n".encode())
    h = read_hrc(path, total="EU", labels={"North": "The North"})
    assert [(c, h.parent_of(c)) for c in h.codes[1:]] == [
        ("North", "EU"),
        ("N1", "North"),
        ("N11", "N1"),
        ("Öst", "EU"),
    ]
    assert h.labels == {"North": "The North"}


def test_blanks_in_front_of_a_code_belong_to_it():
    assert parse_hrc(" 5\n@ 51\n").codes == ("Total", " 5", " 51")


def test_the_lead_may_be_longer_than_one_character():
    assert parse_hrc("A\n--A1\n----A11\n", lead="--").level.tolist() == [0, 1, 2, 3]


def test_a_jump_in_depth_is_refused_with_its_line():
    message = refusal("A\n@A1\n@@@A111\n")
    assert message.startswith("region.hrc line 3: the code 'A111' is 2 levels deeper")


def test_a_first_line_with_a_lead_is_a_jump():
    assert refusal("@A\nB\n").startswith("region.hrc line 1: the code 'A'")


def test_depth_may_fall_by_any_number_of_levels():
    assert parse_hrc("A\n@A1\n@@A11\nB\n").parent_of("B") == "Total"


def test_a_depth_that_an_earlier_branch_had_is_still_a_jump():
    assert refusal("A\n@A1\n@@A11\nB\n@@B11\n").startswith("region.hrc line 5: the code 'B11'")


def test_a_duplicate_is_refused_with_both_lines():
    assert refusal("A\nB\nA\n").startswith("region.hrc line 3: the code 'A' is a duplicate (see region.hrc line 1)")


def test_a_code_under_two_parents_is_refused_with_both_lines():
    message = refusal("A\n@x\nB\n@x\n")
    assert message.startswith(
        "region.hrc line 4: the code 'x' has two parents: 'B' here and 'A' (see region.hrc line 2)"
    )


def test_a_code_repeated_on_the_next_level_is_refused():
    assert refusal("A\n@A\n").startswith("region.hrc line 2: the code 'A' has two parents")


def test_the_total_is_never_listed():
    assert refusal("A\nTotal\n").startswith("region.hrc line 2: the total 'Total' is never listed")


def test_a_lead_without_a_code_is_refused():
    assert refusal("A\n@\n").startswith("region.hrc line 2: a code is blank")


def test_a_file_without_codes_is_refused():
    assert refusal("\n \n").startswith("region.hrc: no codes")


def test_an_empty_lead_is_refused():
    with pytest.raises(HierarchyError, match="lead string"):
        parse_hrc("A\n", lead="")


def test_without_a_source_the_line_is_still_told():
    with pytest.raises(HierarchyError, match=r"^line 2: the code 'B'"):
        parse_hrc("A\n@@B\n")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no file '.*nowhere\.hrc'"):
        read_hrc(tmp_path / "nowhere.hrc")
