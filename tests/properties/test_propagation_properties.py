"""Interval propagation never cuts off a table that the attacker must think possible."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cellguard.table.propagate import tighten

from properties.random_tables import generators, quick, small_tables, tables


def with_bounds(table, rng):
    """Bounds around the values of a table: tight, wide, or open at one end."""
    width = rng.choice([0, 0, 1, 5, np.inf], (2, len(table)))
    width[0, np.isinf(width).all(axis=0)] = 7
    return table, table.value - width[0], table.value + width[1]


bounded = st.builds(with_bounds, tables, generators)
bounded_small = st.builds(with_bounds, small_tables, generators)


@quick
@given(bounded)
def test_tightening_keeps_the_true_table(case):
    table, lower, upper = case
    tighter = tighten(table.relations, lower, upper)
    assert (tighter[0] <= table.value).all()
    assert (table.value <= tighter[1]).all()


@quick
@given(bounded)
def test_tightening_never_loosens_and_leaves_its_input_alone(case):
    table, lower, upper = case
    before = lower.copy(), upper.copy()
    tighter = tighten(table.relations, lower, upper)
    assert (tighter[0] >= before[0]).all()
    assert (tighter[1] <= before[1]).all()
    assert (lower == before[0]).all()
    assert (upper == before[1]).all()


@quick
@given(bounded_small, generators)
def test_every_other_table_within_the_bounds_survives(case, rng):
    table, lower, upper = case
    tighter = tighten(table.relations, lower, upper)
    _, strength, directions = np.linalg.svd(table.relations.toarray())
    free = directions[np.sum(strength > 1e-9) :]
    move = rng.normal(size=len(free)) @ free
    room = np.where(move > 0, upper - table.value, table.value - lower)
    moving = np.abs(move) > 1e-9
    step = min(np.min(room[moving] / np.abs(move[moving]), initial=np.inf), 1e3)
    other = table.value + step * move
    assert (tighter[0] - 1e-6 <= other).all()
    assert (other <= tighter[1] + 1e-6).all()
