"""Changes of the contributions that no published cell shows: a unit that can move far enough is safe in every sum.

A move v has A v = 0, so that c v = 0 for every combination c = A'y of cells. If |v_b| <= r_b for all b but g, every sum
with c_g = 1 has sum of r_b |c_b| >= v_g. Take r_b as what unknown b, times q, adds to the rest if a coalition knows
nobody there for more than tau: r_b = q (W_b - sum of max(x_u - tau, 0)). A coalition of n - 1 knows no more than
(n - 1) tau besides, if no share is above that of g. So the unit t in g is safe if for some tau there is a move with

    v_g >= p X_t - q (W_g - X_t - sum of max(x_u - tau, 0) over the others in g) + q (n - 1) tau.

If t is in other unknowns b too, these have (p + q) x_tb less; what this is below 0 is added on the right.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product
from math import inf

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import FloatArray
from cellguard.methods.perturb.checks.judged import Judge
from cellguard.solver import solve
from cellguard.solver.program import Program, Status

_TAU = (0.25, 1.0, 0.0625)  # as shares of what the unit contributes, the most promising first
_COLUMNS = (4, 12, inf)  # how many of the largest unknowns to move, as multiples of the number of rows
_MARGIN = 1e-6
_MOST = 1e4


class Moves:
    """The moves of a system, given by independent rows of it, and who judges sums of its unknowns.

    ``spent`` is what the programs so far cost, as rows times unknowns.
    """

    def __init__(self, matrix: sp.csr_array, judge: Judge) -> None:
        self.matrix, self.judge, self.spent = matrix, judge, 0

    def protect(self, entry: int) -> bool:
        """Return whether a unit in an unknown, given as an entry of ``amounts``, is proven safe in every sum with
        it.
        """
        own = float(abs(self.judge.system.amounts.data[entry]))
        taus = [inf] if self.judge.rule.n == 1 else [share * own for share in _TAU]
        rows, unknowns = self.matrix.shape
        widths = dict.fromkeys(int(min(times * rows, unknowns)) for times in _COLUMNS)
        return any(self._reaches(entry, tau, width) for width, tau in product(widths, taus))

    def _reaches(self, entry: int, tau: float, width: int) -> bool:
        """Return whether the unit can move as far as it must, by a program over so many of the largest unknowns."""
        judge, rule, amounts = self.judge, self.judge.rule, self.judge.system.amounts
        home, scale = int(judge.unknown[entry]), float(abs(amounts.data[entry]))
        mine = amounts.indices == amounts.indices[entry]
        own, known = np.where(mine, np.abs(amounts.data), 0.0), np.where(mine, 0.0, self._known(tau))
        rest = rule.prior * (judge.system.size - judge.by_unknown(known))
        rest = (rest - (rule.accuracy + rule.prior) * judge.by_unknown(own)) / scale
        # Where the unit has other unknowns to gain from, each share of them is taken to be 1.
        least = float(np.maximum(-rest, 0.0).sum()) - max(float(rest[home]), 0.0)
        least += 0.0 if rule.n == 1 else rule.prior * (rule.n - 1) * tau / scale
        if least <= 0:
            return True
        room = np.clip(rest, 0.0, _MOST)
        room[home] = inf
        kept = np.sort(np.argsort(-room, kind="stable")[:width])
        room[home] = least * (1 + _MARGIN)
        self.spent += self.matrix.shape[0] * len(kept)
        cost = np.where(kept == home, -1.0, 0.0)
        lower, zero = np.where(kept == home, 0.0, -room[kept]), np.zeros(self.matrix.shape[0])
        matrix = sp.csr_array(self._columns[:, kept])
        solution = solve(Program(matrix, zero, zero, lower, room[kept], cost), presolve=False)
        return solution.status is Status.optimal and -solution.objective >= least * (1 + _MARGIN / 2)

    @cached_property
    def _columns(self) -> sp.csc_array:
        return sp.csc_array(self.matrix.astype(float))

    @cached_property
    def _shares(self) -> FloatArray:
        """Which part of all that its unit contributes each entry of ``amounts`` is."""
        amounts = self.judge.system.amounts
        x = np.abs(amounts.data)
        whole = np.bincount(amounts.indices, x, amounts.shape[1])[amounts.indices]
        return np.divide(x, whole, out=np.zeros(len(x)), where=whole > 0)

    def _known(self, tau: float) -> FloatArray:
        """Return what a coalition may know of each entry beyond tau; tau is for all unknowns of a unit together."""
        if self.judge.rule.n == 1:
            return np.zeros(len(self._shares))
        return np.maximum(np.abs(self.judge.system.amounts.data) - tau * self._shares, 0.0)
