"""Factors of groups dealt out to their units: whatever the way, the group's total is what the factor says."""

import numpy as np
import pytest

from cellguard.methods.perturb.fit.assign import assign


@pytest.mark.parametrize("way", ["equal", "size", "kept", "strata", "spread"])
def test_totals_are_kept_in_every_way(way):
    rng = np.random.default_rng(3)
    mover = rng.integers(-1, 12, 300)
    amount = rng.lognormal(3, 1.5, 300)
    factor = rng.uniform(0.9, 1.1, 12)
    start = 1 + rng.choice([-1, 1], 300) * rng.normal(0.1, 0.02, 300)
    options = {
        "equal": {},
        "size": {"score": amount},
        "kept": {"score": (rng.random(300) < 0.7).astype(float)},
        "strata": {"score": np.where(rng.random(300) < 0.5, 0.05, 0.15)},
        "spread": {"start": start, "lower": 0.8, "upper": 1.2},
    }[way]
    dealt = assign(factor, mover, amount, **options)
    m = dealt.multipliers
    inside = mover >= 0
    got = np.bincount(mover[inside], (m * amount)[inside], 12) / np.bincount(mover[inside], amount[inside], 12)
    assert got == pytest.approx(factor, abs=1e-9) and not dealt.off.any()
    assert (m[~inside] == (start if way == "spread" else 1.0)[~inside] if way == "spread" else m[~inside] == 1).all()
    if way == "kept":
        assert (m[options["score"] == 0] == 1).all()
    if way == "spread":
        assert m[inside].min() >= 0.8 and m[inside].max() <= 1.2 and len(np.unique(m)) > 250


def test_bounds_pass_the_rest_on_and_say_when_they_cannot():
    one = np.zeros(3, np.int64), np.array([50.0, 30.0, 20.0])
    dealt = assign(np.array([1.15]), *one, score=one[1], upper=1.2)
    assert dealt.multipliers @ one[1] == pytest.approx(115) and dealt.multipliers.max() <= 1.2 and not dealt.off[0]
    assert assign(np.array([1.3]), *one, upper=1.2).off.tolist() == [True]
    nothing = assign(np.array([1.3]), np.zeros(2, np.int64), np.zeros(2))
    assert nothing.multipliers.tolist() == [1, 1] and not nothing.off[0]
