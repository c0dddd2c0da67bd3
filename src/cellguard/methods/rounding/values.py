"""Rounding of single values, and which true values may lie behind a published one. All numbers are whole grains.

Let b be the base and x the value. Conventional rounding gives the nearest multiple of b, halves up. Random rounding
gives the multiple of b below x, or with probability (x mod b) / b the one above, so that the expected value is x.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.methods.rounding.plan import Plan

FAR = 2**60  # beyond every value: no bound


class Box(NamedTuple):
    """The least and the largest value that each cell may have, from its own published value alone."""

    lower: LongArray
    upper: LongArray


def conventional(value: LongArray, base: LongArray) -> LongArray:
    """Return the nearest multiples of the base; halves go up.

    >>> conventional(np.array([0, 2, 3, 7, -3]), np.array([5] * 5)).tolist()
    [0, 0, 5, 5, -5]
    """
    return base * ((2 * value + base) // (2 * base))


def random(value: LongArray, base: LongArray, uniform: FloatArray) -> LongArray:
    """Return a multiple of the base next to each value; ``uniform`` are numbers between 0 and 1.

    >>> random(np.array([0, 2, 2, 5]), np.array([5] * 4), np.array([0.01, 0.39, 0.41, 0.01])).tolist()
    [0, 5, 0, 5]
    """
    rest = value % base
    return value - rest + base * (uniform * base < rest)


def box_of(plan: Plan, rounded: LongArray, hidden: BoolArray) -> Box:
    """Return which true values each published value leaves open to somebody who knows method, base and threshold.

    Behind a shown value lies either 0 or a value from the threshold on. Of these two ranges the one that holds the
    true value is returned, so an attacker, who does not know which it is, concludes less.

    A count of 3 that is shown as 5:

    >>> import cellguard as cg
    >>> from cellguard.proofs.problem import listed_grains
    >>> counts = cg.link(cg.cells({"r": ["Total"], "n": [3]}, by=["r"], value="n", about=cg.About(is_count=True)))
    >>> yes, no = np.array([True]), np.array([False])
    >>> for kind in ("conventional", "random"):
    ...     plan = Plan(kind, counts, listed_grains(counts), np.array([5]), np.array([0]), no, yes)
    ...     print(*map(int, (end[0] for end in box_of(plan, np.array([5]), no))))
    3 7
    1 9
    """
    value, base, t = plan.value, plan.base, plan.threshold
    if plan.kind == "conventional":
        lower, upper = rounded - base // 2, rounded + (base + 1) // 2 - 1
    else:
        reach = (plan.steps + 1) * base - 1
        lower, upper = rounded - reach, rounded + reach
    above, below = (t > 0) & (value >= t), (t > 0) & (value <= -t)
    lower, upper = np.where(above, np.maximum(lower, t), lower), np.where(below, np.minimum(upper, -t), upper)
    nothing = (t > 0) & (value == 0)
    lower, upper = np.where(nothing, 0, lower), np.where(nothing, 0, upper)
    small = plan.small
    lower = np.where(small, np.where(value > 0, 1, 1 - t), lower)
    upper = np.where(small, np.where(value > 0, t - 1, -1), upper)
    fixed = plan.kept & plan.shown
    lower, upper = np.where(fixed, value, lower), np.where(fixed, value, upper)
    free = ~plan.shown | (hidden & ~small)
    return Box(np.where(free, -FAR, lower), np.where(free, FAR, upper))
