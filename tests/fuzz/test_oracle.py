"""The oracle on cases with known answers: it must see each kind of disclosure, and none where there is none."""

import pytest

from fuzz.cases import Case, Records, csv_text
from fuzz.judge import find_disclosures, unsafe_cells
from fuzz.run import Kind, attack, explain
from fuzz.worlds import ALL, Knowledge


def records(columns, cells):
    """Records from the values in each combination of codes."""
    rows = [(*codes, value) for codes, values in cells.items() for value in values]
    *codes, values = zip(*rows, strict=True)
    return Records(dict(zip(columns, map(list, codes), strict=True)), {"x": list(values)})


def release(folder, **tables):
    """A release folder from rows as texts: the codes, then the value, with - for a suppressed one."""
    for name, (by, *rows) in tables.items():
        split = [row.split() for row in rows]
        lines = [[*codes, "", "c"] if value == "-" else [*codes, value, ""] for *codes, value in split]
        (folder / f"{name}.csv").write_text(csv_text([*by.split(), "value", "flag"], lines))
    return folder


def table(name, by, value="x", *, ready=False, rules=({"min_frequency": 3},), **more):
    cells = {"cells": {"source": f"{name}_in.csv", "count": "n"}} if ready else {}
    return {"name": name, "by": by.split(), "value": value, "rules": list(rules), **cells, **more}


def tree(*lines):
    return csv_text(["code", "parent"], [line.split(">") if ">" in line else [line, ""] for line in lines])


def rows_in(by, *rows):
    return csv_text(by.split(), [row.split() for row in rows])


def names(case, folder, know=ALL):
    return {found.goal.name for found in find_disclosures(case, folder, know)}


@pytest.fixture
def levels():
    """Coarse codes in one table, fine ones in another."""
    return Case(
        {
            "dimensions": {"region": {"parents": "region.csv"}},
            "tables": [table("coarse", "region", ready=True), table("fine", "region", ready=True)],
        },
        {
            "region.csv": tree("Total", "N>Total", "S>Total", "N1>N", "N2>N", "S1>S", "S2>S"),
            "coarse_in.csv": rows_in("region", "Total", "N", "S"),
            "fine_in.csv": rows_in("region", "Total", "N1", "N2", "S1", "S2"),
        },
        records(["region"], {("N1",): [20], ("N2",): [25] * 4, ("S1",): [55] * 4, ("S2",): [15] * 4}),
    )


def test_levels_in_two_tables(levels, tmp_path):
    coarse = ("region", "Total 400", "N 120", "S 280")
    release(tmp_path, coarse=coarse, fine=("region", "Total 400", "N1 -", "N2 100", "S1 220", "S2 -"))
    (found,) = find_disclosures(levels, tmp_path)
    assert (found.goal.name, found.least, found.most) == ("fine: N1", 20, 20)
    assert attack(levels, tmp_path).why == ("cell exactly", "by relations")
    release(tmp_path, coarse=coarse, fine=("region", "Total 400", "N1 -", "N2 -", "S1 220", "S2 60"))
    assert attack(levels, tmp_path).kind is Kind.safe


def test_a_published_primary_and_a_wrong_number(levels, tmp_path):
    coarse = ("region", "Total 400", "N 120", "S 280")
    release(tmp_path, coarse=coarse, fine=("region", "Total 400", "N1 20", "N2 100", "S1 220", "S2 60"))
    assert names(levels, tmp_path) == {"fine: N1"}
    release(tmp_path, coarse=coarse, fine=("region", "Total 400", "N1 -", "N2 -", "S1 221", "S2 59"))
    assert attack(levels, tmp_path).kind is Kind.wrong


