"""What the vignettes of the R package GaussSuppression print: unsafe cells, patterns, and intervals.

Sources: [M] the vignette on magnitude tables, tables 1 to 10; [F] the one on frequency tables, tables 1 to 9.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import cellguard as cg

# [M] table 1: 20 contributions of four companies.
SALES = """
Agriculture Portugal A 75.9, Agriculture Portugal B 24.5, Agriculture Spain A 96.6, Agriculture Spain B 43.2,
Entertainment Iceland B 16.8, Entertainment Portugal B 7.1, Entertainment Portugal D 2.3, Entertainment Spain A 77.4,
Entertainment Spain B 11.5, Entertainment Spain C 16.4, Governmental Portugal B 21.6, Governmental Portugal D 2.0,
Governmental Spain C 6.5, Governmental Spain D 2.7, Industry Iceland B 9.6, Industry Iceland C 8.8,
Industry Iceland D 1.9, Industry Portugal B 25.7, Industry Portugal D 3.4, Industry Spain C 8.4
"""
PEOPLE = """
young Spain 2014 5, young Iceland 2014 2, young Portugal 2014 0, old Spain 2014 6, old Iceland 2014 3,
old Portugal 2014 4, young Spain 2015 5, young Iceland 2015 0, young Portugal 2015 0, old Spain 2015 6,
old Iceland 2015 3, old Portugal 2015 4, young Spain 2016 7, young Iceland 2016 1, young Portugal 2016 1,
old Spain 2016 5, old Iceland 2016 4, old Portugal 2016 3
"""
SECTORS = {"private": "Total", "public": "Total", "Governmental": "public"} | dict.fromkeys(
    ["Agriculture", "Entertainment", "Industry"], "private"
)
COUNTRIES = {"EU": "Total", "nonEU": "Total", "Portugal": "EU", "Spain": "EU", "Iceland": "nonEU"}
FLAT = {"sector": dict.fromkeys(["Agriculture", "Entertainment", "Governmental", "Industry"], "Total")}
FLAT |= {"geo": dict.fromkeys(["Iceland", "Portugal", "Spain"], "Total"), "age": {"old": "Total", "young": "Total"}}
LEVELS = FLAT | {"sector": SECTORS, "geo": COUNTRIES}


def frame(text, names):
    """Return printed rows as a frame, whose last column has numbers."""
    rows = [part.split() for part in text.replace("\n", " ").split(",")]
    return pd.DataFrame(rows, columns=names).astype({names[-1]: float})


def sales():
    return frame(SALES, ["sector", "geo", "company", "value"])


def people(year=None):
    whole = frame(PEOPLE, ["age", "geo", "year", "value"])
    return whole if year is None else whole[whole.year == year]


def above(tree, code):
    """Return a code and all codes above it."""
    return [code, *above(tree, tree[code])] if code in tree else [code]


def tree_of(parents):
    return cg.Hierarchy.from_parents([("Total", ""), *parents.items()])


def cells(data, trees):
    """Return the value of each cell of a crossing, totals among them."""
    (one, first), (other, second) = trees.items()
    found = {(a, b): 0.0 for a in {*first, "Total"} for b in {*second, "Total"}}
    for a, b, value in zip(data[one], data[other], data.value, strict=True):
        for cell in [(x, y) for x in above(first, a) for y in above(second, b)]:
            found[cell] = round(found[cell] + value, 1)
    return found


def attack(data, trees, suppressed, **more):
    """Return the audit of a printed pattern, and the interval of each suppressed cell."""
    values = cells(data, trees)
    assert suppressed <= values.keys()
    (one, _), (other, _) = trees.items()
    table = {one: [a for a, _ in values], other: [b for _, b in values]}
    table["value"] = [None if cell in suppressed else value for cell, value in values.items()]
    levels = {name: tree_of(tree) for name, tree in trees.items()}
    found = cg.audit_table(pd.DataFrame(table), by=levels, **more)
    rows = found.intervals
    ends = zip(rows.cell, rows.lower, rows.upper, strict=True)
    return found, {tuple(cell.split(": ")[1].split("/")): (low, high) for cell, low, high in ends}


def pairs(text):
    """Return cells written as rows of codes: 'Entertainment: Iceland Portugal; Industry: Spain'."""
    rows = [row.split(":") for row in text.split(";")]
    return {(row.strip(), column) for row, columns in rows for column in columns.split()}


MAGNITUDES = {
    "M2": (FLAT, [cg.MinFrequency(2)], None, "Entertainment: Iceland; Industry: Spain"),
    "M3": (
        FLAT, [cg.Dominance(1, 80)], None,
        "Entertainment: Iceland; Governmental: Portugal; Industry: Portugal Spain",
    ),
    "M7": (
        LEVELS, [cg.MinFrequency(3)], "company",
        "Agriculture: Portugal Spain EU Total; Entertainment: Iceland Portugal nonEU; Governmental: Portugal Spain;"
        "Industry: Portugal Spain; public: Portugal Spain",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MAGNITUDES)
def test_unsafe_cells_of_sums_are_those_that_are_printed(name):
    trees, rules, holding, printed = MAGNITUDES[name]
    by = {one: tree_of(trees[one]) for one in ("sector", "geo")}
    given = cg.records(sales(), by=["sector", "geo"], values=["value"], holding=holding)
    table = cg.tabulate(given, by=by, value="value", rules=rules)
    unsafe = np.flatnonzero(cg.assess(table, rules).by_table[0].primary)
    assert {tuple(table.cell_name(cell).split("/")) for cell in unsafe.tolist()} == pairs(printed)


PATTERNS = {
    "M2": (
        sales, FLAT, False,
        "Entertainment: Iceland Portugal; Governmental: Portugal Spain; Industry: Iceland Portugal Spain",
    ),
    "M3": (
        sales, FLAT, False,
        "Entertainment: Iceland Portugal; Governmental: Portugal Spain Total; Industry: Iceland Portugal Spain Total",
    ),
    "F1": (lambda: people("2014"), FLAT, True, "old: Iceland Portugal; young: Iceland Portugal"),
    "F2": (
        lambda: people("2014"), LEVELS, True, "old: EU nonEU Iceland Portugal; young: EU nonEU Iceland Portugal",
    ),
    "F4": (
        lambda: people("2014"), LEVELS, True,
        "Total: Portugal Spain; old: EU nonEU Iceland Portugal; young: EU nonEU Iceland Spain",
    ),
    "F7": (
        lambda: people("2015"), LEVELS, True,
        "old: EU nonEU Iceland Portugal Spain; young: EU nonEU Iceland Portugal Spain",
    ),
}  # fmt: skip


def crossed(trees, data):
    return {name: trees[name] for name in ("sector", "age", "geo") if name in data}


@pytest.mark.parametrize("name", PATTERNS)
def test_no_cell_of_a_printed_pattern_is_known_exactly(name):
    make, trees, count, suppressed = PATTERNS[name]
    found, _ = attack(make(), crossed(trees, make()), pairs(suppressed), count=count)
    assert found.is_safe, found.failing


@pytest.mark.parametrize("row", ["old", "young"])
def test_zeros_are_known_where_the_vignette_says_that_they_would_be(row):
    """[F] table 7: were the young of Spain shown, the other two young cells would be two zeros."""
    make, trees, _, suppressed = PATTERNS["F7"]
    shown = pairs(suppressed) - {(row, "Spain"), ("young" if row == "old" else "old", "Spain")}
    found, ends = attack(make(), crossed(trees, make()), shown, count=True)
    assert not found.is_safe and ends["young", "Iceland"] == ends["young", "Portugal"] == (0, 0)


def test_intervals_of_counts_are_those_that_are_printed():
    """[F] table 9: first with Spain shown, then without."""
    whole = people().groupby(["age", "geo"], as_index=False).value.sum()
    four = pairs("old: Iceland Portugal; young: Iceland Portugal")
    _, before = attack(whole, crossed(FLAT, whole), four, count=True)
    assert before["young", "Iceland"] == before["young", "Portugal"] == (0, 4)
    _, after = attack(whole, crossed(FLAT, whole), four | pairs("old: Spain; young: Spain"), count=True)
    assert (after["young", "Iceland"], after["young", "Portugal"]) == ((0, 13), (0, 12))


SECONDARY = "Total: Iceland Portugal; private: Iceland Spain Total; Industry: Total"  # the printed intervals need them
INTERVALS = """
Agriculture Portugal 0 199.6, Agriculture Spain 40.6 240.2, Entertainment Iceland 0 131.5,
Entertainment Portugal 0 131.5, Entertainment Spain 0 131.5, Governmental Portugal 0 90.6, Governmental Spain 0 90.6,
Governmental Total 0 90.6, Industry Iceland 0 90.6, Industry Portugal 0 90.6, Industry Spain 0 90.6,
public Portugal 0 90.6, public Spain 0 90.6, public Total 0 90.6
"""
TOO_NARROW = "Entertainment: Iceland; Industry: Iceland; public: Portugal; Governmental: Portugal"


def near(low, high):
    """Return an interval, give or take what rounding to one decimal leaves open, which the vignette leaves out."""
    return pytest.approx((low, high), abs=0.5)


def test_intervals_of_sums_are_those_that_are_printed():
    """[M] table 10: before and after private/Portugal is suppressed for the sake of wider intervals."""
    printed = [part.split() for part in INTERVALS.replace("\n", " ").split(",")]
    ends = {(a, b): near(float(low), float(high)) for a, b, low, high in printed}
    trees = {"sector": SECTORS, "geo": FLAT["geo"]}
    suppressed = {*ends, *pairs(SECONDARY)}
    _, before = attack(sales(), trees, suppressed)
    assert {cell: before[cell] for cell in pairs(TOO_NARROW)} == dict.fromkeys(pairs(TOO_NARROW), near(0, 60.7))
    assert before["Agriculture", "Spain"] == near(101.3, 240.2)
    _, after = attack(sales(), trees, suppressed | {("private", "Portugal")})
    assert {cell: after[cell] for cell in ends} == ends
