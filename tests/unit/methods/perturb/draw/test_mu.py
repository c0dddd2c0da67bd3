import math

import numpy as np
import pytest
from scipy.integrate import quad

from cellguard.errors import InputError
from cellguard.methods.perturb.cells.sensitivity import needs_of, still_unsafe
from cellguard.methods.perturb.draw.distribution import exceedance
from cellguard.methods.perturb.draw.mu import (
    MuOptions,
    choose_mu,
    choose_mu_by_stratum,
    mu_by_formula,
    smallest_mu,
    strata_by_need,
)
from cellguard.methods.perturb.draw.zes import Zes, draw_multipliers, perturbed
from cellguard.rules.limits import NoiseRule
from cellguard.rules.linear import Dominance

from perturb_data import brute_exceedance, grid_table, one_cell, sodap

CELL = [6000, 1500, 1000, 800, 400, 300]


@pytest.mark.parametrize("seed", range(8))
def test_all_ways_agree_with_brute_force(seed):
    rng = np.random.default_rng(seed)
    x = rng.lognormal(5, 1.5, int(rng.integers(1, 11)))
    bound, mu, sigma = rng.uniform(0, 0.3) * x.max(), rng.uniform(0.05, 0.5), rng.uniform(0.005, 0.05)
    wanted = brute_exceedance(x.tolist(), bound, mu, sigma)
    for way in ("enumerate", "characteristic", "largest", "auto"):
        assert exceedance(x, bound, mu=mu, sigma=sigma, way=way) == pytest.approx(wanted, abs=1e-10), way


def test_many_contributions_agree_with_enumeration_integration_and_simulation():
    rng = np.random.default_rng(5)
    x = np.sort(rng.lognormal(3, 1.2, 20))
    wanted = exceedance(x, 40, mu=0.15, sigma=0.02, way="enumerate")
    assert exceedance(x, 40, mu=0.15, sigma=0.02, way="characteristic") == pytest.approx(wanted, abs=1e-10)
    assert exceedance(x, 40, mu=0.15, sigma=0.02, way="largest") == pytest.approx(wanted, abs=5e-3)
    large = np.concatenate([x, rng.lognormal(0, 1, 3000)])

    def integrand(t):
        phi = np.prod(np.cos(0.15 * large * t)) * math.exp(-((0.02 * t) ** 2) * (large**2).sum() / 2)
        return math.sin(40 * t) / t * phi

    inside = 2 / math.pi * quad(integrand, 1e-12, 9 / (0.02 * math.sqrt((large**2).sum())), limit=2000)[0]
    found = exceedance(large, 40, mu=0.15, sigma=0.02)
    assert found == pytest.approx(1 - inside, abs=1e-7)
    r = rng.choice([-1, 1], (2000, len(large))) * rng.normal(0.15, 0.02, (2000, len(large)))
    assert found == pytest.approx((np.abs(r @ large) > 40).mean(), abs=4 * 0.5 / 2000**0.5)


def test_contributions_may_have_a_mu_each():
    found = exceedance([10, 4, 0], 1.0, mu=[0.2, 0.05, 0.3], sigma=0.02)
    spread = 0.02 * math.sqrt(116)
    chances = [
        0.5 * math.erfc((1 - c) / spread / math.sqrt(2)) + 0.5 * math.erfc((1 + c) / spread / math.sqrt(2))
        for c in (2.2, 1.8, -1.8, -2.2)
    ]
    assert found == pytest.approx(sum(chances) / 4, abs=1e-12)


def test_without_spread_patterns_are_counted():
    assert exceedance([5, 3], 0.8, mu=0.1, sigma=0) == 0.5
    assert exceedance([5, 3], 0.81, mu=0.1, sigma=0) == 0
    assert exceedance(np.ones(200), 0.0, mu=0.1, sigma=0) == pytest.approx(1, abs=0.01)
    assert exceedance([], 1.0, mu=0.1, sigma=0.02) == 0
    assert exceedance([0, 0], 1.0, mu=0.1, sigma=0.02, way="characteristic") == 0


