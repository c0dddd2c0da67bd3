"""Hierarchies and labels in CSV files."""

from __future__ import annotations

import pytest

from cellguard.errors import HierarchyError, InputError
from cellguard.hierarchy.codelists import read_labels, read_levels, read_parents


@pytest.fixture
def write(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "nace.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return write


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_levels_and_parents_give_the_same_tree(write, delimiter):
    levels = read_levels(write("section,division\nA,A1\nA,A2\nB,\n".replace(",", delimiter)))
    parents = read_parents(write("code,parent\nTotal,\nA,Total\nA1,A\nA2,A\nB,Total\n".replace(",", delimiter)))
    assert levels.codes == parents.codes
    assert levels.parent.tolist() == parents.parent.tolist()


def test_columns_of_a_parents_file_are_found_by_name(write):
    h = read_parents(write("parent,text,code\n,all,EU\nEU,first,A\n"), total="EU")
    assert h.codes == ("EU", "A")


def test_another_total_than_asked_for_is_refused(write):
    with pytest.raises(HierarchyError, match=r"^nace\.csv: the total is 'EU' .*not 'Total'.*`total: EU`"):
        read_parents(write("code,parent\nEU,\nA,EU\n"), total="Total")


def test_codes_are_text(write):
    assert read_levels(write("a,b\n01,010\n1,\n")).codes == ("Total", "01", "010", "1")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_letters_survive_every_common_encoding(write, encoding):
    assert read_levels(write("a\nÖl\n", encoding)).codes == ("Total", "Öl")


def test_quoted_fields_may_hold_the_delimiter(write):
    assert read_labels(write('code,label\nA,"Farms, woods"\n')) == {"A": "Farms, woods"}


def test_faults_are_told_with_their_line(write):
    with pytest.raises(HierarchyError, match=r"^nace\.csv line 4: the code 'x' has two parents.*nace\.csv line 3"):
        read_levels(write("a,b\nA,\nA,x\nB,x\n"))
    with pytest.raises(HierarchyError, match=r"^nace\.csv line 3: the parent 'Totl' of 'A'.*did you mean 'Total'"):
        read_parents(write("code,parent\nTotal,\nA,Totl\n"))


def test_a_row_of_another_length_is_refused_with_its_line(write):
    with pytest.raises(InputError, match=r"^nace\.csv line 3: 1 fields, but the header has 2"):
        read_levels(write("a,b\nA,A1\nB\nC,C1\n"))


def test_blank_lines_at_the_end_are_ignored(write):
    assert read_levels(write("a,b\nA,A1\n\n\n")).codes == ("Total", "A", "A1")


def test_a_missing_column_is_refused_with_the_nearest(write):
    with pytest.raises(InputError, match=r"^nace\.csv: no column 'parent'; did you mean 'parents'"):
        read_parents(write("code,parents\nTotal,\n"))
    with pytest.raises(InputError, match=r"^nace\.csv: no column 'label'"):
        read_labels(write("code,text\nA,b\n"))


def test_an_empty_file_is_refused(write):
    with pytest.raises(InputError, match=r"^nace\.csv: the file is empty"):
        read_levels(write(""))


def test_a_header_alone_is_refused(write):
    with pytest.raises(InputError, match=r"^nace\.csv: no rows below the header"):
        read_levels(write("a,b\n"))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no file '.*nowhere\.csv'"):
        read_levels(tmp_path / "nowhere.csv")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder, not a file"):
        read_levels(tmp_path)
