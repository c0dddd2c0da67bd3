"""`Tiling`: what all grids and areas have in common, so that maps need not know which they are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from cellguard.arrays import FloatArray, LongArray
from cellguard.geometry.space import Space

Rings = Sequence[FloatArray]  # an outer ring and its holes, each with axes (corner, x and y), closed by no corner twice
Shape = Sequence[Rings]  # the parts of a cell; one part with one ring unless it is an area


class Tiling(Protocol):
    """A way to cut a plane into cells, each of which goes by two whole numbers.

    ``word`` is what one cell is called; ``size`` is how far neighbouring centres are apart, 0 where cells differ.
    """

    @property
    def word(self) -> str:
        """What a cell is called."""

    @property
    def size(self) -> float:
        """How far the centres of neighbours are apart; 0 where that differs."""

    def places(self, x: FloatArray, y: FloatArray) -> tuple[LongArray, LongArray]:
        """Return the numbers of the cell of each point."""

    def space(self, q: LongArray, r: LongArray) -> Space:
        """Return who is whose neighbour among distinct cells."""

    def codes(self, q: LongArray, r: LongArray) -> list[str]:
        """Return what cells are called in files."""

    def centres(self, q: LongArray, r: LongArray) -> tuple[FloatArray, FloatArray]:
        """Return the centres of cells."""

    def shapes(self, q: LongArray, r: LongArray) -> Sequence[Shape]:
        """Return the outlines of cells."""

    def columns(self, q: LongArray, r: LongArray) -> Mapping[str, list[Any]]:
        """Return what a file of cells says of each, beyond its code and its centre."""

    def drawn(self, q: LongArray, r: LongArray) -> Mapping[str, Any]:
        """Return what a page needs to draw cells."""

    def about(self) -> Mapping[str, Any]:
        """Return the grid in numbers and words, for a summary."""

    def coarser(self) -> Tiling:
        """Return a grid of larger cells; raises `NotProtected` where cells are as they are."""


def of_corners(corners: FloatArray) -> Sequence[Shape]:
    """Return shapes of one ring each, from corners with axes (cell, corner, x and y)."""
    return [[[ring]] for ring in corners]
