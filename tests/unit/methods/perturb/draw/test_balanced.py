"""Balanced noise: by hand, in its range, at the totals, and what an attacker who knows the method concludes."""

import itertools

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.methods.perturb.cells.respondents import Respondents
from cellguard.methods.perturb.checks.finding import Cell
from cellguard.methods.perturb.draw.balanced import Balanced, balance, guarded_units, settle, sides
from cellguard.methods.perturb.draw.multipliers import Multipliers, Settings, load_multipliers, make_multipliers
from cellguard.methods.perturb.draw.redraw import redraw
from cellguard.methods.perturb.draw.replicate import replicate_as_drawn
from cellguard.methods.perturb.workflow import check_tables
from cellguard.rules.limits import NoiseRule

from perturb_data import grid_table

RULE = NoiseRule(2, p=10.0)
SAFE = {("a", "x"): [100.0, 80, 50, 30, 20], ("b", "x"): [70.0, 60, 55, 40, 35, 20]}
BIG = {("c", "x"): [500.0, 3, 2], ("a", "y"): [900.0]}


def made_for(table, *, seed=1, decimals=2, **how):
    settings = Settings("balanced", balanced=Balanced(**how), decimals=decimals)
    return make_multipliers(table.records, [table], settings, seed=seed)


def noise(table, made):
    return made.totals(table) - table.total


def cells(table):
    return {table.table.cell_name(cell): cell for cell in range(len(table))}


def test_sides_by_hand():
    """Massell and Funk's order: 60 up; 45 down leaves 15; 12 down leaves 3; 9 down leaves -6; 6 up leaves 0."""
    sizes = np.full(5, 0.1)
    assert sides(sizes, np.array([600.0, 450, 120, 90, 60]), 1.0).tolist() == [1, -1, -1, -1, 1]
    assert sides(sizes, np.array([600.0, 450, 120, 90, 60]), -1.0).tolist() == [-1, 1, 1, 1, -1]
    assert sides(sizes[:2], np.array([600.0, -450.0]), 1.0).tolist() == [1, 1], (
        "a negative contribution moves against it"
    )


@pytest.mark.parametrize("seed", range(20))
def test_sizes_settle_where_that_is_possible_and_stay_otherwise(seed):
    rng = np.random.default_rng(seed)
    x, size = rng.uniform(1, 100, 4), rng.uniform(0.1, 0.2, 4)
    noise = size * x * np.array([1, -1, -1, 1])
    found = settle(size, noise, 0.1, 0.2)
    ends = [sum(r * x[i] for i, r in zip((0, 3), up, strict=True)) for up in itertools.product((0.1, 0.2), repeat=2)]
    downs = [sum(r * x[i] for i, r in zip((1, 2), up, strict=True)) for up in itertools.product((0.1, 0.2), repeat=2)]
    if min(ends) <= max(downs) and min(downs) <= max(ends):
        assert abs((found / size * noise).sum()) < 1e-9 and found.min() >= 0.1 - 1e-12 and found.max() <= 0.2 + 1e-12
    else:
        assert found.tolist() == size.tolist()


@pytest.mark.parametrize("shape", ["uniform", "triangular", "beta"])
def test_all_multipliers_are_in_the_range_on_either_side(shape):
    table = grid_table(SAFE | BIG, rule=RULE)
    for seed in range(30):
        for totals in ("near", "exact"):
            away = np.abs(made_for(table, seed=seed, low=0.1, high=0.2, shape=shape, totals=totals).base - 1)
            assert away.min() >= 0.1 - 1e-9 and away.max() <= 0.2 + 1e-9


def test_cells_that_need_no_noise_are_nearer_than_by_chance_or_exact():
    table = grid_table(SAFE | BIG, rule=RULE)
    at = [cells(table)[name] for name in ("a/x", "b/x")]
    chance, near, exact = [], [], []
    for seed in range(60):
        chance.append(
            table.sums(
                make_multipliers(table.records, [table], Settings(zes=Balanced().zes), seed=seed).contributions("x")
            )[at]
            - table.total[at]
        )
        near.append(noise(table, made_for(table, seed=seed))[at])
        exact.append(noise(table, made_for(table, seed=seed, totals="exact"))[at])
    assert np.abs(near).mean() < 0.4 * np.abs(chance).mean()
    assert np.abs(exact).max() == 0.0
    assert made_for(table, totals="exact").balance.exact == 2


@pytest.mark.parametrize("decimals", [0, 1])
def test_exact_totals_hold_to_the_last_decimal_with_holdings_and_weights(decimals):
    rng = np.random.default_rng(3)
    data = {(r, c): rng.integers(50, 500, 12).astype(float).tolist() for r in "abc" for c in "xy"}
    table = grid_table(data, rule=RULE)
    made = made_for(table, decimals=decimals, totals="exact")
    assert made.balance.cells == made.balance.exact == 6
    assert np.abs(noise(table, made)).max() == 0.0


def test_saved_multipliers_say_whose_noise_protects():
    table = grid_table(SAFE | BIG, rule=RULE)
    made = made_for(table, totals="exact")
    again = load_multipliers(made.save([table]), table.records)
    assert again.balance == made.balance and np.array_equal(again.totals(table), made.totals(table))
    assert np.array_equal(again.known(["x"]).base, made.known(["x"]).base)


