"""Desired noise of the cells: how far up or down sensitive ones are to move, and that with a random excess.

Whoever knows the rule knows p, and so the need of a lone contributor as a share of X: noise that just reaches the need
gives X = T_N / (1 +- p), and a multiplier at its bound gives X = T_N / (1 +- cap). So every need is multiplied by a
draw from [1, 1 + excess], and every bound by one from [1 - excess / 2.5, 1], which nobody publishes.
"""

from __future__ import annotations

import numpy as np

from cellguard.protect.perturb.cells.sensitivity import desired_totals, needs_of
from cellguard.protect.perturb.fit.directions import Pattern, directions
from cellguard.protect.perturb.fit.supertable import Supertable
from cellguard.randomness import Stream
from cellguard.types import FloatArray


def random_needs(whole: Supertable, source: Stream, excess: float) -> FloatArray:
    """Return how much noise each row is to have at least, with its excess; 0 where it is not sensitive."""
    more = 1 + excess * source.uniform(len(whole.need))
    return np.where(whole.sensitive, whole.need * more, 0.0)


def random_caps(source: Stream, movers: int, cap: float, excess: float) -> FloatArray:
    """Return how far from 1 each mover's factor may be: at most the cap, and a little less at random."""
    return cap * (1 - excess / 2.5 * source.uniform(movers))


def desired_noise(whole: Supertable, need: FloatArray, pattern: Pattern, seed: int, *purpose: str | int) -> FloatArray:
    """Return +need or -need for sensitive rows and 0 for all others.

    Interior cells go by the pattern; a margin goes the way that its interior cells go together, since it cannot well go
    against them.
    """
    direction = np.zeros(len(need))
    for table, row in zip(whole.tables, whole.rows, strict=True):
        needs = needs_of(table)
        wanted = np.sign(desired_totals(needs, directions(needs, pattern, seed, *purpose)) - table.total)
        new = (row >= 0) & (wanted != 0)
        new[new] = direction[row[new]] == 0
        direction[row[new]] = wanted[new]
    noise = np.where(whole.sensitive, direction * need, 0.0)
    inside = np.where(whole.interior & ~whole.margin, noise, 0.0)
    share = np.divide(inside, whole.movable, out=np.zeros(len(need)), where=np.abs(whole.movable) > 0)
    per_mover = np.asarray(abs(whole.matrix).sign().T @ share, float)
    together = np.asarray(whole.matrix @ per_mover, float)
    follows = whole.sensitive & whole.margin & (np.abs(together) > 1e-9 * np.abs(whole.movable))
    return np.where(follows, np.sign(together) * need, noise)
