"""All tables of a family as sums of movers, and raking them as one."""

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.hierarchy.build import flat, from_levels
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.draw.multipliers import Settings, make_multipliers
from cellguard.methods.perturb.fit import opt
from cellguard.methods.perturb.fit.marg import Marg, marg
from cellguard.methods.perturb.fit.opt import Opt
from cellguard.methods.perturb.fit.raking import Margins, rake
from cellguard.methods.perturb.fit.supertable import supertable
from cellguard.randomness import stream


def firms(n=300, seed=1, *, holdings=0, weight=False):
    rng = np.random.default_rng(seed)
    codes = {name: rng.choice(list(values), n) for name, values in {"a": "ABC", "b": "123", "c": "xy"}.items()}
    unit = [f"h{i % holdings}" if holdings and i < 3 * holdings else f"f{i:04}" for i in range(n)]
    values = {"x": rng.lognormal(4, 1.3, n).round(), "y": rng.lognormal(3, 1, n).round()}
    return respondents(codes, values, unit=unit, weight=rng.uniform(1, 4, n) if weight else None)


def table(records, by, response="x", name=None):
    dimensions = [Dimension(d, flat(sorted(records.labels[d]))) for d in by]
    return calibration_table(records, dimensions, response, name=name or "".join(by))


@pytest.mark.parametrize("weight", [False, True])
@pytest.mark.parametrize("holdings", [0, 12])
def test_noise_is_what_multiplied_records_add_up_to(holdings, weight):
    records = firms(holdings=holdings, weight=weight)
    tables = [table(records, "ab"), table(records, "bc"), table(records, "c")]
    whole = supertable(tables)
    factor = np.random.default_rng(5).uniform(0.8, 1.2, len(whole.units))
    m = np.append(factor, 1.0)[whole.mover["x"]]
    weighted = records.values["x"] * (m[records.unit] + (0 if records.weight is None else records.weight - 1))
    noise = whole.noise(factor)
    for here, row in zip(tables, whole.rows, strict=True):
        true = here.total + np.where(row >= 0, noise[row], 0.0)
        assert here.sums(weighted) == pytest.approx(true, rel=1e-9)
    assert len(whole.total) < sum(map(len, tables))  # shared margins are one row
    assert whole.units.sum() + whole.stays == records.units


def test_definitions_are_movers_of_their_leaves():
    records = firms()
    total = {"z": records.values["x"] - records.values["y"]}
    records = respondents(
        {k: np.array(records.labels[k])[v].tolist() for k, v in records.codes.items()},
        {**records.values, **total},
    )
    parts = {"z": {"x": 1, "y": -1}}
    whole = supertable([table(records, "ab", "z"), table(records, "c", "x")], parts)
    assert set(whole.mover) == {"x", "y"} and (whole.matrix.data < 0).any()
    with pytest.raises(InputError, match="no differences"):
        marg(whole, Marg(), stream(1, "t"))


@pytest.mark.parametrize("order", ["margins", "top_down"])
@pytest.mark.parametrize("variant", ["document", "unbiased"])
def test_marg_on_several_tables_meets_its_margins(variant, order):
    records = firms(600)
    tables = [table(records, "ab"), table(records, "bc")]
    whole = supertable(tables)
    factor, raked = marg(whole, Marg(variant=variant, order=order, most=10_000), stream(3, "marg"))
    noise = whole.noise(factor) / whole.total
    margins = whole.margin & ~whole.interior
    if order == "margins":
        assert raked.residual < 1e-9 and np.abs(noise[margins]).max() <= 0.01
    assert np.abs(noise[whole.interior]).max() > 0.02 and (factor > 0).all()
    assert abs(noise[np.argmax(whole.total)]) <= 0.011


@pytest.mark.parametrize("hold", ["one_way", "two_way", "all"])
def test_marg_holds_the_margins_that_are_asked_for(hold):
    records = firms(900)
    whole = supertable([table(records, "abc")])
    factor, raked = marg(whole, Marg(hold=hold, margin=0.0, most=10_000), stream(3, "marg"))
    noise = np.abs(whole.noise(factor) / whole.total)
    codes = np.stack(whole.tables[0].table.codes, axis=1)
    above = [(codes[:, d] != dim.position[dim.total]) for d, dim in enumerate(whole.tables[0].table.dimensions)]
    ways = np.sum(above, axis=0)
    worst = [noise[whole.rows[0][(ways == k) & (whole.rows[0] >= 0)]].max() for k in range(4)]
    assert raked.residual < 1e-9 and worst[0] < 1e-8 and worst[1] < 1e-8
    assert (worst[2] < 1e-8) == (hold != "one_way") and worst[3] > 1e-3


