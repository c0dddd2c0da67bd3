"""Risk and utility of a changed map, after Marley and Leaver, by the original count u of the cells.

With c the new count of a cell and p = c - u: R1(u) = 1 / Var(p), R2(u) the share of cells with p = 0 and U1(u) the mean
of |p|/u, over the cells of that u; U2 the mean (and the sum) of |p| over all cells; U3(u) half the sum of the distances
of all units moved into or out of cells of that u, so that all U3 add up to mu. Of a single cell Var(p) is taken around
no change, as p squared: else R1 would be infinite whatever the change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.arrays import FloatArray, LongArray
from cellguard.methods.maps.transfers import Transfers


@dataclass(frozen=True, eq=False)
class Measures:
    """One row per original count ``u`` that occurs; R2 and U1 are in percent. Confidential.

    >>> one = measure(np.array([1, 5, 5]), np.array([3, 4, 4]), Transfers.of([1, 2], [0, 0], [1, 1], [1, 2]))
    >>> one.u.tolist(), one.r2.tolist(), one.u1.tolist(), one.u3.tolist(), one.u2_sum
    ([1, 5], [0.0, 0.0], [200.0, 20.0], [1.5, 1.5], 4)
    >>> one.r1.tolist()  # of a single cell of 1, which rose by 2; and of two cells of 5, which changed alike
    [0.25, inf]
    """

    u: LongArray
    cells: LongArray
    r1: FloatArray
    r2: FloatArray
    u1: FloatArray
    u3: FloatArray
    u2_sum: int
    u2_mean: float

    @property
    def mu(self) -> float:
        """The sum of the distances of all moved units."""
        return float(self.u3.sum())


def measure(before: LongArray, after: LongArray, transfers: Transfers) -> Measures:
    """Return the measures over all cells that had records."""
    cells = np.flatnonzero(before > 0)
    u, at = np.unique(before[cells], return_inverse=True)
    at = at.ravel()
    many = np.bincount(at, minlength=len(u))
    change = (after - before)[cells].astype(float)
    mean = np.where(many > 1, np.bincount(at, change, len(u)) / many, 0.0)
    variance = np.bincount(at, (change - mean[at]) ** 2, len(u)) / many
    row = np.full(len(before), -1, np.int64)
    row[cells] = at
    far = transfers.units * transfers.steps / 2
    ends = np.concatenate([row[transfers.source], row[transfers.target]])
    u3 = np.bincount(ends, np.concatenate([far, far]), len(u)).astype(float)
    return Measures(
        u,
        many,
        np.divide(1.0, variance, out=np.full(len(u), np.inf), where=variance > 0),
        100.0 * np.bincount(at, change == 0, len(u)) / many,
        100.0 * np.bincount(at, np.abs(change), len(u)) / many / u,
        u3,
        int(np.abs(change).sum()),
        float(np.abs(change).mean()) if len(cells) else 0.0,
    )
