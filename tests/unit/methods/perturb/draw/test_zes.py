import numpy as np
import pytest
from scipy import stats

from cellguard.errors import InputError
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.draw.zes import Zes, draw_multipliers, perturbed, weight_warnings

N = 100_000
SHAPES = {
    "normal": stats.norm(0.1, 0.02),
    "uniform": stats.uniform(0.1 - 0.02 * 3**0.5, 0.04 * 3**0.5),
    "triangular": stats.triang(0.5, 0.1 - 0.02 * 6**0.5, 0.04 * 6**0.5),
    "beta": stats.beta(2, 2, 0.1 - 0.02 * 5**0.5, 0.04 * 5**0.5),
}


@pytest.fixture(scope="module")
def many():
    return respondents({}, {"x": np.ones(N)})


@pytest.mark.parametrize("shape", SHAPES)
def test_sizes_have_the_stated_distribution_and_directions_are_fair(many, shape):
    zes = Zes(shape=shape)
    r = draw_multipliers(many, zes, 1) - 1
    assert stats.kstest(np.abs(r), SHAPES[shape].cdf).pvalue > 0.01
    assert abs(np.sign(r).mean()) < 4 / N**0.5
    assert abs(np.corrcoef(np.abs(r), np.sign(r))[0, 1]) < 4 / N**0.5
    assert (r**2).mean() == pytest.approx(zes.second_moment, rel=0.01)


def test_unimodal_multipliers_are_normal_around_1(many):
    zes = Zes(shape="unimodal")
    r = draw_multipliers(many, zes, 1) - 1
    assert stats.kstest(r, stats.norm(0, 0.1).cdf).pvalue > 0.01
    assert np.abs(r).mean() == pytest.approx(0.079788, abs=5e-4)
    assert (r**2).mean() == pytest.approx(zes.second_moment, rel=0.02)


@pytest.mark.parametrize("n", [1000, 1001])
def test_balanced_directions_differ_by_one_at_most(n):
    records = respondents({}, {"x": np.ones(n)})
    up = [int((draw_multipliers(records, Zes(directions="balanced"), seed) > 1).sum()) for seed in range(8)]
    assert {2 * u - n for u in up} <= ({0} if n % 2 == 0 else {-1, 1})
    where = [draw_multipliers(records, Zes(directions="balanced"), seed)[0] > 1 for seed in range(40)]
    assert 8 < sum(where) < 32


def test_draws_beyond_0_and_1_are_rejected_and_leave_no_bias(many):
    wild = Zes(mu=0.5, sigma=0.4)
    m = draw_multipliers(many, wild, 3)
    assert (m > 0).all() and (m < 2).all() and (m != 1).all()
    assert m.mean() == pytest.approx(1, abs=4 * m.std() / N**0.5)
    kept = stats.truncnorm(-0.5 / 0.4, 0.5 / 0.4, 0.5, 0.4)
    assert stats.kstest(np.abs(m - 1), kept.cdf).pvalue > 0.01
    assert (np.abs(draw_multipliers(many, Zes(mu=0.6, shape="unimodal"), 3) - 1) < 1).all()


def test_without_spread_every_multiplier_is_mu_away(many):
    for shape in SHAPES:
        assert np.unique(draw_multipliers(many, Zes(sigma=0, shape=shape), 1).round(12)).tolist() == [0.9, 1.1]


def test_a_half_width_of_ones_own():
    zes = Zes(shape="uniform", halfwidth=0.05)
    r = np.abs(draw_multipliers(respondents({}, {"x": np.ones(1000)}), zes, 1) - 1)
    assert 0.05 <= r.min() < 0.052 and 0.148 < r.max() <= 0.15
    assert zes.deviation == pytest.approx(0.05 / 3**0.5)


def test_records_of_a_holding_share_a_multiplier_whatever_their_order():
    keys = np.array(["b", "a", "c", "a", "b"])
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    first = respondents({}, {"x": x}, unit=keys)
    order = np.array([3, 0, 4, 2, 1])
    second = respondents({}, {"x": x[order]}, unit=keys[order])
    a, b = (perturbed(r, "x", draw_multipliers(r, Zes(), 9)) for r in (first, second))
    assert (a[order] == b).all()
    factors = a / x
    assert factors[1] == pytest.approx(factors[3]) and factors[0] == pytest.approx(factors[4])
    assert len(np.unique(factors.round(9))) == 3


def test_seeds_and_purposes_give_other_multipliers(many):
    m = draw_multipliers(many, Zes(), 1)
    assert (draw_multipliers(many, Zes(), 1) == m).all()
    assert not (draw_multipliers(many, Zes(), 2) == m).any()
    assert not (draw_multipliers(many, Zes(), 1, purpose="other") == m).any()


def test_strata_have_a_mu_of_their_own_and_some_units_none():
    records = respondents({}, {"x": np.ones(1000)})
    mu = np.where(np.arange(1000) < 500, 0.05, 0.3)
    r = np.abs(draw_multipliers(records, Zes(), 1, mu=mu, only=np.arange(1000) % 2 == 0) - 1)
    assert (r[1::2] == 0).all()
    assert r[0:500:2].mean() == pytest.approx(0.05, abs=0.005) and r[500::2].mean() == pytest.approx(0.3, abs=0.005)


def test_weights_leave_the_represented_units_alone():
    records = respondents({}, {"x": [10.0, np.nan, 4.0]}, weight=[3, 2, 0.5])
    assert perturbed(records, "x", np.array([1.1, 0.9, 0.9])) == pytest.approx([31, 0, 1.6])
    assert records.weighted("x") == pytest.approx([30, 0, 2])
    assert "1 records have a weight below 1" in weight_warnings(records)[0]
    assert weight_warnings(respondents({}, {"x": [1.0]}, weight=[1])) == []
    assert weight_warnings(respondents({}, {"x": [1.0]})) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mu": 0}, "mu must be above 0"),
        ({"mu": 1}, "mu must be above 0 and below 1"),
        ({"mu": float("nan")}, "mu must be"),
        ({"sigma": -0.1}, "sigma must be"),
        ({"shape": "norml"}, "no shape 'norml'; did you mean 'normal'"),
        ({"directions": "alternate"}, "no directions 'alternate'"),
        ({"halfwidth": 0.05}, "halfwidth is for the shapes"),
        ({"shape": "beta", "halfwidth": 0.2}, "halfwidth is for the shapes"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Zes(**options)


def test_wrong_numbers_of_multipliers_and_mus_are_refused():
    records = respondents({}, {"x": [1.0, 2.0]})
    with pytest.raises(InputError, match="3 multipliers for 2 respondents"):
        perturbed(records, "x", np.ones(3))
    for mu in (np.array([0.1]), np.array([0.1, 1.0])):
        with pytest.raises(InputError, match="mu must be above 0 and below 1 for every respondent"):
            draw_multipliers(records, Zes(), 1, mu=mu)
