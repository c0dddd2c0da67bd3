"""The linear and integer programs of OPT, in units of each mover's largest possible contribution to noise.

    l1:    min sum w |e - t|          linf:  min max |e - t|          with e = M d, |d| <= cap,

and as far as can be lower <= e <= upper: leaving the bounds costs far more than any noise. Where signs are open, a
binary variable per sensitive cell decides whether e >= need or e <= -need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.errors import InternalError
from cellguard.methods.perturb.fit.wish import Wish
from cellguard.run_context import UNWATCHED, Run
from cellguard.solver.program import Program, Solution, Status

# In the largest deviation, among equal ones the smaller sum is better; and without any cost the middle of all optima
# would be infinitely far away.
_TIES = 1e-6
_NOTHING = 1e-8  # what is less beside a mover's largest entry does not count, and solvers do not take it


def least_absolute(wish: Wish, *, run: Run = UNWATCHED) -> FloatArray:
    """Return the deviations with the least sum of |e - t|; of many optima one in the middle, not a corner.

    >>> two = sp.csr_array(np.array([[100.0, 0.0], [0.0, 50.0], [100.0, 50.0]]))
    >>> free = np.full(3, np.inf)
    >>> wish = Wish(two, np.array([6.0, 0.0, 6.0]), np.ones(3), -free, free, free, np.full(2, 0.2))
    >>> (two @ least_absolute(wish)).round(4)[[0, 2]].tolist()
    [6.0, 6.0]
    """
    parts = _Parts.of(wish)
    return parts.deviations(_solved(parts.program(), run, interior=True))


def least_largest(wish: Wish, *, run: Run = UNWATCHED) -> FloatArray:
    """Return the deviations with the smallest largest |e - t|."""
    parts = _Parts.of(wish)
    plain, n = parts.program(), len(wish.target)
    top = sp.csr_array(np.ones((n, 1)))
    above = sp.hstack([sp.csr_array((n, parts.movers)), sp.eye_array(n), sp.eye_array(n)])
    rest = sp.csr_array((n, plain.matrix.shape[1] - parts.movers - 2 * n))
    matrix = sp.vstack(
        [sp.hstack([plain.matrix, sp.csr_array((plain.matrix.shape[0], 1))]), sp.hstack([above, rest, -top])],
        format="csr",
    )
    cost = np.append(plain.cost, 1.0)
    cost[parts.movers : parts.movers + 2 * n] *= _TIES
    program = Program(
        sp.csr_array(matrix),
        np.concatenate([plain.row_lower, np.full(n, -np.inf)]),
        np.concatenate([plain.row_upper, np.zeros(n)]),
        np.append(plain.lower, 0.0),
        np.append(plain.upper, np.inf),
        cost,
    )
    return parts.deviations(_solved(program, run, interior=True))


def best_signs(wish: Wish, need: FloatArray, *, nodes: int, run: Run = UNWATCHED) -> tuple[FloatArray, bool]:
    """Return +1 or -1 for every row with a protection level, such that |e| >= need costs least, and whether that is
    proven.

    As moves may go both ways alike, the first sign may be fixed: the caller turns all of them round at random.
    """
    parts = _Parts.of(wish)
    plain, cells = parts.program(), np.flatnonzero(need > 0).astype(np.int64)
    session = solver.open(_with_signs(parts, plain, cells, need[cells] / wish.scale), run=run)
    session.limit_nodes(nodes, gap=1e-6)
    found = session.solve()
    signs = np.zeros(len(need))
    if not len(found.x):
        return signs, False
    signs[cells] = np.where(found.x[-len(cells) :] > 0.5, 1.0, -1.0)
    return signs, found.status is Status.optimal


@dataclass(frozen=True, eq=False)
class _Parts:
    """Columns: the movers' noise (y = amount d), what e exceeds t by, what it falls short of it, and two slacks."""

    wish: Wish
    amount: FloatArray
    bounded: BoolArray

    @classmethod
    def of(cls, wish: Wish) -> _Parts:
        return cls(wish, wish.amount / wish.scale, np.isfinite(wish.lower) | np.isfinite(wish.upper))

    @property
    def movers(self) -> int:
        return len(self.amount)

    def program(self) -> Program:
        wish, n, some = self.wish, len(self.wish.target), int(self.bounded.sum())
        by_noise = sp.csr_array(wish.matrix @ sp.diags_array(1 / (self.amount * wish.scale)))
        by_noise.data[np.abs(by_noise.data) < _NOTHING] = 0.0
        by_noise.eliminate_zeros()
        eye = sp.eye_array(n, format="csr")
        which, slack = eye[np.flatnonzero(self.bounded)], sp.eye_array(some)
        matrix = sp.csr_array(
            sp.vstack(
                [
                    sp.hstack([by_noise, -eye, eye, sp.csr_array((n, 2 * some))]),
                    sp.hstack([sp.csr_array((some, self.movers)), which, -which, slack, -slack]),
                ],
                format="csr",
            )
        )
        target = wish.target / wish.scale
        lower, upper = ((b / wish.scale - target)[self.bounded] for b in (wish.lower, wish.upper))
        hard, weight = wish.hard[self.bounded], np.maximum(wish.weight, _TIES)
        far, zero = np.full(2 * (n + some), np.inf), np.zeros(2 * (n + some))
        return Program(
            matrix,
            np.concatenate([target, lower]),
            np.concatenate([target, upper]),
            np.concatenate([-self.amount * wish.cap, zero]),
            np.concatenate([self.amount * wish.cap, far]),
            np.concatenate([np.zeros(self.movers), weight, weight, hard, hard]),
        )

    def deviations(self, found: Solution) -> FloatArray:
        """Return d, within its bounds to the last digit."""
        d = found.x[: self.movers] / self.amount
        return np.clip(d, -self.wish.cap, self.wish.cap)