def test_cells_with_many_contributors_stay():
    records = firms(900)
    here = table(records, "ab")
    whole = supertable([here])
    how = Marg(most=90, keep=("ab: A/1",))
    factor, _ = marg(whole, how, stream(3, "marg"))
    noise = whole.noise(factor)
    stay = whole.interior & (whole.count > 90) & ~whole.sensitive
    stay[whole.rows[0][here.table.find("A/1")]] = True
    assert stay.sum() > 1 and np.abs(noise[stay]).max() == 0 and np.abs(noise[whole.interior & ~stay]).min() > 0


def test_the_unbiased_variant_has_no_direction():
    whole = supertable([table(firms(600), "ab")])
    inside = np.flatnonzero(whole.interior)
    high = inside[np.argmax(whole.share[inside])]
    moves = {
        variant: np.mean(
            [whole.noise(marg(whole, Marg(variant=variant, most=10_000), stream(s, "m"))[0])[high] for s in range(200)]
        )
        / whole.total[high]
        for variant in ("document", "unbiased")
    }
    assert moves["document"] > 0.02 and abs(moves["unbiased"]) < 0.01


def test_raking_refuses_what_cannot_be():
    with pytest.raises(InputError, match="cannot be anything but 0"):
        rake(np.zeros(2), [Margins(np.array([0, 0]), np.array([1.0]))])
    with pytest.raises(InputError, match="0 or more"):
        rake(np.array([-1.0]), [])
    odd = rake(np.ones(2), [Margins(np.array([0, 0]), np.array([1.0])), Margins(np.array([0, 0]), np.array([3.0]))])
    assert odd.sweeps == 10_000 and odd.residual > 0.1


def test_records_that_no_published_cell_holds_do_not_move():
    records = respondents({"a": ["p1", "p2", "q"]}, {"x": [5.0, 7.0, 9.0]})
    uneven = Dimension("a", from_levels([("p", "p1"), ("p", "p2"), ("q", "")]))
    here = calibration_table(records, [uneven], "x", levels={"a": [2]})
    whole = supertable([here])
    assert whole.mover["x"].tolist() == [0, 1, -1] and whole.matrix.toarray().tolist() == [[5, 0], [0, 7]]
    for method in ("opt", "least_loss", "marg", "marg_zes"):
        made = make_multipliers(records, [here], Settings(method=method), seed=1)
        assert np.isfinite(made.of("x")).all() and made.of("x")[2] == 1


def test_contributions_below_0_can_be_fitted():
    rng = np.random.default_rng(2)
    values = np.round(rng.normal(0, 100, 60))
    values[:2] = 5000, -4800
    records = respondents({"a": rng.choice(list("AB"), 60).tolist(), "b": ["1"] * 60}, {"x": values})
    here = table(records, "ab")
    for norm in ("l1", "l2", "linf"):
        made = make_multipliers(records, [here], Settings(method="opt", opt=Opt(norm=norm, cap=0.5)), seed=1)
        assert np.isfinite(made.of("x")).all() and np.abs(made.of("x") - 1).max() <= 0.5 + 1e-9
    with pytest.raises(InputError, match="0 or more"):
        make_multipliers(records, [here], Settings(method="marg"), seed=1)


@pytest.mark.parametrize("method", ["marg", "marg_zes", "opt", "least_loss"])
def test_the_order_of_the_records_does_not_matter(method):
    records = firms(300, holdings=9)
    order = np.random.default_rng(1).permutation(len(records))
    codes = {name: np.array(records.labels[name])[column][order] for name, column in records.codes.items()}
    values = {name: column[order] for name, column in records.values.items()}
    turned = respondents(codes, values, unit=records.keys[records.unit][order])
    by_key = []
    for people in (records, turned):
        tables = [table(people, "ab"), table(people, "bc")]
        norm = "l2" if method == "opt" else "l1"
        made = make_multipliers(people, tables, Settings(method=method, opt=Opt(norm=norm)), seed=4)
        by_key.append(dict(zip(people.keys.tolist(), made.of("x").tolist(), strict=True)))
    assert by_key[0] == by_key[1]


def test_too_many_cells_for_least_squares_are_refused(monkeypatch):
    monkeypatch.setattr(opt, "_MOST_SQUARES", 5)
    records = firms(60)
    with pytest.raises(InputError, match="takes up to 5 cells"):
        make_multipliers(records, [table(records, "ab")], Settings(method="opt", opt=Opt(norm="l2")), seed=1)
