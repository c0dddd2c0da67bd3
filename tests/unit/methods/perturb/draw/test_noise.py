import itertools

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.cells.sensitivity import dominated, needs_of, still_unsafe
from cellguard.methods.perturb.draw.multipliers import make_multipliers
from cellguard.methods.perturb.draw.noise import GROUPS, CellNoise, cell_noise, noise_statistics, table_statistics
from cellguard.methods.perturb.draw.replicate import replicate_as_drawn
from cellguard.methods.perturb.draw.variance import noise_variance, published_variance, sampling_variance
from cellguard.methods.perturb.draw.zes import Zes, draw_multipliers, perturbed

from perturb_data import grid_table, noise_cv, one_cell, study


def business(seed=1, weight=False):
    rng = np.random.default_rng(seed)
    n = 250
    records = respondents(
        {"row": rng.choice(list("abcd"), n), "column": rng.choice(list("xyz"), n)},
        {"v": np.round(rng.lognormal(3, 3, n)), "u": np.round(rng.lognormal(2, 1, n))},
        weight=rng.uniform(1, 4, n) if weight else None,
    )
    by = [Dimension("row", flat("abcd")), Dimension("column", flat("xyz"))]
    return [calibration_table(records, by, r, name=r) for r in ("v", "u")]


def test_statistics_agree_with_a_plain_count():
    tables = business()
    totals = [t.sums(perturbed(t.records, t.response, draw_multipliers(t.records, Zes(), 1))) for t in tables]
    found = table_statistics(tables, totals)
    rows = [
        (100 * abs(n - t) / t, abs(n - t), inner, sensitive)
        for table, new in zip(tables, totals, strict=True)
        for n, t, inner, sensitive in zip(new, table.total, table.interior, needs_of(table).sensitive, strict=True)
    ]
    chosen = {
        "marginal": [p for p, _, inner, _ in rows if not inner],
        "interior": [p for p, _, inner, _ in rows if inner],
        "sensitive": [p for p, _, _, s in rows if s],
        "nonsensitive": [p for p, _, _, s in rows if not s],
        "all nonzero": [p for p, _, _, _ in rows],
    }
    assert tuple(found.groups) == GROUPS == tuple(chosen)
    for name, percents in chosen.items():
        group = found.groups[name]
        assert (group.cells, group.maximum, group.minimum) == (len(percents), max(percents), min(percents))
        assert group.average == pytest.approx(sum(percents) / len(percents))
    loss = sum(size for _, size, _, _ in rows) / len(rows)
    assert found.loss == pytest.approx(loss)
    assert found.loss_per_percent == pytest.approx(loss / found.groups["all nonzero"].average)
    assert found.squared == pytest.approx(sum(size**2 for _, size, _, _ in rows))
    by_dominance = table_statistics(tables, totals, by_dominance=True)
    assert by_dominance.groups["sensitive"].cells == sum(int(dominated(t).sum()) for t in tables)
    assert by_dominance.groups["sensitive"].cells > found.groups["sensitive"].cells


def test_cells_of_zero_are_left_out_and_empty_groups_say_so():
    noise = cell_noise(np.array([0.0, 10.0, -20.0]), np.array([0.0, 1.0, 1.0]))
    found = noise_statistics(noise, interior=np.ones(3, bool), sensitive=np.zeros(3, bool))
    assert found.groups["all nonzero"].cells == 2 and found.groups["interior"].average == 7.5
    assert found.groups["sensitive"].cells == 0 and found.loss == 1
    plain = found.plain()
    assert plain["percent"]["sensitive"] == {"average": None, "maximum": None, "minimum": None, "cells": 0}
    assert plain["percent"]["interior"] == {"average": 7.5, "maximum": 10.0, "minimum": 5.0, "cells": 2}
    assert (plain["loss"], plain["loss_per_percent"], plain["squared"]) == (1, pytest.approx(1 / 7.5), 2)
    nothing = noise_statistics(
        CellNoise(*np.full((3, 1), np.nan)), interior=np.ones(1, bool), sensitive=np.ones(1, bool)
    )
    assert nothing.loss == 0 and nothing.groups["interior"].cells == 0


def test_variance_and_cv_are_those_of_the_formula():
    table = one_cell([8000, 850, 600, 550], weight=[1, 6, 8, 10])
    squares = 8000**2 + 850**2 + 600**2 + 550**2
    assert noise_variance(table, Zes()) == pytest.approx([0.0104 * squares] * 2)
    assert noise_cv(table, Zes()) == pytest.approx([(0.0104 * squares) ** 0.5 / 23400] * 2)


