"""Areas of any outline, as municipalities, that are neighbours by a border, or because a list says so.

Polygons are neighbours if they have two corners in common or more: that of an edge they share. Borders that two
polygons draw by different corners are not found; a list of neighbours then says who is whose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import FloatArray, LongArray
from cellguard.errors import InputError, NotProtected, did_you_mean
from cellguard.geometry.space import Space
from cellguard.geometry.tiling import Shape

_DECIMALS = 9  # of corners: those that are nearer to each other are one


@dataclass(frozen=True, eq=False)
class Areas:
    """Areas in the order of their ``names``, who is whose neighbour, and their ``outlines`` if these are known.

    An area goes by its number and 0.

    >>> row = Areas(("A", "B", "C"), ((0, 1), (1, 2)))
    >>> q, r = row.named(["C", "A"], "cells.csv")
    >>> row.codes(q, r), row.space(np.array([0, 2]), r).steps(np.array([True, False])).tolist()
    (['C', 'A'], [0, 2])
    """

    names: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    outlines: tuple[Shape, ...] | None = None
    word: ClassVar[str] = "area"
    size: ClassVar[float] = 0.0

    @classmethod
    def of_outlines(cls, outlines: Mapping[str, Shape]) -> Areas:
        """Return the areas of polygons, neighbours where their borders meet along an edge.

        >>> square = lambda x: [[np.array([[x, 0.0], [x + 1, 0], [x + 1, 1], [x, 1]])]]
        >>> Areas.of_outlines({"A": square(0.0), "B": square(1.0), "C": square(3.0)}).pairs
        ((0, 1),)
        """
        names = tuple(sorted(outlines))
        shapes = tuple(outlines[name] for name in names)
        rings = [np.concatenate([ring for rings in shape for ring in rings]) for shape in shapes]
        area = np.repeat(np.arange(len(names)), [len(ring) for ring in rings])
        _, corner = np.unique(np.round(np.concatenate(rings), _DECIMALS) + 0.0, axis=0, return_inverse=True)
        size = (len(names), int(corner.max()) + 1)
        touches = sp.csr_array((np.ones(len(area)), (area, corner.ravel())), size)
        touches.sum_duplicates()
        touches.data[:] = 1.0  # a ring that meets itself has a corner twice
        shared = sp.coo_array(touches @ touches.T)
        first, second = shared.coords
        edge = (shared.data >= 2) & (first < second)
        both = np.stack([first[edge], second[edge]], axis=1)
        return cls(names, tuple(map(tuple, sorted(both.tolist()))), shapes)

    @classmethod
    def of_list(cls, pairs: Sequence[tuple[str, str]]) -> Areas:
        """Return the areas that a list of neighbours names; one without a neighbour stands there with a blank."""
        names = tuple(sorted({name for pair in pairs for name in pair if name}))
        number = {name: place for place, name in enumerate(names)}
        ends = ((number[a], number[b]) for a, b in pairs if a and b and a != b)
        return cls(names, tuple(sorted({(min(pair), max(pair)) for pair in ends})))

    @property
    def alone(self) -> list[str]:
        """The areas that have no neighbour."""
        linked = {end for pair in self.pairs for end in pair}
        return [name for number, name in enumerate(self.names) if number not in linked]

    def named(self, codes: Sequence[str], where: str) -> tuple[LongArray, LongArray]:
        """Return the numbers of areas by their names; ``where`` is named in messages."""
        number = {name: place for place, name in enumerate(self.names)}
        for code in codes:
            if code not in number:
                hint = did_you_mean(code, self.names)
                raise InputError(f"{where}: there is no area {code!r}{hint}; correct it, or add the area")
        found = np.array([number[code] for code in codes], np.int64)
        return found, np.zeros_like(found)

    def places(self, x: FloatArray, y: FloatArray) -> tuple[LongArray, LongArray]:
        """Return the area that each point is in; raises `InputError` if one is in none."""
        if self.outlines is None:
            raise InputError(
                "a list of neighbours does not say where areas are; name the column of their codes: `code`"
            )
        found = np.full(len(x), -1, np.int64)
        for number, shape in enumerate(self.outlines):
            rings = [ring for part in shape for ring in part]
            corners = np.concatenate(rings)
            (left, low), (right, high) = corners.min(axis=0), corners.max(axis=0)
            near = np.flatnonzero((found < 0) & (x >= left) & (x <= right) & (y >= low) & (y <= high))
            found[near[_inside(rings, x[near], y[near])]] = number
        if (found < 0).any():
            many = int((found < 0).sum())
            raise InputError(f"{many:,} points are in none of the areas; give their areas, or leave the points out")
        return found, np.zeros_like(found)

    def space(self, q: LongArray, r: LongArray) -> Space:
        """Return who is whose neighbour; ways may cross areas without records."""
        return Space.of_pairs(len(self.names), self.pairs, q)

    def codes(self, q: LongArray, r: LongArray) -> list[str]:
        """Return the names of areas."""
        return [self.names[number] for number in q.tolist()]

    def centres(self, q: LongArray, r: LongArray) -> tuple[FloatArray, FloatArray]:
        """Return the middle of each area's corners; NaN where outlines are not known."""
        if self.outlines is None:
            return np.full(len(q), np.nan), np.full(len(q), np.nan)
        corners = [np.concatenate([ring for part in shape for ring in part]) for shape in self.shapes(q, r)]
        middle = np.array([(ring.min(axis=0) + ring.max(axis=0)) / 2 for ring in corners]).reshape(-1, 2)
        return middle[:, 0], middle[:, 1]

    def shapes(self, q: LongArray, r: LongArray) -> Sequence[Shape]:
        """Return the outlines of areas; none at all where they are not known."""
        return [] if self.outlines is None else [self.outlines[number] for number in q.tolist()]

    def columns(self, q: LongArray, r: LongArray) -> Mapping[str, list[Any]]:
        """Return nothing: an area is all in its name."""
        return {}

    def drawn(self, q: LongArray, r: LongArray) -> Mapping[str, Any]:
        """Return what a page needs to draw areas."""
        return drawn_shapes(self.codes(q, r), self.shapes(q, r))

    def about(self) -> Mapping[str, Any]:
        """Return how many areas and borders there are."""
        return {"of": "areas", "areas": len(self.names), "borders": len(self.pairs)}

    def coarser(self) -> Areas:
        """Refuse: areas are as they are."""
        raise NotProtected("areas cannot be made larger; use `method: merge`, or a lower min_frequency")


def drawn_shapes(codes: Sequence[str], shapes: Sequence[Shape]) -> Mapping[str, Any]:
    """Return what a page needs to draw shapes of any outline: flat lists of coordinates, ring by ring."""
    flat = [[np.round(ring, 6).ravel().tolist() for part in shape for ring in part] for shape in shapes]
    return {"shape": "outline", "codes": list(codes), "rings": flat or [[] for _ in codes]}


def _inside(rings: Sequence[FloatArray], x: FloatArray, y: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which points are inside of an odd number of rings: a ray to the right crosses an odd number of edges."""
    odd = np.zeros(len(x), bool)
    for ring in rings:
        for (x0, y0), (x1, y1) in zip(ring.tolist(), np.roll(ring, -1, axis=0).tolist(), strict=True):
            if y0 == y1:
                continue
            crossed = (y0 <= y) != (y1 <= y)
            odd[crossed] ^= x[crossed] < x0 + (y[crossed] - y0) * (x1 - x0) / (y1 - y0)
    return odd
