"""The exact distribution of noise whose sizes are not normal, or of which half goes up, against brute force."""

import itertools
from math import erfc, sqrt

import numpy as np
import pytest

from cellguard.methods.perturb.cells.sensitivity import needs_of
from cellguard.methods.perturb.draw.distribution import exceedance
from cellguard.methods.perturb.draw.mu import MuOptions, choose_mu, smallest_mu
from cellguard.methods.perturb.draw.multipliers import Settings, make_multipliers
from cellguard.methods.perturb.draw.zes import Zes

from perturb_data import grid_table

X = np.array([6000.0, 1500, 1000, 800, 400, 300])


def sizes(shape, rng, many, n, mu, sigma):
    wide = {
        "uniform": lambda: 3**0.5 * rng.uniform(-1, 1, (many, n)),
        "triangular": lambda: 6**0.5 * rng.triangular(-1, 0, 1, (many, n)),
        "beta": lambda: 5**0.5 * (2 * rng.beta(2, 2, (many, n)) - 1),
        "normal": lambda: rng.normal(size=(many, n)),
    }[shape]
    return mu + sigma * wide()


@pytest.mark.parametrize("shape", ["uniform", "triangular", "beta"])
@pytest.mark.parametrize("values", [X, X[:1], X[:2], np.geomspace(900, 3, 40)], ids=["6", "1", "2", "40"])
def test_bounded_shapes_against_draws(shape, values):
    rng = np.random.default_rng(3)
    many = 60_000
    r = sizes(shape, rng, many, len(values), 0.2, 0.05) * rng.choice([-1, 1], (many, len(values)))
    noise = np.abs((r * values).sum(axis=1))
    for bound in (0.5, 1.0, 1.2):
        need = bound * float(np.median(noise))
        found = exceedance(values, need, mu=0.2, sigma=0.05, shape=shape)
        assert found == pytest.approx((noise > need).mean(), abs=0.01)


def test_one_contributor_is_exact():
    # 1 + r with r uniform on 0.1 +- 0.05: P(|e| > 0.12 X) = 0.3
    assert exceedance([10.0], 1.2, mu=0.1, sigma=0.05 / 3**0.5, shape="uniform") == pytest.approx(0.3, abs=1e-4)
    assert exceedance([3.0, 4.0], 1.0, mu=0.1, sigma=0.0, shape="unimodal") == pytest.approx(0.0455, abs=1e-4)


@pytest.mark.parametrize("among", [6, 8, 12, 13])
def test_balanced_directions_against_all_of_them(among):
    mu, sigma, need = 0.2, 0.02, 1071.0
    rounds = [among // 2] if among % 2 == 0 else [among // 2, among - among // 2]
    spread = sigma * np.sqrt((X**2).sum())
    chances = []
    for up in rounds:
        for chosen in itertools.combinations(range(among), up):
            centre = sum(mu * x * (1 if i in chosen else -1) for i, x in enumerate(X))
            chances.append(tail_of(need - centre, spread) + tail_of(need + centre, spread))
    found = exceedance(X, need, mu=mu, sigma=sigma, among=among)
    assert found == pytest.approx(np.mean(chances), abs=1e-6)


def tail_of(distance, spread):
    return 0.5 * erfc(distance / spread / sqrt(2))


def test_balanced_directions_of_many_are_nearly_free():
    few, many = (exceedance(X, 1071, mu=0.2, sigma=0.02, among=n) for n in (8, 100_000))
    free = exceedance(X, 1071, mu=0.2, sigma=0.02)
    assert many == pytest.approx(free, abs=1e-4) and abs(few - free) > 0.02


@pytest.mark.parametrize("shape", ["uniform", "triangular", "beta", "unimodal"])
def test_the_smallest_mu_of_other_shapes_is_enough_and_no_less_is(shape):
    options = MuOptions(cap=0.9, shape=shape, d=0.7 if shape == "unimodal" else 0.9)
    mu = smallest_mu(X, 1071.4, options)
    at, below = (exceedance(X, 1071.4, mu=m, sigma=0.02, shape=shape) for m in (mu, mu - 1e-3))
    assert at >= options.d > below


def test_all_cells_together_have_the_probability_that_is_promised():
    rng = np.random.default_rng(1)
    cells = {
        (f"r{i}", "X"): [float(rng.integers(900, 2000)), 60.0, *rng.integers(60, 120, 9).tolist()] for i in range(12)
    }
    table = grid_table(cells)
    one, all_ = (choose_mu([table], MuOptions(cap=0.9, d=0.9, whole=whole)) for whole in (False, True))
    assert all_.mu > one.mu and all_.together >= 0.9 > one.together and not all_.of("missed")
    settings = Settings(zes=Zes(all_.mu))
    safe = 0
    for seed in range(200):
        made = make_multipliers(table.records, [table], settings, seed=seed)
        noise = np.abs(made.totals(table) - table.total)
        names = [c.cell for c in all_.of("served")]
        safe += all(noise[c] >= need for c, need in zip(names, needs_of(table).need[names], strict=True))
    assert safe >= 0.86 * 200
