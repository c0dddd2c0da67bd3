"""Multipliers by optimisation, against programs written down respondent by respondent, and against attackers."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from cellguard.errors import InputError
from cellguard.methods.perturb.draw.multipliers import Settings, make_multipliers
from cellguard.methods.perturb.fit.opt import Opt, fit_desired, least_loss
from cellguard.methods.perturb.fit.supertable import supertable
from cellguard.rules.limits import NoiseRule

from perturb_data import grid_table

CAP = 0.2


def small(seed):
    """Two by two cells, one or two of them dominated, and margins."""
    rng = np.random.default_rng(seed)
    cells = {}
    for at in itertools.product("AB", "XY"):
        values = rng.integers(60, 140, int(rng.integers(5, 8))).tolist()
        if rng.random() < 0.5:
            values[0] = int(sum(values[3:]) * rng.uniform(2.4, 2.9))
        cells[at] = values
    return grid_table(cells)


def respondent_matrix(table):
    return table.membership.matrix.toarray() * table.records.values["x"]


def brute(table, need, sensitive, power):
    """The least loss over all signs, by programs with one variable per respondent."""
    matrix = respondent_matrix(table)
    cells, firms = matrix.shape
    best = np.inf
    for signs in itertools.product((1, -1), repeat=len(sensitive)):
        bound = np.array([-s * matrix[c] for s, c in zip(signs, sensitive, strict=True)]).reshape(-1, firms)
        if power == 1:
            eye = np.eye(cells)
            done = linprog(
                np.concatenate([np.zeros(firms), np.ones(2 * cells)]),
                A_ub=np.hstack([bound, np.zeros((len(sensitive), 2 * cells))]) if len(sensitive) else None,
                b_ub=-need[list(sensitive)] if len(sensitive) else None,
                A_eq=np.hstack([matrix, -eye, eye]),
                b_eq=np.zeros(cells),
                bounds=[(-CAP, CAP)] * firms + [(0, None)] * 2 * cells,
            )
            best = min(best, done.fun) if done.status == 0 else best
            continue
        unit, whole = need[list(sensitive)].max(), matrix[table.interior].sum(axis=1)
        inside = matrix @ (matrix[table.interior] > 0).T / whole  # firms of a cell move alike
        asked = np.array([-s * inside[c] for s, c in zip(signs, sensitive, strict=True)])
        done = minimize(
            lambda y, a=inside, u=unit: ((a @ y / u) ** 2).sum(),
            np.zeros(len(whole)),
            method="SLSQP",
            bounds=[(-CAP * w, CAP * w) for w in whole],
            constraints={"type": "ineq", "fun": lambda y, a=asked, u=unit: (-a @ y - need[list(sensitive)]) / u},
            options={"maxiter": 300, "ftol": 1e-12},
        )
        best = min(best, done.fun * unit**2) if done.success else best
    return best


@pytest.mark.parametrize("power", [1, 2])
def test_least_loss_against_brute_force(power):
    seen = 0
    for seed in range(14):
        table = small(seed)
        whole = supertable([table])
        need = np.zeros(len(table))
        need[whole.rows[0] >= 0] = whole.need[whole.rows[0][whole.rows[0] >= 0]]
        sensitive = np.flatnonzero(whole.sensitive[whole.rows[0]])
        best = least_loss(whole, Opt(norm=f"l{power}", excess=0, cap=CAP), seed)
        if best.beyond or not len(sensitive) or len(sensitive) > 3:
            continue
        expected = brute(table, need, sensitive.tolist(), power)
        noise = whole.noise(best.factor)[whole.rows[0]]
        if np.isinf(expected):
            assert best.short
            continue
        assert (np.abs(noise) ** power).sum() == pytest.approx(expected, rel=2e-4)
        assert not best.short
        seen += 1
    assert seen >= 5


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_no_other_multipliers_come_closer(norm):
    """Where sensitive cells have their noise, nothing that keeps it is better: random moves and their halves."""
    rng = np.random.default_rng(4)
    measure = {"l1": lambda e: np.abs(e).sum(), "l2": lambda e: (e**2).sum(), "linf": lambda e: np.abs(e).max()}[norm]
    for seed in range(6):
        whole = supertable([small(seed)])
        best = fit_desired(whole, Opt(norm=norm, excess=0), seed)
        noise = whole.noise(best.factor)
        wanted = np.where(whole.sensitive, np.sign(noise) * whole.need, 0.0)
        if best.short or best.beyond:
            continue
        for _ in range(300):
            other = np.clip(best.factor + rng.normal(0, 10.0 ** rng.uniform(-4, -1), len(best.factor)), 0.8, 1.2)
            e = whole.noise(other)
            if (np.sign(wanted) * e >= np.abs(wanted))[whole.sensitive].all():
                assert measure(e - wanted) >= measure(noise - wanted) * (1 - 2e-4) - 1e-3


def singleton(n=60, seed=1):
    """Each row is one firm beside many small ones in the other column; the firm is alone in its cell."""
    rng = np.random.default_rng(seed)
    cells = {(f"r{i:02}", "big"): [float(rng.integers(500, 5000))] for i in range(n)}
    cells |= {(f"r{i:02}", "rest"): rng.integers(2000, 3000, 40).astype(float).tolist() for i in range(n)}
    return grid_table(cells, rule=NoiseRule(2, p=10))


def recovered(table, made, cap, within=1e-3):
    """How many lone firms somebody finds who knows p and the cap: X = T_N / (1 +- p) or T_N / (1 +- cap)."""
    hits = 0
    totals = made.totals(table)
    for cell in np.flatnonzero(table.largest.count == 1):
        guesses = [totals[cell] / (1 + s * a) for s in (1, -1) for a in (table.rule.accuracy, cap)]
        hits += any(abs(guess / table.total[cell] - 1) < within for guess in guesses)
    return hits / int((table.largest.count == 1).sum())


@pytest.mark.parametrize("method", ["opt", "least_loss"])
@pytest.mark.parametrize("cap", [0.2, 0.09])
def test_an_attacker_who_knows_p_and_the_cap_finds_nobody(method, cap):
    """Without the excess all lone firms are found; with it hardly more than by chance."""
    table = singleton(16)
    shares = [
        recovered(table, make_multipliers(table.records, [table], settings, seed=5), cap)
        for settings in (Settings(method=method, opt=Opt(cap=cap, excess=excess, norm="l1")) for excess in (0.0, 0.25))
    ]
    if method == "opt" or cap > 0.1:
        assert shares[0] > 0.9
    assert shares[1] <= 0.2


def test_margins_stay_within_the_tolerance_and_interior_cells_make_up_for_it():
    whole = supertable([singleton(8)])
    best = least_loss(whole, Opt(margins=0.001, inside=0.05), 3)
    noise = np.abs(whole.noise(best.factor)) / whole.total
    quiet = whole.margin & ~whole.sensitive
    assert not best.relaxed and noise[quiet].max() <= 0.001 + 1e-6
    assert noise[whole.interior & ~whole.sensitive].max() <= 0.05 + 1e-6
    assert (noise[whole.sensitive] * whole.total[whole.sensitive] >= whole.need[whole.sensitive]).all()
    tight = least_loss(whole, Opt(margins=0.0, inside=0.0), 3)
    assert tight.relaxed and not tight.short  # margins give way before sensitive cells do


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_sum_of_multipliers_can_be_kept(norm):
    table = singleton(3)
    for method in ("opt", "least_loss"):
        settings = Settings(method=method, opt=Opt(norm=norm, keep_sum=True))
        made = make_multipliers(table.records, [table], settings, seed=5)
        assert made.of("x").sum() == pytest.approx(table.records.units, abs=1e-3)
        assert np.abs(made.of("x") - 1).max() > 0.01


def test_multipliers_differ_inside_a_group_whose_total_is_as_wanted():
    table = singleton(8)
    made = make_multipliers(table.records, [table], Settings(method="opt"), seed=5)
    crowd = table.records.unit[table.membership.matrix[[table.table.find("r00/rest")]].indices]
    m = made.of("x")[crowd]
    assert len(np.unique(m)) == len(m) and np.abs(m - 1).max() <= 0.2
    equal = make_multipliers(table.records, [table], Settings(method="opt", assign="equal"), seed=5)
    assert len(np.unique(equal.of("x")[crowd])) == 1
    assert made.totals(table) == pytest.approx(equal.totals(table), abs=2.0)


def test_settings_that_do_not_go_together():
    table = singleton(4)
    with pytest.raises(InputError, match="the least loss that is safe"):
        make_multipliers(table.records, [table], Settings(method="least_loss", opt=Opt(norm="linf")), seed=1)
    with pytest.raises(InputError, match="needs `strata`"):
        make_multipliers(table.records, [table], Settings(method="opt", assign="strata"), seed=1)
    with pytest.raises(InputError, match="no norm 'l3'"):
        Opt(norm="l3")


@pytest.mark.parametrize(
    ("way", "norm"), [("opt", "l1"), ("opt", "l2"), ("opt", "linf"), ("least", "l1"), ("least", "l2")]
)
def test_no_seed_fails_and_none_leaves_a_cell_without_noise_that_the_cap_allows(way, norm):
    """The need is within the whole cap and beyond a part of it: the random excess must not be what prevents it."""
    rng = np.random.default_rng(4)
    cells = {at: rng.integers(60, 140, 6).tolist() for at in itertools.product("AB", "XY")}
    cells["A", "X"] = [1000, 120, 110, 130, 125]  # needs 173.6, and 297 is all that a cap of 0.2 gives
    cells["B", "Y"] = [900, 12, 10, 10, 150]  # needs 225.7, and 216.4 is all: beyond
    whole = supertable([grid_table(cells)])
    solve = fit_desired if way == "opt" else least_loss
    for seed in range(50):
        found = solve(whole, Opt(norm=norm, excess=1.5, cap=CAP), seed, "all", "norms")
        noise = np.abs(whole.noise(found.factor))
        reach = CAP * whole.movable
        served = ~whole.sensitive | (noise >= whole.need * (1 - 1e-6)) | (whole.need > reach)
        assert served.all() and (np.abs(found.factor - 1) <= CAP + 1e-9).all(), (seed, found)
        beyond = whole.sensitive & (whole.need > reach)
        assert (found.beyond, found.short) == (int(beyond.sum()), 0)
        assert (noise[beyond] > 0.35 * reach[beyond]).all(), "what cannot have enough has what it can have"
