"""Losses by level and the dearest cells, against plain loops."""

from dataclasses import replace

import numpy as np
import pytest

import cellguard as cg
from cellguard.methods.suppress.report.losses import dearest, losses_by_level
from cellguard.table.pattern import Pattern
from unit.methods.suppress.report import cases


@pytest.fixture(scope="module")
def pattern():
    return cases.protect(cases.table())[1].pattern


def test_every_cell_is_counted_at_its_level(pattern):
    table, cells = pattern.tables.tables[0], pattern.tables.cells_of[0]
    expected = {}
    for i in range(len(table)):
        level = tuple(int(d.level[c[i]]) for d, c in zip(table.dimensions, table.codes, strict=True))
        at = expected.setdefault(level, [0, 0, 0, 0.0, 0.0, 0.0])
        kind = 1 if pattern.primary[cells[i]] else 2 if pattern.secondary[cells[i]] else None
        for slot in (0, *([kind] if kind else [])):
            at[slot] += 1
            at[slot + 3] += abs(table.value[i])
    found = losses_by_level(pattern, 0)
    assert {loss.level: [loss.cells, loss.primary, loss.secondary] for loss in found} == {
        level: numbers[:3] for level, numbers in expected.items()
    }
    for loss in found:
        assert [loss.value, loss.primary_value, loss.secondary_value] == pytest.approx(expected[loss.level][3:])
    assert any(loss.hidden for loss in found)


def test_coarse_levels_come_first(pattern):
    sums = [sum(loss.level) for loss in losses_by_level(pattern, 0)]
    assert sums == sorted(sums)


def test_negative_values_are_losses_too():
    table = cg.cells({"r": ["Total", "N", "S"], "x": [-30, -10, -20]}, by=["r"], value="x")
    linked = cg.link(table)
    hidden = Pattern(linked, np.array([False, True, True]), np.zeros(3, bool))
    assert [loss.hidden_value for loss in losses_by_level(hidden, 0)] == [0.0, 30.0]


def test_levels_that_are_not_shown_are_not_counted():
    table = replace(cases.table(), levels={"industry": [0, 1]})
    found = losses_by_level(Pattern(cg.link(table), *(np.zeros(len(table), bool) for _ in range(2))), 0)
    assert {loss.level[0] for loss in found} == {0, 1}


def test_the_dearest_cells_are_hidden_and_the_largest(pattern):
    value = pattern.tables.value
    hidden = np.flatnonzero(pattern.hidden)
    assert dearest(pattern, 3).tolist() == sorted(hidden.tolist(), key=lambda c: -value[c])[:3]
    assert len(dearest(pattern, 10_000)) == len(hidden)
