"""Strata: every class of respondents has a mu of its own, and replications repeat what was drawn."""

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.draw.attributes import Attributes, define
from cellguard.methods.perturb.draw.mu import MuOptions, choose_mu_by_stratum
from cellguard.methods.perturb.draw.multipliers import Settings, load_multipliers, make_multipliers
from cellguard.methods.perturb.draw.replicate import replicate_as_drawn
from cellguard.methods.perturb.draw.strata import Plan, Strata, by_column, by_need, plan_mu
from cellguard.methods.perturb.draw.zes import Zes, draw_multipliers, perturbed
from cellguard.rules.limits import NoiseRule


def firms(n=60):
    """Firms in four regions; in W, where there are ten, the largest is sensitive, and a mu of some 0.2 protects it."""
    rng = np.random.default_rng(3)
    home, export = rng.uniform(50, 150, n).round(), rng.uniform(20, 60, n).round()
    home[:3] = 3_000, 300, 200
    values = {"home": home, "export": export, "turnover": home + export}
    region = np.where(np.arange(n) < 10, "W", rng.choice(list("NSE"), n))
    return respondents({"region": region}, values, unit=[f"f{i:03}" for i in range(n)])


def table(records, response="turnover"):
    regions = Dimension("region", flat(list(records.labels["region"])))
    return calibration_table(records, [regions], response, name=response, rule=NoiseRule(3, 70))


def sizes(records):
    return np.where(records.value("turnover") > 800, "large", "small").tolist()


def test_zes_draws_each_class_with_its_own_mu():
    records = firms()
    strata = by_column(records, "size", sizes(records), mu={"large": 0.3})
    made = make_multipliers(records, [table(records)], Settings(zes=Zes(0.1, 0.0)), seed=4, strata=strata)
    wanted = np.where(np.array(sizes(records)) == "large", 0.3, 0.1)
    assert np.abs(made.base - 1) == pytest.approx(wanted[np.argsort(records.unit)])
    assert dict(made.plan.classes) == {"large": 0.3, "small": 0.1} and made.plan.strata == "size"


def test_zes_mu_finds_the_mu_of_each_class():
    records = firms()
    tables, options = [table(records)], MuOptions(cap=0.6)
    for strata in (by_column(records, "size", sizes(records), least=0.04), by_need(tables, least=0.04)):
        plan, choice = plan_mu(tables, Zes(), options, strata)
        oracle = choose_mu_by_stratum(tables, strata.of_unit, options, least=0.04)
        assert np.array_equal(plan.by_unit, oracle.by_unit) and choice.mu == oracle.mu > 0.04
        assert sorted(plan.classes.values()) == sorted(set(oracle.by_unit))
        quiet = {label: mu for label, mu in plan.classes.items() if label in ("small", "all others")}
        assert list(quiet.values()) == [0.04]
        made = make_multipliers(records, tables, Settings("zes_mu", mu=options), seed=4, strata=strata)
        assert dict(made.plan.classes) == dict(plan.classes)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda r: by_column(r, "size", ["a"] * 59 + ["b"], mu={"c": 0.1}), "no record has 'c' in 'size'"),
        (lambda r: by_column(r, "size", ["a"] * 60, mu={"a": 1.5}), "above 0 and below 1"),
        (lambda r: plan_mu([table(r)], Zes(), MuOptions(), by_column(r, "s", ["a"] * 60, mu={"a": 0.1})), "itself"),
        (lambda r: plan_mu([table(r)], Zes(), MuOptions(), by_column(r, "s", ["a"] * 60, least=0.5)), "least mu"),
    ],
)
def test_strata_that_make_no_sense_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make(firms())


def test_a_unit_is_in_one_class():
    records = respondents({}, {"x": [1, 2, 3, 4]}, unit=["a", "b", "a", "b"])
    with pytest.raises(InputError, match="2 respondents or holdings have records in several classes of 'size'"):
        by_column(records, "size", ["1", "1", "2", "3"])
    assert by_column(records, "size", ["2", "1", "2", "1"]).of_unit.tolist() == [1, 0]


def test_the_plan_is_saved_with_the_multipliers():
    records = firms()
    strata = by_column(records, "size", sizes(records), mu={"large": 0.3})
    made = make_multipliers(records, [table(records)], seed=4, strata=strata)
    again = load_multipliers(made.save([table(records)]), records)
    assert again.plan.plain() == made.plan.plain() and np.array_equal(again.base, made.base)
    assert made.plan.repeatable and not again.plan.repeatable
    with pytest.raises(InputError, match="who is in which stratum"):
        replicate_as_drawn([table(records)], again, replications=3)
    chosen = make_multipliers(records, [table(records)], Settings("zes_mu", mu=MuOptions(cap=0.6)), seed=4)
    later = load_multipliers(chosen.save([table(records)]), records)
    assert later.plan.zes.mu == chosen.choice.mu != Zes().mu and later.plan.repeatable


def test_without_rounding_and_attributes_a_study_is_that_of_the_plan():
    records = firms()
    tables = [table(records), table(records, "home")]
    strata = Strata("size", ("a", "b"), np.arange(60) % 2, {"a": 0.3})
    made = make_multipliers(records, tables, Settings(decimals=9), seed=4, strata=strata)
    study = replicate_as_drawn(tables, made, replications=20)
    mu = np.where(np.arange(60) % 2, 0.1, 0.3)
    draws = [draw_multipliers(records, made.plan.zes, 4, mu=mu, purpose=number) for number in range(20)]
    runs = np.array([np.concatenate([t.sums(perturbed(records, t.response, m)) for t in tables]) for m in draws])
    totals = np.concatenate([t.total for t in tables])
    assert study.mean_ratio == pytest.approx((runs / totals).mean(axis=0), abs=1e-9)
    assert study.cv == pytest.approx(runs.std(axis=0, ddof=1) / totals, abs=1e-9)
    assert study.of(1) == slice(5, 10)


@pytest.mark.parametrize("variant", ["delta", "factor"])
def test_a_study_has_the_noise_of_attribute_multipliers(variant):
    """turnover = home + export, each with a multiplier of its own, so the variances of its leaves add up."""
    records, sums = firms(), define(["turnover = home + export"])
    tables = [table(records)]
    settings = Settings(attributes=Attributes(variant, 0.3))
    made = make_multipliers(records, tables, settings, seed=4, definitions=sums)
    study = replicate_as_drawn(tables, made, replications=2000)
    home, export = records.value("home"), records.value("export")
    base = 0.1**2 + 0.02**2
    own = 0.3**2 * (1 if variant == "delta" else 1 + base)
    variance = base * (home + export) ** 2 + own * (home**2 + export**2)
    expected = np.sqrt(tables[0].sums(variance)) / tables[0].total
    assert study.cv == pytest.approx(expected, rel=0.08)
    assert study.mean_ratio == pytest.approx(np.ones(5), abs=0.03)


def test_a_study_differs_from_the_run_itself_and_repeats():
    records = firms()
    tables = [table(records)]
    made = make_multipliers(records, tables, seed=4)
    first, second = (replicate_as_drawn(tables, made, replications=2) for _ in range(2))
    assert np.array_equal(first.mean_ratio, second.mean_ratio)
    assert not np.allclose(first.mean_ratio, made.totals(tables[0]) / tables[0].total)


def test_plans_are_read_back():
    plan = Plan(Zes(0.2), "size", {"a": 0.2, "b": 0.1}, np.array([0.2, 0.1]))
    assert Plan.read(plan.plain()).plain() == plan.plain()
