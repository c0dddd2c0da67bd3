"""The least squares of OPT: few cells, many movers with bounds, by an interior-point method.

    min  sum w/2 (e - t)^2 + ridge/2 sum d^2     with e = A y, y = amount d, |d| <= cap, lower <= e <= upper.

Movers and cells are variables with bounds x, tied by B x = e - A y = 0. Newton's step for the barrier problem
(Mehrotra's predictor and corrector) needs one matrix, A T A' + S with diagonal T and S: as large as there are cells,
whatever the number of movers, so that no Hessian of respondents is ever made. The ridge picks one of many optima, that
with multipliers closest to 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from cellguard.errors import InternalError
from cellguard.protect.perturb.fit.wish import Wish
from cellguard.types import UNWATCHED, BoolArray, FloatArray, Run

_RIDGE = 1e-6
_SMALL = 1e-5  # of what is typical: the smallest need in units of which a row is measured
_ROOM = 1e-6  # by which bounds of cells are widened, so that there is something between them
_CLOSE, _FAR_OFF = 1e-7, 1e-3
_PATIENCE = 6  # steps without any progress after which rounding has the better of it
_TINY = 1e-15
_STEPS = 100


@dataclass(frozen=True, eq=False)
class _Problem:
    """min 1/2 x'diag(h)x + c'x with B x = 0 and lower <= x <= upper; movers come first, then cells."""

    across: sp.csr_array
    h: FloatArray
    c: FloatArray
    lower: FloatArray
    upper: FloatArray

    @property
    def movers(self) -> int:
        return int(self.across.shape[1])

    def gap(self, x: FloatArray) -> FloatArray:
        """Return B x."""
        return np.asarray(x[self.movers :] - self.across @ x[: self.movers], float)

    def priced(self, price: FloatArray) -> FloatArray:
        """Return B' price."""
        return np.concatenate([-(self.across.T @ price), price])

    def normal(self, theta: FloatArray) -> FloatArray:
        """Return B diag(1/theta) B', dense."""
        scaled = self.across @ sp.diags_array(1 / theta[: self.movers])
        matrix = np.asarray((scaled @ self.across.T).toarray(), float)
        matrix[np.diag_indices_from(matrix)] += 1 / theta[self.movers :]
        return matrix


def least_squares(wish: Wish, *, run: Run = UNWATCHED) -> FloatArray:
    """Return the movers' deviations from 1 with the least squared difference from what is wished.

    There must be some within all bounds.

    >>> two = sp.csr_array(np.array([[100.0, 0.0], [0.0, 50.0], [100.0, 50.0]]))
    >>> free = np.full(3, np.inf)
    >>> wish = Wish(two, np.array([6.0, 0.0, 0.0]), np.ones(3), -free, free, free, np.full(2, 0.2))
    >>> (two @ least_squares(wish)).round(3).tolist()
    [4.0, -2.0, 2.0]
    """
    amount = wish.amount / wish.scale
    target, lower, upper = (values / wish.scale for values in (wish.target, wish.lower, wish.upper))
    size = np.minimum(np.abs(lower), np.abs(upper))
    # A row with a bound is measured in units of it, so that small needs are met as exactly as large ones.
    unit = np.where((size > 0) & np.isfinite(size), np.clip(size, _SMALL, 1.0), 1.0)
    rows = sp.diags_array(1 / unit)
    problem = _Problem(
        sp.csr_array(rows @ wish.matrix @ sp.diags_array(1 / wish.amount)),
        np.concatenate([_RIDGE / amount**2, wish.weight * unit**2]),
        np.concatenate([np.zeros(len(amount)), -wish.weight * target * unit]),
        np.concatenate([-amount * wish.cap, lower / unit - _ROOM]),
        np.concatenate([amount * wish.cap, upper / unit + _ROOM]),
    )
    d = _interior(problem, run)[: len(amount)] / amount
    return np.clip(d, -wish.cap, wish.cap)


