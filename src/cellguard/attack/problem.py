"""The attacker's problem in whole numbers: unknown cells move, published ones do not.

Values are counted in *grains*, a fixed decimal fraction, so that every value, bound and need is a whole number and
nothing about a verdict hangs on rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.errors import InputError
from cellguard.protection import Requirements
from cellguard.table.facts import BoolArray, FloatArray
from cellguard.table.tableset import TableSet

Whole = npt.NDArray[np.int64]
UNLIMITED = 2**62
_EXACT = 2.0**50
_SPARE = 3
_DUST = 2.0**-52  # what floating-point arithmetic may add to a distance, relative to the value


@dataclass(frozen=True, eq=False)
class Grains:
    """How many decimals the values of each distinct cell are counted in, and the values in these grains."""

    decimals: Whole
    value: Whole

    def size(self) -> FloatArray:
        """Return the size of each cell's grain."""
        return 10.0 ** -self.decimals.astype(float)

    def exact(self) -> list[Decimal]:
        """Return the values as exact decimals."""
        return [Decimal(v).scaleb(-d) for v, d in zip(self.value.tolist(), self.decimals.tolist(), strict=True)]


@dataclass(frozen=True, eq=False)
class Problem:
    """Moves d of the unknown cells with M d = 0 and -down <= d <= up; all whole numbers of grains.

    ``cells`` are the unknown ones among the distinct cells. ``lower``, ``upper`` and ``sliding`` are their needs, 0
    where there is none. ``whole`` marks counts, which only move by whole numbers.
    """

    cells: npt.NDArray[np.intp]
    matrix: sp.csr_array
    down: Whole
    up: Whole
    lower: Whole
    upper: Whole
    sliding: Whole
    whole: BoolArray


def grains_of(tables: TableSet) -> Grains:
    """Choose the grains: counts are whole; magnitudes get a few decimals more than published, as far as exact."""
    decimals = np.zeros(len(tables), np.int64)
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
        decimals[~tables.is_count] = min(room, max(published, given) + _SPARE, 15)
    value = np.rint(tables.value * 10.0**decimals).astype(np.int64)
    return Grains(decimals, value)


def _given_decimals(rounding: float) -> int:
    return 0 if np.isnan(rounding) or rounding == 0 else round(-np.log10(2 * rounding))


def pose(needs: Requirements, unknown: BoolArray, grains: Grains, extra: sp.csr_array | None = None) -> Problem:
    """Return the attacker's problem when the given distinct cells are unknown.

    ``extra`` are further relations that the attacker has, such as totals known from elsewhere.
    """
    tables = needs.tables
    cells = np.flatnonzero(unknown)
    matrix = tables.relations if extra is None else sp.csr_array(sp.vstack([tables.relations, extra], format="csr"))
    matrix = sp.csr_array(matrix[:, cells])
    matrix = matrix[np.flatnonzero(np.diff(matrix.indptr))]
    scale = 10.0 ** grains.decimals[cells]
    value = grains.value[cells]
    dust = 1e-9 + _DUST * np.abs(value)
    below = (value / scale - needs.known_lower[cells]) * scale
    above = (needs.known_upper[cells] - value / scale) * scale
    down, up = (_room(room, value, needs.knowledge.percent, dust) for room in (below, above))
    hidden = needs.primary[cells]
    lower = _capped(needs.lower[cells] * scale, below, down, dust)
    upper = _capped(needs.upper[cells] * scale, above, up, dust)
    sliding = _ceil(needs.sliding[cells] * scale, dust)
    unit = np.rint(tables.unit[cells] * scale).astype(np.int64)
    tiny = hidden & (np.maximum(np.maximum(lower, upper), sliding) < unit)
    sliding = np.where(tiny, unit, sliding)
    zero = np.zeros(len(cells), np.int64)
    return Problem(
        cells,
        matrix.astype(np.int64),
        down,
        up,
        np.where(hidden, lower, zero),
        np.where(hidden, upper, zero),
        np.where(hidden, sliding, zero),
        tables.is_count[cells],
    )


def _room(room: FloatArray, value: Whole, percent: float | None, dust: FloatArray) -> Whole:
    """Return how far cells may move, in whole grains; where a percentage sets the bound, exactly that of the value."""
    found = _floor(room, dust)
    if percent is None:
        return found
    share = Fraction(repr(percent)) / 100
    exact = np.array([abs(v) * share.numerator // share.denominator for v in value.tolist()], np.int64)
    return np.where(np.abs(found - exact) <= 1, exact, found)


def _capped(need: FloatArray, room: FloatArray, whole_room: Whole, dust: FloatArray) -> Whole:
    """Round needs up; one that takes all the room there is takes all of it in whole grains too."""
    return np.where((need > 0) & (need > room - 1), whole_room, np.minimum(_ceil(need, dust), whole_room))


def _floor(amount: FloatArray, dust: FloatArray) -> Whole:
    """Round down to whole grains; a distance that is whole but for floating-point dust stays as it is."""
    finite = np.clip(amount, -(2.0**61), 2.0**61)
    whole = np.floor(finite + dust + _DUST * np.abs(finite)).astype(np.int64)
    return np.where(amount >= 2.0**61, UNLIMITED, whole)


def _ceil(amount: FloatArray, dust: FloatArray) -> Whole:
    return -_floor(-amount, dust)