def test_variance_holds_when_drawn_for_holdings_too():
    cells = {("A", "X"): [50, 30, 20, 5], ("B", "X"): [40, 10, 7, 7]}
    table = grid_table(cells, unit=["a", "b", "c", "d", "a", "e", "e", "f"], by=("row",))
    wanted = [0.0104 * sum(x * x for x in group) for group in ([90, 30, 20, 5, 17, 7], [50, 30, 20, 5], [40, 17, 7])]
    assert noise_variance(table, Zes()) == pytest.approx(wanted)
    found = study([table], Zes(), 4, replications=4000)
    assert (found.cv * table.total) ** 2 == pytest.approx(wanted, rel=0.12)


def joint_variance(x, w, joint):
    """The Horvitz-Thompson estimator of variance, from the probabilities that two units are both in the sample."""
    pi = 1 / w
    return sum(
        (joint[i][j] - pi[i] * pi[j]) / joint[i][j] * x[i] / pi[i] * x[j] / pi[j]
        for i, j in itertools.product(range(len(x)), repeat=2)
    )


def test_poisson_variance_is_horvitz_thompson():
    rng = np.random.default_rng(2)
    x, w = rng.uniform(1, 9, 12), rng.uniform(1, 4, 12)
    row = ["A"] * 7 + ["B"] * 5
    records = respondents({"row": row}, {"x": x}, weight=w)
    table = calibration_table(records, [Dimension("row", flat("AB"))], "x")
    joint = np.outer(1 / w, 1 / w)
    np.fill_diagonal(joint, 1 / w)
    wanted = [joint_variance(np.where(inside, x, 0), w, joint) for inside in (np.ones(12), np.arange(12) < 7)]
    assert sampling_variance(table, records)[:2] == pytest.approx(wanted)


def test_stratified_variance_is_horvitz_thompson():
    rng = np.random.default_rng(3)
    n, total = np.array([5, 7]), np.array([15, 7 * 2])
    strata = np.repeat([0, 1], n)
    x, w = rng.uniform(1, 9, 12), (total / n)[strata]
    row = rng.choice(["A", "B"], 12)
    records = respondents({"row": row}, {"x": x}, weight=w)
    table = calibration_table(records, [Dimension("row", flat("AB"))], "x")
    joint = np.outer(1 / w, 1 / w)
    for h in (0, 1):
        inside = np.ix_(strata == h, strata == h)
        joint[inside] = n[h] * (n[h] - 1) / (total[h] * (total[h] - 1))
    np.fill_diagonal(joint, 1 / w)
    for cell, mask in enumerate((np.ones(12, bool), row == "A", row == "B")):
        wanted = joint_variance(np.where(mask, x, 0), w, joint)
        assert sampling_variance(table, records, strata)[cell] == pytest.approx(wanted)
    with pytest.raises(InputError, match="one record only"):
        sampling_variance(table, records, np.r_[0, np.ones(11, int)])


def test_a_census_has_no_sampling_variance_and_noise_is_added():
    table = one_cell([5, 4])
    assert sampling_variance(table, table.records).tolist() == [0, 0]
    assert published_variance(np.array([4.0]), np.array([-3.0])).tolist() == [13]


def test_replications_agree_with_runs_one_by_one():
    tables = business(weight=True)
    found = study(tables, Zes(), 8, replications=5, decimals=9)
    records = tables[0].records
    runs, unsafe = [], []
    for number in range(5):
        m = draw_multipliers(records, Zes(), 8, purpose=number)
        noise = [t.sums(perturbed(records, t.response, m)) - t.total for t in tables]
        unsafe.append(np.concatenate([still_unsafe(needs_of(t), e) for t, e in zip(tables, noise, strict=True)]))
        runs.append(np.concatenate(noise))
    totals, runs = np.concatenate([t.total for t in tables]), np.array(runs)
    assert found.mean_ratio == pytest.approx(((totals + runs) / totals).mean(axis=0))
    assert found.cv == pytest.approx((totals + runs).std(axis=0, ddof=1) / totals)
    assert found.noise.percent == pytest.approx((100 * np.abs(runs) / totals).mean(axis=0))
    assert found.unsafe == pytest.approx(np.mean(unsafe, axis=0))
    assert found.statistics().loss == pytest.approx(np.abs(runs).mean(axis=0).mean())
    assert found.statistics(by_dominance=True).groups["sensitive"].cells == sum(int(dominated(t).sum()) for t in tables)


def test_replication_studies_need_tables_of_the_same_records():
    with pytest.raises(InputError, match="at least 2"):
        study([one_cell([1])], Zes(), 1, replications=1)
    with pytest.raises(InputError, match="all of the same records"):
        study([one_cell([1]), one_cell([1])], Zes(), 1, replications=2)
    with pytest.raises(InputError, match="one or more tables"):
        replicate_as_drawn([], make_multipliers(one_cell([1]).records, [], seed=1), replications=2)