def _interior(problem: _Problem, run: Run) -> FloatArray:
    """Return the optimal x, by steps from the middle of the bounds."""
    low, high = np.isfinite(problem.lower), np.isfinite(problem.upper)
    x = np.clip(0.0, np.where(low, problem.lower + 1, -np.inf), np.where(high, problem.upper - 1, np.inf))
    both = low & high
    x[both] = (problem.lower[both] + problem.upper[both]) / 2
    price = np.zeros(problem.across.shape[0])
    # Multipliers of the bounds start so that all products with the room that is left are alike.
    down = np.divide(1.0, x - problem.lower, out=np.zeros(len(x)), where=low)
    up = np.divide(1.0, problem.upper - x, out=np.zeros(len(x)), where=high)
    sides = max(int(low.sum() + high.sum()), 1)
    best, least, since = x, np.inf, 0
    for _ in range(_STEPS):
        run.check()
        below = np.where(low, np.maximum(x - problem.lower, _TINY), 1.0)
        above = np.where(high, np.maximum(problem.upper - x, _TINY), 1.0)
        slope = problem.h * x + problem.c - problem.priced(price) - down + up
        mean = float(below[low] @ down[low] + above[high] @ up[high]) / sides
        off = max(float(np.abs(slope).max()), float(np.abs(problem.gap(x)).max()), mean)
        if off < least:
            best, least, since = x, off, 0
        since += 1
        if least < _CLOSE or since > _PATIENCE:
            break
        theta = problem.h + down / below + up / above
        factor = _factored(problem.normal(theta))

        def step(
            centre: float, second: tuple[FloatArray, FloatArray]
        ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
            """Return the changes of x, the prices and both multipliers for a centre and second-order terms."""
            left = np.where(low, (centre - second[0]) / below - down, 0.0)  # noqa: B023 - called in this turn only
            right = np.where(high, (centre - second[1]) / above - up, 0.0)  # noqa: B023
            rhs = -slope + left - right  # noqa: B023
            dp = la.cho_solve(factor, -problem.gap(x) - problem.gap(rhs / theta), check_finite=False)  # noqa: B023
            dx = (rhs + problem.priced(dp)) / theta  # noqa: B023
            return dx, dp, left - down / below * dx, right + up / above * dx  # noqa: B023

        zero = np.zeros(len(x))
        dx, _, d_down, d_up = step(0.0, (zero, zero))
        share = min(_longest(below, dx, low), _longest(above, -dx, high))
        dual = min(_longest(down, d_down, low), _longest(up, d_up, high))
        after = (below + share * dx)[low] @ (down + dual * d_down)[low]
        after += (above - share * dx)[high] @ (up + dual * d_up)[high]
        centre = mean * (float(after) / sides / mean) ** 3
        dx, dp, d_down, d_up = step(centre, (dx * d_down, -dx * d_up))
        share = 0.995 * min(_longest(below, dx, low), _longest(above, -dx, high))
        dual = 0.995 * min(_longest(down, d_down, low), _longest(up, d_up, high))
        share = dual = min(share, dual, 1.0)
        x, price, down, up = x + share * dx, price + dual * dp, down + dual * d_down, up + dual * d_up
    if least > _FAR_OFF:
        raise InternalError("least squares with bounds did not come to an end")
    return best


def _longest(now: FloatArray, change: FloatArray, there: BoolArray) -> float:
    """Return how much of a change keeps what is above 0 there, at most 1."""
    shrinks = there & (change < 0)
    return float(min(np.min(-now[shrinks] / change[shrinks], initial=np.inf), 1.0))


def _factored(matrix: FloatArray) -> tuple[FloatArray, bool]:
    """Return the Cholesky factor, of a matrix that is nudged if rounding made it indefinite."""
    scale = float(np.max(np.diag(matrix)))
    for nudge in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        try:
            lifted = matrix + nudge * scale * np.eye(len(matrix))
            return la.cho_factor(lifted, lower=True, check_finite=False)
        except la.LinAlgError:
            continue
    raise InternalError("least squares with bounds met a matrix that it cannot factor")