@pytest.fixture
def no_totals():
    """A cross table without total rows beside a margin."""
    return Case(
        {
            "dimensions": {"region": {"parents": "region.csv"}, "size": {"parents": "size.csv"}},
            "tables": [table("margin", "region", ready=True), table("cross", "region size", ready=True)],
        },
        {
            "region.csv": tree("Total", "N>Total", "S>Total"),
            "size.csv": tree("Total", "small>Total", "large>Total"),
            "margin_in.csv": rows_in("region", "Total", "N", "S"),
            "cross_in.csv": rows_in("region size", "N small", "N large", "S small", "S large"),
        },
        records(
            ["region", "size"],
            {("N", "small"): [20], ("N", "large"): [25] * 4, ("S", "small"): [55] * 4, ("S", "large"): [15] * 4},
        ),
    )


def test_a_cross_table_without_totals(no_totals, tmp_path):
    margin = ("region", "Total 400", "N 120", "S 280")
    release(tmp_path, margin=margin, cross=("region size", "N small -", "N large 100", "S small 220", "S large 60"))
    assert names(no_totals, tmp_path) == {"cross: N/small"}
    release(tmp_path, margin=margin, cross=("region size", "N small -", "N large -", "S small 220", "S large 60"))
    assert names(no_totals, tmp_path) == set()


def test_needs_count_not_only_exactness(no_totals, tmp_path):
    """118 to 122 is not a point, but 10 % of 20 is needed on both sides."""
    tight = {**no_totals.job["tables"][1], "apriori": "said.csv"}
    job = {**no_totals.job, "tables": [no_totals.job["tables"][0], tight]}
    said = "region,size,lower,upper\nN,large,99,101\n"
    case = Case(job, {**no_totals.files, "said.csv": said}, no_totals.records)
    margin = ("region", "Total 400", "N 120", "S 280")
    release(tmp_path, margin=margin, cross=("region size", "N small -", "N large -", "S small 220", "S large 60"))
    (found,) = find_disclosures(case, tmp_path)
    assert (found.least, found.most, found.goal.lower, found.goal.upper) == (19, 21, 2, 2)


def test_two_groupings_without_leaves(tmp_path):
    case = Case(
        {
            "dimensions": {"region": {"parents": "region.csv", "also": [{"name": "tour", "parents": "tour.csv"}]}},
            "tables": [table("t", "region", ready=True)],
        },
        {
            "region.csv": tree("Total", "A>Total", "B>Total", "C>Total", "D>Total", "1>A", "2>B", "3>C", "4>D"),
            "tour.csv": tree("Total", "X>Total", "Y>Total", "1>X", "2>X", "3>Y", "4>Y"),
            "t_in.csv": rows_in("region", "Total", "A", "B", "C", "D", "X", "Y"),
        },
        records(["region"], {("1",): [20], ("2",): [25] * 4, ("3",): [15] * 4, ("4",): [55] * 4}),
    )
    release(tmp_path, t=("region", "Total 400", "A -", "B 100", "C -", "D 220", "X 120", "Y 280"))
    assert names(case, tmp_path) == {"t: A"}
    release(tmp_path, t=("region", "Total 400", "A -", "B -", "C 60", "D 220", "X 120", "Y 280"))
    assert names(case, tmp_path) == set()


@pytest.fixture
def twice():
    """One column under two names."""
    return Case(
        {
            "microdata": {"source": "records.csv"},
            "dimensions": {
                "admin": {"column": "muni", "parents": "admin.csv"},
                "tourism": {"column": "muni", "parents": "tourism.csv"},
            },
            "tables": [table("one", "admin"), table("two", "tourism")],
        },
        {
            "admin.csv": tree("Total", "A>Total", "B>Total", "a>A", "b>A", "c>B", "d>B"),
            "tourism.csv": tree("Total", "P>Total", "Q>Total", "a>P", "c>P", "b>Q", "d>Q"),
        },
        records(["muni"], {("a",): [20], ("b",): [25] * 4, ("c",): [15] * 4, ("d",): [55] * 4}),
    )


