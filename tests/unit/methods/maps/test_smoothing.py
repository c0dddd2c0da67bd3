"""Smoothing by a plain sum over all pairs of squares, its measures by hand, and why it is no proof."""

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.methods.maps.contributors import Contributors
from cellguard.methods.maps.smoothing.kernel_smoothing import Raster, kernel, reach


def some_raster(seed, bandwidth=1.0):
    rng = np.random.default_rng(seed)
    cells = [(q, r) for q in range(6) for r in range(5) if rng.random() < 0.6] or [(0, 0)]
    cell = np.concatenate([np.arange(len(cells)), rng.integers(0, len(cells), 40)])
    values = Contributors.of(cell, np.ceil(rng.lognormal(2, 1, len(cell))), len(cells))
    q, r = np.array(cells).T
    return Raster.of(q, r, values, reach(bandwidth))


@pytest.mark.parametrize("bandwidth", [0.4, 1.0, 1.7])
def test_smoothing_is_a_weighted_sum_of_surroundings(bandwidth):
    before = some_raster(1, bandwidth)
    after, far = before.smoothed(bandwidth), int(3 * bandwidth)
    weight = {
        (i, j): np.exp(-(i * i + j * j) / (2 * bandwidth**2))
        for i in range(-far, far + 1)
        for j in range(-far, far + 1)
    }
    whole = sum(weight.values())
    wide, high = before.total.shape
    for layer in ("count", "total", "largest", "second"):
        true, made = getattr(before, layer), getattr(after, layer)
        for q in range(wide):
            for r in range(high):
                near = [
                    w * true[q + i, r + j] for (i, j), w in weight.items() if 0 <= q + i < wide and 0 <= r + j < high
                ]
                assert made[q, r] == pytest.approx(sum(near) / whole)
        assert made.sum() == pytest.approx(true.sum()), "nothing is lost at the margin"


def test_measures_by_hand():
    """One square of 8, 2 and 1: the largest is 8/11 of the sum, and 8/9 of it without the second."""
    before = Raster.of(np.array([0]), np.array([0]), Contributors.of([0, 0, 0], [8.0, 2.0, 1.0], 1), 0)
    assert before.risk("external")[0, 0] == pytest.approx(8 / 11)
    assert before.risk("internal")[0, 0] == pytest.approx(8 / 9)
    assert before.risk("discrete")[0, 0] == pytest.approx(11 / 3)
    assert before.sensitive("external", 0.7, 3).all() and not before.sensitive("external", 0.75, 3).any()
    assert before.sensitive("internal", 0.75, 3).all() and before.sensitive("external", 0.75, 4).all()


def test_the_least_count_is_scaled_as_sdcspatial_scales_it():
    weights = kernel(1.0)
    assert len(weights) == 7 and some_raster(1).smoothed(1.0).scale == pytest.approx(weights[1] ** 2)


def test_an_attacker_who_knows_the_kernel_undoes_it():
    """Which is why the verdict is not proven: from smoothed counts of two decimals the true ones follow."""
    before = some_raster(3, 0.5)
    shown = np.round(before.smoothed(0.5).count, 2)
    weights, (wide, high) = kernel(0.5), shown.shape
    blur = [np.eye(n) * weights[1] + (np.eye(n, k=1) + np.eye(n, k=-1)) * weights[0] for n in (wide, high)]
    solved = np.linalg.solve(blur[0], np.linalg.solve(blur[1], shown.T).T)
    assert (np.round(solved) == before.count).all() and before.count.max() > 1


def test_too_wide_a_map_is_refused():
    with pytest.raises(InputError, match="choose larger ones to smooth it"):
        Raster.of(np.array([0, 10_000]), np.array([0, 10_000]), Contributors.of([0, 1], [1.0, 1.0], 2), 0)
