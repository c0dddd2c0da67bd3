"""Square grids as Eurostat's: cells named by their size and their lower left corner, in metres of a coordinate system.

A square is named by the whole numbers (q, r) of its column and row: its lower left corner is (size q, size r), so that
grids of one size and coordinate system agree wherever they are made. Its code is INSPIRE's, as
``CRS3035RES1000mN2684000E4334000``, or the short one of Eurostat, as ``1kmN2684E4334``: the corner without as many
digits as the size has zeros at its end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from cellguard.arrays import FloatArray, LongArray
from cellguard.errors import InputError
from cellguard.geometry.hexgrid import FARTHEST, rounded, width
from cellguard.geometry.space import BY_CORNERS, BY_EDGES, Space
from cellguard.geometry.tiling import Shape, of_corners

Codes = Literal["long", "short"]
_LONG = re.compile(r"CRS(\d+)RES(\d+)mN(-?\d+)E(-?\d+)")
_SHORT = re.compile(r"(\d+)(k?m)N(-?\d+)E(-?\d+)")
_KM = 1000


@dataclass(frozen=True, slots=True)
class Squares:
    """A grid of squares of a ``size``, with 4 or 8 neighbours each; ``epsg`` is the number of its coordinate system.

    Squares have INSPIRE's codes if their size is whole: the ``long`` ones if the coordinate system is known by its
    number, else the short ones.

    >>> grid = Squares(1000, epsg=3035)
    >>> q, r = grid.places(np.array([4334500.0]), np.array([2684999.0]))
    >>> grid.codes(q, r), Squares(1000, style="short").codes(q, r), Squares(0.5).codes(q, r)
    (['CRS3035RES1000mN2684000E4334000'], ['1kmN2684E4334'], ['s4334:2684'])
    """

    size: float
    neighbours: Literal[4, 8] = 4
    epsg: int | None = None
    style: Codes = "long"
    word: ClassVar[str] = "square"

    def __post_init__(self) -> None:
        if not (self.size > 0 and math.isfinite(self.size)):
            raise InputError("the size of a square must be above 0 and finite")

    @classmethod
    def fit(cls, x: FloatArray, bins: int = 30, **more: Any) -> Squares:  # noqa: ANN401
        """Return a grid of about so many squares across the range of x, whose size is a round number.

        >>> Squares.fit(np.array([150_000.0, 163_400.0]), 30).size
        450.0
        """
        return cls(rounded(width(x)[1] / bins), **more)

    def coarser(self) -> Squares:
        """Return the grid of squares twice as wide, of which each holds four of these."""
        return Squares(2 * self.size, self.neighbours, self.epsg, self.style)

    def places(self, x: FloatArray, y: FloatArray) -> tuple[LongArray, LongArray]:
        """Return column and row of the square of each point; lower and left edges belong to a square."""
        column, row = np.floor(x / self.size), np.floor(y / self.size)
        if not (np.isfinite(column).all() and np.isfinite(row).all()):
            raise InputError("a coordinate is missing or infinite; leave the point out, or give its place")
        if len(column) and max(np.abs(column).max(), np.abs(row).max()) > FARTHEST:
            raise InputError("the squares are far too small for coordinates of this size; choose a larger `size`")
        return column.astype(np.int64), row.astype(np.int64)

    def space(self, q: LongArray, r: LongArray) -> Space:
        """Return who is whose neighbour among distinct squares: by edges, or by corners too."""
        return Space.of_lattice(q, r, BY_EDGES if self.neighbours == len(BY_EDGES) else BY_CORNERS, self.word)

    def codes(self, q: LongArray, r: LongArray) -> list[str]:
        """Return the codes of squares."""
        places = zip(q.tolist(), r.tolist(), strict=True)
        if self.named is None:
            return [f"s{column}:{row}" for column, row in places]
        start, times = self.named
        return [f"{start}{times * row}E{times * column}" for column, row in places]

    @property
    def named(self) -> tuple[str, int] | None:
        """How codes begin, and what rows and columns are multiplied by in them; None if the size is not whole."""
        if self.size != int(self.size):
            return None
        size = int(self.size)
        if self.style == "long" and self.epsg is not None:
            return f"CRS{self.epsg}RES{size}mN", size
        wide = f"{size // _KM}km" if size % _KM == 0 else f"{size}m"
        return f"{wide}N", size // 10 ** (len(str(size)) - len(str(size).rstrip("0")))

    def centres(self, q: LongArray, r: LongArray) -> tuple[FloatArray, FloatArray]:
        """Return the centres of squares."""
        x, y = (self.size * (axis.astype(float) + 0.5) for axis in (q, r))
        return x, y

    def corners(self, q: LongArray, r: LongArray) -> FloatArray:
        """Return the four corners of each square, counter-clockwise from the lower left."""
        x = q[:, None] + np.array([0, 1, 1, 0])
        y = r[:, None] + np.array([0, 0, 1, 1])
        return self.size * np.stack([x, y], axis=2).astype(float)

    def shapes(self, q: LongArray, r: LongArray) -> Sequence[Shape]:
        """Return the outlines of squares."""
        return of_corners(self.corners(q, r))

    def columns(self, q: LongArray, r: LongArray) -> Mapping[str, list[Any]]:
        """Return the width of each square."""
        return {"size": [self.size] * len(q)}

    def drawn(self, q: LongArray, r: LongArray) -> Mapping[str, Any]:
        """Return what a page needs to draw squares."""
        step = [self.size, self.size]
        return {"shape": "square", "q": q.tolist(), "r": r.tolist(), "step": step, "named": self.named}

    def about(self) -> Mapping[str, Any]:
        """Return the size of the squares, and how many neighbours each has."""
        return {"of": "squares", "size": self.size, "neighbours": self.neighbours}


def read_codes(codes: Sequence[str], where: str) -> tuple[Squares, LongArray, LongArray]:
    """Return the grid that codes of squares are of, and the column and row of each; ``where`` is named in messages.

    >>> grid, q, r = read_codes(["CRS3035RES1000mN2684000E4334000"], "cells.csv")
    >>> grid.size, grid.epsg, q.tolist(), r.tolist()
    (1000.0, 3035, [4334], [2684])
    """
    if not len(codes):
        raise InputError(f"{where}: there is no cell in it")
    squares = [_read(code, where) for code in codes]
    epsg, size, _, _ = squares[0]
    for code, one in zip(codes, squares, strict=True):
        if one[:2] != (epsg, size):
            raise InputError(
                f"{where}: {code!r} is of another size or coordinate system than {codes[0]!r}; give cells of one grid"
            )
    north, east = (np.array([one[axis] for one in squares], np.int64) for axis in (2, 3))
    style: Codes = "short" if epsg is None else "long"
    grid = Squares(float(size), epsg=epsg, style=style)
    q, r = east // size, north // size
    if grid.codes(q, r) != list(codes):
        wrong = next(code for code, own in zip(codes, grid.codes(q, r), strict=True) if code != own)
        raise InputError(f"{where}: {wrong!r} is no cell of a grid of {size} m: its corner is no multiple of the size")
    return grid, q, r


def _read(code: str, where: str) -> tuple[int | None, int, int, int]:
    """Return coordinate system, size in metres, and the corner's coordinates."""
    if long := _LONG.fullmatch(code):
        epsg, size, north, east = map(int, long.groups())
        found: tuple[int | None, int, int, int] = (epsg, size, north, east)
    elif short := _SHORT.fullmatch(code):
        size = int(short[1]) * (_KM if short[2] == "km" else 1)
        cut = 10 ** (len(str(size)) - len(str(size).rstrip("0")))
        found = (None, size, int(short[3]) * cut, int(short[4]) * cut)
    else:
        raise InputError(
            f"{where}: {code!r} is no code of a square; write it as CRS3035RES1000mN2684000E4334000 or 1kmN2684E4334"
        )
    if found[1] < 1:
        raise InputError(f"{where}: {code!r} has a size of 0")
    if max(abs(found[2]), abs(found[3])) > FARTHEST * found[1]:
        raise InputError(f"{where}: {code!r} is far from everywhere; correct its coordinates")
    return found
