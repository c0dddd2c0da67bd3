"""Areas: neighbours by shared borders, points in polygons with holes and parts, lists of neighbours."""

import numpy as np
import pytest

from cellguard.errors import InputError, NotProtected
from cellguard.geometry.areas import Areas


def box(x, y, wide=1.0, high=1.0):
    return np.array([[x, y], [x + wide, y], [x + wide, y + high], [x, y + high]])


OUTLINES = {
    "a": [[box(0, 0)]],
    "b": [[box(1, 0)]],
    "c": [[box(0, 1), box(0.25, 1.25, 0.5, 0.5)], [box(5, 5)]],  # with a hole, and a second part
    "d": [[box(0.25, 1.25, 0.5, 0.5)]],  # in the hole
    "e": [[box(2, 1)]],  # meets b in a corner only
}


def test_neighbours_share_an_edge():
    areas = Areas.of_outlines(OUTLINES)
    named = {tuple(areas.names[i] for i in pair) for pair in areas.pairs}
    assert named == {("a", "b"), ("a", "c"), ("c", "d")}
    assert areas.alone == ["e"]


def test_points_are_in_parts_and_not_in_holes():
    areas = Areas.of_outlines(OUTLINES)
    x, y = np.array([0.5, 1.5, 0.1, 0.5, 5.5, 2.5]), np.array([0.5, 0.5, 1.1, 1.5, 5.5, 1.5])
    assert areas.codes(*areas.places(x, y)) == ["a", "b", "c", "d", "c", "e"]
    with pytest.raises(InputError, match="1 points are in none of the areas"):
        areas.places(np.array([9.0]), np.array([9.0]))


def test_points_are_where_a_winding_count_says():
    rng = np.random.default_rng(1)
    angle = np.sort(rng.uniform(0, 2 * np.pi, 25))
    star = np.stack([np.cos(angle), np.sin(angle)], axis=1) * rng.uniform(0.3, 1.0, 25)[:, None]
    areas = Areas.of_outlines({"star": [[star]], "rest": [[box(-2, -2, 4, 4), star]]})
    x, y = rng.uniform(-1, 1, (2, 400))
    ends = np.vstack([star, star[:1]])[:, :, None] - np.stack([x, y])[None]
    turn = np.arctan2(ends[:, 1], ends[:, 0])
    winding = np.rint(((np.diff(turn, axis=0) + np.pi) % (2 * np.pi) - np.pi).sum(axis=0) / (2 * np.pi))
    inside = np.array([name == "star" for name in areas.codes(*areas.places(x, y))])
    assert (inside == (winding != 0)).all() and 20 < inside.sum() < 380


def test_a_list_of_neighbours():
    areas = Areas.of_list([("b", "a"), ("a", "b"), ("b", "c"), ("island", "")])
    assert areas.names == ("a", "b", "c", "island") and areas.pairs == ((0, 1), (1, 2)) and areas.alone == ["island"]
    with pytest.raises(InputError, match="does not say where areas are"):
        areas.places(np.zeros(1), np.zeros(1))
    with pytest.raises(InputError, match="there is no area 'd'"):
        areas.named(["a", "d"], "cells.csv")
    with pytest.raises(NotProtected, match="areas cannot be made larger"):
        areas.coarser()
