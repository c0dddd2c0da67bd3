"""Squares: Eurostat's cells and their codes, neighbours by edges and by corners."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellguard.errors import InputError
from cellguard.geometry.squaregrid import Squares, read_codes

EUROSTAT = "CRS3035RES1000mN2684000E4334000"


def test_a_cell_of_eurostats_grid():
    grid = Squares(1000, epsg=3035)
    x, y = np.array([4334000.0, 4334999.9, 4335000.0]), np.array([2684000.0, 2684999.9, 2684000.0])
    assert grid.codes(*grid.places(x, y)) == [EUROSTAT, EUROSTAT, "CRS3035RES1000mN2684000E4335000"]
    assert Squares(1000, epsg=3035, style="short").codes(*grid.places(x, y))[0] == "1kmN2684E4334"
    corners = grid.corners(*grid.places(x, y))[0]
    assert corners.tolist() == [[4334000, 2684000], [4335000, 2684000], [4335000, 2685000], [4334000, 2685000]]


@pytest.mark.parametrize(
    ("size", "code"),
    [(100, "100mN26840E43340"), (250, "250mN268400E433400"), (5000, "5kmN2680E4330"), (10_000, "10kmN268E433")],
)
def test_short_codes_leave_out_as_many_digits_as_the_size_has_zeros(size, code):
    grid = Squares(size, style="short")
    place = grid.places(np.array([4334000.0]), np.array([2684000.0]))
    assert grid.codes(*place) == [code]
    found, q, r = read_codes([code], "cells")
    assert found.size == size and (q[0], r[0]) == (place[0][0], place[1][0])


@given(
    st.sampled_from([1, 20, 250, 1000, 5000, 100_000]),
    st.lists(st.tuples(st.integers(-3000, 9000), st.integers(-3000, 9000)), min_size=1, max_size=9),
    st.sampled_from([None, 3035, 28992]),
)
def test_codes_are_read_as_they_are_written(size, places, epsg):
    q, r = np.array(places).T
    grid = Squares(size, epsg=epsg)
    found, read_q, read_r = read_codes(grid.codes(q, r), "cells")
    assert (found.size, found.epsg) == (size, epsg)
    assert (read_q == q).all() and (read_r == r).all()


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        ([EUROSTAT, "CRS3035RES2000mN2684000E4334000"], "another size or coordinate system"),
        ([EUROSTAT, "CRS4258RES1000mN2684000E4334000"], "another size or coordinate system"),
        (["CRS3035RES1000mN2684500E4334000"], "corner is no multiple of the size"),
        (["NL01"], "'NL01' is no code of a square"),
        (["1kmN2684E4334 "], "is no code of a square"),
        (["0mN1E1"], "has a size of 0"),
        (["1mN99999999999999E1"], "far from everywhere"),
        ([], "no cell in it"),
    ],
)
def test_codes_that_are_none_are_refused(codes, message):
    with pytest.raises(InputError, match=message):
        read_codes(codes, "cells.csv")


def test_neighbours_by_edges_and_by_corners():
    q, r = (part.ravel() for part in np.meshgrid(np.arange(-3, 4), np.arange(-2, 3), indexing="ij"))
    middle = (q == 0) & (r == 0)
    assert (Squares(1).space(q, r).steps(middle) == np.abs(q) + np.abs(r)).all()
    assert (Squares(1, neighbours=8).space(q, r).steps(middle) == np.maximum(np.abs(q), np.abs(r))).all()


def test_four_squares_make_a_coarser_one():
    grid, x = Squares(1000, epsg=3035), np.array([4334000.0, 4335000.0])
    coarse = grid.coarser()
    assert coarse.codes(*coarse.places(x, x)) == ["CRS3035RES2000mN4334000E4334000"] * 2


def test_what_squares_cannot_be():
    for size in (0.0, np.inf):
        with pytest.raises(InputError, match="size of a square"):
            Squares(size)
    with pytest.raises(InputError, match="missing or infinite"):
        Squares(1.0).places(np.array([np.nan]), np.array([0.0]))
    with pytest.raises(InputError, match="far too small"):
        Squares(1e-9).places(np.array([1e6]), np.array([0.0]))
    assert Squares(0.5).codes(np.array([3]), np.array([-1])) == ["s3:-1"]