def test_ways_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="21 contributions have too many patterns"):
        exceedance(np.ones(21), 1, mu=0.1, sigma=0.02, way="enumerate")
    with pytest.raises(InputError, match="needs a sigma above 0"):
        exceedance([1], 1, mu=0.1, sigma=0, way="characteristic")
    with pytest.raises(InputError, match="no way 'guess'"):
        exceedance([1], 1, mu=0.1, sigma=0.02, way="guess")


@pytest.mark.parametrize("seed", range(6))
def test_the_smallest_mu_is_enough_and_nothing_below_it_is(seed):
    rng = np.random.default_rng(seed)
    x = np.concatenate([[100.0], rng.uniform(1, 20, 7)])
    need, options = rng.uniform(3, 25), MuOptions(cap=0.6, d=0.9)
    mu = smallest_mu(x, need, options)
    below = [brute_exceedance(x.tolist(), need, m, 0.02) for m in np.linspace(0.001, mu - 1e-5, 60)]
    assert brute_exceedance(x.tolist(), need, mu, 0.02) >= 0.9 - 1e-9
    assert max(below) < 0.9


def test_two_equal_contributors_cannot_be_served():
    assert math.isnan(smallest_mu([5000, 5000], 1000, MuOptions(cap=0.99)))
    assert smallest_mu([5000], 0, MuOptions()) == 0
    assert math.isnan(smallest_mu([0], 1, MuOptions()))


def test_formula_and_exact_choice_of_a_single_cell():
    table = one_cell(CELL)
    by_formula = choose_mu([table], MuOptions(way="formula", cap=0.5))
    exact = choose_mu([table], MuOptions(cap=0.5))
    assert by_formula.mu == pytest.approx(mu_by_formula(needs_of(table), MuOptions())[1])
    assert [c.status for c in by_formula.cells] == ["missed"] * 2
    assert [c.status for c in exact.cells] == ["served"] * 2 and exact.cells[1].name == "A"
    assert exact.mu == pytest.approx(0.4206, abs=1e-3)
    assert exact.cells[0].probability == pytest.approx(0.95, abs=1e-4)
    assert [c.status for c in choose_mu([table]).cells] == ["not attainable"] * 2
    assert choose_mu([table]).mu == 0


def test_supersensitive_cells_are_left_out():
    dominant = [60, 8, 5] + [1] * 24
    cells = {("A", "X"): [80, 5, 5, 5, 5], ("B", "Y"): dominant, ("C", "X"): [10] * 50, ("C", "Y"): [9] * 50}
    table = grid_table(cells)
    choice = choose_mu([table])
    assert {c.name for c in choice.of("supersensitive")} == {"A/X", "A/Total"}
    assert {c.name for c in choice.of("served")} == {"B/Y", "B/Total"}
    need = 0.3 / 0.7 * 60 - 24
    assert choice.mu == pytest.approx(smallest_mu(dominant, need, MuOptions()), abs=1e-8)
    assert choice.mu == max(c.mu for c in choice.of("served"))
    all_of_them = choose_mu([table], MuOptions(extreme=Dominance(1, 90), cap=0.9))
    assert all_of_them.of("supersensitive") == ()


def test_no_sensitive_cell_needs_no_mu():
    choice = choose_mu([one_cell([10] * 30)])
    assert choice.mu == 0 and choice.cells == ()
    assert choose_mu([]).mu == 0
    assert not choice.asked and choice.words() == "no cell is sensitive"
    assert choose_mu([one_cell([10] * 30)], otherwise=0.1).mu == 0.1


def test_where_no_cell_is_served_chances_are_those_of_the_mu_that_is_used():
    table = one_cell(CELL)
    for otherwise, used in ((0.1, 0.1), (0.3, 0.2)):
        choice = choose_mu([table], otherwise=otherwise)
        assert choice.mu == used, "never above the cap"
        wanted = brute_exceedance(CELL, float(needs_of(table).need[1]), used, 0.02)
        assert choice.cells[1].probability == pytest.approx(wanted, abs=1e-9)
    assert choice.words() == "no sensitive cell is served (2 not to be served by any mu up to the cap)"
    served = choose_mu([table], MuOptions(cap=0.5), otherwise=0.1)
    assert served.asked and served.words() == "" and served.mu > 0.4
    wide = choose_mu([one_cell([5000])], MuOptions(cap=0.9), otherwise=0.1)
    assert wide.words() == "" and wide.mu == pytest.approx(3 / 7 + 0.0329, abs=1e-3), "the cap says what is too much"
    alone = choose_mu([one_cell([5000])], MuOptions(cap=0.9, extreme=Dominance(1, 70)), otherwise=0.1)
    assert alone.words() == "no sensitive cell is served (2 supersensitive and left out)"


