"""Worked tables of the lecture "Problems and criteria" [L] and of the thesis on the Statisticon rule [T]."""

import pytest

from cellguard.errors import NotAdditive
from cellguard.rules.assess import assess
from cellguard.rules.simple import MinFrequency
from cellguard.table.read import cells
from cellguard.table.tableset import link

AREAS = ("A", "B", "C", "D", "Total")
VALUES = {  # [L] instruments: turnover by instrument and area
    "Harps": (58, 47, 36, 89, 230),
    "Organs": (71, 124, 24, 31, 250),
    "Pianos": (92, 157, 59, 28, 336),
    "Other": (800, 934, 651, 742, 3127),
    "Total": (1021, 1262, 770, 890, 3943),
}
FIRMS = {
    "Harps": (151, 2, 98, 23, 274),
    "Organs": (16, 21, 9, 8, 54),
    "Pianos": (5, 12, 7, 1, 25),
    "Other": (302, 362, 287, 227, 1178),
    "Total": (474, 397, 401, 259, 1531),
}
POPULATION = {  # [L] men, women, all, by region
    "North": (856917, 861473, 1718390),
    "East": (1782445, 1801254, 3583699),
    "South": (1803518, 1811491, 3615009),
    "West": (3974255, 4087767, 8062022),
    "Total": (8417135, 8561985, 16979120),
}
INCOME = {  # [T] table 1: employees of low and of high income, by department, with the totals
    "A": (8, 4, 12),
    "B": (10, 1, 11),
    "C": (1, 0, 1),
    "D": (5, 0, 5),
    "Total": (24, 5, 29),
}


def columns(rows, heads, name):
    """A table printed in rows, as one row per cell."""
    return {
        "row": [row for row in rows for _ in heads],
        "column": list(heads) * len(rows),
        name: [value for row in rows.values() for value in row],
    }


def instruments(**kwargs):
    data = columns(VALUES, AREAS, "turnover") | columns(FIRMS, AREAS, "firms")
    return cells(data, by=["row", "column"], **kwargs)


def test_threshold_rule_finds_harps_in_b_and_pianos_in_d():
    table = instruments(value="turnover", count="firms")
    findings = assess(table, [MinFrequency(3)])
    unsafe = [table.cell_name(i) for i in range(len(table)) if findings.primary[i]]
    assert unsafe == ["Harps/B", "Pianos/D"]


@pytest.mark.parametrize("value", ["turnover", "firms"])
def test_instruments_add_up(value):
    assert len(link(instruments(value=value))) == 25


def test_population_adds_up():
    table = cells(columns(POPULATION, ("men", "women", "Total"), "n"), by=["row", "column"], value="n", count="n")
    assert len(link(table)) == 15


def test_population_with_one_digit_changed_does_not_add_up():
    wrong = POPULATION | {"South": (1803518, 1811491, 3615008)}
    table = cells(columns(wrong, ("men", "women", "Total"), "n"), by=["row", "column"], value="n", count="n")
    with pytest.raises(NotAdditive, match="South/Total = South/men"):
        link(table)


def test_income_table_has_its_printed_totals_and_small_cells():
    table = cells(columns(INCOME, ("low", "high", "Total"), "n"), by=["row", "column"], value="n", count="n")
    findings = assess(link(table), [MinFrequency(3)])
    unsafe = {table.cell_name(i) for i in range(len(table)) if findings.primary[i]}
    assert unsafe == {"B/high", "C/low", "C/Total"}