def test_one_column_under_two_names(twice, tmp_path):
    one = ("admin", "Total 400", "A 120", "a -", "b -", "B 280", "c 60", "d 220")
    release(tmp_path, one=one, two=("tourism", "Total 400", "P 80", "a -", "c -", "Q 320", "b 100", "d 220"))
    assert names(twice, tmp_path) == {"one: a", "two: a"}
    assert names(twice, tmp_path, Knowledge(identity=False)) == set()
    one = ("admin", "Total 400", "A 120", "a -", "b -", "B 280", "c -", "d -")
    release(tmp_path, one=one, two=("tourism", "Total 400", "P 80", "a -", "c -", "Q 320", "b -", "d -"))
    assert names(twice, tmp_path) == set()


def test_one_value_as_two_responses(tmp_path):
    tables = [table("one", "r"), table("two", "r", response="other")]
    cells = {("a",): [20], ("b",): [25] * 4, ("c",): [15] * 4}
    case = Case({"microdata": {}, "tables": tables}, {}, records(["r"], cells))
    one, two = ("r", "Total 180", "a -", "b -", "c 60"), ("r", "Total 180", "a -", "b 100", "c -")
    release(tmp_path, one=one, two=two)
    assert names(case, tmp_path) == {"one: a", "two: a"}
    release(tmp_path, one=one, two=one)
    assert names(case, tmp_path) == set()


COUNTS = {
    ("N", "1"): [1],
    ("N", "2"): [1],
    ("N", "3"): [1] * 9,
    ("S", "1"): [1],
    ("S", "2"): [1],
    ("S", "3"): [1] * 8,
}
LISTED = ("r s", "Total Total 21", "Total 1 2", "Total 2 2", "Total 3 17", "N Total 11", "S Total 10", "N 1 -")
LISTED = (*LISTED, "N 2 -", "N 3 9", "S 1 -", "S 2 -", "S 3 8")


@pytest.mark.parametrize(("zeros", "unsafe"), [("known", 4), ("possible", 0)])
def test_listed_rows_have_records(zeros, unsafe, tmp_path):
    tables = [table("t", "r s", "count", zeros=zeros, rules=[{"min_frequency": 2}])]
    case = Case({"microdata": {}, "tables": tables}, {}, records(["r", "s"], COUNTS))
    release(tmp_path, t=LISTED)
    found = find_disclosures(case, tmp_path)
    assert len(found) == unsafe
    if found:
        assert explain(case, tmp_path, ALL, found) == ("listed",)


CYCLE = {"000": 1, "001": 2, "101": 1, "110": 1, "111": 9}


def test_three_two_way_tables(tmp_path):
    """Counts by ab, ac and bc: no margin tells, but only one table lies behind them."""
    cells = {(f"a{k[0]}", f"b{k[1]}", f"c{k[2]}"): [1] * n for k, n in CYCLE.items()}
    rules = [{"min_frequency": 2}]
    tables = [table(by.replace(" ", ""), by, "count", rules=rules) for by in ("a b", "a c", "b c")]
    case = Case({"microdata": {}, "tables": tables}, {}, records("abc", cells))
    ab = ["Total Total 14", "Total b0 -", "Total b1 -", "a0 Total -", "a0 b0 3", "a1 Total -", "a1 b0 -", "a1 b1 10"]
    ac = ["Total Total 14", "Total c0 2", "Total c1 12", "a0 Total -", "a0 c0 -", "a0 c1 2", "a1 Total -", "a1 c0 -"]
    bc = ["Total Total 14", "Total c0 2", "Total c1 12", "b0 Total -", "b0 c0 -", "b0 c1 3", "b1 Total -", "b1 c0 -"]
    release(tmp_path, ab=("a b", *ab, "a0 b1 -"), ac=("a c", *ac, "a1 c1 10"), bc=("b c", *bc, "b1 c1 9"))
    assert names(case, tmp_path) == {"ab: a1/b0", "ac: a0/c0", "ac: a1/c0", "bc: b0/c0", "bc: b1/c0"}
    assert names(case, tmp_path, Knowledge(crossing=False)) == set()
    hidden = [f"{row.rpartition(' ')[0]} -" if "Total" not in row else row for row in (*ab, *ac, *bc)]
    release(
        tmp_path,
        ab=("a b", *hidden[:8], "a0 b1 -"),
        ac=("a c", *hidden[8:16], "a1 c1 -"),
        bc=("b c", *hidden[16:], "b1 c1 -"),
    )
    assert names(case, tmp_path) == set()


