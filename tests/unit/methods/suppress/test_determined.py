"""Secondaries that follow from what is published are published, which tells nobody anything new."""

from dataclasses import replace

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.methods.suppress.determined import publish_determined
from cellguard.table.pattern import Pattern
from cellguard.world.knowledge import Knowledge


def needs_of(seed, **knowledge):
    """A table of 4 by 4 cells, a few of them unsafe."""
    rng = np.random.default_rng(seed)
    value = np.round(rng.lognormal(3, 1, (4, 4)))
    count = np.where(rng.random((4, 4)) < 0.15, 2, 9)
    grown = [np.pad(m, (0, 1)) for m in (value, count)]
    for m in grown:
        m[-1], m[:, -1] = m[:-1].sum(axis=0), m[:, :-1].sum(axis=1)
        m[-1, -1] = m[:-1, :-1].sum()
    codes = ["a", "b", "c", "d", "Total"]
    rows = {"r": np.repeat(codes, 5), "s": np.tile(codes, 5), "x": grown[0].ravel(), "n": grown[1].ravel()}
    table = cg.cells(rows, by=["r", "s"], value="x", count="n")
    return cg.require(cg.assess(table, cg.MinFrequency(3)), Knowledge(**knowledge))


def hidden_at_random(needs, seed):
    rng = np.random.default_rng(seed)
    return Pattern(needs.tables, needs.primary, (rng.random(len(needs.tables)) < 0.3) & ~needs.primary)


@pytest.mark.parametrize("seed", range(30))
def test_intervals_of_all_other_cells_stay_and_no_secondary_is_left_that_is_determined(seed):
    needs = needs_of(seed)
    pattern = hidden_at_random(needs, seed)
    less = publish_determined(needs, pattern)
    before, after = (audit(needs, p, intervals=True) for p in (pattern, less))
    assert (less.primary == pattern.primary).all() and not (less.secondary & ~pattern.secondary).any()
    assert np.allclose(before.lower, after.lower) and np.allclose(before.upper, after.upper)
    assert (after.failing == before.failing).all()
    gone = pattern.secondary & ~less.secondary
    assert np.allclose(before.lower[gone], before.upper[gone])


def test_most_of_what_is_determined_is_found():
    exact = found = 0
    for seed in range(30):
        needs = needs_of(seed)
        pattern = hidden_at_random(needs, seed)
        judged = audit(needs, pattern, intervals=True)
        exact += int((pattern.secondary & np.isclose(judged.lower, judged.upper)).sum())
        found += int((pattern.secondary & ~publish_determined(needs, pattern).secondary).sum())
    assert found > 20 and found >= 0.9 * exact


def test_what_only_follows_from_assumed_bounds_stays_suppressed():
    pattern_of = [(needs, hidden_at_random(needs, 1)) for needs in (needs_of(1), needs_of(1, percent=1e-9))]
    less = [publish_determined(*one).secondary.sum() for one in pattern_of]
    assert less[0] < pattern_of[0][1].secondary.sum() and less[1] == pattern_of[1][1].secondary.sum()


def test_a_search_leaves_no_secondary_that_anybody_can_work_out():
    needs = needs_of(5)
    pattern = cg.suppress(needs).pattern
    judged = audit(needs, pattern, intervals=True)
    assert not (pattern.secondary & np.isclose(judged.lower, judged.upper)).any()
    again = replace(pattern, secondary=pattern.secondary)
    assert (publish_determined(needs, again).secondary == pattern.secondary).all()
