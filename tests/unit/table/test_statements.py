"""Statements about single cells: the a-priori CSV and τ-ARGUS ``.hst``."""

from dataclasses import replace

import numpy as np
import pytest

from cellguard.errors import InputError, UnknownCode
from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.hierarchy.recode import cut, merge
from cellguard.rules.assess import assess
from cellguard.rules.simple import MinFrequency
from cellguard.table.apriori import NUMBERS, STATES, Apriori, State
from cellguard.table.read import cells
from cellguard.table.statements import read_apriori

DATA = {
    "region": ["Total", "Total", "Total", "N", "N", "N", "S", "S"],
    "size": ["Total", "small", "large", "Total", "small", "large", "Total", "large"],
    "x": [20, 3, 17, 8, 3, 5, 12, 12],
    "n": [20, 3, 17, 8, 3, 5, 12, 12],
}


@pytest.fixture
def table():
    return cells(DATA, by=["region", "size"], value="x", name="t")


@pytest.fixture
def say(table, tmp_path):
    """Return the table with the statements of a file of the given text."""

    def read(text, name="apriori.csv", of=table, **kwargs):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return read_apriori(of, path, **kwargs)

    return read


@pytest.fixture
def hst(say):
    return lambda text, **kwargs: say(text, "apriori.hst", **kwargs)


def said(table):
    """What is said of each cell of which anything is said."""
    found = {}
    for cell in range(len(table)):
        words = {name: float(getattr(table.apriori, name)[cell]) for name in NUMBERS}
        words = {name: value for name, value in words.items() if not np.isnan(value)}
        if table.apriori.state[cell]:
            words["status"] = State(table.apriori.state[cell]).name
        if words:
            found[table.cell_name(cell)] = words
    return found


# --- CSV ---


def test_a_row_may_say_everything_and_blanks_say_nothing(say):
    found = say(
        "region,size,status,cost,lower,upper,need_lower,need_upper\n"
        "N,small,must_suppress,5,1,9,2,3\n"
        "N,large,,0,,,,\n"
        "S,Total,,,,,,4.5\n"
        "S,large,,,,,,\n"
    )
    assert said(found) == {
        "N/small": {"status": "must_suppress", "cost": 5, "lower": 1, "upper": 9, "need_lower": 2, "need_upper": 3},
        "N/large": {"cost": 0},
        "S/Total": {"need_upper": 4.5},
    }


@pytest.mark.parametrize("status", STATES)
def test_every_status(say, status):
    assert said(say(f"region,size,status\nN,small,{status}\n")) == {"N/small": {"status": status}}


def test_columns_in_any_order_and_any_delimiter(say):
    assert said(say("cost;size;region\n7;small;N\n")) == {"N/small": {"cost": 7}}


def test_bounds_may_be_infinite(say):
    found = say("region,size,lower,upper\nN,small,-inf,inf\n")
    assert said(found) == {"N/small": {"lower": -np.inf, "upper": np.inf}}


def test_the_file_replaces_what_was_said_before_and_keeps_the_rest(say, table):
    cell = table.find("N/small")
    cost, lower = np.full(len(table), np.nan), np.full(len(table), np.nan)
    cost[cell], lower[cell] = 5, 1
    state = np.full(len(table), State.waived, np.int8)
    before = replace(table, apriori=replace(table.apriori, state=state, cost=cost, lower=lower))
    after = say("region,size,status,cost\nN,small,must_publish,9\nN,large,,2\n", of=before)
    assert said(after)["N/small"] == {"status": "must_publish", "cost": 9, "lower": 1}
    assert said(after)["N/large"] == {"status": "waived", "cost": 2}


def test_the_table_itself_is_not_changed(say, table):
    say("region,size,status\nN,small,waived\n")
    assert said(table) == {}


