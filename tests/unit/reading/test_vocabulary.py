"""Words and numbers mean the same in records, which an engine reads, and in cells."""

from __future__ import annotations

import pytest

from cellguard.errors import InputError
from cellguard.microdata.records import records
from cellguard.microdata.roles import Missing
from cellguard.reading.vocabulary import MISSING, NO, YES
from cellguard.table.source import open_source

NUMBERS = ["1", "1.", "-.5", "+5", "+.5", "1e5", "1E+5", " 7 ", "00012", "1e-400"]
NO_NUMBERS = [
    "1e",
    "0x10",
    "-nan",
    "1_000",
    "1 000",
    "--5",
    "+-5",
    "1.2.3",
    "\uff11",
    "1d",
    "1e5.0",
    "e5",
    "infin",
    "true",
]


def of_records(text):
    grouped = records({"r": ["a", "a"], "x": ["1", text]}, ["r"], ["x"], missing=Missing(value="zero"))
    return grouped.units().values["x"].tolist()[1]


def of_cells(text):
    return open_source({"x": ["1", text]}).numbers("x", blank_is_nan=True).tolist()[1]


@pytest.mark.parametrize("text", NUMBERS)
def test_numbers(text):
    assert of_cells(text) == float(text)
    assert of_records(text) == pytest.approx(float(text))


@pytest.mark.parametrize("text", NO_NUMBERS)
@pytest.mark.parametrize("reader", [of_records, of_cells])
def test_what_is_no_number(text, reader):
    with pytest.raises(InputError, match=r"row 2, column 'x': not a number"):
        reader(text)


@pytest.mark.parametrize("word", [*MISSING, "N/A", " NaN ", None])
def test_missing_numbers(word):
    assert of_records(word) == 0
    assert str(of_cells(word)) == "nan"


@pytest.mark.parametrize("word", [*YES, *NO, "Yes", " FALSE ", None])
def test_yes_and_no(word):
    expected = [word is not None and word.strip().lower() in YES]
    assert open_source({"m": [word]}).marks("m").tolist() == expected
    assert records({"r": ["a"], "m": [word]}, ["r"], waiver="m").waived.tolist() == expected


@pytest.mark.parametrize("word", ["NA", "maybe", "2"])
def test_what_is_neither_yes_nor_no(word):
    with pytest.raises(InputError, match=r"row 1, column 'm': expected yes or no"):
        open_source({"m": [word]}).marks("m")
    with pytest.raises(InputError, match=r"row 1, column 'm': expected yes or no"):
        records({"r": ["a"], "m": [word]}, ["r"], waiver="m")


@pytest.mark.parametrize("word", ["NA", "none", "."])
def test_a_code_is_missing_only_where_it_is_blank(word):
    assert records({"r": [word]}, ["r"]).labels == ((word,),)
    assert open_source({"r": [word]}).codes("r")[0] == [word]


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_a_blank_code_is_missing(blank):
    with pytest.raises(InputError, match="the code is blank"):
        records({"r": ["a", blank]}, ["r"])
    with pytest.raises(InputError, match="the code is blank"):
        open_source({"r": ["a", blank]}).codes("r")


@pytest.mark.parametrize(
    ("flags", "marked"),
    [
        (["c", "", "x", "NA"], [True, False, True, False]),
        (["1", "0", "", "NA"], [True, False, False, False]),
        (["TRUE", "false", "no", "y"], [True, False, False, True]),
        (["n", "f", "", "n"], [True, True, False, True]),  # letters of a scheme of flags
    ],
)
def test_flags_of_suppressed_cells(flags, marked):
    assert open_source({"f": flags, "x": ["1"] * 4}).flagged("f", "x").tolist() == marked
