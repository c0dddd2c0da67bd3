"""Redistribution of counts: golden cases, brute force cell by cell, and what must hold always."""

import numpy as np
import pytest

from cellguard.errors import InputError, NotProtected
from cellguard.geometry.hexgrid import Grid, distinct
from cellguard.geometry.space import Space
from cellguard.methods.maps.algorithms import ALGORITHMS, donations, group, is_enough, optimal
from cellguard.methods.maps.mapping import Plan, redistribute
from cellguard.methods.maps.measures import measure
from cellguard.methods.maps.outlying import find_outliers
from cellguard.methods.maps.simulate import simulate

import map_oracle as oracle


def hexagons(counts):
    """A space and counts from a mapping of places to counts."""
    q, r, at = distinct(*np.array(list(counts), np.int64).T)
    values = np.zeros(len(q), np.int64)
    values[at] = list(counts.values())
    return Space.of_hexagons(q, r), values, list(zip(q.tolist(), r.tolist(), strict=True))


def random_map(seed, high=8):
    rng = np.random.default_rng(seed)
    places = rng.integers(-4, 5, (rng.integers(4, 30), 2))
    return {tuple(p): int(n) for p, n in zip(places.tolist(), rng.geometric(0.25, len(places)) % high + 1, strict=True)}


SMALL = {(0, 0): 1, (1, 0): 5, (0, 1): 4, (-1, 0): 2, (-1, 1): 3, (2, -1): 6, (7, 0): 1, (2, 0): 2}


def test_golden_small_map():
    """Case 03-hex-small."""
    space, count, places = hexagons(SMALL)
    done = {name: redistribute(space, count, Plan(algorithm=name)) for name in ALGORITHMS}
    first = done["group"]
    assert [places[i] for i in np.flatnonzero(first.treated.outliers)] == [(7, 0)] and first.lost == 1
    assert (done["group"].mu, done["optimal"].mu, done["everybody"].mu) == (5, 5, 6)
    after = {place: n for place, n in zip(places, first.after.tolist(), strict=True) if n}
    assert after == {(0, 0): 3, (1, 0): 3, (0, 1): 3, (-1, 0): 3, (-1, 1): 3, (2, -1): 5, (2, 0): 3}
    assert (first.measures.u2_sum, first.transfers.units_moved, first.least) == (8, 4, 5)


def test_golden_rounds_of_algorithm_two():
    """Case 03-algorithm2-rounds: 67 are needed and 41 can give, so all give one and the nearest 26 a second."""
    needs = {(i, 0): 1 for i in range(33)} | {(33, 0): 2}
    givers = {(i, 5 + i % 7): 9 for i in range(41)}
    space, count, places = hexagons(needs | givers)
    given = donations(space, count, 3)
    assert (given == 1).sum() == 41 - 26 and (given == 2).sum() == 26 and given.sum() == 67
    near = [min(oracle.far(p, n) for n in needs) for p in places]
    assert max(d for d, g in zip(near, given, strict=True) if g == 2) <= min(
        d for d, g in zip(near, given, strict=True) if g == 1
    )


def test_golden_sum_of_changes():
    """Case 03-U2-printed: filling up 67 missing units changes counts by 134 in all."""
    needs = {(i, 0): 1 for i in range(33)} | {(33, 0): 2}
    space, count, _ = hexagons(needs | {(0, 3): 200})
    for name in ALGORITHMS:
        assert redistribute(space, count, Plan(algorithm=name, outliers="keep")).measures.u2_sum == 2 * 67


def test_a_cluster_apart_is_solved_with_the_main_body():
    """The printed example: five cells apart from the rest, solved by a group of 25 cells with 75 records, all at 3."""
    small, body = {(i, 0): 1 for i in range(5)}, {(i, 0): 3 for i in range(9, 28)}
    space, count, _ = hexagons(small | body | {(28, 0): 13, (29, 0): 50})
    done = redistribute(space, count)
    assert (count[:25].sum(), len(count)) == (75, 26) and not done.treated.outliers.any()
    assert done.after.tolist() == [3] * 25 + [50] and done.transfers.units_moved == 10


@pytest.mark.parametrize("seed", range(80))
def test_counts_are_those_of_plain_words(seed):
    """Algorithm 1 in both readings, against the same algorithm written out cell by cell."""
    counts = random_map(seed)
    space, count, places = hexagons(counts)
    if not is_enough(count, 3):
        with pytest.raises(NotProtected, match="too few records to raise every cell to 3"):
            group(space, count, 3)
        return
    for name in ("group", "nearest"):
        expected, mu = oracle.algorithm1(counts, 3, grouped=name == "group")
        done = ALGORITHMS[name](space, count, 3)
        assert (count + done.change(len(count))).tolist() == [expected[p] for p in places]
        assert done.mu == mu


