"""Small jobs that were once called safe although their released files disclosed: each is protected or refused now.

The judge is the fuzzer's oracle, which has the released files and public knowledge only.
"""

import csv
from pathlib import Path

import pytest

from fuzz.cases import Case, Records
from fuzz.run import Kind, run_case

RULES = [{"min_frequency": 3}]
REGIONS = "code,parent\nTotal,\nNorth,Total\nSouth,Total\nN1,North\nN2,North\nS1,South\nS2,South\n"
SIZES = "code,parent\nTotal,\nsmall,Total\nlarge,Total\n"


def many(*groups):
    """Records from (codes, values): one for each value."""
    codes = {name: [group[0][name] for group in groups for _ in group[1]] for name in groups[0][0]}
    return Records(codes, {"x": [value for _, values in groups for value in values]})


def cells(rows, *names):
    return "\n".join([",".join([*names, "x", "n"]), *(",".join(map(str, row)) for row in rows)]) + "\n"


def ready(name, by, **more):
    return {
        "name": name,
        "by": by,
        "value": "x",
        "cells": {"source": f"{name}.csv", "count": "n"},
        "rules": RULES,
    } | more


def made(name, by, value, **more):
    return {"name": name, "by": by, "value": value, "rules": RULES} | more


QUARTERS = many(
    ({"region": "N1"}, [20]), ({"region": "N2"}, [25] * 4), ({"region": "S1"}, [55] * 4), ({"region": "S2"}, [15] * 4)
)
CROSSED = many(
    ({"region": "N", "size": "small"}, [20]),
    ({"region": "N", "size": "large"}, [25] * 4),
    ({"region": "S", "size": "small"}, [55] * 4),
    ({"region": "S", "size": "large"}, [15] * 4),
)
GROUPED = many(
    ({"region": "1"}, [20]), ({"region": "2"}, [25] * 4), ({"region": "3"}, [15] * 4), ({"region": "4"}, [55] * 4)
)


def levels_in_two_tables():
    files = {
        "region.csv": REGIONS,
        "coarse.csv": cells([("Total", 400, 13), ("North", 120, 5), ("South", 280, 8)], "region"),
        "fine.csv": cells([("Total", 400, 13), ("N1", 20, 1), ("N2", 100, 4), ("S1", 220, 4), ("S2", 60, 4)], "region"),
    }
    job = {
        "dimensions": {"region": {"parents": "region.csv"}},
        "tables": [ready(n, ["region"]) for n in ("coarse", "fine")],
    }
    return job, files, QUARTERS


def cross_table_without_totals():
    files = {
        "region.csv": "code,parent\nTotal,\nN,Total\nS,Total\n",
        "size.csv": SIZES,
        "margin.csv": cells([("Total", 400, 13), ("N", 120, 5), ("S", 280, 8)], "region"),
        "cross.csv": cells(
            [("N", "small", 20, 1), ("N", "large", 100, 4), ("S", "small", 220, 4), ("S", "large", 60, 4)],
            "region",
            "size",
        ),
    }
    dimensions = {"region": {"parents": "region.csv"}, "size": {"parents": "size.csv"}}
    return (
        {"dimensions": dimensions, "tables": [ready("margin", ["region"]), ready("cross", ["region", "size"])]},
        files,
        CROSSED,
    )


def two_groupings_without_leaves():
    files = {
        "region.csv": "code,parent\nTotal,\nA,Total\nB,Total\nC,Total\nD,Total\n1,A\n2,B\n3,C\n4,D\n",
        "tour.csv": "code,parent\nTotal,\nX,Total\nY,Total\n1,X\n2,X\n3,Y\n4,Y\n",
        "t.csv": cells(
            [
                ("Total", 400, 13),
                ("A", 20, 1),
                ("B", 100, 4),
                ("C", 60, 4),
                ("D", 220, 4),
                ("X", 120, 5),
                ("Y", 280, 8),
            ],
            "region",
        ),
    }
    region = {"parents": "region.csv", "also": [{"name": "tour", "parents": "tour.csv"}]}
    return {"dimensions": {"region": region}, "tables": [ready("t", ["region"])]}, files, GROUPED


def people(*counts):
    """Records of people by codes: (codes, how many)."""
    return many(*((codes, [10 + i % 3 for i in range(n)]) for codes, n in counts))


def by_two(a, b, table):
    """People by the codes of two columns, from rows of counts."""
    return people(*(({a: x, b: y}, n) for x, row in table.items() for y, n in row.items() if n))


def listed_counts():
    table = {"N": {"1": 1, "2": 1, "3": 9}, "S": {"1": 1, "2": 1, "3": 8}, "W": {"1": 6, "2": 7, "3": 7}}
    rules = [{"min_frequency": 2}]
    return (
        {"tables": [made("persons", ["region", "size"], "count", zeros="known", rules=rules)]},
        {},
        by_two("region", "size", table),
    )


