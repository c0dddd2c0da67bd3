"""Bad records are refused with file, line, column and cure, and without their values."""

import re

import numpy as np
import pandas as pd
import pytest

from cellguard.errors import InputError, UnknownCode
from cellguard.hierarchy.build import flat, from_parents
from cellguard.microdata.checked import check_codes, check_records
from cellguard.microdata.query import group_records
from cellguard.microdata.records import records
from cellguard.microdata.roles import Missing, Roles
from cellguard.microdata.sources import open_records

HEADER = "id,region,turnover,w,group,ok"
GOOD = ["f1,N,5,1,a,yes", "f2,S,7.5,2,a,no", "f3,N,3,1.5,b,"]
SECRET = str(4711)
ROLES = {
    "by": ["region"],
    "values": ["turnover"],
    "weight": "w",
    "respondent": "id",
    "holding": "group",
    "waiver": "ok",
}


@pytest.fixture
def firms(tmp_path):
    def write(*rows, header=HEADER, encoding="utf-8", end="\n"):
        path = tmp_path / "firms.csv"
        path.write_bytes(("\n".join([header, *rows]) + end).encode(encoding))
        return path

    return write


def refusal(path, **changes):
    with pytest.raises(InputError) as caught:
        records(path, **{**ROLES, **changes})
    assert SECRET not in str(caught.value)
    return str(caught.value)


def test_the_good_records_are_good(firms):
    found = records(firms(*GOOD), **ROLES)
    assert found.records.sum() == 3 and found.notes == ()


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (f"f4,N,{SECRET}x,1,b,", "firms.csv line 5, column 'turnover': not a number; write numbers without"),
        (f"f4,N,{SECRET}_0,1,b,", "firms.csv line 5, column 'turnover': not a number"),
        (f'f4,N,"{SECRET},5",1,b,', "not a number; some numbers have a '.' and some a ',': write one decimal mark"),
        ("f4,N,,1,b,", "firms.csv line 5, column 'turnover': the value is missing (blank or NaN); give it, or say"),
        ("f4,N,NaN,1,b,", "firms.csv line 5, column 'turnover': the value is missing"),
        ("f4,N,-nan,1,b,", "firms.csv line 5, column 'turnover': not a number"),
        ("f4,N,-inf,1,b,", "firms.csv line 5, column 'turnover': the value is infinite; give a finite one"),
        ("f4,,5,1,b,", "firms.csv line 5, column 'region': the code is blank; give every record a code"),
        ("f4,N,5,,b,", "firms.csv line 5, column 'w': the weight is missing (blank or NaN); give every record"),
        ("f4,N,5,-1,b,", "firms.csv line 5, column 'w': a weight must not be below 0"),
        ("f4,N,5,heavy,b,", "firms.csv line 5, column 'w': not a number"),
        ("f4,N,5,1,,", "firms.csv line 5, column 'group': the holding is blank; repeat the respondent there, or say"),
        (" ,N,5,1,b,", "firms.csv line 5, column 'id': the respondent is blank"),
        (f"f4,N,5,1,b,{SECRET}", "firms.csv line 5, column 'ok': expected yes or no (true/false, 1/0)"),
        ("f4,N,5", "firms.csv line 5: fewer fields than columns; give each line one field a column"),
        ("f4,N,5,1,b,,7", "firms.csv line 5: more fields than columns"),
        (f'f4,N,"{SECRET},1,b,', "firms.csv line 5: a quotation mark opens here and is not closed"),
        ("f1,N,5,1,b,", "line 5, column 'group': the respondent of firms.csv line 2 is in another holding here"),
    ],
)
def test_each_fault_is_told_with_its_line(firms, row, words):
    assert words in refusal(firms(*GOOD, row))


def test_a_fault_is_counted_and_all_columns_are_told_at_once(firms):
    found = refusal(firms("f1,N,,1,a,", *GOOD[1:], "f4,,,-2,b,"))
    assert found.splitlines() == [
        "firms.csv line 5, column 'region': the code is blank; give every record a code, or say "
        "`missing: {code: drop}` or `category`",
        "firms.csv line 2, column 'turnover': the value is missing (blank or NaN); give it, or say "
        "`missing: {value: drop}` or `zero` (2 rows have this fault)",
        "firms.csv line 5, column 'w': a weight must not be below 0; correct it, or leave the record out",
    ]


