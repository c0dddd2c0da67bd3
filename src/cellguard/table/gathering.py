"""`Gathering`: the records of one table while its facts are gathered from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from cellguard.microdata.grouped import Grouped
from cellguard.table.lattice import Lattice
from cellguard.table.survey import Seen, virtual
from cellguard.table.tabulate_kernel import Gathered, Rows, add_up, gather
from cellguard.table.unit_grid import Grid, Wholes, grid_of
from cellguard.types import BoolArray, FloatArray

T = TypeVar("T", bound=np.generic)
Kept = npt.NDArray[np.intp] | None
_NO_EXTRA: Wholes = np.zeros(0, np.int64)
_CONTRIBUTORS = 50  # per cell that are told by name, at most
_ROOM = 20_000_000  # and of all cells together


def keep(column: npt.NDArray[T], kept: Kept) -> npt.NDArray[T]:
    """Return the rows of a column that belong to the population: those with a weight."""
    return column if kept is None else column[kept]


@dataclass(frozen=True, eq=False)
class Gathering:
    """What facts can ask of the records, one row per cell; each pass over the records is made once, when first asked.

    ``seen`` is what the rules see of a weighted survey, ``top`` and ``free`` how many of the largest contributions are
    to be known, of all and of those without a waiver.
    """

    grouped: Grouped
    seen: Seen
    lattice: Lattice
    kept: Kept
    top: int
    free: int

    def summed(self, values: FloatArray) -> FloatArray:
        """Return the sum in each cell of a column of the records."""
        values = keep(values, self.kept)
        grid = grid_of(values)
        return grid.floats(add_up(self.lattice, grid.wholes(values)))

    @cached_property
    def published(self) -> FloatArray:
        """The totals that the table shows."""
        return self.summed(self.seen.published)

    @property
    def base(self) -> FloatArray:
        """The totals that rules relate contributions to."""
        base = self.seen.base
        return self.published if base is None or base is self.seen.published else self.summed(base)

    @property
    def records(self) -> FloatArray:
        """The number of records."""
        return add_up(self.lattice, keep(self.grouped.records, self.kept)).astype(float)

    @cached_property
    def contributions(self) -> Gathered:
        """What holdings contribute: how many, signed sums, the largest; in whole units of `_grid`."""
        rows = self._rows
        if self.seen.extra is not None and self.top:
            extra = self._steps.wholes(keep(self.seen.extra, self.kept))
            rows = rows._replace(extra=extra, additive=self.seen.meaning == "excess")
        return gather(self.lattice, rows, top=self.top, unwaived=self.free)

    @property
    def largest(self) -> FloatArray:
        """The largest contributions, as the rules see them."""
        largest = self._grid.floats(self.contributions.value)
        if self.seen.meaning != "weight":
            return largest
        weights = 1 + self._steps.floats(self.contributions.extra)
        return virtual(largest, np.where(self.contributions.holder >= 0, weights, 0.0))

    @property
    def excess(self) -> FloatArray:
        """What the largest contributors stand for beyond themselves."""
        return self._steps.floats(self.contributions.extra)

    @property
    def unwaived(self) -> FloatArray:
        """The largest contributions of those without a waiver, NaN where there are no more."""
        nobody = self.contributions.unwaived_holder < 0
        return np.where(nobody, np.nan, self._grid.floats(self.contributions.unwaived))

    @property
    def contributors(self) -> FloatArray:
        """Who contributes what to the published totals, see `Contributors`."""
        most = max(2, min(_CONTRIBUTORS, _ROOM // max(len(self.lattice), 1)))
        published = keep(self.seen.published, self.kept)
        grid = grid_of(published)
        listed = gather(self.lattice, self._rows._replace(value=grid.wholes(published)), top=most, by_size=True)
        column = np.zeros((len(self.lattice), most + 1, 2))
        column[:, :most, 0] = listed.holder + 1
        column[:, :most, 1] = np.where(listed.holder >= 0, grid.floats(listed.value), 0.0)
        column[:, most, 1] = np.where(listed.count > most, np.abs(column[:, most - 1, 1]), 0.0)
        return column

    @property
    def signs(self) -> FloatArray:
        """The sums of the positive and of the negative contributions."""
        both = (self.contributions.positive, self.contributions.negative)
        return np.stack([self._grid.floats(wholes) for wholes in both], axis=1)

    @property
    def asked(self) -> BoolArray:
        """Whether the largest contributor asked for protection."""
        asks = np.zeros(self.grouped.holdings, bool)
        asks[self.grouped.holding] = self.grouped.requested
        largest = self.contributions.holder[:, 0]
        return np.asarray((largest >= 0) & asks[largest], bool)

    @cached_property
    def _grid(self) -> Grid:
        return grid_of(keep(self.seen.value, self.kept))

    @cached_property
    def _steps(self) -> Grid:
        return Grid() if self.seen.extra is None else grid_of(keep(self.seen.extra, self.kept))

    @cached_property
    def _rows(self) -> Rows:
        holding, waived = (keep(column, self.kept) for column in (self.grouped.holding, self.grouped.waived))
        wholes = self._grid.wholes(keep(self.seen.value, self.kept))
        return Rows(self.lattice.leaf, holding, wholes, _NO_EXTRA, waived)  # type: ignore[arg-type]
