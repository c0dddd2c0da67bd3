"""Desired noise of the cells: how far up or down sensitive ones are to move, and that with a random excess.

An attacker who knows the rule knows p, and so the protection level of a single contributor as a share of X: noise that
just reaches the protection level gives X = T_N / (1 +- p), and a multiplier at its bound gives X = T_N / (1 +- cap). So
every protection level is multiplied by a draw from [1, 1 + excess], and every bound by one from [1 - excess / 2.5, 1],
which nobody publishes.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import FloatArray
from cellguard.methods.perturb.cells.sensitivity import desired_totals, needs_of
from cellguard.methods.perturb.fit.directions import Pattern, directions
from cellguard.methods.perturb.fit.supertable import Supertable
from cellguard.randomness import Stream

OVER = 1e-5  # by which protection levels are exceeded, so that rounding does not undo them
ROOM = 1 + 10 * OVER  # by which movers must reach further than what is asked of them
_FOLLOWS = 0.05  # the share of its protection level from which on a cell goes the way of the movers that it holds


def random_bounds(whole: Supertable, source: Stream, *, cap: float, excess: float) -> tuple[FloatArray, FloatArray]:
    """Return how much noise each row is to have at least, and how far from 1 each mover's factor may be.

    The excess never takes a sensitive row out of reach: where its movers cannot give all of it, the row asks for a
    draw between its protection level and what they can give; where even the level needs it, they get the whole cap.
    """
    extra, less = source.uniform(len(whole.need)), source.uniform(len(whole.units))
    level = np.where(whole.sensitive, whole.need, 0.0)
    need, caps = level * (1 + excess * extra), cap * (1 - excess / 2.5 * less)
    sizes = sp.csr_array(abs(whole.matrix))
    tight = (level > sizes @ caps / ROOM) & (level <= sizes @ np.full(len(caps), cap) / ROOM)
    caps[np.unique(sizes[np.flatnonzero(tight)].indices)] = cap
    most = sizes @ caps / ROOM
    return np.where((need > most) & (level <= most), level + extra * (most - level), need), caps


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