def test_lines_are_counted_past_blank_lines_and_line_breaks_in_quotes(firms):
    assert "firms.csv line 4, column 'turnover'" in refusal(firms(GOOD[0], "", "f2,S,?,1,a,"))
    assert "firms.csv line 4, column 'turnover'" in refusal(firms('"f\n1",S,5,1,a,', "f2,S,?,1,a,"))


def test_a_broken_line_after_a_line_break_in_quotes(firms):
    assert "firms.csv line 4: fewer fields" in refusal(firms('"f\n1",S,5,1,a,', "f2,S", *GOOD[1:]))


def test_windows_line_ends_and_no_last_line_end(firms):
    path = firms(*GOOD, end="")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert records(path, **ROLES).records.sum() == 3


@pytest.mark.parametrize("role", ["values", "by", "weight", "holding", "respondent", "waiver", "request"])
def test_no_such_column(firms, role):
    given = ["turnovr"] if role in {"values", "by"} else "turnovr"
    assert "firms.csv: no column 'turnovr'; did you mean 'turnover'?" in refusal(firms(*GOOD), **{role: given})


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "the file is empty"), (HEADER + "\n", "there are no rows"), ("a,a\n1,2\n", "names 'a' twice")],
)
def test_files_without_records(tmp_path, text, words):
    (tmp_path / "firms.csv").write_text(text)
    assert words in refusal(tmp_path / "firms.csv")


def test_a_frame_without_rows():
    assert "there are no rows" in refusal(pd.DataFrame({c: [] for c in HEADER.split(",")}).astype(str))


def test_a_wrong_encoding(firms):
    path = firms(*GOOD, "f4,Öst,5,1,b,", encoding="latin-1")
    assert "firms.csv line 5: not written in utf-8; name its encoding" in refusal(path, encoding="utf-8")
    assert "no such encoding 'latn-1'" in refusal(path, encoding="latn-1")


def test_a_wrong_encoding_far_down(firms):
    path = firms(*GOOD * 400_000, "f4,Öst,5,1,b,", encoding="latin-1")
    assert "firms.csv line 1200002: not written in utf-8" in refusal(path, encoding="utf-8")


def test_a_decimal_comma_where_a_point_is_written(firms):
    path = firms("f1;N;1.500;1;a;", header=HEADER.replace(",", ";"))
    assert "if '.' is the decimal mark of the file, say `decimal: '.'`" in refusal(path, decimal=",")


@pytest.mark.parametrize(("option", "word"), [("decimal", "x"), ("delimiter", "::")])
def test_wrong_options(firms, option, word):
    assert f"`{option}` must be" in refusal(firms(*GOOD), **{option: word})


def frame(**columns):
    return pd.DataFrame({"region": ["N", "S"], "turnover": [5, 7], **columns})


@pytest.mark.parametrize(
    ("data", "changes", "words"),
    [
        (frame(turnover=[5.0, np.nan]), {}, "firms row 2, column 'turnover': the value is missing"),
        (frame(turnover=[np.inf, 5.0]), {}, "firms row 1, column 'turnover': the value is infinite"),
        (frame(turnover=[True, False]), {}, "firms: column 'turnover' holds boolean, not numbers"),
        (frame(turnover=[2**60, 5]), {}, "firms row 1, column 'turnover': too large to be exact"),
        (frame(region=[1.0, 2.0]), {}, "firms: column 'region' holds decimal numbers, but codes are text"),
        (frame(region=["N", None]), {}, "firms row 2, column 'region': the code is blank"),
        (frame(group=[1.5, 2.0]), {"holding": "group"}, "holds decimal numbers, which name nobody"),
    ],
)
def test_faults_in_frames(data, changes, words):
    with pytest.raises(InputError) as caught:
        records(data, ["region"], ["turnover"], name="firms", **changes)
    assert words in str(caught.value)


