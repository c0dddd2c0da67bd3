"""What an attacker concludes of the largest contribution, against draws of everything that it does not know."""

import numpy as np
import pytest
import scipy.sparse as sp

from cellguard.methods.keys.magnitudes.attack import Seen, guess
from cellguard.methods.keys.magnitudes.multiplier import Multiplier
from cellguard.methods.keys.magnitudes.noise import Noise, Sums, parts, sizes_of
from cellguard.methods.keys.magnitudes.noise_table import NoiseDesign

SPAN = 8.0  # how far the attack's candidates reach


def noise(**said):
    all_ = {"scaling": "top_contr", "epsilon": (1.0,), "mu": 0.0, "smooth": True, "multiplier": Multiplier(0.2)} | said
    table = all_.pop("table", NoiseDesign(5, 2.0, 2).table())
    return Noise(table, all_.pop("multiplier"), **all_)


def none_fixed(cells):
    """No cell is published as it is, and all are published."""
    return np.zeros(cells, bool), np.ones(cells, bool)


def seen_of(amounts, how, keys, published=None):
    """Cells by contributors; the first contributor's largest contribution in the first cell is attacked."""
    matrix = np.array(amounts, float)
    shares = sp.csr_array(matrix)
    number = np.diff(shares.indptr).astype(np.int64)
    sizes = sizes_of(shares, how.scaling, len(how.epsilon))
    sums = Sums(matrix.sum(axis=1), number, sizes, np.arange(len(matrix)), np.ones(len(matrix), bool))
    found = parts(sums, how, np.array(keys, float))
    told = np.maximum(np.rint(sums.value + found.sum(axis=1)), 0.0) if published is None else published
    return Seen(sums, shares, told, np.ones(len(matrix)), found[:, 1:].sum(axis=1), *none_fixed(len(matrix)))


