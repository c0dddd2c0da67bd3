"""Desired noise of the cells: how far up or down sensitive ones are to move, and that with a random excess.

An attacker who knows the rule knows p, and so the protection level of a lone contributor as a share of X: noise that
just reaches the protection level gives X = T_N / (1 +- p), and a multiplier at its bound gives X = T_N / (1 +- cap). So
every protection level is multiplied by a draw from [1, 1 + excess], and every bound by one from [1 - excess / 2.5, 1],
which nobody publishes.
"""

from __future__ import annotations

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.methods.perturb.cells.sensitivity import desired_totals, needs_of
from cellguard.methods.perturb.fit.directions import Pattern, directions
from cellguard.methods.perturb.fit.supertable import Supertable
from cellguard.randomness import Stream

_FOLLOWS = 0.05  # the share of its protection level from which on a cell goes the way of the movers that it holds


def random_needs(whole: Supertable, source: Stream, excess: float) -> FloatArray:
    """Return how much noise each row is to have at least, with its excess; 0 where it is not sensitive."""
    more = 1 + excess * source.uniform(len(whole.need))
    return np.where(whole.sensitive, whole.need * more, 0.0)


def random_caps(source: Stream, movers: int, cap: float, excess: float) -> FloatArray:
    """Return how far from 1 each mover's factor may be: at most the cap, and a little less at random."""
    return cap * (1 - excess / 2.5 * source.uniform(movers))


def desired_noise(whole: Supertable, need: FloatArray, pattern: Pattern, seed: int, *purpose: str | int) -> FloatArray:
    """Return +need or -need for sensitive rows and 0 for all others.

    Small cells go by the pattern of their table. A cell that holds movers of others goes the way that these go
    together, since it cannot well go against them: so do margins, and cells of other tables with the same dominating
    unit.
    """
    direction = _by_pattern(whole, pattern, seed, *purpose)
    plan, noise = np.zeros(whole.matrix.shape[1]), np.zeros(len(need))
    members = np.diff(whole.matrix.indptr)
    rows = np.flatnonzero(need > 0)
    for row in rows[np.argsort(members[rows], kind="stable")].tolist():
        part = slice(whole.matrix.indptr[row], whole.matrix.indptr[row + 1])
        columns, amounts = whole.matrix.indices[part], whole.matrix.data[part]
        now = float(amounts @ plan[columns])
        sign = np.sign(now) if abs(now) > _FOLLOWS * need[row] else direction[row]
        missing = max(need[row] - sign * now, 0.0)
        plan[columns] += sign * missing / np.abs(amounts).sum() * np.sign(amounts)
        noise[row] = sign * need[row]
    return noise


def _by_pattern(whole: Supertable, pattern: Pattern, seed: int, *purpose: str | int) -> FloatArray:
    """Return +1 or -1 for each row, as the first table says that holds it as a sensitive cell."""
    direction = np.zeros(len(whole.total))
    for table, row in zip(whole.tables, whole.rows, strict=True):
        needs = needs_of(table)
        wanted = np.sign(desired_totals(needs, directions(needs, pattern, seed, *purpose)) - table.total)
        new = (row >= 0) & (wanted != 0)
        new[new] = direction[row[new]] == 0
        direction[row[new]] = wanted[new]
    return np.where(direction == 0, 1.0, direction)
