"""What somebody who knows the algorithm can undo: every map that may lie behind a shown one, by brute force."""

from collections import defaultdict

import numpy as np
import pytest

from cellguard.errors import NotProtected
from cellguard.geometry.hexgrid import distinct
from cellguard.geometry.space import Space
from cellguard.methods.maps.algorithms import ALGORITHMS
from cellguard.methods.maps.capping import Cap
from cellguard.methods.maps.contributors import Contributors
from cellguard.methods.maps.magnitudes import redistribute_values
from cellguard.methods.maps.mapping import Plan, redistribute
from cellguard.rules.linear import Dominance, PPercent
from cellguard.rules.simple import MaxShare

import map_oracle as oracle

# Two neighbours and their neighbour, and a place that may be an outlier.
CELLS = [(0, 0), (1, 0), (0, 1), (5, 0)]


def worlds(plan, highest=4, knows=lambda done: None, cells=CELLS, whole=False):
    """For everything an attacker may see and know the maps that may lie behind it, counts up to the highest.

    Shown maps with a higher count are left out; with ``whole`` also those of a larger total, so that no map is missing.
    """
    q, r, at = distinct(*np.array(cells).T)
    space = Space.of_hexagons(q, r)
    behind = defaultdict(list)
    for counts in oracle.all_maps(cells, highest):
        values = np.zeros(len(q), np.int64)
        values[at] = list(counts.values())
        try:
            done = redistribute(space, values, plan)
        except NotProtected:
            continue
        if (done.after.sum() if whole else done.after.max()) > highest:
            continue
        behind[(tuple(done.after.tolist()), knows(done))].append(values)
    return behind


def small_ones_told(behind, threshold):
    """The shown maps from which some true count below the threshold, not 0, follows."""
    return [
        shown
        for shown, maps in behind.items()
        if (low := np.min(maps, axis=0)).any() and ((low == np.max(maps, axis=0)) & (low > 0) & (low < threshold)).any()
    ]


@pytest.mark.parametrize(
    ("algorithm", "outliers", "threshold"),
    [("group", "remove", 3), ("group", "redistribute", 2), ("nearest", "keep", 3), ("everybody", "remove", 2)],
)
def test_no_small_count_follows_from_a_shown_map(algorithm, outliers, threshold):
    behind = worlds(Plan(threshold, algorithm, outliers))
    assert len(behind) > 40 and max(map(len, behind.values())) > 3
    assert small_ones_told(behind, threshold) == []
    for (shown, _), maps in behind.items():
        assert any((m == shown).all() for m in maps), "the shown map itself may be the true one"


def test_nor_with_the_total():
    """Without removal the shown total is the true one. With it the difference tells what was removed, and where if only
    one place is possible; of the hexagons that are shown it tells nothing."""
    know = {"knows": lambda d: int(d.before.sum())}
    assert small_ones_told(worlds(Plan(3, "group", "redistribute"), **know), 3) == []
    behind = worlds(Plan(3, "group", "remove"), **know)
    assert small_ones_told(behind, 3), "the outlier, whose place is the only one far away"
    for (shown, _), maps in behind.items():
        low, seen = np.min(maps, axis=0), np.array(shown) > 0
        assert not ((low == np.max(maps, axis=0)) & seen & (low < 3)).any()


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("threshold", [3, 4])
def test_no_small_count_follows_from_any_shown_map(algorithm, threshold):
    for outliers in ("remove", "redistribute", "keep"):
        assert small_ones_told(worlds(Plan(threshold, algorithm, outliers), highest=5), threshold) == []


def test_what_must_stay_inside():
    """That something moved tells a count of 1 if the threshold is 2; mu tells small counts in any case."""
    few = {"highest": 8, "cells": CELLS[:3], "whole": True}
    assert small_ones_told(worlds(Plan(2, "group", "keep"), knows=lambda d: d.mu > 0, **few), 2)
    assert small_ones_told(worlds(Plan(3, "group", "keep"), knows=lambda d: d.mu, **few), 3)
    assert small_ones_told(worlds(Plan(3, "group", "keep"), knows=lambda d: d.transfers.units_moved, **few), 3)
    assert small_ones_told(worlds(Plan(3, "group", "keep"), **few), 3) == []


def test_what_can_be_concluded():
    """A hexagon above the threshold never had fewer than it shows, if outliers do not go there."""
    for (shown, _), maps in worlds(Plan(3, "group", "remove")).items():
        for before in maps:
            assert all(b >= s for b, s in zip(before, shown, strict=True) if s > 3)


@pytest.mark.parametrize("seed", range(20))
def test_a_shown_map_would_not_be_changed_again(seed):
    rng = np.random.default_rng(seed)
    q, r, at = distinct(*rng.integers(0, 7, (2, 150)))
    space, count = Space.of_hexagons(q, r), np.bincount(at)
    for name in ALGORITHMS:
        plan = Plan(3, name, ("remove", "redistribute", "keep")[seed % 3])
        try:
            done = redistribute(space, count, plan)
        except NotProtected:
            continue
        again = redistribute(space, done.after, plan)
        assert (again.after == done.after).all() and again.mu == 0 and again.lost == 0
    values = Contributors.of(at, np.ceil(rng.lognormal(3, 1.3, len(at))), len(q))
    caps = [Cap.of(rule) for rule in (MaxShare(50), PPercent(10), Dominance(2, 80))]
    try:
        shown = redistribute_values(space, values, caps, Plan(3, outliers="keep"), seed=seed)
    except NotProtected:
        return
    if not shown.stuck.any():
        twice = redistribute_values(space, shown.after, caps, Plan(3, outliers="keep"), seed=seed + 1)
        assert twice.after.total == pytest.approx(shown.after.total) and twice.mu == 0 and twice.passes == 0
