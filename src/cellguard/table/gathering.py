"""`Gathering`: the records of one table while its facts are gathered from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError
from cellguard.microdata.grouped import COUNT, Grouped
from cellguard.table.gather import gather
from cellguard.table.gathered import Gathered, Listed, Rows
from cellguard.table.lattice import Lattice
from cellguard.table.membership import membership
from cellguard.table.negative import Negative
from cellguard.table.row_sums import add_up
from cellguard.table.spread import Spread, spread_of
from cellguard.table.survey import Seen, virtual
from cellguard.table.unit_grid import Grid, Wholes, grid_of

T = TypeVar("T", bound=np.generic)
Kept = npt.NDArray[np.intp] | None
_NO_EXTRA: Wholes = np.zeros(0, np.int64)
_CONTRIBUTORS = 50  # per cell that are reported by name, at most
_ROOM = 20_000_000  # and of all cells together
_MOST = 4_000_000  # contributions of whole cells that are looked at together


def keep(column: npt.NDArray[T], kept: Kept) -> npt.NDArray[T]:
    """Return the rows of a column that belong to the population: those with a weight."""
    return column if kept is None else column[kept]


@dataclass(frozen=True, eq=False)
class Gathering:
    """What facts can ask of the records, one row per cell; each pass over the records is made once, when first asked.

    ``seen`` is what the rules see of a weighted survey, ``top`` and ``free`` how many of the largest contributions are
    to be known, of all and of those without a waiver, and ``extreme`` how many of those farthest from 0. ``negative``
    says what rules see where contributions may be negative.
    """

    grouped: Grouped
    seen: Seen
    lattice: Lattice
    kept: Kept
    top: int
    free: int
    extreme: int = 0
    negative: Negative | None = None

    def summed(self, values: FloatArray) -> FloatArray:
        """Return the sum in each cell of a column of the records."""
        values = keep(values, self.kept)
        grid = grid_of(values)
        return grid.floats(add_up(self.lattice, self.lattice.leaf, grid.wholes(values)))

    @cached_property
    def published(self) -> FloatArray:
        """The totals that the table shows."""
        if self.seen.published is self.seen.value:
            return self._grid.floats(self.contributions.total)
        return self.summed(self.seen.published)

    @property
    def base(self) -> FloatArray:
        """The totals that rules relate contributions to."""
        base = self.seen.base
        return self.published if base is None or base is self.seen.published else self.summed(base)

    @property
    def records(self) -> FloatArray:
        """The number of records."""
        return add_up(self.lattice, self.lattice.leaf, keep(self.grouped.records, self.kept)).astype(float)

    @property
    def keys(self) -> npt.NDArray[np.int64]:
        """The sum of the record keys modulo their range."""
        if self.grouped.key is None:
            raise InputError("the records have no keys")
        return add_up(self.lattice, self.lattice.leaf, keep(self.grouped.key, self.kept)) % self.grouped.key_modulus

    @cached_property
    def contributions(self) -> Gathered:
        """What holdings contribute: how many, signed sums, the largest; in whole units of `_grid`."""
        rows = self._rows
        if self.seen.extra is not None and self.top:
            extra = self._steps.wholes(keep(self.seen.extra, self.kept))
            rows = rows._replace(extra=extra, additive=self.seen.meaning == "excess")
        return gather(self.lattice, rows, top=self.top, unwaived=self.free, by_size=self._by_size)

    @property
    def largest(self) -> FloatArray:
        """The largest contributions, as the rules see them."""
        own = self.contributions.largest
        largest = self._treated(own)
        if self.seen.meaning != "weight":
            return largest
        return virtual(largest, own.look_up(np.where(own.holder >= 0, 1 + self._steps.floats(own.extra), 0.0)))

    @property
    def excess(self) -> FloatArray:
        """What the largest contributors stand for beyond themselves."""
        own = self.contributions.largest
        return own.look_up(self._steps.floats(own.extra))

    @property
    def unwaived(self) -> FloatArray:
        """The largest contributions of those without a waiver, NaN where there are no more."""
        return self._treated(self.contributions.unwaived, nobody=np.nan)

    @property
    def listed_holdings(self) -> FloatArray:
        """Who contributes what to the published totals, see `Holdings`."""
        most = max(2, min(_CONTRIBUTORS, _ROOM // max(len(self.lattice), 1)))
        published = keep(self.seen.published, self.kept)
        grid = grid_of(published)
        listed = gather(self.lattice, self._rows._replace(value=grid.wholes(published)), top=most, by_size=True)
        column = np.zeros((len(self.lattice), most + 1, 2))
        column[:, :most, 0] = listed.largest.look_up((listed.largest.holder + 1).astype(float))
        column[:, :most, 1] = listed.largest.look_up(grid.floats(listed.largest.value))
        column[:, most, 1] = np.where(listed.count > most, np.abs(column[:, most - 1, 1]), 0.0)
        return column

    @cached_property
    def signs(self) -> FloatArray:
        """The sums of the positive and of the negative contributions, weighted where sizes stand for them."""
        own, grid = self.contributions, self._grid
        if self.negative is not None and (self.negative.proxy is not None or self.seen.base is not None):
            values = keep(self.seen.published, self.kept)
            grid = grid_of(values)
            own = gather(self.lattice, self._rows._replace(value=grid.wholes(values)), top=0)
        signs = np.empty((len(own.positive), 2))
        for column, wholes in zip(signs.T, (own.positive, own.negative), strict=True):
            grid.floats(wholes, out=column)
        return signs

    @cached_property
    def sizes(self) -> FloatArray:
        """The sums of contributions as rules see them, where some may be negative."""
        shift = self.negative.shift if self.negative is not None else None
        if shift is None:
            return np.asarray(self.signs[:, 0] - self.signs[:, 1], float)
        upside_down = gather(self.lattice, self._rows._replace(value=-self._rows.value), top=1)
        if (upside_down.largest.look_up(self._grid.floats(upside_down.largest.value)) > shift).any():
            raise InputError("negative: a contribution plus the shift is still below 0; give a larger one")
        return np.asarray(self.published + shift * self.contributions.count, float)

    @property
    def contributors(self) -> FloatArray | None:
        """How many contributions the totals that rules look at are made of, in a survey whose weights stand for some.

        A holding is one, and what its weights stand for are others; parts of one are left out.
        """
        if self.seen.base is None or self.seen.base is self.seen.value:
            return None
        others = np.maximum(self.grouped.weighted[COUNT] - self.grouped.records, 0.0)
        return np.floor(self.contributions.count + self.summed(others) + 1e-9)

    @property
    def nonzero(self) -> FloatArray:
        """The number of holdings with a row that is not 0."""
        rows, there = self._rows, np.flatnonzero(self._rows.value)
        left = Rows(rows.leaf[there], rows.holding[there], rows.value[there], _NO_EXTRA, rows.waived[there])
        return gather(self.lattice, left, top=0).count.astype(float)

    @cached_property
    def spread(self) -> Spread:
        """How the contributions of each cell spread, some millions of them at a time."""
        whole = membership(self.lattice, np.ones(len(self.lattice.leaf), bool))
        rows = np.bincount(whole.leaf, minlength=whole.below.shape[1])
        upto = np.cumsum(whole.below @ rows)
        cuts = np.unique(np.searchsorted(upto, np.arange(0, upto[-1] + _MOST, _MOST))) if len(upto) else np.zeros(1)
        spreads = []
        for begin, end in pairwise([*cuts.astype(int).tolist(), len(upto)]):
            chosen, amounts = np.arange(begin, end), cast("FloatArray", self._rows.value)  # whole, and stay so
            cells = whole.contributors(chosen, self._rows.holding, amounts)
            steps: Wholes = cells.value.astype(np.int64)
            spreads.append(spread_of(cells.start, steps, extremes=self.extreme, grid=self._grid))
        parts = ((s.extremes, s.squares, s.middle, s.entropy) for s in spreads)
        return Spread(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    @property
    def asked(self) -> BoolArray:
        """Whether the largest contributor asked for protection."""
        asks = np.zeros(self.grouped.holdings + 1)  # the last is nobody
        asks[self.grouped.holding] = self.grouped.requested
        own = self.contributions.largest
        return replace(own, end=1).look_up(asks[own.holder])[:, 0] > 0

    @property
    def _by_size(self) -> bool:
        return self.negative is not None and self.negative.shift is None

    def _treated(self, listed: Listed, nobody: float = 0.0) -> FloatArray:
        """Return contributions as rules see them; a proxy is put into the units of the response."""
        values, negative = self._grid.floats(listed.value), self.negative
        if negative is not None:
            values = np.abs(values) if negative.shift is None else values + negative.shift
        values = listed.look_up(np.where(listed.holder < 0, nobody, values))
        if negative is None or negative.shift is not None or negative.proxy is None:
            return values
        whole = self._grid.floats(self.contributions.positive)
        return values * np.divide(self.sizes, whole, out=np.zeros(len(whole)), where=whole > 0)[:, None]

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
