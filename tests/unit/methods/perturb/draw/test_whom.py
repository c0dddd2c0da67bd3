"""Only large units with small weights are perturbed, and the choice of mu knows it."""

import numpy as np
import pytest

from cellguard.methods.perturb.cells.sensitivity import needs_of
from cellguard.methods.perturb.draw.distribution import exceedance
from cellguard.methods.perturb.draw.multipliers import Settings, make_multipliers
from cellguard.methods.perturb.draw.noise import table_statistics
from cellguard.methods.perturb.draw.strata import Whom

from perturb_data import grid_table, sodap


def test_others_keep_their_values_and_less_is_lost():
    tables = sodap().survey_tables(sodap().survey())[:1]
    records = tables[0].records
    losses = {}
    for whom in (None, Whom(weight_below=2), Whom(largest=True), Whom(2, True)):
        made = make_multipliers(records, tables, Settings(), seed=3, whom=whom)
        losses[whom] = table_statistics(tables, [made.totals(t) for t in tables]).loss
        moved = made.base != 1
        if whom is not None and whom.weight_below:
            assert set(np.flatnonzero(moved)) <= set(records.unit[records.weight < 2])
        if whom is not None and whom.largest:
            assert 0 < moved.sum() < 30
        needs = needs_of(tables[0])
        loud = np.abs(made.totals(tables[0]) - tables[0].total)[needs.sensitive]
        assert (loud > 0).all()
    assert losses[None] > losses[Whom(largest=True)] and losses[None] > losses[Whom(2, True)]


def test_mu_is_chosen_for_those_who_are_perturbed():
    """The others' noise is no help and no hindrance: with the largest alone the formula is right."""
    table = grid_table({("A", "X"): [6000, 1500, 1000, 800, 400, 300], ("B", "X"): [100.0] * 40})
    wide = Settings(method="zes_mu", mu=make_multipliers(table.records, [table], seed=1).settings.mu)
    alone = make_multipliers(table.records, [table], wide, seed=1, whom=Whom(largest=True))
    everyone = make_multipliers(table.records, [table], wide, seed=1)
    for made, units in ((alone, 3), (everyone, 6)):
        (cell,) = [c for c in made.choice.cells if c.name.startswith("A")][:1]
        noise = []
        for seed in range(400):
            again = make_multipliers(table.records, [table], Settings(), seed=seed, whom=Whom(largest=units == 3))
            noise.append(abs(again.totals(table)[cell.cell] - table.total[cell.cell]))
        # mu = 0.1 gives the chance that the exact distribution says for those who are perturbed
        need = needs_of(table).need[cell.cell]
        assert np.mean(np.array(noise) > need) == pytest.approx(chance(units, need), abs=0.07)


def chance(units, need):
    return exceedance([6000, 1500, 1000, 800, 400, 300][:units], need, mu=0.1, sigma=0.02)