REGION = from_parents([("Total", ""), ("North", "Total"), ("N1", "North"), ("N2", "North"), ("South", "Total")])


def checked(path):
    return check_records(open_records(path), Roles(("region",), ("turnover",)))


def test_codes_that_are_no_leaves_are_all_told(firms):
    rows = ["f1,N1,5,1,a,", "f2,Suoth,5,1,a,", "f3,North,5,1,a,", "f4,Total,5,1,a,", "f5,Suoth,5,1,a,"]
    with pytest.raises(UnknownCode) as caught:
        check_codes(checked(firms(*rows)), "region", "area", REGION)
    assert str(caught.value).splitlines() == [
        "firms.csv line 3, column 'region': 'Suoth' is not in dimension 'area'; did you mean 'South'? "
        "(2 rows have this fault)",
        "firms.csv line 4, column 'region': 'North' has codes below it in dimension 'area'; give the record one of "
        "these, as 'N1'",
        "firms.csv line 5, column 'region': 'Total' is the total of dimension 'area'; records have codes below it, so "
        "delete rows of totals, which are worked out, or name another `total`",
    ]


def test_many_unknown_codes_are_cut_short(firms):
    rows = [f"f{i},x{i % 20},5,1,a," for i in range(40)]
    with pytest.raises(UnknownCode) as caught:
        check_codes(checked(firms(*rows)), "region", "area", flat(["N"]))
    assert len(str(caught.value).splitlines()) == 9 and "and 12 more codes" in str(caught.value)


@pytest.mark.parametrize(
    ("roles", "words"),
    [
        ({"by": []}, "at least one dimension"),
        ({"values": ["count"]}, "cannot be named 'count'"),
        ({"by": ["turnover"], "values": ["turnover"]}, "'turnover' has two roles"),
        ({"waiver": "ok", "request": "ok"}, "'ok' has two roles"),
    ],
)
def test_roles_that_clash(firms, roles, words):
    assert words in refusal(firms(*GOOD), **roles)


def test_unknown_policies():
    with pytest.raises(InputError, match="missing: value must be error or drop or zero, not 'ignore'"):
        Missing(value="ignore")


def test_own_holdings_need_respondents(firms):
    assert "needs the respondent" in refusal(firms(*GOOD), respondent=None, missing=Missing(holding="own"))


def test_no_message_of_the_engine_gets_out(firms):
    # A file that changes between the passes makes the engine itself complain.
    path = firms(*GOOD)
    found = check_records(open_records(path), Roles(("region",), ("turnover",)))
    path.write_text(HEADER + f"\nf1,{SECRET},5\n")
    with pytest.raises(InputError, match=r"cannot be read \(\w+\)") as caught:
        group_records(found)
    assert not re.search(SECRET, str(caught.value))


@pytest.mark.parametrize("option", ["by", "values"])
def test_a_word_where_a_list_belongs_is_refused(option):
    data = {"region": ["N", "S"], "x": [1, 2]}
    given = {"by": ["region"], "values": ["x"]}
    with pytest.raises(InputError, match=rf"`{option}` must be a list of columns; give \['"):
        records(data, **(given | {option: given[option][0]}))


def test_a_delimiter_that_leaves_one_column_is_told(tmp_path):
    path = tmp_path / "firms.csv"
    path.write_text("region;x\nN;1\n")
    with pytest.raises(InputError, match=r"firms\.csv: the delimiter looks wrong.*say `delimiter: ';'`"):
        records(path, by=["region"], delimiter=",")
    assert len(records(path, by=["region"], values=["x"])) == 1


def test_codes_that_look_alike_are_noted():
    found = records({"region": ["S", " S ", "N"], "x": [1, 2, 3]}, by=["region"], values=["x"])
    assert found.notes == (
        "the records, column 'region': ' S ' and 'S' are different codes; if they mean the same, correct the data",
    )


def test_a_missing_file_is_told_without_a_job():
    with pytest.raises(InputError, match=r"^no file 'nofile\.csv'; check its name and its folder$"):
        records("nofile.csv", by=["region"])
