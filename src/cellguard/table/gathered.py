"""What tabulation makes of rows: `Rows` of one response, and what is `Gathered` of them in every cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cellguard.arrays import FloatArray
from cellguard.hierarchy.hierarchy import IntArray
from cellguard.table.parts_kernel import look_up
from cellguard.table.unit_grid import Wholes


class Rows(NamedTuple):
    """Rows ordered by holding: leaf cell, holding, contribution, a number that goes with it, and the holding's waiver.

    Numbers of several rows of one holding in a cell are added up if ``additive``; else the sum has none, 0.
    """

    leaf: IntArray
    holding: npt.NDArray[np.int64]
    value: Wholes
    extra: Wholes
    waived: npt.NDArray[np.bool_]
    additive: bool = False


@dataclass(frozen=True, eq=False)
class Listed:
    """The largest contributions, a list a cell.

    ``entries`` are lists of several kinds side by side, from ``begin`` to ``end`` those of this one. They name places
    of ``value``, ``holder`` (-1: nobody) and, where there is one, ``extra``, the number that goes with a contribution.
    """

    entries: IntArray
    begin: int
    end: int
    value: Wholes
    holder: Wholes
    extra: Wholes

    def look_up(self, column: FloatArray) -> FloatArray:
        """Return what a column says of each entry, a row per cell and a column per rank."""
        found = np.empty((len(self.entries), self.end - self.begin))
        look_up(self.entries, self.begin, column, found)
        return found


@dataclass(frozen=True, eq=False)
class Gathered:
    """What is known of each cell's contributions: how many, their signed sums, the largest, those without a waiver."""

    count: Wholes
    positive: Wholes
    negative: Wholes
    total: Wholes
    largest: Listed
    unwaived: Listed
