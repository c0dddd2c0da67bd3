"""Proportional assignment: from a mover's factor to the multipliers of its units (Cuppen 2000, section 5.3).

Of a mover with factor f and contributions X the multipliers m must keep sum m X = f sum X. All ways are one form,

    m = start + theta g,

with one theta per mover: (a) ``equal``: start 1, g = 1; (b) ``size``: start 1, g = |X|, so that larger units move
more, or any other score; (c) units that are kept have g = 0; (d) ``strata``: start 1, g the same for all units of a
class; and ``spread``: start is the unit's own random multiplier, g = 1, so that multipliers differ inside a mover
while its total is what it is meant to be. Where a bound is met, the others take over what is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray

_ROUNDS = 60


@dataclass(frozen=True, eq=False)
class Assigned:
    """One multiplier per unit; ``off`` says which movers cannot be served within the bounds."""

    multipliers: FloatArray
    off: BoolArray


def assign(
    factor: FloatArray,
    mover: LongArray,
    amount: FloatArray,
    *,
    score: FloatArray | None = None,
    start: FloatArray | None = None,
    lower: FloatArray | float = 0.0,
    upper: FloatArray | float = np.inf,
) -> Assigned:
    """Deal the factor of each mover out to its units, of which ``amount`` are the contributions.

    Units without a mover (-1) keep ``start``. Bounds are per unit; a multiplier that starts beyond them is moved in.

    >>> two = np.zeros(2, np.int64), np.array([80.0, 20.0])
    >>> assign(np.array([1.1]), *two).multipliers.round(9).tolist()
    [1.1, 1.1]
    >>> assign(np.array([1.1]), *two, score=two[1]).multipliers.round(4).tolist()
    [1.1176, 1.0294]
    >>> assign(np.array([1.1]), *two, score=np.array([0.0, 1.0])).multipliers.round(9).tolist()
    [1.0, 1.5]
    >>> assign(np.array([1.1]), *two, score=np.array([0.0, 1.0]), upper=1.2).off.tolist()
    [True]
    """
    units, movers = len(mover), len(factor)
    g = np.ones(units) if score is None else np.asarray(score, float)
    begin = np.ones(units) if start is None else np.asarray(start, float)
    low, high = (np.broadcast_to(np.asarray(bound, float), (units,)) for bound in (lower, upper))
    at = np.flatnonzero((mover >= 0) & (amount != 0))
    home, x, g_, low_, high_ = mover[at], amount[at], g[at], low[at], high[at]
    m = np.where(g_ > 0, np.clip(begin[at], low_, high_), begin[at])
    wanted = factor * np.bincount(home, x, movers)
    free = g_ > 0
    for _ in range(_ROUNDS):
        left = wanted - np.bincount(home, m * x, movers)
        weight = np.bincount(home, np.where(free, g_ * x, 0.0), movers)
        theta = np.divide(left, weight, out=np.zeros(movers), where=np.abs(weight) > 0)
        step = np.where(free, m + theta[home] * g_, m)
        inside = np.clip(step, low_, high_)
        m = np.where(free, inside, m)
        hit = free & (step != inside)
        if not hit.any():
            break
        free = free & ~hit
    size = np.bincount(home, np.abs(x), movers)
    off = np.abs(wanted - np.bincount(home, m * x, movers)) > 1e-9 * np.maximum(size, 1e-300)
    multipliers = begin.copy()
    multipliers[at] = m
    return Assigned(multipliers, np.asarray(off, bool))
