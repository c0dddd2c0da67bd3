"""Hexagons: distances by path search, points by the nearest centre, corners that neighbours share."""

import itertools

import numpy as np
import pytest
from scipy.spatial import cKDTree

from cellguard.errors import InputError
from cellguard.geometry.hexgrid import SQRT3, Grid, distance, distinct
from cellguard.geometry.space import Space

import map_oracle as oracle


def test_distances_are_shortest_paths():
    places = list(itertools.product(range(-3, 4), repeat=2))
    q, r = np.array(places).T
    for start in [(0, 0), (2, -3), (-3, -1)]:
        found = distance(q, r, *start)
        assert found.tolist() == [oracle.path_length(start, place) for place in places]


def test_golden_distances():
    """Case 03-hex-distance."""
    pairs = np.array([[0, 0, 1, 0], [0, 0, 1, 1], [0, 0, 2, -1], [-1, 0, 2, -1], [0, 0, 7, 0]]).T
    assert distance(*pairs).tolist() == [1, 2, 2, 3, 7]


@pytest.mark.parametrize("grid", [Grid.of_size(2.5), Grid(3.0, 1.0, -7.0, 2.0)])
def test_a_point_is_in_the_hexagon_of_the_nearest_centre(grid):
    rng = np.random.default_rng(1)
    x, y = rng.uniform(-20, 20, (2, 3000))
    q, r = grid.places(x, y)
    all_q, all_r = np.array(list(itertools.product(range(-60, 61), repeat=2))).T
    # In units of the steps a hexagon is regular, whatever the steps are.
    centres = np.stack([all_q + all_r / 2, all_r * SQRT3 / 2], axis=1)
    points = np.stack([(x - grid.x0) / grid.dx, (y - grid.y0) / grid.dy * SQRT3], axis=1)
    best = cKDTree(centres).query(points)[1]
    assert (all_q[best] == q).all() and (all_r[best] == r).all()


def test_binning_is_that_of_two_lattices_over_the_range():
    """The formula of hexagonal binning: scaled over the range, the nearer of two lattice points."""
    x, y = np.random.default_rng(2).normal(size=(2, 500))
    sx, sy = 30 * (x - x.min()) / np.ptp(x), 30 * (y - y.min()) / (np.ptp(y) * SQRT3)
    q, r = Grid.fit(x, y, 30).places(x, y)
    for a, b, column, row in zip(sx, sy, q + r // 2, r, strict=True):
        one, two = (round(a), round(b)), (np.floor(a) + 0.5, np.floor(b) + 0.5)
        near = [(a - c[0]) ** 2 + 3 * (b - c[1]) ** 2 for c in (one, two)]
        place = (2 * one[1], one[0]) if near[0] <= near[1] else (2 * np.floor(b) + 1, np.floor(a))
        assert (row, column) == place


def test_neighbours_share_corners_exactly():
    grid = Grid(0.19, 0.31)
    q, r = np.array(list(itertools.product(range(3), repeat=2))).T
    corners = grid.corners(q, r).reshape(-1, 2)
    assert len({tuple(corner) for corner in corners.tolist()}) == len(np.unique(corners.round(9), axis=0))
    x, y = grid.centres(q, r)
    assert grid.corners(q, r).mean(axis=1) == pytest.approx(np.stack([x, y], axis=1))


def test_a_round_grid_does_not_tell_where_the_points_end():
    """The exact fit has its corner at the extreme point; the round one is the same whoever lives at the edge."""
    x, y = np.random.default_rng(3).uniform(0, 100, (2, 200))
    moved = x.copy()
    moved[x.argmin()] += 0.05
    moved[x.argmax()] -= 0.05
    assert Grid.fit(x, y) != Grid.fit(moved, y) and Grid.fit(x, y).x0 == x.min()
    assert Grid.fit_round(x, y) == Grid.fit_round(moved, y)


def test_faults_are_told():
    with pytest.raises(InputError, match="size of a hexagon must be above 0"):
        Grid.of_size(0.0)
    with pytest.raises(InputError, match="missing or infinite"):
        Grid.of_size(1.0).places(np.array([np.nan]), np.array([0.0]))
    with pytest.raises(InputError, match="larger `size`"):
        Grid.of_size(1e-9).places(np.array([1e6]), np.array([0.0]))
    with pytest.raises(InputError, match="no point"):
        Grid.fit(np.array([]), np.array([]))
    with pytest.raises(InputError, match="choose larger hexagons"):
        Space.of_hexagons(np.array([0, 10_000]), np.array([0, 10_000]))


def test_hexagons_are_counted_once_in_coordinate_order():
    q, r, at = distinct(np.array([2, -1, 2, 0]), np.array([-5, 3, -5, 0]))
    assert (q.tolist(), r.tolist(), at.tolist()) == ([-1, 0, 2], [3, 0, -5], [2, 0, 2, 1])
    assert len(distinct(np.array([], int), np.array([], int))[0]) == 0
