"""Multipliers that respondents keep over the years, and an attacker who averages."""

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.methods.perturb.cells.calibration import calibration_table
from cellguard.methods.perturb.cells.respondents import respondents
from cellguard.methods.perturb.draw.attributes import Attributes
from cellguard.methods.perturb.draw.multipliers import Settings, make_multipliers
from cellguard.rules.limits import NoiseRule

P = 0.08


def year(number, *, firms=60, gone=0, new=0):
    """Lone firms, each in a cell of its own, that change little from year to year; some go, others come."""
    rng = np.random.default_rng(9)
    x = rng.integers(800, 5000, firms + 40).astype(float)
    drift = np.random.default_rng(100 + number).normal(1, 0.01, firms + 40)
    keys = [f"f{i:03}" for i in range(gone, firms)] + [f"n{number}{i:02}" for i in range(new)]
    at = [*range(gone, firms), *range(firms, firms + new)]
    records = respondents({"cell": keys}, {"x": np.round(x * drift)[at]}, unit=keys)
    table = calibration_table(records, [Dimension("cell", flat(keys))], "x", rule=NoiseRule(2, p=100 * P))
    return table, np.round(x)[at]


def published(number, earlier, seed, **more):
    table, true = year(number)
    made = make_multipliers(table.records, [table], Settings(**more), seed=seed, earlier=earlier)
    return made, made.totals(table)[1:], true


@pytest.mark.parametrize("kept", [True, False])
def test_an_attacker_who_averages_over_years(kept):
    """With new multipliers every year the average of ten years is close to the truth; with kept ones it is not."""
    first, totals, true = published(0, None, 1)
    saved, all_years = first.save([year(0)[0]]), [totals]
    for number in range(1, 10):
        made, totals, _ = published(number, saved if kept else None, 1 + number)
        all_years.append(totals)
        saved = made.save([year(number)[0]])
    single = (np.abs(all_years[0] / true - 1) < P).mean()
    average = (np.abs(np.mean(all_years, axis=0) / true - 1) < P).mean()
    if kept:
        assert average <= single + 0.1
    else:
        assert average > 0.9 > single + 0.5


def test_respondents_keep_theirs_and_new_ones_draw():
    before, _ = year(0)
    first = make_multipliers(before.records, [before], seed=4)
    now, _ = year(1, gone=10, new=7)
    second = make_multipliers(now.records, [now], seed=5, earlier=first.save([before]))
    old = dict(zip(before.records.keys.tolist(), first.base.tolist(), strict=True))
    for key, m in zip(now.records.keys.tolist(), second.base.tolist(), strict=True):
        assert (m == old[key]) if key in old else (0.02 < abs(m - 1) < 0.2 and m not in old.values())
    assert (second.years.kept, second.years.new, second.years.gone) == (50, 7, 10)
    assert any("50 respondents keep their multipliers" in note for note in second.notes)
    third = make_multipliers(now.records, [now], seed=6, earlier=second.save([now]))
    assert np.array_equal(third.base, second.base)
    other = respondents({"cell": ["a"]}, {"x": [1.0]}, unit=["a"])
    strange = calibration_table(other, [Dimension("cell", flat(["a"]))], "x")
    with pytest.raises(InputError, match="are the keys the same"):
        make_multipliers(other, [strange], seed=1, earlier=first.save([before]))


def test_attribute_multipliers_blur_growth_anew_each_year():
    before, _ = year(0)
    how = Settings(attributes=Attributes("factor"))
    first = make_multipliers(before.records, [before], how, seed=4)
    now, _ = year(1)
    second = make_multipliers(now.records, [now], how, seed=5, earlier=first.save([before]))
    assert np.array_equal(first.base, second.base)
    ratio = second.of("x") / first.of("x") - 1
    assert 0.003 < ratio.std() < 0.012  # sd 0.005 in either year
    plain = make_multipliers(
        now.records, [now], seed=5, earlier=make_multipliers(before.records, [before], seed=4).save([before])
    )
    assert np.array_equal(plain.of("x"), plain.base)


def test_fitted_multipliers_are_kept_with_their_response():
    before, _ = year(0)
    first = make_multipliers(before.records, [before], Settings(method="opt"), seed=4)
    now, _ = year(1)
    second = make_multipliers(now.records, [now], Settings(method="opt"), seed=5, earlier=first.save([before]))
    assert np.array_equal(second.of("x"), first.of("x")) and not np.array_equal(second.of("x"), second.base)
    assert any("fits nothing anew" in note for note in second.notes)
