"""Adjustments against all moves of small tables, and what must hold of large ones exactly."""

import itertools

import numpy as np
import pytest

from cellguard import solver
from cellguard.errors import NotProtected
from cellguard.job.jobfile import Job
from cellguard.methods.adjust import search
from cellguard.methods.adjust.sides import sides_one_by_one, whole_moves
from cellguard.pipeline import run
from cellguard.run_context import UNWATCHED
from cellguard.solver.program import Status

from adjustment_oracle import least

ACCEPT = {"method": "adjust", "unproven": "accept"}


def cube(folder, rng, shape, high=30):
    """A table of inner values with their totals, a few cells of which have few firms."""
    value, firms = rng.integers(0, high, shape), rng.integers(1, 9, shape)
    firms[value == 0] = 9
    for axis in range(len(shape)):
        value, firms = (np.concatenate([x.sum(axis, keepdims=True), x], axis) for x in (value, firms))
    names = [f"d{i}" for i in range(len(shape))]
    lines = [",".join([*names, "x", "n"])]
    for at in itertools.product(*map(range, value.shape)):
        lines.append(",".join([*("Total" if i == 0 else f"c{i}" for i in at), str(value[at]), str(firms[at])]))
    (folder / "cells.csv").write_text("\n".join(lines) + "\n")
    return value, names


def adjusted(folder, names, rules=None, attack=None, decimals=None, **said):
    table = {"name": "t", "by": names, "value": "x", "cells": {"source": "cells.csv", "count": "n"}}
    table |= {"rules": [{"min_frequency": 3}] if rules is None else rules, "protect": ACCEPT | said}
    table |= {} if decimals is None else {"decimals": decimals}
    attack = {"attack": {"insiders": False} | (attack or {})}
    return run(Job.parse({"version": 1, "tables": [table], **attack}, folder=folder)).protected


