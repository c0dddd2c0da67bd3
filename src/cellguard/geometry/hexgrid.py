"""Hexagonal grids: which hexagon a point is in, and where a hexagon is.

Two interleaved rectangular lattices are the centres of pointy-top hexagons: one at whole multiples of the steps
(dx, dy), one half a step aside in both directions; the hexagons are regular if dy = sqrt(3) dx. A hexagon is named by
its axial coordinates (q, r): its centre is (x0 + dx (q + r/2), y0 + dy r/2), its neighbours are (q, r) plus
(+-1, 0), (0, +-1), (1, -1), (-1, 1), and two hexagons are (|dq| + |dr| + |dq + dr|)/2 steps apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from cellguard.arrays import FloatArray, LongArray
from cellguard.errors import InputError
from cellguard.geometry.space import HEXAGONAL, Space
from cellguard.geometry.tiling import Shape, of_corners

SQRT3 = math.sqrt(3.0)
FARTHEST = 2.0**30  # cells from the origin: sums of coordinates must stay exact


@dataclass(frozen=True, slots=True)
class Grid:
    """A hexagonal grid: the steps between the centres of one lattice, and the centre of hexagon (0, 0).

    >>> grid = Grid.of_size(10.0)
    >>> [part.tolist() for part in grid.places(np.array([1.0, 9.0, 5.0]), np.array([2.0, -1.0, 8.0]))]
    [[0, 1, 0], [0, 0, 1]]
    """

    dx: float
    dy: float
    x0: float = 0.0
    y0: float = 0.0
    word: ClassVar[str] = "hexagon"

    def __post_init__(self) -> None:
        if not (self.dx > 0 and self.dy > 0 and math.isfinite(self.dx) and math.isfinite(self.dy)):
            raise InputError("the size of a hexagon must be above 0 and finite")

    @classmethod
    def of_size(cls, size: float) -> Grid:
        """Return the grid of regular hexagons whose neighbours' centres are ``size`` apart; (0, 0) is a centre."""
        return cls(size, size * SQRT3)

    @classmethod
    def fit(cls, x: FloatArray, y: FloatArray, bins: int = 30, shape: float = 1.0) -> Grid:
        """Return the grid of hexagonal binning (R package hexbin): ``bins`` across the range of x, from its end on.

        Its corner and its steps tell the extreme coordinates of the points exactly; `fit_round` does not.
        """
        (left, wide), (low, high) = width(x), width(y)
        return cls(wide / bins, high * SQRT3 / (bins * shape), left, low)

    @classmethod
    def fit_round(cls, x: FloatArray, y: FloatArray, bins: int = 30, shape: float = 1.0) -> Grid:
        """Return a grid of about as many hexagons, whose steps are round numbers and whose lattice starts at (0, 0).

        >>> Grid.fit_round(np.array([3.217, 8.944]), np.array([-2.1, 3.3]), 30)
        Grid(dx=0.19, dy=0.31, x0=0.0, y0=0.0)
        """
        exact = cls.fit(x, y, bins, shape)
        return cls(rounded(exact.dx), rounded(exact.dy))

    @classmethod
    def fit_regular(cls, x: FloatArray, bins: int = 30) -> Grid:
        """Return a grid of regular hexagons, about so many across the range of x, whose size is a round number.

        >>> Grid.fit_regular(np.array([150_000.0, 163_400.0]), 30) == Grid.of_size(450.0)
        True
        """
        return cls.of_size(rounded(width(x)[1] / bins))

    @property
    def size(self) -> float:
        """How wide a hexagon is."""
        return self.dx

    def space(self, q: LongArray, r: LongArray) -> Space:
        """Return who is whose neighbour among distinct hexagons."""
        return Space.of_lattice(q, r, HEXAGONAL, self.word)

    def codes(self, q: LongArray, r: LongArray) -> list[str]:
        """Return what hexagons are called: h, and their axial coordinates."""
        return [f"h{one}:{other}" for one, other in zip(q.tolist(), r.tolist(), strict=True)]

    def shapes(self, q: LongArray, r: LongArray) -> Sequence[Shape]:
        """Return the outlines of hexagons."""
        return of_corners(self.corners(q, r))

    def columns(self, q: LongArray, r: LongArray) -> Mapping[str, list[Any]]:
        """Return the axial coordinates."""
        return {"q": q.tolist(), "r": r.tolist()}

    def drawn(self, q: LongArray, r: LongArray) -> Mapping[str, Any]:
        """Return what a page needs to draw hexagons."""
        return {
            "shape": "hexagon",
            "q": q.tolist(),
            "r": r.tolist(),
            "step": [self.dx, self.dy],
        }

    def about(self) -> Mapping[str, Any]:
        """Return the steps of the lattice."""
        return {"of": "hexagons", "dx": self.dx, "dy": self.dy}

    def coarser(self) -> Grid:
        """Return a grid of hexagons a quarter wider; regular ones stay so."""
        if self == Grid.of_size(self.dx):
            return Grid.of_size(rounded(1.25 * self.dx, 3))
        return Grid(rounded(1.25 * self.dx, 3), rounded(1.25 * self.dy, 3), self.x0, self.y0)

    def places(self, x: FloatArray, y: FloatArray) -> tuple[LongArray, LongArray]:
        """Return the axial coordinates of the hexagon of each point: that of the nearest centre."""
        sx, sy = (x - self.x0) / self.dx, (y - self.y0) / self.dy
        if not (np.isfinite(sx).all() and np.isfinite(sy).all()):
            raise InputError("a coordinate is missing or infinite; leave the point out, or give its place")
        if len(sx) and max(np.abs(sx).max(), np.abs(sy).max()) > FARTHEST:
            raise InputError("the hexagons are far too small for coordinates of this size; choose a larger `size`")
        column, row = np.floor(sx + 0.5), np.floor(sy + 0.5)
        aside, above = np.floor(sx), np.floor(sy)
        near = (sx - column) ** 2 + 3 * (sy - row) ** 2
        nearer = (sx - aside - 0.5) ** 2 + 3 * (sy - above - 0.5) ** 2 < near
        r = np.where(nearer, 2 * above + 1, 2 * row).astype(np.int64)
        return np.where(nearer, aside, column).astype(np.int64) - r // 2, r

    def centres(self, q: LongArray, r: LongArray) -> tuple[FloatArray, FloatArray]:
        """Return the centres of hexagons."""
        return self.x0 + self.dx * (q + r / 2), self.y0 + self.dy * r / 2

    def corners(self, q: LongArray, r: LongArray) -> FloatArray:
        """Return the six corners of each hexagon, counter-clockwise, with axes (hexagon, corner, x and y).

        They are computed from whole sixths, so that neighbours have exactly the same corners.
        """
        x = (2 * q + r)[:, None] + np.array([0, -1, -1, 0, 1, 1])
        y = (3 * r)[:, None] + np.array([2, 1, -1, -2, -1, 1])
        return np.stack([self.x0 + self.dx * x / 2, self.y0 + self.dy * y / 6], axis=2)