@pytest.mark.parametrize("seed", range(80))
def test_what_must_hold_always(seed):
    """Totals, thresholds, empty cells, and no mu below the optimum, which is that of an assignment of single units."""
    counts = random_map(1000 + seed)
    space, count, places = hexagons(counts)
    threshold = 2 + seed % 4
    if not is_enough(count, threshold):
        return
    surplus = {p: max(n - threshold, 0) for p, n in counts.items()}
    least = oracle.least_mu(surplus, counts, threshold)
    for name, algorithm in ALGORITHMS.items():
        done = algorithm(space, count, threshold)
        after = count + done.change(len(count))
        assert after.sum() == count.sum() and (after >= threshold).all() and (done.units > 0).all()
        assert (after[count < threshold] == threshold).all() and (
            after[count >= threshold] <= count[count >= threshold]
        ).all()
        assert np.abs(after - count).sum() == 2 * done.units_moved
        assert done.steps.tolist() == [
            oracle.far(places[a], places[b]) for a, b in zip(done.source, done.target, strict=True)
        ]
        assert done.mu >= least and (name != "optimal" or done.mu == least)
        figures = measure(count, after, done)
        assert figures.mu == pytest.approx(done.mu) and figures.cells.sum() == len(count)
    given = donations(space, count, threshold)
    assert ALGORITHMS["everybody"](space, count, threshold).mu == oracle.least_mu(
        dict(zip(places, given.tolist(), strict=True)), counts, threshold
    )


@pytest.mark.parametrize("seed", range(50))
def test_outliers_are_what_the_definition_says(seed):
    rng = np.random.default_rng(seed)
    places = rng.integers(-9, 10, (rng.integers(2, 16), 2))
    counts = {tuple(p): int(n) for p, n in zip(places.tolist(), rng.integers(1, 6, len(places)), strict=True)}
    space, count, names = hexagons(counts)
    for apart, largest in ((1, 1), (3, 2), (5, 3)):
        found = find_outliers(space, count, 3, apart, largest)
        assert {names[i] for i in np.flatnonzero(found)} == oracle.outliers(counts, 3, apart, largest)


def test_outliers_go_to_the_closest_cells():
    counts = {(0, 0): 4, (1, 0): 6, (0, 1): 6, (9, 0): 2, (10, 0): 1}
    space, count, places = hexagons(counts)
    done = redistribute(space, count, Plan(outliers="redistribute"))
    assert done.lost == 0 and dict(zip(places, done.after.tolist(), strict=True)) == {
        (0, 0): 4,
        (0, 1): 7,
        (1, 0): 8,
        (9, 0): 0,
        (10, 0): 0,
    }
    assert done.mu == 8 + 9 + 9 and done.measures.mu == pytest.approx(done.mu)
    assert redistribute(space, count, Plan(outliers="remove")).lost == 3
    kept = redistribute(space, count, Plan(outliers="keep"))
    assert kept.after.sum() == count.sum() and (kept.after >= 3).all()
    alone, few, _ = hexagons({(0, 0): 1, (8, 0): 2})
    with pytest.raises(NotProtected, match="all its cells are outliers"):
        redistribute(alone, few, Plan(outliers="redistribute"))


def test_the_most_isolated_may_go_first():
    counts = {(0, 0): 1, (1, 0): 9, (5, 0): 2, (2, 0): 2}
    space, count, places = hexagons(counts)
    for order, first in (("smallest", (0, 0)), ("isolated", (5, 0))):
        done = redistribute(space, count, Plan(algorithm="nearest", order=order))
        assert places[done.filled.target[0]] == first


RANGES = {
    "piecewise": ((97.75, 550.325), (160.4, 674.575), (95.85, 530.675), (34.425, 92.0), (36.95, 54.0)),
    "outliers": ((78.0, 229.05), (139.45, 340.05), (76.475, 226.525), (37.475, 70.05), (36.0, 49.525)),
    "curvilinear": ((129.075, 677.05), (207.0, 786.6), (128.125, 666.1), (36.0, 91.05), (32.0, 52.0)),
}


@pytest.mark.parametrize("model", RANGES)
def test_golden_simulations(model):
    """Cases 03-sim-*: 95 % ranges of mu (both algorithms, optimum), deficit and donors; Algorithm 2 costs more."""
    inside = []
    for seed in range(20):
        x, y = simulate(model, seed=seed)
        q, r, at = distinct(*Grid.fit(x, y, 30).places(x, y))
        space, count = Space.of_hexagons(q, r), np.bincount(at)
        done = {name: redistribute(space, count, Plan(algorithm=name)) for name in ("group", "everybody", "optimal")}
        mu = [d.mu for d in done.values()]
        assert mu[2] <= mu[0] <= mu[1]
        donors = (done["group"].treated.count > 3).sum()
        figures = [*mu, done["group"].filled.units_moved, donors]
        inside.append([low <= figure <= high for figure, (low, high) in zip(figures, RANGES[model], strict=True)])
    assert np.mean(inside) > 0.85


def test_simulated_data_depend_on_the_seed_alone():
    assert (simulate("outliers", seed=3)[1] == simulate("outliers", seed=3)[1]).all()
    assert (simulate("outliers", seed=3)[1] != simulate("outliers", seed=4)[1]).all()
    x, y = simulate("outliers", seed=5)
    assert {3.8, 5.8} <= set(x) and y[x == 3.8] > 5 and y[x == 5.8] < -5
    with pytest.raises(InputError, match="unknown model"):
        simulate("linear")


def test_faults_of_a_plan_are_told():
    with pytest.raises(InputError, match="unknown algorithm 'nearst'; did you mean 'nearest'"):
        Plan(algorithm="nearst")
    with pytest.raises(InputError, match="must be 2 or more"):
        Plan(threshold=1)
    with pytest.raises(NotProtected, match="parts of the map apart"):
        optimal(Space.of_pairs(3, [(0, 1)]), np.array([3, 3, 1]), 2)