def test_columns_may_bear_other_names_than_the_dimensions(say):
    text = "reg,siz,cost\nN,small,7\n"
    assert said(say(text, columns=["reg", "siz"])) == {"N/small": {"cost": 7}}
    assert said(say("region,size,cost\nN,small,7\n", columns=["reg", "siz"])) == {"N/small": {"cost": 7}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("region,size,stauts\nN,small,waived\n", "apriori.csv: unknown column 'stauts'; did you mean 'status'"),
        ("region,status\nN,waived\n", "apriori.csv: no column 'size'"),
        (
            "region,size,status\nN,large,\nN,small,waved\n",
            "line 3, column 'status': unknown status 'waved'; .*'waived'",
        ),
        ("region,size,cost\nN,large,1\nS,small,1\n", "line 3: table 't' has no such cell; the combination is empty"),
        ("region,size,cost\nN,small,1\nN,large,1\nN,small,2\n", "line 4: a second statement about .* line 2"),
        ("region,size,cost\nN,large,1\nN,small,-1\n", "line 3, column 'cost': cost must not be below 0"),
        ("region,size,need_upper\nN,small,-1\n", "line 2, column 'need_upper': need_upper must not be below 0"),
        ("region,size,need_lower\nN,small,-1\n", "line 2, column 'need_lower': need_lower must not be below 0"),
        ("region,size,need_upper\nN,small,inf\n", "line 2, column 'need_upper': the value is infinite"),
        ("region,size,cost\nN,small,dear\n", "line 2, column 'cost': not a number"),
        ("region,size,cost\nN,small\n", "line 2: 2 fields, but the header has 3"),
    ],
)
def test_faults_of_a_csv_are_told_with_their_line(say, text, message):
    with pytest.raises(InputError, match=message):
        say(text)


def test_an_unknown_code_is_told_with_its_line_and_a_suggestion(say):
    with pytest.raises(UnknownCode, match=r"line 3, column 'size': 'smal' is not in dimension 'size'; .*'small'"):
        say("region,size,cost\nN,large,1\nN,smal,1\n")


def test_a_file_that_is_not_there(table, tmp_path):
    for name in ("nowhere.csv", "nowhere.hst"):
        with pytest.raises(InputError, match=f"no file .*{name}"):
            read_apriori(table, tmp_path / name)


def recoded(recode):
    region = Dimension("region", recode(flat(["N", "S", "W"])))
    data = {"region": ["Total", "N", "S", "W"], "x": [20, 8, 9, 3]}
    return cells(data, by={"region": region}, value="x")


def test_a_statement_about_a_merged_code_holds_for_the_new_one(say):
    table = recoded(lambda h: merge(h, {"SW": ["S", "W"]}))
    assert said(say("region,cost\nS,4\n", of=table)) == {"SW": {"cost": 4}}


def test_a_statement_about_a_code_that_was_cut_off_is_passed_over(say):
    table = recoded(lambda h: cut(h, ["Total"]))
    assert said(say("region,cost\nS,4\nTotal,2\n", of=table)) == {"Total": {"cost": 2}}


def test_the_rules_heed_what_the_file_says(say):
    table = cells(DATA, by=["region", "size"], value="x", count="n")
    found = assess(say("region,size,status\nN,small,waived\nS,large,must_suppress\n", of=table), [MinFrequency(4)])
    here = found["table"]
    assert here.why("N/small") == []
    assert here.why("Total/small") == ["min_frequency 4"]
    assert here.why("S/large") == ["must_suppress"]


# --- .hst ---


@pytest.mark.parametrize(
    ("command", "meaning"),
    [
        ("s", {"status": "waived"}),
        ("u", {"status": "must_suppress"}),
        ("p", {"status": "must_publish"}),
        ("m", {"status": "secondary"}),
        ("ml", {"status": "secondary"}),
        ("U", {"status": "must_suppress"}),
        ("c,25", {"cost": 25}),
        ("w,25", {"cost": 25}),
        ("c,0", {"cost": 1}),
        ("w, 0.0", {"cost": 1}),
        ("pl,2,3.5", {"need_lower": 2, "need_upper": 3.5}),
    ],
)
def test_every_command(hst, command, meaning):
    assert said(hst(f"N,small,{command}\n")) == {"N/small": meaning}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_any_separator(hst, separator):
    assert said(hst(separator.join(["N", "small", "pl", "2", "3"]))) == {"N/small": {"need_lower": 2, "need_upper": 3}}


