"""Concentrated cells: the dominating values are lowered, and the difference goes to a cell nearby.

Each rule allows the sum of the n largest values at most a times what is left after the m largest, where lowering them
does not change what is left: max_share k: n = m = 1, a = k/(100 - k); dominance (n, k): m = n, the same a; p_percent p:
n = 1, m = 2 (one more per member of a coalition), a = 100/p. The values are scaled to that sum. The printed targets of
Lee, Choi and O'Keefe (2012), section 7.2, overlook that the total shrinks with the largest value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.errors import InputError
from cellguard.geometry.space import Space
from cellguard.methods.maps.capping_kernel import receivers
from cellguard.methods.maps.contributors import Contributors
from cellguard.rules.rule import Rule

_JUST_BELOW = 1 - 1e-9  # where a tie is unsafe


@dataclass(frozen=True, slots=True)
class Cap:
    """The sum of the ``n`` largest values is at most ``a`` times what is left after the ``m`` largest.

    It is the `Ceiling` of a rule, which also says how ``near`` others may come to the largest, 0 if anyhow.

    >>> from cellguard.rules.simple import MaxShare
    >>> cell = Contributors.of([0] * 5, [48, 9, 7, 6, 4], 1)
    >>> (48 * Cap.of(MaxShare(50)).factor(cell)).round(6).tolist()
    [26.0]
    """

    rule: Rule
    n: int
    m: int
    a: float
    near: float

    @classmethod
    def of(cls, rule: Rule) -> Cap:
        """Return the cap of a rule that has a ceiling."""
        if rule.ceiling is None:
            raise InputError(
                f"values cannot be redistributed by the rule {rule}; use max_share, dominance or p_percent"
            )
        return cls(rule, *rule.ceiling)

    def unsafe(self, values: Contributors) -> BoolArray:
        """Return which cells the rule finds unsafe."""
        return self.rule.unsafe(values.facts(max(self.n, self.m)))

    def factor(self, values: Contributors) -> FloatArray:
        """Return what the n largest values of each cell are multiplied by, so that the rule just allows them."""
        tops = np.cumsum([values.top(rank) for rank in range(1, max(self.n, self.m) + 1)], axis=0)
        left = np.maximum(values.total - tops[self.m - 1], 0.0)
        target = self.a * left * (_JUST_BELOW if self.rule.inclusive else 1.0)
        return np.divide(target, tops[self.n - 1], out=np.ones(values.cells), where=tops[self.n - 1] > 0)


def apply_cap(space: Space, values: Contributors, cap: Cap) -> tuple[Contributors, float]:
    """Lower the values that a rule finds too large, and pass the difference on; return them and how much that was.

    Cells that cannot be treated stay as they are: nothing is left besides the largest values, or no other cell has any.
    """
    unsafe = cap.unsafe(values)
    factor = np.where(unsafe, cap.factor(values), 1.0)
    receiver = _receivers(space, values, unsafe)
    treated = unsafe & (factor > 0) & (receiver >= 0)
    lowered = np.where(treated[values.cell] & (values.rank < cap.n), values.value * factor[values.cell], values.value)
    return pass_on(values, lowered, receiver)


def shrink(space: Space, values: Contributors, factor: FloatArray) -> tuple[Contributors, float]:
    """Multiply all values of each cell by a factor up to 1, and pass the difference on; shares do not change."""
    receiver = _receivers(space, values, factor < 1)
    factor = np.where(receiver < 0, 1.0, factor)
    return pass_on(values, values.value * factor[values.cell], receiver)


def pass_on(values: Contributors, lowered: FloatArray, receiver: Positions) -> tuple[Contributors, float]:
    """Give what cells lost to their receivers, in proportion to the values there: shares do not change."""
    lost = np.bincount(values.cell, values.value - lowered, values.cells)
    left = np.bincount(values.cell, lowered, values.cells)
    giving = np.flatnonzero(lost > 0)
    gained = np.bincount(receiver[giving], lost[giving], values.cells)
    growth = 1 + np.divide(gained, left, out=np.zeros(values.cells), where=left > 0)
    done = Contributors.of(values.cell, lowered * growth[values.cell], values.cells)
    return done, float(lost.sum())


def still_unsafe(values: Contributors, caps: Sequence[Cap]) -> BoolArray:
    """Return which cells some rule still finds unsafe."""
    return np.logical_or.reduce([np.zeros(values.cells, bool), *(cap.unsafe(values) for cap in caps)])


def _receivers(space: Space, values: Contributors, cells: BoolArray) -> Positions:
    """Return for each of the cells who receives: of the nearest with a value, that of the smallest contributor."""
    receiver = np.full(values.cells, -1, np.intp)
    chosen = np.flatnonzero(cells)
    weight = np.where(values.total > 0, values.smallest, -1.0)
    receiver[chosen] = receivers(space.start, space.neighbours, space.cells, space.cell_of, weight, chosen)
    return receiver
