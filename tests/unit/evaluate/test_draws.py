"""Cells drawn at random: distributions, negative draws, seeds."""

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.evaluate.draws import draw_cells


def test_the_same_seed_draws_the_same_cells_and_another_one_others():
    first, again, other = (draw_cells(seed=seed).contributions for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize(
    ("distribution", "mean"),
    [("exponential(2)", 0.5), ("normal(100, 50)", 100), ("lognormal(0, 0.5)", np.exp(0.125)), ("uniform(2, 4)", 3)],
)
def test_draws_have_the_mean_of_their_distribution(distribution, mean):
    drawn = draw_cells(distribution, 10, cells=20_000).contributions
    assert drawn.mean() == pytest.approx(mean, rel=0.02)


def test_contributions_come_largest_first():
    drawn = draw_cells("pareto(2)", 5).contributions
    assert (np.diff(drawn, axis=1) <= 0).all()
    assert drawn.min() >= 1


def test_own_values_and_own_quantiles_can_be_drawn_from():
    assert set(draw_cells(np.array([3.0, 7.0]), 4).contributions.ravel()) == {3.0, 7.0}
    assert draw_cells(lambda u: 5 + 0 * u, 4).contributions.max() == 5


def test_what_becomes_of_negative_draws():
    kept, cut, turned, again = (
        draw_cells("normal(0, 1)", 4, negatives=what).contributions for what in ("keep", "truncate", "abs", "redraw")
    )
    assert (kept < 0).mean() == pytest.approx(0.5, abs=0.05)
    assert cut.min() == 0
    assert turned.min() > 0
    assert np.sort(np.abs(kept).ravel()) == pytest.approx(np.sort(turned.ravel()))
    assert again.min() > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("exponental(1)",), "did you mean 'exponential'"),
        (("normal(1)",), r"write it as normal\(100, 50\)"),
        (("normal(1, 0)",), "make no sense"),
        (("exponential(x)",), "make no sense"),
        ((np.array([1.0, np.nan]),), "none missing"),
        (("normal(-100, 1)", 4, {"negatives": "redraw"}), "does not end"),
        (("normal", 4, {"negatives": "drop"}), "`negatives` cannot be 'drop'"),
        (("normal", 0), "must be 1 or more"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_words(arguments, words):
    options = arguments[-1] if isinstance(arguments[-1], dict) else {}
    with pytest.raises(InputError, match=words):
        draw_cells(*(a for a in arguments if not isinstance(a, dict)), **options)