BESIDE = {("N", "1"): [10], ("N", "2"): [11] * 5, ("N", "3"): [11] * 9, ("S", "2"): [10], ("S", "3"): [11] * 8}


@pytest.mark.parametrize(("zeros", "unsafe"), [("known", {"n: S/2"}), ("possible", set())])
def test_values_beside_counts(zeros, unsafe, tmp_path):
    """A table of values that leaves out S/1 tells that its hidden count is 0."""
    tables = [table("v", "r s", zeros=zeros), table("n", "r s", "count", rules=[{"min_frequency": 2}])]
    case = Case({"microdata": {}, "tables": tables}, {}, records(["r", "s"], BESIDE))
    values = ["Total Total 262", "Total 1 -", "Total 2 -", "Total 3 187", "N Total -", "S Total -", "N 1 -", "N 2 -"]
    values += ["N 3 -", "S 2 -", "S 3 -"] + (["S 1 -"] if zeros == "possible" else [])
    counts = ["Total Total 24", "Total 1 -", "Total 2 -", "Total 3 17", "N Total 15", "S Total 9"]
    counts += ["N 1 -", "N 2 -", "N 3 9", "S 1 -", "S 2 -", "S 3 8"]
    release(tmp_path, v=("r s", *values), n=("r s", *counts))
    assert names(case, tmp_path) == unsafe


def test_a_code_of_records_is_listed_because_somebody_has_it(tmp_path):
    tables = [table("t", "r", "count", rules=[{"min_frequency": 2}])]
    case = Case({"microdata": {}, "tables": tables}, {}, records(["r"], {("a",): [1], ("b",): [1], ("c",): [1] * 5}))
    release(tmp_path, t=("r", "Total 7", "a -", "b -", "c 5"))
    assert names(case, tmp_path, Knowledge(codes=False)) == set()
    assert names(case, tmp_path) == {"t: a", "t: b"}


PIANO = [81, 5, 2, 2, 2]


@pytest.mark.parametrize(
    ("rule", "level"),
    [
        ({"p_percent": 10}, 2.1),
        ({"p_percent": 7}, None),
        ({"dominance": {"n": 2, "k": 85}}, 9.176471),
        ({"dominance": {"n": 2, "k": 94}}, None),
        ({"statisticon": 20}, 3.4),
        ({"statisticon": 16}, None),
        ({"min_frequency": 6}, 9.2),
        ({"min_frequency": 5}, None),
    ],
)
def test_rules(rule, level):
    case = Case({"microdata": {}, "tables": [table("t", "r", rules=[rule])]}, {}, records(["r"], {("a",): PIANO}))
    cells = {"/".join(cell.codes): cell for cell in unsafe_cells(case)}
    assert set(cells) == ({"Total", "a"} if level else set())
    if level:
        assert max(cells["a"].upper, cells["a"].sliding) == pytest.approx(level)


def test_holdings_contribute_once():
    holding = ["h", "h", "h", "i"]
    made = Records({"r": ["a"] * 4}, {"x": [5, 5, 5, 5]}, holding)
    spec = table("t", "r", rules=[{"min_frequency": 3}])
    assert unsafe_cells(Case({"microdata": {"holding": "holding"}, "tables": [spec]}, {}, made))
    assert not unsafe_cells(Case({"microdata": {}, "tables": [spec]}, {}, made))