def test_replications_balance_too_and_redraw_touches_guarded_units_only():
    table = grid_table(SAFE | BIG | {("d", "x"): [300.0, 290, 1]}, rule=RULE)
    made = made_for(table, low=0.05, high=0.3)
    study = replicate_as_drawn([table], made, replications=20)
    at = cells(table)
    assert study.noise.size[at["a/x"]] < 0.05 * 280
    for seed in range(12):
        first = made_for(table, seed=seed, low=0.05, high=0.3)
        done = redraw(first, [table], 100)
        changed = done.base != first.base
        assert not (changed & ~guarded_units([table])).any()


def test_unknown_tables_and_ranges_are_refused():
    table = grid_table(SAFE, rule=RULE)
    with pytest.raises(InputError, match="no table 'tabel'; did you mean 'table'"):
        settings = Settings("balanced", balanced=Balanced(table="tabel"))
        make_multipliers(table.records, [table], settings, seed=1)
    with pytest.raises(InputError, match="`high` above it"):
        Balanced(0.2, 0.2)


# The check: what somebody concludes who knows the method.


def test_a_range_within_p_is_refused_whatever_the_noise():
    table = grid_table(SAFE | BIG, rule=RULE)
    kinds = [f.kind for f in check_tables([table], made_for(table, low=0.05, high=0.1)).open]
    assert "range" in kinds
    assert "range" not in [f.kind for f in check_tables([table], made_for(table, low=0.05, high=0.11)).open]


def test_noise_that_was_balanced_does_not_count():
    """A cell that is safe by noise which others' noise tells is not safe: a difference of cells of another table."""
    table = grid_table(SAFE, rule=RULE)
    made = made_for(table)
    assert not made.balance.guarded
    assert np.abs(noise(table, made.known(["x"]))).max() == 0.0, "nobody is guarded, so no noise counts"
    other = grid_table({("a", "x"): [100.0], ("a", "z"): [80.0, 50, 30, 20], ("b", "x"): SAFE["b", "x"]}, rule=RULE)
    later = Multipliers(
        other.records, np.resize(made.base, 11), {}, made.settings, made.plan, made.definitions, 1, balance=made.balance
    )
    found = check_tables([other], later)
    assert found.verdict == "unsafe"
    assert Cell("table", "a/x") in {cell for f in found.open for cell in f.cells if f.kind == "sensitive"}


def _alternatives(table, made, unit, low, high):
    """Values of a guarded contributor with which the same tables are published, by trying sides and sizes.

    The table is made again with each, all of the method's steps from the same draws, but for the one multiplier.
    """
    records, mine = table.records, made.base[unit] * table.records.plain("x")[unit]
    found = []
    for side, size in itertools.product((1, -1), np.linspace(low, high, 9)):
        value = mine / (1 + side * size)
        x = records.plain("x").copy()
        x[unit] = value
        other = Respondents(records.codes, records.labels, {"x": x}, None, records.owners)
        twin = grid_of(other, table)
        if not guarded_units([twin])[unit]:
            continue
        base = made.plan_base.copy()
        base[unit] = 1 + side * size
        drawn = Multipliers(other, base, {}, made.settings, made.plan, made.definitions, made.seed)
        after = balance(drawn, [twin], made.settings.balanced)[0]
        if np.abs(twin.sums(after * x) - table.sums(made.base * records.plain("x"))).max() < 1e-6:
            found.append(value)
    return np.array(found)


def grid_of(records, table):
    from cellguard.methods.perturb.cells.calibration import calibration_table

    by = dict(zip(table.columns, table.table.dimensions, strict=True))
    return calibration_table(records, by, "x", name="table", rule=RULE)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("totals", ["near", "exact"])
def test_brute_force_every_published_table_could_come_from_contributions_p_away(seed, totals):
    """For every unsafe cell the attacker's interval, over all worlds with the same tables, reaches beyond p percent."""
    rng = np.random.default_rng(seed)
    data = {(r, "x"): rng.integers(20, 90, 5).astype(float).tolist() for r in "ab"}
    data |= {("c", "x"): [float(rng.integers(300, 900)), 3.0, 2.0], ("a", "y"): [float(rng.integers(400, 900))]}
    table, low, high = grid_table(data, rule=RULE), 0.12, 0.25
    start = make_multipliers(table.records, [table], Settings(zes=Balanced(low, high).zes), seed=seed)
    drawn = Multipliers(
        table.records,
        start.base,
        {},
        Settings("balanced", balanced=Balanced(low, high, totals=totals), decimals=9),
        start.plan,
        start.definitions,
        seed,
    )
    made = Multipliers(
        table.records,
        balance(drawn, [table], drawn.settings.balanced)[0],
        {},
        drawn.settings,
        start.plan,
        start.definitions,
        seed,
    )
    object.__setattr__(made, "plan_base", start.base)
    tried = 0
    for unit in np.flatnonzero(guarded_units([table])).tolist():
        true = table.records.plain("x")[unit]
        if true < 100:
            continue
        worlds = _alternatives(table, made, unit, low, high)
        tried += 1
        assert len(worlds) >= 9
        assert (worlds > true * 1.1).any() or (worlds < true * 0.9).any()
        least, most = worlds.min(), worlds.max()
        assert (most - least) > 0.1 * (most + least), "no estimate is within 10 % of all of them"
    assert tried == 2
