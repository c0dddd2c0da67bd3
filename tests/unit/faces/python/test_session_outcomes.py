"""What a checker of a safe room expects of made-up records whose rare combinations are known beforehand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

import cellguard as cg

LABELS = ("A", "B", "C")
USUAL, RARE = 12, 4


def records(dimensions, seed=5):
    """Every combination comes a dozen times, but for that of the last labels only, which comes four times."""
    draw = np.random.default_rng(seed)
    rows = [
        codes
        for codes in product(LABELS, repeat=dimensions)
        for _ in range(RARE if set(codes) == {LABELS[-1]} else USUAL)
    ]
    frame = pd.DataFrame(rows, columns=[f"v{i}" for i in range(dimensions)])
    return frame.assign(income=draw.uniform(900, 1100, len(frame)).round())


def hidden(frame):
    return {(str(row), str(column)) for row, column in frame.isna().stack()[lambda cell: cell].index}


def told_exactly(shown, counts):
    """Return the suppressed cells of a table with margins that its sums give back, by linear algebra."""
    rows, columns = shown.shape
    unknown = [(i, j) for i in range(rows) for j in range(columns) if pd.isna(shown.iloc[i, j])]
    sums = []
    for i in range(rows):
        sums.append([int(cell[0] == i) * (-1 if cell[1] == columns - 1 else 1) for cell in unknown])
    for j in range(columns):
        sums.append([int(cell[1] == j) * (-1 if cell[0] == rows - 1 else 1) for cell in unknown])
    matrix = np.array(sums, float).reshape(len(sums), len(unknown))
    rank = np.linalg.matrix_rank(matrix)
    rest = [np.delete(matrix, place, axis=1) for place in range(len(unknown))]
    assert counts.shape == shown.shape
    return [cell for cell, without in zip(unknown, rest, strict=True) if np.linalg.matrix_rank(without) < rank]


def test_without_margins_the_rare_cell_and_one_more_are_hidden():
    """The number of all records counts as known, so that the rare cell alone would be their difference."""
    frame = records(2)
    found = cg.Session(frame).crosstab(frame.v0, frame.v1).crosstab()
    assert ("C", "C") in hidden(found) and len(hidden(found)) == 2
    assert set(found.stack().dropna()) == {USUAL}


@pytest.mark.parametrize("dimensions", [2, 3])
def test_with_margins_no_sum_gives_the_rare_cell_back(dimensions):
    frame = records(dimensions)
    rows = [frame[f"v{i}"] for i in range(dimensions - 1)]
    shown = cg.Session(frame).crosstab(rows, frame[f"v{dimensions - 1}"], margins=True).crosstab()
    counts = pd.crosstab(rows, frame[f"v{dimensions - 1}"], margins=True)
    flat = shown.to_numpy(dtype=float, na_value=np.nan)
    assert np.isnan(flat[np.nonzero(counts.to_numpy() == RARE)]).all()
    assert (np.isnan(flat) | (flat == counts.to_numpy())).all()
    assert not told_exactly(pd.DataFrame(flat), counts)


def test_what_blanking_rare_cells_alone_gives_away_is_told_by_this_attack():
    counts = pd.crosstab(records(2).v0, records(2).v1, margins=True).astype(float)
    naive = counts.where(counts >= 10)
    assert told_exactly(naive, counts) == [(2, 2)]


def test_a_dominated_sum_is_hidden_and_counts_beside_it_are_as_ever():
    frame = records(2)
    frame.loc[frame.index[(frame.v0 == "A") & (frame.v1 == "B")][0], "income"] = 90_000
    session = cg.Session(frame)
    sums = session.crosstab(frame.v0, frame.v1, frame.income, aggfunc="sum").crosstab()
    assert ("A", "B") in hidden(sums)
    counts = session.crosstab(frame.v0, frame.v1).crosstab()
    assert ("C", "C") in hidden(counts) and ("A", "B") in hidden(sums) and set(counts.stack().dropna()) == {USUAL}


def test_safe_records_are_shown_whole():
    frame = records(2)
    safe = frame[frame.v0 != "C"]
    found = cg.Session(safe).crosstab(safe.v0, safe.v1, margins=True).crosstab()
    assert not hidden(found) and found.loc["All", "All"] == len(safe)
