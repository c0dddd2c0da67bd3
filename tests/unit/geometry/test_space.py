"""Spaces: steps by path search, clusters by flooding."""

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.geometry.hexgrid import distance, distinct
from cellguard.geometry.space import Space

import map_oracle as oracle


def random_hexagons(seed, cells=25):
    rng = np.random.default_rng(seed)
    q, r, _ = distinct(rng.integers(-6, 7, cells), rng.integers(-6, 7, cells))
    return q, r


@pytest.mark.parametrize("seed", range(20))
def test_steps_over_the_box_are_steps_over_the_full_grid(seed):
    q, r = random_hexagons(seed)
    space = Space.of_hexagons(q, r)
    for cell in range(len(q)):
        source = np.arange(len(q)) == cell
        assert (space.steps(source) == distance(q, r, q[cell], r[cell])).all()


@pytest.mark.parametrize("seed", range(20))
def test_clusters_are_what_flooding_finds(seed):
    q, r = random_hexagons(seed)
    occupied = np.random.default_rng(seed).random(len(q)) < 0.7
    label = Space.of_hexagons(q, r).clusters(occupied)
    places = list(zip(q.tolist(), r.tolist(), strict=True))
    expected = oracle.clusters([p for p, o in zip(places, occupied, strict=True) if o])
    found = [{p for p, k in zip(places, label, strict=True) if k == n} for n in range(label.max() + 1)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected)) and (label[~occupied] == -1).all()


def test_areas_by_their_neighbours():
    space = Space.of_pairs(5, [(0, 1), (1, 2), (1, 2)])
    assert space.steps(np.array([True, False, False, False, False])).tolist() == [0, 1, 2, -1, -1]
    assert len(Space.of_hexagons(np.array([], int), np.array([], int))) == 0
    with pytest.raises(InputError, match="numbered from 0 to 4"):
        Space.of_pairs(5, [(0, 5)])