def arrays(done, shape):
    """True and published values, levels, and unsafe cells, as arrays with totals first, in units of moves."""
    needs, table, plan = done.assessed.needs, done.tables[0], done.adjusted.plan
    at, size = tuple(table.codes), tuple(n + 1 for n in shape)
    cells = done.assessed.tables.cells_of[0]

    def laid(values):
        full = np.zeros(size, np.asarray(values).dtype)
        full[at] = np.asarray(values)[cells]
        return full

    grid = plan.grid[0]  # of which all true values are multiples
    levels = [np.maximum(level, needs.sliding) for level in (needs.lower, needs.upper)]
    below, above = (np.where(level > 0, np.maximum(np.ceil(level / grid - 1e-9), 1), np.inf) for level in levels)
    return (
        *map(
            laid,
            (needs.tables.value.astype(int) // grid, done.adjusted.value, below, above, needs.primary, plan.weight),
        ),
    )


@pytest.mark.parametrize(("shape", "reach", "cases"), [((2, 2), 5, 9), ((2, 3), 3, 3), ((2, 2, 2), 1, 3)])
def test_the_total_change_is_the_least_of_all(tmp_path, shape, reach, cases):
    rng = np.random.default_rng(sum(shape))
    equal = 0
    for case in range(cases):
        _, names = cube(tmp_path, rng, shape, 30 if len(shape) < 3 else 15)
        weights = ("one", "value", "inverse")[case % 3]
        try:
            done = adjusted(tmp_path, names, weights=weights)
        except NotProtected:
            continue
        true, told, below, above, primary, weight = arrays(done, shape)
        moves = told - true
        far = (moves <= -below) | (moves >= above)
        assert far[primary].all() and (told >= 0).all() and (told[true == 0] == 0).all()
        for axis in range(len(shape)):
            whole, parts = np.split(told, [1], axis)
            assert (whole == parts.sum(axis, keepdims=True)).all()
        cost = float((weight * np.abs(moves)).sum())
        assert done.adjusted.cost == pytest.approx(cost) and done.adjusted.gap < 1e-6
        best = least(true, below, above, primary, weight, shape, reach)
        inside = np.abs(moves[tuple(slice(1, None) for _ in shape)]).max() <= reach
        assert cost <= best + 1e-6 and (not inside or cost == pytest.approx(best)), case
        equal += inside and primary.any()
        assert _by_heuristic(tmp_path, names, weights) >= cost - 1e-6
    assert equal >= cases // 2


def _by_heuristic(folder, names, weights):
    adjusted_ = adjusted(folder, names, weights=weights, search="heuristic").adjusted
    assert not adjusted_.plan.faults(adjusted_.value) and adjusted_.bound <= adjusted_.cost + 1e-9
    return adjusted_.cost


def test_kept_totals_stay(tmp_path):
    rng = np.random.default_rng(7)
    _, names = cube(tmp_path, rng, (4, 4), 40)
    done = adjusted(tmp_path, names, keep="totals")
    true, told, *_, primary, _ = arrays(done, (4, 4))
    margins = np.zeros((5, 5), bool)
    margins[0], margins[:, 0] = True, True
    assert primary[1:, 1:].any() and (told[margins & ~primary] == true[margins & ~primary]).all()
    assert done.adjusted.cost > adjusted(tmp_path, names).adjusted.cost - 1e-9


def test_values_with_more_decimals_than_published_add_up(tmp_path):
    rng = np.random.default_rng(3)
    value = np.round(rng.lognormal(8, 1, (5, 6)), 3)
    for axis in (0, 1):
        value = np.concatenate([value.sum(axis, keepdims=True), value], axis)
    rows = [
        f"{'Total' if i == 0 else i},{'Total' if j == 0 else j},{value[i, j]:.3f},{1 if i == j == 2 else 9}"
        for i in range(6)
        for j in range(7)
    ]
    (tmp_path / "cells.csv").write_text("a,b,x,n\n" + "\n".join(rows) + "\n")
    done = adjusted(tmp_path, ["a", "b"], decimals=1)
    plan = done.adjusted.plan
    assert not plan.left_over(done.adjusted.value).any() and plan.primary.sum() == 1
    move = np.abs(done.adjusted.value / 10 - plan.grains.value * plan.grains.size())
    assert move[plan.primary] >= done.assessed.needs.upper[plan.primary] - 1e-9


@pytest.mark.parametrize(
    ("cells", "said", "message"),
    [
        ("Total,30,19\nN,20,1\nS,10,9\n", {"keep": ["Total", "S"]}, "hold these unsafe cells.*t: N"),
        ("Total,10,19\nN,0,1\nS,10,9\n", {}, "true zeros stay 0.*t: N"),
    ],
)
def test_what_cannot_be_is_explained(tmp_path, cells, said, message):
    (tmp_path / "cells.csv").write_text("r,x,n\n" + cells)
    with pytest.raises(NotProtected, match=message):
        adjusted(tmp_path, ["r"], **said)


def test_a_large_set_is_adjusted_with_a_bound(tmp_path):
    rng = np.random.default_rng(5)
    _, names = cube(tmp_path, rng, (30, 30), 500)
    done = adjusted(tmp_path, names, search="heuristic")
    assert done.adjusted.plan.primary.sum() > 100 and not done.adjusted.plan.faults(done.adjusted.value)
    assert 0 <= done.adjusted.gap < 1


@pytest.mark.parametrize("case", range(6))
def test_squares_are_least_among_all_moves_of_small_tables(tmp_path, case):
    """The heuristic is near the least; what it claims as a bound is never above it."""
    rng = np.random.default_rng(40 + case)
    _, names = cube(tmp_path, rng, (2, 2))
    try:
        done = adjusted(tmp_path, names, distance="l2", weights=("one", "inverse")[case % 2])
    except NotProtected:
        return
    true, told, below, above, primary, weight = arrays(done, (2, 2))
    moves = told - true
    assert ((moves <= -below) | (moves >= above))[primary].all() and (told >= 0).all() and (told[true == 0] == 0).all()
    cost = float((weight * moves**2).sum())
    assert done.adjusted.cost == pytest.approx(cost)
    best = least(true, below, above, primary, weight, (2, 2), 7, squares=True)
    assert done.adjusted.bound <= best + 1e-6 and cost <= 4 * best + 1e-6


def plan_of_cube(tmp_path, shape, seed):
    rng = np.random.default_rng(seed)
    _, names = cube(tmp_path, rng, shape, 60)
    return adjusted(tmp_path, names, search="heuristic", weights="inverse").adjusted.plan


@pytest.mark.parametrize("shape", [(5, 6), (3, 4, 4)])
def test_sides_one_by_one_can_be_met(tmp_path, shape):
    """They come from moves that add up, so that a linear program has an answer, and whole values are near it."""
    plan = plan_of_cube(tmp_path, shape, 3)
    model = search.Model(plan)
    made = 0
    for seed in range(4):
        sides = sides_one_by_one(plan, UNWATCHED, seed=seed)
        if sides is None:
            continue
        relaxed = solver.solve(model.fixed(sides))
        assert relaxed.status is Status.optimal
        value = whole_moves(plan, model.values(relaxed.x) - plan.start, UNWATCHED)
        assert value is None or not plan.faults(value)
        made += value is not None
    assert made > 0


def test_large_sets_take_sides_one_by_one_and_say_how_good_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(search, "_LARGE", 20)
    rng = np.random.default_rng(8)
    _, names = cube(tmp_path, rng, (6, 7), 60)
    for distance in ("l1", "l2"):
        done = adjusted(tmp_path, names, distance=distance)
        assert not done.adjusted.plan.faults(done.adjusted.value)
        assert 0 < done.adjusted.bound <= done.adjusted.cost and 0 <= done.adjusted.gap < 1
    kept = adjusted(tmp_path, names, keep=["Total/Total"]).adjusted
    assert kept.value[0] == kept.plan.start[0] and not kept.plan.faults(kept.value)
