"""Worked attacks of the lecture "Problems and criteria" [L] and of the thesis on the Statisticon rule [T]."""

import itertools

import numpy as np
import pytest

from cellguard.attack.derivation import explain
from cellguard.attack.external_totals import read_external_totals
from cellguard.attack.third_party import infer, read_protected
from cellguard.hierarchy.build import flat, from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.read import About
from cellguard.table.source import open_source
from cellguard.table.tableset import assemble

PROVINCES = {  # [L] two provinces are suppressed
    "Groningen": "21",
    "Friesland": "x",
    "Drenthe": "23",
    "Overijssel": "27",
    "Gelderland": "41",
    "Flevoland": "x",
    "Utrecht": "32",
    "Noord-Holland": "54",
    "Zuid-Holland": "67",
    "Zeeland": "38",
    "Noord-Brabant": "44",
    "Limburg": "39",
}
REGIONS = {
    "North": ("63", ["Groningen", "Friesland", "Drenthe"]),
    "East": ("80", ["Overijssel", "Gelderland", "Flevoland"]),
    "South": ("83", ["Noord-Brabant", "Limburg"]),
    "West": ("191", ["Utrecht", "Noord-Holland", "Zuid-Holland", "Zeeland"]),
}
BOOKSELLERS = {  # [L] three tables of two dimensions each: gender, region, police record
    "gr": {"M": {"Am": 21, "Ro": 12}, "F": {"Am": 16, "Ro": 19}},
    "gp": {"M": {"Y": 23, "N": 10}, "F": {"Y": 8, "N": 27}},
    "rp": {"Am": {"Y": 11, "N": 26}, "Ro": {"Y": 20, "N": 11}},
}
SOLUTION = {
    "M/Am/Y": 11,
    "M/Am/N": 10,
    "M/Ro/Y": 12,
    "M/Ro/N": 0,
    "F/Am/Y": 0,
    "F/Am/N": 16,
    "F/Ro/Y": 8,
    "F/Ro/N": 11,
}


def protected(data, dimensions, name="t", count=True):
    by = {d.name: d for d in dimensions}
    return read_protected(open_source(data), by, "n", about=About(name, response="n", is_count=count))


def ends(found):
    """The interval of each hidden cell."""
    names = [found.tables.cell_name(c).split(": ")[1] for c in np.flatnonzero(found.unknown)]
    return dict(zip(names, zip(found.lower[found.unknown], found.upper[found.unknown], strict=True), strict=True))


def test_provinces_alone_share_what_is_left_over():
    data = {"province": ["Total", *PROVINCES], "n": ["417", *PROVINCES.values()]}
    found = infer(assemble([protected(data, [Dimension("province", flat(PROVINCES))])]))
    assert ends(found) == {"Friesland": (0, 31), "Flevoland": (0, 31)}
    assert not found.disclosed.any()


def test_provinces_within_published_regions_are_disclosed():
    tree = Dimension("province", from_levels([(region, p) for region, (_, inside) in REGIONS.items() for p in inside]))
    data = {
        "province": ["Total", *PROVINCES, *REGIONS],
        "n": ["417", *PROVINCES.values(), *(total for total, _ in REGIONS.values())],
    }
    found = infer(assemble([protected(data, [tree])]))
    assert ends(found) == {"Friesland": (19, 19), "Flevoland": (12, 12)}
    where = np.flatnonzero(found.disclosed).tolist()
    words = explain(found.constraints, found.constraints.relations, found.unknown, found.lower, found.upper, where)
    assert words == [
        ["Friesland = North - Groningen - Drenthe, all published"],
        ["Flevoland = East - Overijssel - Gelderland, all published"],
    ]


def booksellers(name, dimensions):
    totals = {}
    for row, line in BOOKSELLERS[name].items():
        for column, n in line.items():
            for cell in itertools.product((row, "Total"), (column, "Total")):
                totals[cell] = totals.get(cell, 0) + n
    data = {d.name: [cell[i] for cell in totals] for i, d in enumerate(dimensions)}
    return protected(data | {"n": [str(n) for n in totals.values()]}, dimensions, name)


def hidden_whole(dimensions, *, count):
    """The table behind the others, every cell of it suppressed."""
    combinations = itertools.product(*(d.codes for d in dimensions))
    data = dict(zip((d.name for d in dimensions), map(list, zip(*combinations, strict=True)), strict=True))
    return protected(data | {"n": ["x"] * len(data[dimensions[0].name])}, dimensions, "whole", count=count)


@pytest.mark.parametrize("count", [True, False])
def test_booksellers_have_one_solution(count):
    """Not being negative is enough; that people are whole is not needed."""
    gender, region, police = (Dimension(n, flat(c)) for n, c in (("g", "MF"), ("r", ["Am", "Ro"]), ("p", "YN")))
    pairs = {"gr": (gender, region), "gp": (gender, police), "rp": (region, police)}
    tables = [booksellers(name, both) for name, both in pairs.items()]
    if not count:
        data = [
            {d.name: np.array(d.codes)[c].tolist() for d, c in zip(t.dimensions, t.codes, strict=True)} for t in tables
        ]
        tables = [
            protected(columns | {"n": [str(v) for v in t.value]}, t.dimensions, t.name, count=False)
            for t, columns in zip(tables, data, strict=True)
        ]
    found = infer(assemble([*tables, hidden_whole((gender, region, police), count=count)]))
    assert ends(found) == {cell: pytest.approx((n, n)) for cell, n in SOLUTION.items()}


THESIS = {  # [T] table 2: persons by age and level of allowance
    "20-30": ("x", "0", "0", "x"),
    "30-40": ("12", "3", "5", "20"),
    "40+": ("24", "12", "4", "40"),
}


def thesis():
    heads = ("100", "50", "0", "Total")
    data = {
        "age": [age for age in THESIS for _ in heads],
        "level": list(heads) * len(THESIS),
        "n": [n for row in THESIS.values() for n in row],
    }
    age, level = Dimension("age", flat(THESIS)), Dimension("level", flat(heads[:-1]))
    return assemble([protected(data, [age, level])])


def test_two_equal_cells_are_safe_until_a_total_is_known_from_elsewhere():
    before = infer(thesis())
    assert ends(before) == {"20-30/100": (0, np.inf), "20-30/Total": (0, np.inf)}
    known = read_external_totals({"age": ["Total"], "level": ["100"], "value": [37]}, before.tables)
    after = infer(before.tables, known=known)
    assert ends(after) == {"20-30/100": (1, 1), "20-30/Total": (1, 1)}
