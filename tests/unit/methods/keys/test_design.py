"""Perturbation tables of maximum entropy: the printed ones of the literature, and the constraints of any other."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellguard.errors import InputError
from cellguard.methods.keys.design import Design
from cellguard.methods.keys.method import design_for
from cellguard.methods.keys.spec import CellKey


def _row(table, count):
    return dict(zip(table.changes[count].tolist(), np.diff(table.upper[count], prepend=0.0).tolist(), strict=True))


def test_the_printed_table_of_the_ptable_vignette():
    """create_cnt_ptable(D = 2, V = 1): probabilities, variances and the ends of intervals, as printed."""
    table = Design(2, 1.0).table()
    assert [round(p, 4) for p in _row(table, 1).values()] == [0.3665, 0.3665, 0.1676, 0.0995]
    assert list(_row(table, 1)) == [-1, 0, 1, 2]
    assert [round(end, 3) for end in table.upper[1].tolist()] == [0.366, 0.733, 0.901, 1.0]
    assert round(_row(table, 2)[-2], 4) == 0.0638 and round(_row(table, 2)[0], 3) == 0.383
    assert [round(table.variance(i), 3) for i in range(3)] == [0, 0.932, 1.0]
    assert [round(abs(table.mean(i)), 12) for i in range(3)] == [0, 0, 0] and table.last == 2


def test_an_exact_variance_is_that():
    table = Design(2, 1.0, exact=True).table()
    assert table.variance(1) == pytest.approx(1.0, abs=1e-9)
    assert list(_row(table, 1).values()) == pytest.approx([0.375, 0.375, 0.125, 0.125], abs=1e-6)


@settings(max_examples=8, deadline=None)
@given(st.integers(1, 9), st.floats(0.3, 0.9), st.integers(0, 3), st.booleans(), st.sampled_from([None, 0.3, 0.6]))
def test_what_is_designed_obeys(deviation, share, small, monotone, staying):
    variance = deviation**2 * share * 0.6
    try:
        design = Design(deviation, variance, small, staying, False, monotone)
        table = design.table()
    except InputError as error:
        assert "variance" in str(error) or "small" in str(error)
        return
    for count in range(1, table.last + 1):
        row = _row(table, count)
        assert sum(row.values()) == pytest.approx(1.0) and min(row.values()) > -1e-12
        assert abs(table.mean(count)) < 1e-8 and table.variance(count) <= variance + 1e-7
        assert max(map(abs, row)) <= deviation
        assert all(count + v == 0 or count + v > small for v, p in row.items() if p > 0)
        if staying is not None and 0 in row:
            assert row[0] == pytest.approx(staying, abs=1e-7)
        if monotone and staying is None:
            up = [row[v] for v in sorted(row) if v >= 0]
            down = [row[v] for v in sorted(row, reverse=True) if v <= 0]
            assert all(a >= b - 1e-7 for side in (up, down) for a, b in pairwise(side))


def test_no_feasible_table_has_more_entropy():
    """Steps in every direction that keeps the constraints lower the entropy."""
    table, rng = Design(5, 3.0, 2).table(), np.random.default_rng(1)
    for count in range(1, table.last + 1):
        v, p = table.changes[count].astype(float), np.diff(table.upper[count], prepend=0.0)
        rows = np.array([np.ones(len(v)), v, v**2])
        free = np.linalg.svd(rows)[2][3:]
        entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
        for _ in range(50):
            q = p + 1e-4 * (rng.normal(size=len(free)) @ free) if len(free) else p
            order = np.argsort(np.abs(v), kind="stable")
            sides = [[i for i in order if v[i] >= 0], [i for i in order if v[i] <= 0]]
            monotone = all(q[i] >= q[j] for side in sides for i, j in pairwise(side))
            if (q > 0).all() and monotone:
                assert -(q * np.log(q)).sum() <= entropy + 1e-12


@pytest.mark.parametrize("fewest", [2, 3, 5, 10])
def test_there_is_a_table_for_every_threshold(fewest):
    table = design_for(CellKey(), fewest).table()
    shown = {i + int(v) for i in range(table.last + 1) for v in table.changes[i]}
    assert not shown & set(range(1, fewest))


def test_impossible_designs_say_what_is_possible():
    with pytest.raises(InputError, match=r"no perturbation table has the variance 1 for a count of 1.*it can be 2 to "):
        Design(5, 1.0, 2).table()
    with pytest.raises(InputError, match="deviation of 1 or more"):
        Design(2, 9.0)
    with pytest.raises(InputError, match="counts must get past it"):
        Design(2, 1.0, 2)
    with pytest.raises(InputError, match="`staying` is a probability"):
        Design(2, 1.0, staying=1.5)
