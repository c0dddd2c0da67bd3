"""Balanced noise: multipliers 1 +- r with r in [low, high], whose sum is near 0, or 0, in cells that need no noise.

Evans, Zayatz and Slanta (1998) draw the side of each multiplier at random. Massell and Funk (2007) balance the sides
within cells that are not sensitive: contributors are taken from the largest to the smallest, the first goes to a side
at random, and each further one to the side that brings the noise of the cell nearer to 0. Let e_j = (m_j - 1) X_j. With
``totals: exact`` sizes then move within [low, high] until the e_j of a cell add up to 0: ups shrink and downs grow, all
by the same share of what they can.

Two kinds of units are kept apart. Those among the n largest of a sensitive cell of any table are ``guarded``: side and
size are drawn by chance alone, and no other unit's noise depends on them. All others may be balanced. An attacker who
knows the method may infer their sides, so the checks count the noise of guarded units only (`Multipliers.known`).

References
----------
Evans, T., Zayatz, L. and Slanta, J. (1998). Using noise for disclosure limitation of establishment tabular data.
*Journal of Official Statistics* 14(4), 537-551.

Massell, P. and Funk, J. (2007). Recent developments in the use of noise for protecting magnitude data tables. *Federal
Committee on Statistical Methodology Research Conference*, Arlington.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.errors import InputError, did_you_mean
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.cells.sensitivity import needs_of
from cellguard.methods.perturb.draw.mu import strata_by_need
from cellguard.methods.perturb.draw.shapes import HALFWIDTH
from cellguard.methods.perturb.draw.zes import Zes
from cellguard.microdata.record_keys import Texts

if TYPE_CHECKING:
    from cellguard.methods.perturb.draw.multipliers import Multipliers

Shape = Literal["uniform", "triangular", "beta"]
Totals = Literal["near", "exact"]
_HAIR = 1e-12
_ROUNDS, _LEFT = 4, 1.0  # of passing rounding on, and how many last decimals per contributor rounding leaves at most


@dataclass(frozen=True, slots=True)
class Balanced:
    """Sizes from ``low`` to ``high`` with a ``shape``, and whether balanced cells are near their totals or at them.

    ``table`` names the table whose finest cells are balanced; by default it is the first.

    >>> Balanced(0.1, 0.2).zes.mu, round(Balanced(0.1, 0.2).zes.reach, 12)
    (0.15000000000000002, 0.05)
    """

    low: float = 0.10
    high: float = 0.20
    shape: Shape = "uniform"
    totals: Totals = "near"
    table: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high < 1:
            raise InputError(f"`low` must be above 0, `high` above it and below 1, not {self.low:g} and {self.high:g}")
        for name, value, known in (
            ("shape", self.shape, get_args(Shape)),
            ("totals", self.totals, get_args(Totals)),
        ):
            if value not in known:
                raise InputError(f"no {name} {value!r}{did_you_mean(value, known)}")

    @property
    def zes(self) -> Zes:
        """The distribution from which sides and sizes are drawn first."""
        sigma = (self.high - self.low) / 2 / HALFWIDTH[self.shape]
        return Zes((self.low + self.high) / 2, sigma, self.shape)


@dataclass(frozen=True, slots=True)
class Balance:
    """What was balanced: ``guarded`` units by their keys, how many units were, in how many cells, and how many of these
    have their true total.
    """

    guarded: tuple[str, ...]
    units: int
    cells: int
    exact: int


def sides(sizes: FloatArray, amounts: FloatArray, first: float) -> FloatArray:
    """Return the side of each unit: the first goes to ``first``, each further one to where it takes the noise to 0.

    Firms with 100, 80, 50, 30 and 20, all with r = 0.1, have the noise +10 - 8 - 5 + 3 + 2 or, on the way, 10, 2, -3, 0
    and, since 0 leaves it open, the side of the first again:

    >>> x = np.array([100.0, 80, 50, 30, 20])
    >>> sides(np.full(5, 0.1), x, 1.0).tolist(), (0.1 * x * sides(np.full(5, 0.1), x, 1.0)).sum().round(9)
    ([1.0, -1.0, -1.0, 1.0, 1.0], np.float64(2.0))
    """
    side, net = np.empty(len(sizes)), 0.0
    for place, (size, amount) in enumerate(zip(sizes.tolist(), amounts.tolist(), strict=True)):
        up = first if abs(net) <= _HAIR * abs(amount) else (-1.0 if net > 0 else 1.0)
        side[place] = up if amount > 0 else -up
        net += side[place] * size * amount
    return side


def settle(sizes: FloatArray, noise: FloatArray, low: float, high: float) -> FloatArray:
    """Return sizes within the range with which the noise adds up to 0, or the same sizes if none do.

    Firms with 100, 80 and 30 and r = 0.1, the first up and the others down, have the noise 10 - 8 - 3 = -1. The up may
    rise by 10 more and the downs fall by 0, so a tenth of it is taken:

    >>> settle(np.full(3, 0.1), np.array([10.0, -8, -3]), 0.1, 0.2).round(12).tolist()
    [0.11, 0.1, 0.1]
    """
    net = float(noise.sum())
    growing = np.where(
        noise * net < 0, high - sizes, sizes - low
    )  # what is against the net grows, what is with it shrinks
    room = np.divide(growing * np.abs(noise), sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    can = float(room.sum())
    if net == 0 or can < abs(net):
        return sizes
    share = abs(net) / can
    return np.clip(np.where(noise * net < 0, sizes + share * growing, sizes - share * growing), low, high)


def guarded_units(tables: Sequence[CalibrationTable]) -> BoolArray:
    """Return the units whose noise protects: those among the n largest of a sensitive cell."""
    return np.asarray(strata_by_need(tables) > 0, bool)


def balance(made: Multipliers, tables: Sequence[CalibrationTable], how: Balanced) -> tuple[FloatArray, Balance]:
    """Return the multipliers of all units after balancing, and what was balanced."""
    table = _table(tables, how.table)
    guarded = guarded_units(tables)
    units, cell, amount = _free(made, table, guarded)
    of_unit = np.zeros(made.records.units)
    of_unit[units] = amount
    base, exact = made.base.copy(), 0
    cells = _by_size(units, cell, amount, made.records.keys)
    for members in cells:
        x = of_unit[members]
        size = np.clip(np.abs(base[members] - 1), how.low, how.high)
        side = sides(size, x, float(np.sign((base[members[0]] - 1) * x[0])))
        if how.totals == "exact":
            size = settle(size, size * side * x, how.low, how.high)
        base[members] = 1 + size * side
    if how.totals == "exact":
        base, exact = _to_the_grain(made, table, base, cells, how)
    keys = made.records.keys[np.flatnonzero(guarded)].tolist()
    return base, Balance(tuple(sorted(map(str, keys))), len(units), len(cells), exact)


def _by_size(units: LongArray, cell: LongArray, amount: FloatArray, keys: Texts) -> list[LongArray]:
    """Return the units of each cell, the largest first; ties go by the key."""
    order = np.lexsort((keys[units], -np.abs(amount), cell))
    ends = np.flatnonzero(np.diff(cell[order], append=-1)) + 1
    return np.split(units[order], ends[:-1]) if len(units) else []


def _table(tables: Sequence[CalibrationTable], name: str | None) -> CalibrationTable:
    found = [table for table in tables if name in (None, table.name)]
    if not found:
        names = [table.name for table in tables]
        raise InputError(f"`balanced`: no table {name!r}{did_you_mean(str(name), names)}")
    return found[0]


def _free(made: Multipliers, table: CalibrationTable, guarded: BoolArray) -> tuple[LongArray, LongArray, FloatArray]:
    """Return the units that may be balanced, the cell that each is in, and what it contributes.

    These are units with all their records in one finest cell that is not sensitive; guarded ones are left out, and so
    are those that are not perturbed or contribute nothing.
    """
    records, inner = table.records, np.flatnonzero(table.interior & ~table.table.unpublished)
    below = sp.csc_array(table.membership.below[inner])
    alone = np.diff(below.indptr) == 1
    of_leaf = np.full(below.shape[1], -1)
    of_leaf[alone] = inner[below.indices[below.indptr[:-1][alone]]]
    x = records.plain(table.response)
    there = x != 0
    cell, unit = of_leaf[table.membership.leaf[there]], records.unit[there]
    lowest, highest = np.full(records.units, len(table)), np.full(records.units, -1)
    np.minimum.at(lowest, unit, cell)
    np.maximum.at(highest, unit, cell)
    amount = _by_unit(records.unit, x, records.units)
    moved = np.ones(records.units, bool) if made.plan.only is None else made.plan.only
    units = np.flatnonzero((lowest == highest) & (highest >= 0) & ~guarded & moved & (amount != 0))
    units = units[~needs_of(table).sensitive[highest[units]]]
    return units, highest[units], amount[units]


def _to_the_grain(
    made: Multipliers, table: CalibrationTable, base: FloatArray, cells: list[LongArray], how: Balanced
) -> tuple[FloatArray, int]:
    """Return multipliers with which rounded contributions add up as the true ones do, and in how many cells they do.

    What rounding leaves, some last decimals, goes to the largest contributor that stays in the range with it.
    """
    records, response = table.records, table.response
    step, grain = 10.0**made.settings.decimals, 10.0 ** (made.settings.decimals - made.decimals(response))
    true = replace(made, base=np.ones(records.units), attributes={}).grains(response)
    amount = _by_unit(records.unit, records.plain(response), records.units)
    nets = np.zeros(len(cells))
    for _ in range(_ROUNDS):
        off = replace(made, base=base, attributes={}).grains(response) - true
        by_unit = _by_unit(records.unit, off, records.units)
        nets = np.array([by_unit[members].sum() for members in cells])
        left = [
            place
            for place in np.flatnonzero(np.abs(nets) >= grain / 2).tolist()
            if abs(nets[place]) <= grain * _LEFT * len(cells[place])
        ]
        for place in left:
            for unit in cells[place].tolist():  # the largest first
                moved = base[unit] - nets[place] / step / amount[unit]
                if how.low <= abs(moved - 1) <= how.high:
                    base[unit] = moved
                    break
        if not left:
            break
    return base, int((np.abs(nets) < grain / 2).sum())


def _by_unit(unit: LongArray, amounts: FloatArray, units: int) -> FloatArray:
    return np.asarray(np.bincount(unit, amounts, minlength=units), float)