def _with_signs(parts: _Parts, plain: Program, cells: LongArray, need: FloatArray) -> Program:
    """Add to the program for each cell a sign s, 1 for up: e + a >= need - B (1 - s) and e - b <= B s - need."""
    n, some = len(parts.wish.target), len(cells)
    large = need + parts.wish.reach[cells] / parts.wish.scale
    which, eye = sp.eye_array(n, format="csr")[cells], sp.eye_array(some)
    before = sp.csr_array((some, parts.movers))
    rest = sp.csr_array((some, plain.matrix.shape[1] - parts.movers - 2 * n))
    none, sign = sp.csr_array((some, some)), sp.diags_array(large)
    up = sp.hstack([before, which, -which, rest, eye, none, -sign])
    down = sp.hstack([before, which, -which, rest, none, -eye, -sign])
    wide = sp.hstack([plain.matrix, sp.csr_array((plain.matrix.shape[0], 3 * some))])
    first, hard = np.zeros(some), parts.wish.hard[cells]
    first[:1] = 1.0
    return Program(
        sp.csr_array(sp.vstack([wide, up, down], format="csr")),
        np.concatenate([plain.row_lower, need - large, np.full(some, -np.inf)]),
        np.concatenate([plain.row_upper, np.full(some, np.inf), -need]),
        np.concatenate([plain.lower, np.zeros(2 * some), first]),
        np.concatenate([plain.upper, np.full(2 * some, np.inf), np.ones(some)]),
        np.concatenate([plain.cost, hard, hard, np.zeros(some)]),
        np.concatenate([np.zeros(len(plain.cost) + 2 * some, bool), np.ones(some, bool)]),
    )


def _solved(program: Program, run: Run, *, interior: bool) -> Solution:
    found = solver.solve(program, interior=interior, run=run)
    if found.status is not Status.optimal:
        raise InternalError(f"a program that always has a solution ended with {found.status.value}")
    return found