def test_several_commands_on_one_cell_and_blank_lines(hst):
    found = hst("N,small,u\n\nN,small,pl,2,3\nN,small,c,9\nS,Total,p\nN,small,u\n")
    assert said(found) == {
        "N/small": {"status": "must_suppress", "need_lower": 2, "need_upper": 3, "cost": 9},
        "S/Total": {"status": "must_publish"},
    }


def test_quoted_codes_may_hold_the_separator(hst):
    table = cells({"r": ["Total", "a,b", "c"], "x": [5, 2, 3]}, by=["r"], value="x")
    assert said(hst('"a,b",u\n', of=table)) == {"a,b": {"status": "must_suppress"}}


def test_codes_keep_their_blanks(hst):
    table = cells({"r": ["Total", " 1", "10"], "x": [5, 2, 3]}, by=["r"], value="x")
    assert said(hst(" 1, u\n", of=table)) == {" 1": {"status": "must_suppress"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("N,small,u\nN,large,x\n", "apriori.hst line 2: unknown command 'x'"),
        ("N,small,ab,1,2\n", "apriori.hst line 1: unknown command 'ab'"),
        ("N,small,u\nN,large,c\n", "apriori.hst line 2: the command 'c' needs 1 number"),
        ("N,small,pl,1\n", "apriori.hst line 1: the command 'pl' needs 2 number"),
        ("N,small,u\n\nN,large,c,-5\n", "apriori.hst line 3: the argument must not be below 0"),
        ("N,small,pl,-1,2\n", "apriori.hst line 1: the argument must not be below 0"),
        ("N,small,u\nN,large,c,dear\n", "apriori.hst line 2: the argument is not a number"),
        ("N,small,u\nN\n", "apriori.hst line 2: expected 2 codes and a command"),
        ("N u\n", "apriori.hst line 1: expected 2 codes and a command, separated by"),
        ("N,large,u\nS,small,u\n", "apriori.hst line 2: table 't' has no such cell"),
        ("N,small,u\nN,small,p\n", "apriori.hst line 2: says another status of the same cell than an earlier line"),
        ("N,small,c,1\nN,large,u\nN,small,c,2\n", "apriori.hst line 3: says another cost of the same cell"),
        ("N,small,u\nN,small,c,-5\n", "apriori.hst line 2: the argument must not be below 0"),
    ],
)
def test_faults_of_a_hst_are_told_with_their_line(hst, text, message):
    with pytest.raises(InputError, match=message):
        hst(text)


def test_an_unknown_code_in_a_hst_is_told_with_its_line(hst):
    with pytest.raises(UnknownCode, match=r"apriori\.hst line 3, column 'region': 'X' is not in dimension 'region'"):
        hst("N,small,u\n\nX,small,u\n")


# --- Apriori ---


def test_silence_says_nothing_of_any_cell():
    silent = Apriori.silent(3)
    assert not silent.state.any()
    assert all(np.isnan(getattr(silent, name)).all() for name in NUMBERS)


def test_taking_minus_one_says_nothing():
    some = replace(Apriori.silent(2), state=np.array([1, 2], np.int8), cost=np.array([5.0, 6.0]))
    taken = some.take(np.array([1, -1, 0]))
    assert taken.state.tolist() == [2, 0, 1]
    assert taken.cost.tolist() == pytest.approx([6, np.nan, 5], nan_ok=True)


def test_override_speaks_where_the_other_speaks():
    first = replace(Apriori.silent(3), state=np.array([1, 1, 0], np.int8), cost=np.array([5.0, 6.0, np.nan]))
    second = replace(Apriori.silent(3), state=np.array([0, 2, 3], np.int8), cost=np.array([np.nan, 0.0, 1.0]))
    both = first.override(second)
    assert both.state.tolist() == [1, 2, 3]
    assert both.cost.tolist() == [5, 0, 1]
    assert both.has(State.waived).tolist() == [False, False, True]
