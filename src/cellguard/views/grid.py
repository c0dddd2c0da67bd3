"""`Grid`: a table for eyes, whatever shows it: trees of codes, and where each cell stands among them.

The terminal, a notebook and the pages all draw from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cellguard.arrays import BoolArray
from cellguard.errors import InternalError
from cellguard.hierarchy.hierarchy import Dimension, IntArray
from cellguard.table.pattern import ReleasedTable
from cellguard.table.public_codes import PublicDimension, first_parents, with_ancestors

AnyDimension = Dimension | PublicDimension


@dataclass(frozen=True, eq=False)
class Axis:
    """The codes of a dimension in a tree: those that cells have, and those above them.

    ``parent`` is the position of each code's parent, -1 where there is none; ``present`` says which codes cells have.
    """

    name: str
    codes: Sequence[str]
    parent: IntArray
    present: BoolArray
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, dimension: AnyDimension, column: IntArray) -> tuple[Axis, IntArray]:
        """Return the tree of the codes of some cells, and the column in its numbers."""
        parent = first_parents(dimension) if isinstance(dimension, Dimension) else dimension.parent
        seen = np.zeros(len(parent), bool)
        seen[column] = True
        keep = with_ancestors(parent, column)
        renumber = np.cumsum(keep) - 1
        kept = np.flatnonzero(keep)
        above = np.where(parent[kept] < 0, -1, renumber[parent[kept]]).astype(np.int32)
        codes = [dimension.codes[i] for i in kept.tolist()]
        labels = {code: dimension.labels[code] for code in codes if code in dimension.labels}
        return cls(dimension.name, codes, above, seen[kept], labels), renumber[column].astype(np.int32)

    @cached_property
    def position(self) -> Mapping[str, int]:
        """The position of each code."""
        return {code: i for i, code in enumerate(self.codes)}

    @cached_property
    def depth(self) -> Mapping[str, int]:
        """How deep each code that cells have stands in the tree, in its order."""
        depth, above = np.zeros(len(self.codes), int), self.parent
        while (inner := above >= 0).any():
            depth += inner
            above = np.where(inner, self.parent[above], -1)
        return {code: int(depth[i]) for i, code in enumerate(self.codes) if self.present[i]}

    def plain(self) -> dict[str, Any]:
        """Return the tree as plain data."""
        return {
            "title": self.name,
            "codes": list(self.codes),
            "labels": {str(i): self.labels[code] for i, code in enumerate(self.codes) if code in self.labels},
            "parent": self.parent.tolist(),
        }


@dataclass(frozen=True)
class Cut:
    """What is shown of a grid: the dimensions of rows and columns (maybe none), and the codes of all others."""

    rows: str
    columns: str | None
    fixed: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Grid:
    """A table's axes, and for each of them the position of every cell's code (-1 if it is on none)."""

    name: str
    axes: Sequence[Axis]
    codes: Sequence[IntArray]

    @classmethod
    def of(cls, name: str, dimensions: Sequence[AnyDimension], codes: Sequence[IntArray]) -> Grid:
        """Return the grid of cells whose codes are numbered as in their dimensions."""
        made = [Axis.of(dimension, column) for dimension, column in zip(dimensions, codes, strict=True)]
        return cls(name, [axis for axis, _ in made], [column for _, column in made])

    def axis(self, name: str) -> Axis:
        """Return an axis by the name of its dimension."""
        return next(axis for axis in self.axes if axis.name == name)

    def cut(self, where: Mapping[str, str]) -> Cut:
        """Choose rows and columns: the first two dimensions that `where` leaves free.

        The others stand at their first code, the total, and if none is free the first is the rows.
        """
        free = [axis.name for axis in self.axes if axis.name not in where] or [self.axes[0].name]
        fixed = {name: next(iter(self.axis(name).depth), "") for name in free[2:]}
        fixed |= {name: code for name, code in where.items() if name not in free[:2]}
        return Cut(free[0], free[1] if len(free) > 1 else None, fixed)

    def cells(self, cut: Cut, rows: Sequence[str], columns: Sequence[str]) -> list[list[int | None]]:
        """Return the number of the cell at each row and column, None where there is none.

        >>> tree = Axis("r", ["T", "a"], np.array([-1, 0], np.int32), np.ones(2, bool))
        >>> Grid("t", [tree], [np.array([1, 0], np.int32)]).cells(Cut("r", None, {}), ["a", "b", "T"], [""])
        [[0], [None], [1]]
        """
        here = np.ones(len(self.codes[0]), bool)
        for axis, column in zip(self.axes, self.codes, strict=True):
            if axis.name in cut.fixed:
                here &= column == axis.position.get(cut.fixed[axis.name], len(axis.codes))
        chosen = np.flatnonzero(here)
        down, across = self._places(cut.rows, rows, chosen), self._places(cut.columns, columns, chosen)
        found: list[list[int | None]] = [[None] * len(columns) for _ in rows]
        for cell, row, column in zip(chosen.tolist(), down.tolist(), across.tolist(), strict=True):
            if row >= 0 and column >= 0:
                found[row][column] = cell
        return found

    def _places(self, name: str | None, shown: Sequence[str], cells: npt.NDArray[np.intp]) -> IntArray:
        """Return at which of the shown codes of an axis each cell stands, -1 if at none."""
        if name is None:
            return np.zeros(len(cells), np.int32)
        axis, column = next((a, c) for a, c in zip(self.axes, self.codes, strict=True) if a.name == name)
        place = np.full(len(axis.codes) + 1, -1, np.int32)  # the last entry is for cells that are on no axis
        for i, code in enumerate(shown):
            if code in axis.position:
                place[axis.position[code]] = i
        return place[column[cells]]


def released_codes(table: ReleasedTable, dimensions: Sequence[AnyDimension]) -> list[IntArray]:
    """Return the codes of a released table, numbered as in its dimensions."""
    return [_positions(d, column) for d, column in zip(dimensions, table.codes, strict=True)]


def _positions(dimension: AnyDimension, column: npt.NDArray[np.object_]) -> IntArray:
    position: Mapping[str, int] = dimension.position
    try:
        return np.array([position[code] for code in column.tolist()], np.int32)
    except KeyError:
        raise InternalError(f"the release has a code that dimension {dimension.name!r} does not know") from None