def distance(q: LongArray, r: LongArray, other_q: LongArray, other_r: LongArray) -> LongArray:
    """Return how many steps hexagons are apart, over the full grid.

    >>> distance(np.array([0, -1]), np.array([0, 0]), np.array([1, 2]), np.array([1, -1])).tolist()
    [2, 3]
    """
    dq, dr = np.asarray(q) - other_q, np.asarray(r) - other_r
    return (np.abs(dq) + np.abs(dr) + np.abs(dq + dr)) // 2


def distinct(q: LongArray, r: LongArray) -> tuple[LongArray, LongArray, npt.NDArray[np.intp]]:
    """Return the different hexagons in coordinate order (q, then r), and for each entry the position of its own.

    >>> [part.tolist() for part in distinct(np.array([1, 0, 1]), np.array([5, 7, 5]))]
    [[0, 1], [7, 5], [1, 0, 1]]
    """
    if not len(q):
        return q, r, np.zeros(0, np.intp)
    low, height = int(r.min()), int(r.max()) - int(r.min()) + 1
    keys, place = np.unique(q * height + (r - low), return_inverse=True)
    return keys // height, keys % height + low, place.ravel()


def width(values: FloatArray) -> tuple[float, float]:
    """Return the smallest value and the width of the range, 1 if all are the same."""
    if not len(values):
        raise InputError("there is no point to make a map of")
    low, high = float(values.min()), float(values.max())
    return low, (high - low) or 1.0


def rounded(value: float, digits: int = 2) -> float:
    """Return a number with so many significant digits."""
    return float(f"{value:.{digits}g}")