@pytest.mark.parametrize("seed", range(6))
def test_more_mu_never_makes_a_cell_less_safe(seed):
    rng = np.random.default_rng(seed)
    x = np.round(rng.lognormal(3, 1, 6)) if seed % 2 else np.array([100.0, 50, 50, 25, 24, 1])
    for bound in (1.0, 10.0, 30.0):
        chances = [brute_exceedance(x.tolist(), bound, mu, 0.02) for mu in np.linspace(0, 0.9, 90)]
        assert (np.diff(chances) >= -1e-12).all()


def test_served_cells_are_as_safe_as_promised_when_drawn():
    module = sodap()
    records = module.census(6000, seed=5)
    table = module.census_table(records)
    needs = needs_of(table)
    choice = choose_mu([table], MuOptions(d=0.9))
    served = choice.of("served")
    assert len(served) >= 3
    draws = 400
    unsafe = np.zeros(len(table))
    for seed in range(draws):
        values = perturbed(records, "returns", draw_multipliers(records, Zes(choice.mu), seed))
        unsafe += still_unsafe(needs, table.sums(values) - table.total)
    for cell in served:
        p = cell.probability
        assert 1 - unsafe[cell.cell] / draws == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / draws) + 1e-3)


def test_strata_give_more_noise_to_those_who_need_it():
    module = sodap()
    records = module.census(6000, seed=5)
    table = module.census_table(records)
    stratum = strata_by_need([table])
    needs = needs_of(table)
    assert 0 < stratum.sum() <= 3 * needs.sensitive.sum()
    choice = choose_mu_by_stratum([table], stratum, least=0.05)
    assert set(np.unique(choice.by_unit[stratum == 0])) == {0.05}
    assert set(np.unique(choice.by_unit[stratum == 1])) == {choice.mu} and choice.mu > 0.05
    for cell in choice.cells:
        units, x = (part for part in table.units_in([cell.cell]).of(0))
        wanted = exceedance(x, needs.need[cell.cell], mu=choice.by_unit[units], sigma=0.02)
        assert cell.probability == pytest.approx(wanted, abs=1e-9)
    loud, quiet = (draw_multipliers(records, Zes(), 1, mu=m) for m in (np.full(6000, choice.mu), choice.by_unit))
    noise = [np.abs(table.sums(perturbed(records, "returns", m)) - table.total).sum() for m in (loud, quiet)]
    assert noise[1] < noise[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": -1}, "sigma must be"),
        ({"d": 0.4}, "probability d must be"),
        ({"d": 1}, "probability d must be"),
        ({"cap": 0}, "cap on mu"),
        ({"way": "best"}, "no way 'best' of choosing mu"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        MuOptions(**options)


def test_wrong_strata_are_refused():
    table = one_cell([1, 2])
    with pytest.raises(InputError, match="3 strata for 2 respondents"):
        choose_mu_by_stratum([table], np.zeros(3, int))
    with pytest.raises(InputError, match="least mu must be above 0"):
        choose_mu_by_stratum([table], np.zeros(2, int), least=0.3)


def test_who_has_nearly_all_of_a_cell_is_served_by_little_more_than_p_under_p_percent():
    """The cell is (1, k)-sensitive for k = 100 / 1.15, and yet a mu of 18 % is enough for it."""
    choice = choose_mu([one_cell([9990.0, 10.0], rule=NoiseRule(2, 100 / 1.15, 15))])
    assert [c.status for c in choice.cells] == ["served", "served"]
    assert choice.mu == pytest.approx(0.15 + 0.0329, abs=2e-3)
