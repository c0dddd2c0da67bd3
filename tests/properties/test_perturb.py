"""What must hold for every perturbation: additive, consistent, reproducible, safe where enough noise was added."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellguard.hierarchy.build import flat, from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.cells.sensitivity import desired_totals, dominated, needs_of, s_n, still_unsafe
from cellguard.methods.perturb.draw.distribution import exceedance
from cellguard.methods.perturb.draw.mu import MuOptions, smallest_mu
from cellguard.methods.perturb.draw.zes import Zes, draw_multipliers, perturbed
from cellguard.methods.perturb.fit.directions import directions
from cellguard.rules.limits import NoiseRule

from perturb_data import study

A = Dimension("a", from_levels([("p", "p1"), ("p", "p2"), ("q", "q1"), ("q", "q2"), ("r", "")]))
B = Dimension("b", flat(["x", "y", "z"]))
C = Dimension("c", flat(["1", "2"]))
LEAVES = {"a": A.main.leaves, "b": B.main.leaves, "c": C.main.leaves}


EITHER = st.booleans()


@st.composite
def records(draw, weights=EITHER):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, 60))
    value = rng.lognormal(3, draw(st.floats(0.1, 3)), n)
    value[rng.random(n) < draw(st.sampled_from([0, 0.2]))] = np.nan
    return respondents(
        {name: rng.choice(leaves, n) for name, leaves in LEAVES.items()},
        {"v": value},
        weight=rng.uniform(1, 9, n) if draw(weights) else None,
        unit=[f"u{u}" for u in rng.integers(0, draw(st.integers(1, 80)), n)],
    )


shapes = st.sampled_from(["normal", "beta", "uniform", "triangular", "unimodal"])
ways = st.sampled_from(["random", "balanced"])
seeds = st.integers(0, 2**63 - 1)
rules = st.builds(NoiseRule, st.integers(1, 5), st.floats(51, 95))


def named(table, values):
    """Values by the codes that are not totals."""
    names = [table.table.cell_name(i).split("/") for i in range(len(table))]
    own = [
        frozenset((d.name, c) for d, c in zip(table.table.dimensions, n, strict=True) if c != "Total") for n in names
    ]
    return dict(zip(own, values.tolist(), strict=True))


@settings(deadline=None)
@given(records(), shapes, ways, seeds)
def test_perturbed_tables_are_additive_to_the_last_bit(people, shape, way, seed):
    table = calibration_table(people, [A, B], "v")
    if len(table):
        values = table.sums(perturbed(people, "v", draw_multipliers(people, Zes(shape=shape, directions=way), seed)))
        assert (table.table.relations @ values == 0).all()
        assert (table.table.relations @ table.total == 0).all()


@settings(deadline=None)
@given(records(), seeds)
def test_a_cell_of_two_tables_has_one_value(people, seed):
    values = perturbed(people, "v", draw_multipliers(people, Zes(), seed))
    first, second = (calibration_table(people, by, "v") for by in ([A, B], [C, A]))
    left, right = named(first, first.sums(values)), named(second, second.sums(values))
    shared = left.keys() & right.keys()
    assert shared >= {key for key in left if all(name == "a" for name, _ in key)}
    assert all(left[key] == right[key] for key in shared)


@settings(deadline=None)
@given(records(), shapes, ways, seeds, st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(people, shape, way, seed, random):
    order = np.array(random.sample(range(len(people)), len(people)), int)
    units = people.keys[people.unit]
    shuffled = respondents(
        {name: np.array(people.labels[name])[codes][order] for name, codes in people.codes.items()},
        {"v": people.values["v"][order]},
        weight=None if people.weight is None else people.weight[order],
        unit=units[order],
    )
    zes = Zes(shape=shape, directions=way)
    one, two = (draw_multipliers(p, zes, seed) for p in (people, shuffled))
    assert dict(zip(people.keys, one, strict=True)) == dict(zip(shuffled.keys, two, strict=True))
    tables = [calibration_table(p, [A, B, C], "v") for p in (people, shuffled)]
    sums = [t.sums(perturbed(t.records, "v", m)) for t, m in zip(tables, (one, two), strict=True)]
    assert (sums[0] == sums[1]).all() and (tables[0].total == tables[1].total).all()


@settings(deadline=None)
@given(records(), rules)
def test_cells_sensitive_under_s_n_are_dominated(people, rule):
    table = calibration_table(people, [A, B], "v", rule=rule)
    assert not (needs_of(table).sensitive & ~dominated(table)).any()


@settings(deadline=None)
@given(records(weights=st.just(False)), st.floats(1.01, 5))
def test_s_n_falls_with_noise_q_and_weights_and_rises_with_p(people, factor):
    table = calibration_table(people, [A, B], "v", rule=NoiseRule(3, p=20, q=50))
    needs = needs_of(table)
    noise = np.abs(needs.need) / 3
    assert (s_n(needs, noise * factor) <= s_n(needs, noise)).all()
    for rule, sign in ((NoiseRule(3, p=20, q=90), -1), (NoiseRule(3, p=30, q=50), 1)):
        other = needs_of(calibration_table(people, [A, B], "v", rule=rule))
        assert (sign * (other.need - needs.need) >= -1e-9).all()
    codes = {name: np.array(people.labels[name])[c] for name, c in people.codes.items()}
    units = people.keys[people.unit]
    heavier = respondents(codes, people.values, weight=np.full(len(people), factor), unit=units)
    assert (needs_of(calibration_table(heavier, [A, B], "v", rule=table.rule)).need <= needs.need + 1e-9).all()


@settings(deadline=None)
@given(records(), rules, st.sampled_from(["random", "checkerboard", "blocks", "balanced"]), seeds)
def test_desired_totals_are_safe_and_move_no_other_cell(people, rule, pattern, seed):
    table = calibration_table(people, [A, B], "v", rule=rule)
    if len(table):
        needs = needs_of(table)
        signs = directions(needs, pattern, seed)
        assert set(signs) <= {1.0, -1.0}
        wanted = desired_totals(needs, signs)
        assert not still_unsafe(needs, wanted - table.total).any()
        assert (wanted == table.total)[~needs.sensitive].all()


@settings(deadline=None)
@given(
    st.lists(st.floats(0.01, 1000), min_size=1, max_size=14),
    st.floats(0.001, 0.9),
    st.floats(0.005, 0.1),
    st.floats(0, 1),
)
def test_ways_to_the_distribution_agree(x, mu, sigma, share):
    bound = share * sum(x)
    exact = exceedance(x, bound, mu=mu, sigma=sigma, way="enumerate")
    assert exceedance(x, bound, mu=mu, sigma=sigma, way="characteristic") == pytest.approx(exact, abs=1e-9)
    assert 0 <= exact <= 1 + 1e-12


@settings(deadline=None)
@given(st.lists(st.floats(1, 1000), min_size=1, max_size=10), st.floats(0.01, 0.5), st.floats(0.5, 0.99))
def test_the_smallest_mu_is_enough_and_less_is_not(x, share, d):
    need, options = share * max(x), MuOptions(d=d, cap=0.95)
    mu = smallest_mu(x, need, options)
    if np.isnan(mu):
        assert exceedance(x, need, mu=0.95, sigma=0.02, way="enumerate") < d + 1e-9
    else:
        assert exceedance(x, need, mu=mu, sigma=0.02, way="enumerate") >= d - 1e-9
        if mu > 0.001:
            assert exceedance(x, need, mu=mu * 0.999, sigma=0.02, way="enumerate") < d + 1e-9


@settings(max_examples=8, deadline=None)
@given(records(), shapes, ways, seeds)
def test_the_expected_noise_is_zero(people, shape, way, seed):
    table = calibration_table(people, [A, B], "v")
    if len(table):
        found = study([table], Zes(shape=shape, directions=way), seed, replications=250)
        coarse = 0.01 / np.maximum(np.abs(table.total), 0.01)  # contributions are rounded to two decimals
        assert (np.abs(found.mean_ratio - 1) <= 5.5 * found.cv / 250**0.5 + len(people.unit) * coarse).all()
