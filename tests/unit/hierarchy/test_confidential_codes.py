"""Which entries of the data messages show."""

import pytest

import cellguard as cg
from cellguard.errors import HierarchyError, InputError, NotAdditive
from cellguard.hierarchy.codelists import read_levels, read_parents
from cellguard.hierarchy.confidential_codes import Evidence, evidence, may_be_values, suggested_column, suggestion
from cellguard.hierarchy.recode import cut, merge
from cellguard.reading.vocabulary import is_number
from cellguard.table.binding import flat_dimension

YES, NO = Evidence(True, True), Evidence()
WORDS = Evidence(words=True)


@pytest.mark.parametrize(
    "text", ["5", "-5", "+5", "1.5", ".5", "1,234.50", "1'234", "1 234", "3e5", "€ 5", "5 %", "5-"]
)
def test_numbers_however_they_are_written(text):
    assert is_number(text)


@pytest.mark.parametrize("text", ["", "A1", "10-49", "_T", "N", "-", "2024Q1", "1-9 firms"])
def test_codes_are_no_numbers(text):
    assert not is_number(text)


@pytest.mark.parametrize(
    ("entries", "rows", "known", "expected"),
    [
        (["Total", "1"], 2, ["Total", "01"], YES),  # the total is a word, so the column holds codes
        (["9", "1", "5"], 3, ["9", "01"], NO),
        ([f"{i:02}" for i in range(20)], 100, ["T", *(f"{i:02}" for i in range(19))], YES),
        ([str(i) for i in range(1, 10)], 500, ["T", *map(str, range(1, 7))], WORDS),
        (["Nord"], 1, ["Total", "North"], WORDS),
        (["Nord", "Sud", "Ost", "Wst", "Mite", "Rand"], 6, ["Total", "North", "West", "Mitte"], WORDS),
        ([f"firm {i}" for i in range(50)], 60, ["Total", "North"], NO),
        ([f"firm {i}" for i in range(50)], 60, [], NO),
        ([], 0, ["Total"], NO),
    ],
)
def test_evidence(entries, rows, known, expected):
    assert evidence(entries, rows, known) == expected


def test_entries_that_may_be_values():
    years = [str(y) for y in range(2000, 2020)]
    assert not may_be_values(years, 60) and may_be_values(years, 59)
    assert not may_be_values(["1", "10"], 40) and may_be_values(["1", "10"], 39)
    assert may_be_values(["1.5", "2.5"], 10_000) and may_be_values(["-1", "2"], 10_000)
    assert may_be_values([f"n{i}" for i in range(6)], 11) and not may_be_values([f"n{i}" for i in range(6)], 12)
    assert not may_be_values(["Total", "48151", "62342"], 3, "Total") and may_be_values(["48151", "62342"], 2, "48151")


def test_suggestions():
    assert suggestion("larg", ["large", "small"], 9) == "; did you mean 'large'?"
    assert suggestion("large", ["48151", "62342"], 5) == ""
    assert suggested_column("regio", ["region", "x"]) == "; did you mean 'region'?"
    assert "header line" in suggested_column("region", ["North", "48151"])


def test_a_flat_dimension_of_values_is_hushed():
    hushed = flat_dimension("x", ["48151", "62342", "9"], total="48151", rows=3)
    for change in (lambda h: cut(h, []), lambda h: merge(h, {"both": ["62342", "9"]})):
        assert change(hushed.main).hushed
    assert hushed.tell("48151") == "48151" and hushed.tell("9") == "(a code of 'x')"
    with pytest.raises(HierarchyError) as caught:
        hushed.main.at("foo")
    assert "62342" not in str(caught.value)
    with pytest.raises(HierarchyError, match="it lacks 2 of them"):
        cg.Dimension("x", hushed.main, cg.Hierarchy.flat(["a"], total="48151"))


def test_totals_are_suggested_only_if_they_are_usual_words():
    with pytest.raises(InputError, match="did you mean 'TOTAL' or 'all'"):
        flat_dimension("r", ["TOTAL", "all", "Totalson Ltd"], place="c.csv")
    with pytest.raises(InputError, match="is it the right column") as caught:
        flat_dimension("r", ["Totalson Ltd", "48151"], place="c.csv")
    assert "Totalson" not in str(caught.value)


def test_relations_between_hushed_cells_are_told_without_codes():
    x = flat_dimension("x", ["48151", "62342", "9"], total="48151", rows=3)
    with pytest.raises(NotAdditive) as caught:
        cg.link(cg.cells({"x": ["48151", "62342", "9"], "v": [5, 1, 1]}, [x], value="v"))
    assert "48151 = (a code of 'x') + (a code of 'x')" in str(caught.value)


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (read_parents, "code,parent\nTotal,\n4711,Total\n4711,48\n", "line 4: the code has two parents: one here and"),
        (read_parents, "code,parent\nTotal,\n4711,Total\n4711,Total\n", "line 4: the code is a duplicate (see"),
        (read_parents, "code,parent\n0,\n1,\n", "line 3: the code has a blank parent, and so has another (see"),
        (
            read_parents,
            "code,parent\nTotal,\n4711,4\n",
            "line 3: the parent of the code is not a code of the hierarchy",
        ),
        (read_parents, "code,parent\nT,\n1,2\n2,1\n", "the codes a number under a number under a number form a cycle"),
        (read_levels, "a,b,c\n1,,4711\n", "line 2: the code follows a blank level"),
        (read_levels, "a,b,c\n1,2,1\n", "line 2: the code stands under itself"),
        (read_levels, "a,b\n" + "".join(f"firm{i},North\n" for i in range(6)), "line 3: the code has two parents: one"),
        (
            read_parents,
            "code,parent\nTotal,\n" + "".join(f"firm{i},place{i}\n" for i in range(8)),
            "line 3: the parent of the code is not a code of the hierarchy; 8 of 9 codes have such parents",
        ),
    ],
)
def test_a_hierarchy_that_may_be_data_is_told_by_its_lines(tmp_path, read, text, said):
    path = tmp_path / "nace.csv"
    path.write_text(text)
    with pytest.raises(HierarchyError) as caught:
        read(path)
    message = str(caught.value)
    assert said in message and "4711" not in message and "firm" not in message
