"""What ACRO's own tests expect of its synthetic records, and its notebooks print of the nursery data set.

ACRO blanks the cells that a rule flags and stops there. A session blanks the same ones, and with margins what would
give them back.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import cellguard as cg

NAMES = ["indvar1", "indvar2", "indvar3", "indvar4"]
# ACRO's table from its number of dimensions: which records, rows, columns, and how many cells it flags.
TABLES = {
    2: (["indvar3", "indvar4"], NAMES[:1], NAMES[1:2], 3),
    3: (["indvar4"], NAMES[:2], NAMES[2:3], 3),
    4: ([], NAMES[:2], NAMES[2:], 3),
}


def synthetic():
    """Return 11 records of each combination of four variables, but 5 where the first, third and fourth are C."""
    rows = [
        (*codes, number)
        for codes in product("ABC", repeat=4)
        for number in range(5 if codes[0] == codes[2] == codes[3] == "C" else 11)
    ]
    return pd.DataFrame(rows, columns=[*NAMES, "depvar"])


def asked(dimensions):
    """Return the records of a table, its rows and columns, and the number of cells that ACRO flags."""
    frame = synthetic()
    only, rows, columns, flagged = TABLES[dimensions]
    for name in only:
        frame = frame[frame[name] == "C"]
    return frame, rows, columns, flagged


@pytest.mark.parametrize("dimensions", TABLES)
@pytest.mark.parametrize("summed", [False, True])
def test_without_margins_the_cells_that_acro_flags_are_blank_and_no_others(dimensions, summed):
    frame, rows, columns, flagged = asked(dimensions)
    more = {"values": frame.depvar, "aggfunc": "sum"} if summed else {}
    found = cg.Session(frame).crosstab([frame[name] for name in rows], [frame[name] for name in columns], **more)
    few = pd.crosstab([frame[name] for name in rows], [frame[name] for name in columns]) < 10
    assert few.to_numpy().sum() == flagged
    assert np.array_equal(found.suppressed().to_numpy(), few.to_numpy())


@pytest.mark.parametrize("dimensions", [2, 3])
def test_with_margins_no_cell_that_acro_flags_follows_from_the_others(dimensions):
    frame, rows, columns, flagged = asked(dimensions)
    session = cg.Session(frame)
    shown = session.crosstab([frame[name] for name in rows], [frame[name] for name in columns], margins=True)
    inner = shown.suppressed().to_numpy()[:-1, :-1]
    few = (pd.crosstab([frame[name] for name in rows], [frame[name] for name in columns]) < 10).to_numpy()
    assert (inner >= few).all() and few.sum() == flagged
    blank = shown.suppressed().to_numpy()
    assert (blank.sum(axis=0) != 1).all() and (blank.sum(axis=1) != 1).all()


def test_a_cell_that_one_record_dominates_is_blank():
    """ACRO's set with 10,000 in place of the last value of the cell C, C."""
    frame = synthetic()
    last = frame[(frame[NAMES] == "C").all(axis=1)].index[-1]
    frame.loc[last, "depvar"] = 10_000
    found = cg.Session(frame).crosstab(frame.indvar1, frame.indvar2, values=frame.depvar, aggfunc="sum")
    blank = found.suppressed()
    assert blank.loc["C", "C"] and blank.to_numpy().sum() == 1


NURSERY = {
    "not_recom": [1440, 1440, 1440],
    "priority": [858, 1484, 1924],
    "recommend": [0, 0, 2],
    "spec_prior": [2022, 1264, 758],
    "very_recom": [0, 132, 196],
}
PARENTS = ["great_pret", "pretentious", "usual"]


def test_of_the_nursery_two_children_are_blank_and_do_not_follow_from_the_number_of_records():
    """ACRO flags the three zeros as well, but shows all other cells; here combinations without records are public."""
    cells = [(row, code, n) for row, counts in NURSERY.items() for code, n in zip(PARENTS, counts, strict=True)]
    frame = pd.DataFrame([(row, code) for row, code, n in cells for _ in range(n)], columns=["recommend", "parents"])
    assert len(frame) == 12_960
    found = cg.Session(frame).crosstab(frame.recommend, frame.parents)
    blank, shown = found.suppressed(), found.crosstab()
    assert blank.loc["recommend", "usual"] and blank.to_numpy().sum() == 2
    assert all(blank.loc[row, code] or shown.loc[row, code] == n for row, code, n in cells)
