"""Cells of several sizes: squares that were doubled, and areas that were joined. Each goes by its number and 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from cellguard.arrays import FloatArray, LongArray
from cellguard.errors import InternalError
from cellguard.geometry.areas import Areas, drawn_shapes
from cellguard.geometry.space import Space
from cellguard.geometry.squaregrid import Squares
from cellguard.geometry.tiling import Shape


class _Fixed:
    """What cells cannot do that are the outcome of merging: nobody sorts points into them, or makes them larger."""

    size: ClassVar[float] = 0.0

    def places(self, x: FloatArray, y: FloatArray) -> tuple[LongArray, LongArray]:
        """Refuse: merged cells come from smaller ones."""
        raise InternalError("points are sorted into cells before these are merged")

    def space(self, q: LongArray, r: LongArray) -> Space:
        """Refuse: merged cells have no neighbours that anybody asks for."""
        raise InternalError("merged cells have no neighbours")

    def coarser(self) -> Any:  # noqa: ANN401
        """Refuse: merged cells come from smaller ones."""
        raise InternalError("merged cells are as they are")


@dataclass(frozen=True, eq=False)
class Quads(_Fixed):
    """Squares of a grid, doubled ``level`` times, by their column and row at that level.

    >>> quads = Quads(Squares(1000, epsg=3035), np.array([0, 2]), np.array([4334, 1083]), np.array([2684, 671]))
    >>> quads.codes(np.array([1]), np.array([0]))
    ['CRS3035RES4000mN2684000E4332000']
    """

    base: Squares
    level: LongArray
    column: LongArray
    row: LongArray
    word: ClassVar[str] = "square"

    def _sides(self, q: LongArray) -> LongArray:
        return np.asarray(2 ** self.level[q], np.int64)

    def codes(self, q: LongArray, r: LongArray) -> list[str]:
        """Return the codes of the squares, which tell their sizes."""
        said = [""] * len(q)
        for level in np.unique(self.level[q]).tolist():
            at = np.flatnonzero(self.level[q] == level)
            grid = Squares(self.base.size * 2**level, 4, self.base.epsg, self.base.style)
            codes = grid.codes(self.column[q[at]], self.row[q[at]])
            for place, code in zip(at.tolist(), codes, strict=True):
                said[place] = code if grid.named is not None else f"{code}@{level}"
        return said

    def corners(self, q: LongArray, r: LongArray) -> FloatArray:
        """Return the four corners of each square, from whole multiples of the smallest size."""
        side = self._sides(q)[:, None]
        x = (self.column[q][:, None] + np.array([0, 1, 1, 0])) * side
        y = (self.row[q][:, None] + np.array([0, 0, 1, 1])) * side
        return self.base.size * np.stack([x, y], axis=2).astype(float)

    def centres(self, q: LongArray, r: LongArray) -> tuple[FloatArray, FloatArray]:
        """Return the centres of the squares."""
        middle = self.corners(q, r).mean(axis=1)
        return middle[:, 0], middle[:, 1]

    def shapes(self, q: LongArray, r: LongArray) -> Sequence[Shape]:
        """Return the outlines of the squares."""
        return [[[ring]] for ring in self.corners(q, r)]

    def columns(self, q: LongArray, r: LongArray) -> Mapping[str, list[Any]]:
        """Return how wide each square is."""
        return {"size": (self.base.size * self._sides(q)).tolist()}

    def drawn(self, q: LongArray, r: LongArray) -> Mapping[str, Any]:
        """Return what a page needs to draw squares of several sizes."""
        side = self._sides(q)
        return {
            "shape": "square",
            "q": (self.column[q] * side).tolist(),
            "r": (self.row[q] * side).tolist(),
            "side": side.tolist(),
            "step": [self.base.size, self.base.size],
            "codes": self.codes(q, r),
        }

    def about(self) -> Mapping[str, Any]:
        """Return the sizes, and how many squares have each."""
        sizes, many = np.unique(self.base.size * self._sides(np.arange(len(self.level))), return_counts=True)
        return {
            "of": "squares",
            "sizes": {f"{size:g}": n for size, n in zip(sizes.tolist(), many.tolist(), strict=True)},
        }


@dataclass(frozen=True, eq=False)
class Regions(_Fixed):
    """Areas that were joined: the ``members`` of each region, in order."""

    areas: Areas
    members: tuple[tuple[int, ...], ...]
    word: ClassVar[str] = "region"

    def codes(self, q: LongArray, r: LongArray) -> list[str]:
        """Return the name of the first member, and how many more there are."""
        said = []
        for number in q.tolist():
            first, more = self.areas.names[self.members[number][0]], len(self.members[number]) - 1
            said.append(f"{first}+{more}" if more else first)
        return said

    def shapes(self, q: LongArray, r: LongArray) -> Sequence[Shape]:
        """Return the outlines: all parts of all members; none where outlines are not known."""
        if self.areas.outlines is None:
            return []
        return [[part for area in self.members[n] for part in self.areas.outlines[area]] for n in q.tolist()]

    def centres(self, q: LongArray, r: LongArray) -> tuple[FloatArray, FloatArray]:
        """Return the middle of each region's corners; NaN where outlines are not known."""
        shapes = self.shapes(q, r)
        if not shapes:
            return np.full(len(q), np.nan), np.full(len(q), np.nan)
        corners = [np.concatenate([ring for part in shape for ring in part]) for shape in shapes]
        middle = np.array([(ring.min(axis=0) + ring.max(axis=0)) / 2 for ring in corners])
        return middle[:, 0], middle[:, 1]

    def columns(self, q: LongArray, r: LongArray) -> Mapping[str, list[Any]]:
        """Return the areas of each region."""
        return {"areas": [" ".join(self.areas.names[area] for area in self.members[n]) for n in q.tolist()]}

    def drawn(self, q: LongArray, r: LongArray) -> Mapping[str, Any]:
        """Return what a page needs to draw regions."""
        return drawn_shapes(self.codes(q, r), self.shapes(q, r))

    def about(self) -> Mapping[str, Any]:
        """Return how many regions have how many areas."""
        sizes, many = np.unique([len(one) for one in self.members], return_counts=True)
        return {"of": "regions", "sizes": {str(size): n for size, n in zip(sizes.tolist(), many.tolist(), strict=True)}}