BESIDE = {"N": {"1": 1, "2": 5, "3": 9}, "S": {"1": 0, "2": 1, "3": 8}, "W": {"1": 6, "2": 7, "3": 7}}


def turnover_beside_persons():
    tables = [made("turnover", ["region", "size"], "x"), made("persons", ["region", "size"], "count")]
    return {"tables": tables}, {}, by_two("region", "size", BESIDE)


def three_two_way_tables():
    rules = [{"min_frequency": 2}]
    rows = ["000", "001", "001", "101", "110", *["111"] * 9]
    codes = {name: [f"{name}{row[i]}" for row in rows] for i, name in enumerate("abc")}
    tables = [made("".join(by), list(by), "count", rules=rules) for by in ("ab", "ac", "bc")]
    return {"tables": tables}, {}, Records(codes, {"x": [1] * len(rows)})


def codes_that_somebody_has():
    """a and b are listed because somebody has them, and c and the total leave 2 for both."""
    return {"tables": [made("t", ["k"], "count")]}, {}, people(({"k": "a"}, 1), ({"k": "b"}, 1), ({"k": "c"}, 5))


HOLES = [
    levels_in_two_tables, cross_table_without_totals, two_groupings_without_leaves, listed_counts,
    turnover_beside_persons, three_two_way_tables, codes_that_somebody_has,
]  # fmt: skip


def case(make):
    job, files, records = make()
    if any("cells" not in table for table in job["tables"]):
        job = {"microdata": {"source": "records.csv", "respondent": "id"}, **job}
    return Case({"version": 1, "output": {"formats": ["csv"]}, **job}, files, records)


@pytest.mark.parametrize("make", HOLES, ids=lambda make: make.__name__)
def test_what_is_called_safe_is_safe(tmp_path, make):
    result = run_case(case(make), tmp_path / "job")
    assert result.kind is Kind.safe, str(result)


MUNIS = many(({"muni": "a"}, [20]), ({"muni": "b"}, [5] * 20), ({"muni": "c"}, [3] * 20), ({"muni": "d"}, [11] * 20))
FILES = {
    "adm.csv": "code,parent\nTotal,\nA,Total\nB,Total\na,A\nb,A\nc,B\nd,B\n",
    "tour.csv": "code,parent\nTotal,\nP,Total\nQ,Total\na,P\nc,P\nb,Q\nd,Q\n",
}
BOTH = {"muni": {"parents": "adm.csv", "also": [{"name": "tour", "parents": "tour.csv"}]}}


@pytest.mark.parametrize(
    ("dimensions", "tables", "cure"),
    [
        (
            {"admin": {"column": "muni", "parents": "adm.csv"}, "tourism": {"column": "muni", "parents": "tour.csv"}},
            [made("one", ["admin"], "x"), made("two", ["tourism"], "x")],
            "also",
        ),
        (
            {"admin": {"column": "muni", "parents": "adm.csv"}, "m": {"column": "muni"}},
            [made("one", ["admin"], "x"), made("two", ["m"], "x")],
            "use 'admin'",
        ),
        (BOTH, [made("one", ["muni"], "x", response="turnover"), made("two", ["muni"], "x")], "same `response`"),
        (BOTH, [made("one", ["muni"], "x", population="2024"), made("two", ["muni"], "x")], "leave `population` out"),
    ],
)
def test_one_column_is_one_dimension_and_one_response(tmp_path, dimensions, tables, cure):
    job = {"version": 1, "microdata": {"source": "records.csv", "respondent": "id"}}
    result = run_case(Case(job | {"dimensions": dimensions, "tables": tables}, FILES, MUNIS), tmp_path / "job")
    assert result.kind is Kind.refused and cure in result.words


def codes_of(release: Path):
    with release.open(newline="") as stream:
        return [tuple(row[:-2]) for row in csv.reader(stream)][1:]


def test_zeros_do_not_stand_last(tmp_path):
    job = {"tables": [made("persons", ["region", "size"], "count")]}, {}, by_two("region", "size", BESIDE)
    assert run_case(case(lambda: job), tmp_path / "job").kind is Kind.safe
    found = codes_of(tmp_path / "job/out/release/persons.csv")
    assert found == [(r, s) for r in ("Total", "N", "S", "W") for s in ("Total", "1", "2", "3")]


def test_the_order_of_the_input_is_not_told(tmp_path):
    rows = [("Total", 4208, 16), ("A", 1500, 5), ("D", 900, 5), ("C", 903, 1), ("B", 905, 5)]
    records = many(
        ({"region": "A"}, [300] * 5),
        ({"region": "B"}, [181] * 5),
        ({"region": "C"}, [903]),
        ({"region": "D"}, [180] * 5),
    )
    job = {"tables": [ready("t", ["region"])]}, {"t.csv": cells(rows, "region")}, records
    assert run_case(case(lambda: job), tmp_path / "job").kind is Kind.safe
    assert codes_of(tmp_path / "job/out/release/t.csv") == [(c,) for c in ("Total", "A", "B", "C", "D")]
