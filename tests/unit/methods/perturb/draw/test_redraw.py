"""Who draws again, who does not, and what somebody who knows about it learns."""

import numpy as np
import pytest

from cellguard.methods.perturb.cells.sensitivity import needs_of, still_unsafe
from cellguard.methods.perturb.draw.multipliers import Settings, make_multipliers
from cellguard.methods.perturb.draw.redraw import LEAST, redraw, set_chances
from cellguard.methods.perturb.draw.zes import Zes
from cellguard.rules.limits import NoiseRule

from perturb_data import grid_table

P = 8.0


def singleton(rows=40, p=P):
    rng = np.random.default_rng(2)
    cells = {(f"r{i:02}", "big"): [float(rng.integers(500, 5000))] for i in range(rows)}
    cells |= {(f"r{i:02}", "rest"): rng.integers(80, 120, 30).astype(float).tolist() for i in range(rows)}
    return grid_table(cells, rule=NoiseRule(2, p=p))


def failing(table, made):
    return still_unsafe(needs_of(table), made.totals(table) - table.total)


def test_only_units_of_failing_cells_draw_again():
    table = singleton()
    first = make_multipliers(table.records, [table], seed=3)
    bad = failing(table, first)
    assert 3 <= bad.sum() <= 20
    done = redraw(first, [table], 100)
    assert not failing(table, done).any() and done.redrawn.left == 0
    changed = np.flatnonzero(done.base != first.base)
    mine = set(table.largest.unit[bad, :2].ravel().tolist())
    assert set(changed.tolist()) <= mine and done.redrawn.units >= len(changed) > 0
    again = redraw(make_multipliers(table.records, [table], seed=3), [table], 100)
    assert np.array_equal(again.base, done.base) and again.redrawn == done.redrawn
    assert redraw(done, [table], 100).redrawn.rounds == 0


def test_cells_that_are_hardly_ever_safe_are_left_alone():
    table = singleton(p=13.5)
    first = make_multipliers(table.records, [table], seed=3)
    chance = {c.cell: c.probability for c in set_chances(first, [table])}
    lonely = np.flatnonzero(table.largest.count == 1).tolist()
    assert all(chance[c] < LEAST for c in lonely)
    done = redraw(first, [table], 50)
    assert failing(table, done)[lonely].sum() == failing(table, first)[lonely].sum() > 0


def test_accepted_cells_do_not_draw_again():
    table = singleton()
    first = make_multipliers(table.records, [table], seed=3)
    names = [("table", table.table.cell_name(c)) for c in np.flatnonzero(failing(table, first)).tolist()]
    assert np.array_equal(redraw(first, [table], 100, accepted=names).base, first.base)


def best_guess(m, within):
    """The largest share of cases in which one fixed factor times the published total is within p of the truth.

    A published total T = m X and nothing known of X beforehand: the attacker's estimate is T / g for some g, and it is
    good if |m / g - 1| <= p. He knows how m is drawn, so he takes the best g.
    """
    return max(float((np.abs(m / g - 1) <= within).mean()) for g in np.linspace(0.7, 1.3, 601))


@pytest.mark.parametrize("p", [8.0, 11.0])
def test_what_an_attacker_learns_who_knows_that_units_drew_again(p):
    """He knows that |m - 1| >= p, no more: two directions stay open, and much of the spread of the sizes."""
    table = singleton(60, p=p)
    lonely = np.flatnonzero(table.largest.count == 1)
    before, after = [], []
    for seed in range(25):
        first = make_multipliers(table.records, [table], Settings(zes=Zes(0.10, 0.02)), seed=seed)
        units = table.largest.unit[lonely, 0]
        before.append(first.base[units])
        after.append(redraw(first, [table], 200).base[units])
    before, after = np.concatenate(before), np.concatenate(after)
    safe = before[np.abs(before - 1) >= p / 100]
    assert np.abs(after - 1).min() >= p / 100 * (1 - 1e-6)
    # The published total itself, and the best fixed correction of it, come no closer than one direction in two.
    assert (np.abs(after - 1) < p / 100 * (1 - 1e-6)).mean() == 0 < (np.abs(before - 1) < p / 100).mean()
    assert best_guess(after, p / 100) <= 0.55 and abs((after > 1).mean() - 0.5) < 0.05
    # What is left of the noise is as if other seeds had been tried until one is safe, and not less.
    assert np.abs(after - 1).std() == pytest.approx(np.abs(safe - 1).std(), rel=0.1)
    assert np.abs(after - 1).std() > 0.4 * 0.02