def drawn(amounts, how, seen, percent, draws, seed):
    """Draw the first contributor's size and all first keys; of those that publish the same, the best guess's share.

    The formulas are written once more, for one part: a unit is a share of the largest, mean, range or sum.
    """
    rng = np.random.default_rng(seed)
    told = (seen.published[0] - seen.rest[0] - sum(amounts[0][1:])) / amounts[0][0]
    near = min(max(told, 1 / 64), 64)
    factor = np.exp(rng.uniform(np.log(min(near, 1) / SPAN), np.log(max(near, 1) * SPAN), draws))
    for cell, row in enumerate(amounts):
        if cell:  # those that fit the cells before, each with many keys of this one
            factor = np.repeat(factor, draws // len(factor))
        own, others = row[0] * factor, np.array([x for x in row[1:] if x], float)
        value = own + others.sum()
        size = {
            "top_contr": lambda own=own, others=others: np.maximum(own, others.max(initial=0)),
            "mean": lambda value=value, others=others: value / (1 + len(others)),
            "range": lambda own=own, others=others: (
                np.maximum(own, others.max(initial=0)) - np.minimum(own, others.min(initial=np.inf))
                if len(others)
                else own
            ),
            "sum": lambda value=value: value,
        }[how.scaling]()
        small = size < how.point
        unit = np.where(small, 1.0, how.multiplier.share(size) * size)
        unit = np.minimum(unit, value)
        rows = how.table.kinds["all"]
        key = rng.random(len(factor))
        change = rows.quantile(value / unit, key, smooth=True)
        if how.table.separated:
            change = np.where(small, how.table.kinds["small_cells"].quantile(value, key, smooth=True), change)
        change = change + how.mu * np.where(change >= 0, 1, -1)
        told = np.maximum(np.rint(np.maximum(value + unit * change, 0) + seen.rest[cell]), 0)
        factor = factor[np.abs(told - seen.published[cell]) < 0.5]
    log = np.sort(np.log(factor))
    wide = np.log((1 + percent / 100) / (1 - percent / 100))
    inside = np.searchsorted(log, log + wide, side="right") - np.arange(len(log))
    return inside.max() / len(log), len(log)


CASES = {
    "alone": ([[40, 3, 2]], {}, [[0.7]]),
    "a part of a giant": ([[40, 3, 0], [40, 3, 300]], {}, [[0.3], [0.6]]),
    "two figures": ([[40, 3, 0], [40, 3, 30]], {}, [[0.7], [0.2]]),
    "sensitive": ([[40, 3, 2]], {"mu": 1.0}, [[0.6]]),
    "flex": ([[40, 3, 2]], {"multiplier": Multiplier(0.2, 0.05, 20, 2)}, [[0.4]]),
    "mean": ([[40, 8, 2]], {"scaling": "mean"}, [[0.1]]),
    "range": ([[40, 8, 2]], {"scaling": "range"}, [[0.8]]),
    "sum": ([[40, 8, 2]], {"scaling": "sum"}, [[0.8]]),
    "small values": ([[9, 2, 0]], {"table": NoiseDesign(5, 2.0, 2, separation=True).table()}, [[0.9]]),
    "between rows": ([[40, 3, 2]], {"multiplier": Multiplier(0.35)}, [[0.45]]),
    "cut off at 0": ([[40, 1, 0]], {"multiplier": Multiplier(0.6), "mu": 1.0}, [[0.01]]),
}


@pytest.mark.parametrize("case", CASES)
def test_the_posterior_is_that_of_many_draws(case):
    amounts, said, keys = CASES[case]
    how = noise(**said)
    seen = seen_of(amounts, how, keys)
    wanted = np.arange(len(amounts)) == 0
    found = guess(seen, how, wanted, np.full(len(amounts), 10.0))
    share, accepted = drawn(amounts, how, seen, 10.0, 300_000, 5)
    assert accepted > 300, case
    # The best of many windows over draws is a little too high; the attack's windows are a little too wide.
    assert found.together[0] == pytest.approx(share, abs=0.04 + 1 / np.sqrt(accepted)), case
    alone, _ = drawn(amounts[:1], how, seen, 10.0, 300_000, 6)
    assert found.alone[0] == pytest.approx(alone, abs=0.04 + 1 / np.sqrt(accepted)), case


def test_what_is_fixed_or_without_noise_is_known():
    how = noise()
    seen = seen_of([[40, 3, 0], [40, 3, 30]], how, [[0.7], [0.2]])
    fixed = Seen(seen.sums, seen.shares, seen.published, seen.unit, seen.rest, np.array([False, True]), seen.shown)
    found = guess(fixed, how, np.array([True, False]), np.full(2, 10.0))
    assert found.together[0] == 1.0 and found.alone[0] < 0.5
    still = noise(multiplier=Multiplier(1e-6))
    assert guess(seen_of([[40, 3]], still, [[0.7]]), still, np.array([True]), np.array([10.0])).alone[0] == 1.0


def test_the_same_records_say_nothing_new():
    how = noise()
    one = seen_of([[40, 3]], how, [[0.7]])
    twice = seen_of([[40, 3], [40, 3]], how, [[0.7], [0.7]])
    twice.sums.key[1] = 0
    asked = np.array([True, False])
    first, again = guess(one, how, asked[:1], np.array([10.0])), guess(twice, how, asked, np.full(2, 10.0))
    assert first.together[0] == again.together[0]
    apart = seen_of([[40, 3], [40, 3]], how, [[0.7], [0.3]])
    assert guess(apart, how, asked, np.full(2, 10.0)).together[0] > first.together[0] + 0.02


def test_many_figures_of_one_respondent_give_it_away():
    """Noise of different cells is independent, so that it can be averaged: the attack must say so."""
    how = noise()
    rng = np.random.default_rng(4)
    together = []
    for many in (1, 4, 16):
        amounts = np.zeros((many, many + 1))
        amounts[:, 0] = 1000
        amounts[np.arange(many), np.arange(many) + 1] = 10
        seen = seen_of(amounts, how, rng.random((many, 1)))
        together.append(guess(seen, how, np.arange(many) == 0, np.full(many, 10.0)).together[0])
    assert together[0] < 0.35 < together[1] < together[2] and together[2] > 0.8
