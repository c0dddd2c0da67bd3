"""The attacker's problem in whole numbers: unknown cells move, published ones do not.

Values are counted in *grains*, a fixed decimal fraction, so that every value, bound and need is a whole number and
nothing about a verdict hangs on rounding. Room is rounded down and needs are rounded up, so that what is proven in
grains holds for the values; only the dust that floating-point arithmetic left on a whole number is taken away first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.errors import InputError
from cellguard.proofs.levels import Levels
from cellguard.proofs.scale import UNLIMITED
from cellguard.protection import Requirements
from cellguard.table.tableset import TableSet
from cellguard.world.world import World

SPARE = 3  # decimals more than published, so that a bound or a protection level is met to a thousandth of a unit
_EXACT = 2.0**50  # values up to here, in grains, are exact in floating point with room for sums
_DUST = 2.0**-52  # what floating-point arithmetic may add to a distance, relative to the value


@dataclass(frozen=True, eq=False)
class Grains:
    """How many decimals the values of each cell of a world are counted in, and the values in these grains."""

    decimals: LongArray
    value: LongArray

    def size(self) -> FloatArray:
        """Return the size of each cell's grain."""
        return 10.0 ** -self.decimals.astype(float)

    def exact(self) -> list[Decimal]:
        """Return the values as exact decimals."""
        return [Decimal(v).scaleb(-d) for v, d in zip(self.value.tolist(), self.decimals.tolist(), strict=True)]


@dataclass(frozen=True, eq=False)
class Problem:
    """Moves d of the unknown cells with M d = 0 and -down <= d <= up; all whole numbers of grains.

    ``cells`` are the unknown ones among the cells of the world. ``levels`` are how far they must be able to
    move. ``whole`` marks counts, which only move by whole numbers.
    """

    cells: Positions
    matrix: sp.csr_array
    down: LongArray
    up: LongArray
    levels: Levels[LongArray]
    whole: BoolArray

    @property
    def is_needy(self) -> bool:
        """Whether some cell needs to move."""
        return bool(self.levels.asked().any())


def grains_of(world: World) -> Grains:
    """Choose the grains: counts are whole; magnitudes get a few decimals more than published, as far as exact."""
    return _grains(world.tables, world.is_count, world.value)


def listed_grains(tables: TableSet) -> Grains:
    """Return the grains of the distinct cells alone."""
    return _grains(tables, tables.is_count, tables.value)


def _grains(tables: TableSet, is_count: BoolArray, values: FloatArray) -> Grains:
    decimals = np.zeros(len(values), np.int64)
    sums = [t for t in tables.tables if not t.is_count]
    if sums:
        largest = max(float(np.abs(t.value).max(initial=0)) for t in sums)
        room = int(np.floor(np.log10(_EXACT / max(largest, 1.0))))
        published = max(t.decimals for t in sums)
        if room < published:
            raise InputError(
                f"the values are too large to be exact to {published} decimals; publish fewer decimals, or in "
                "thousands or millions"
            )
        given = max((_given_decimals(t.rounding) for t in sums), default=0)
        decimals[~is_count] = min(room, max(published, given) + SPARE, 15)
    return Grains(decimals, np.rint(values * 10.0**decimals).astype(np.int64))


def _given_decimals(rounding: float) -> int:
    return 0 if np.isnan(rounding) or rounding == 0 else round(-np.log10(2 * rounding))


def pose(needs: Requirements, unknown: BoolArray, grains: Grains, extra: sp.csr_array | None = None) -> Problem:
    """Return the attacker's problem when the given distinct cells, and all latent cells, are unknown.

    ``extra`` are further relations that the attacker has, such as totals known from elsewhere.
    """
    world = needs.world
    cells = np.flatnonzero(world.extend(unknown, world.moving))
    matrix = sp.csr_array(world.relations_with(extra)[:, cells])
    matrix = matrix[np.flatnonzero(np.diff(matrix.indptr))]
    scale = 10.0 ** grains.decimals[cells]
    value = grains.value[cells]
    dust = 1e-9 + _DUST * np.abs(value)
    below = (value / scale - world.lower[cells]) * scale
    above = (world.upper[cells] - value / scale) * scale
    percent = needs.knowledge.percent
    down = _room(below, value, percent, dust, world.extend(_given(world.tables, "lower"), True)[cells])
    up = _room(above, value, percent, dust, world.extend(_given(world.tables, "upper"), True)[cells])
    hidden = world.extend(needs.primary, False)[cells]
    asked = [world.extend(need, 0.0)[cells] * scale for need in (needs.lower, needs.upper, needs.sliding)]
    levels = Levels(_capped(asked[0], below, down, dust), _capped(asked[1], above, up, dust), _ceil(asked[2], dust))
    unit = np.rint(world.unit[cells] * scale).astype(np.int64)
    levels = replace(levels, width=np.where(levels.most() < unit, unit, levels.width)).kept(hidden)
    return Problem(cells, matrix.astype(np.int64), down, up, levels, world.is_count[cells])


def _given(tables: TableSet, name: str) -> BoolArray:
    """Return which distinct cells have a bound of their own, ``lower`` or ``upper``, in place of the general one."""
    given = np.zeros(len(tables), bool)
    for table, cells in zip(tables.tables, tables.cells_of, strict=True):
        given[cells] |= ~np.isnan(getattr(table.apriori, name))
    return given


def _room(room: FloatArray, value: LongArray, percent: float | None, dust: FloatArray, own: BoolArray) -> LongArray:
    """Return how far cells may move, in whole grains; where a percentage sets the bound, exactly that of the value.

    Cells with a bound of their own do not have it from the percentage.
    """
    amount = _floor(room, dust)
    if percent is None:
        return amount
    share = Fraction(repr(percent)) / 100
    exact = np.array([abs(v) * share.numerator // share.denominator for v in value.tolist()], np.int64)
    return np.where((np.abs(amount - exact) <= 1) & ~own, exact, amount)


def _capped(need: FloatArray, room: FloatArray, whole_room: LongArray, dust: FloatArray) -> LongArray:
    """Round protection levels up; one that takes all the room there is takes all of it in whole grains too."""
    return np.where((need > 0) & (need > room - 1), whole_room, np.minimum(_ceil(need, dust), whole_room))


def _floor(amount: FloatArray, dust: FloatArray) -> LongArray:
    """Round down to whole grains; a distance that is whole but for floating-point dust stays as it is."""
    finite = np.clip(amount, -(2.0**61), 2.0**61)
    whole = np.floor(finite + dust + _DUST * np.abs(finite)).astype(np.int64)
    return np.where(amount >= 2.0**61, UNLIMITED, whole)


def _ceil(amount: FloatArray, dust: FloatArray) -> LongArray:
    return -_floor(-amount, dust)
