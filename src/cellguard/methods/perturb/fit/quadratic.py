"""The least squares of OPT: few cells, many movers with bounds, by an interior-point method.

    min  sum w/2 (e - t)^2 + ridge/2 sum d^2     with e = A y, y = amount d, |d| <= cap, lower <= e <= upper.

Movers and cells are variables with bounds x, tied by B x = e - A y = 0. Newton's step for the barrier problem
(Mehrotra's predictor and corrector) needs one matrix, A T A' + S with diagonal T and S: as large as there are cells,
whatever the number of movers, so that no Hessian of respondents is ever made. The ridge picks one of many optima, that
with multipliers closest to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InternalError
from cellguard.methods.perturb.fit.wish import Wish
from cellguard.run_context import UNWATCHED, Run

_RIDGE = 1e-6
_SMALL = 1e-5  # of what is typical: the smallest need in units of which a row is measured
_ROOM = 1e-6  # by which bounds of cells are widened, so that there is something between them
_CLOSE = 1e-7
_NEARLY = 0.995  # of the way to the next bound
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

    @cached_property
    def low(self) -> BoolArray:
        """Which variables have a lower bound."""
        return np.isfinite(self.lower)

    @cached_property
    def high(self) -> BoolArray:
        """Which variables have an upper bound."""
        return np.isfinite(self.upper)

    @property
    def movers(self) -> int:
        """The number of movers."""
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


class _Change(NamedTuple):
    """How a point changes: x, the prices, and the multipliers of lower and upper bounds."""

    x: FloatArray
    price: FloatArray
    down: FloatArray
    up: FloatArray


@dataclass(frozen=True, eq=False)
class _Point:
    """A point within the bounds, with prices and multipliers of the bounds that are above 0."""

    problem: _Problem
    x: FloatArray
    price: FloatArray
    down: FloatArray
    up: FloatArray

    @classmethod
    def middle(cls, problem: _Problem) -> _Point:
        """Return a point in the middle of the bounds; all products of multiplier and room are alike."""
        low, high = problem.low, problem.high
        x = np.clip(0.0, np.where(low, problem.lower + 1, -np.inf), np.where(high, problem.upper - 1, np.inf))
        both = low & high
        x[both] = (problem.lower[both] + problem.upper[both]) / 2
        down = np.divide(1.0, x - problem.lower, out=np.zeros(len(x)), where=low)
        up = np.divide(1.0, problem.upper - x, out=np.zeros(len(x)), where=high)
        return cls(problem, x, np.zeros(problem.across.shape[0]), down, up)

    @cached_property
    def below(self) -> FloatArray:
        """The room down to the lower bounds."""
        return np.where(self.problem.low, np.maximum(self.x - self.problem.lower, _TINY), 1.0)

    @cached_property
    def above(self) -> FloatArray:
        """The room up to the upper bounds."""
        return np.where(self.problem.high, np.maximum(self.problem.upper - self.x, _TINY), 1.0)

    @cached_property
    def slope(self) -> FloatArray:
        """The derivative of the Lagrangian, 0 at the optimum."""
        p = self.problem
        return np.asarray(p.h * self.x + p.c - p.priced(self.price) - self.down + self.up, float)

    @cached_property
    def mean(self) -> float:
        """The mean product of multiplier and room, 0 at the optimum."""
        sides = int(self.problem.low.sum() + self.problem.high.sum())
        return float(self.below @ self.down + self.above @ self.up) / max(sides, 1)

    @property
    def off(self) -> float:
        """How far it is from being optimal."""
        return max(float(np.abs(self.slope).max()), float(np.abs(self.problem.gap(self.x)).max()), self.mean)

    @cached_property
    def _factor(self) -> tuple[FloatArray, tuple[FloatArray, bool]]:
        theta = self.problem.h + self.down / self.below + self.up / self.above
        return theta, _factored(self.problem.normal(theta))

    def change(self, centre: float, down: FloatArray | float = 0.0, up: FloatArray | float = 0.0) -> _Change:
        """Return Newton's step to products of ``centre``, with second-order terms of both multipliers."""
        p, (theta, factor) = self.problem, self._factor
        left = np.where(p.low, (centre - down) / self.below - self.down, 0.0)
        right = np.where(p.high, (centre - up) / self.above - self.up, 0.0)
        rhs = -self.slope + left - right
        price = la.cho_solve(factor, -p.gap(self.x) - p.gap(rhs / theta), check_finite=False)
        x = (rhs + p.priced(price)) / theta
        return _Change(x, price, left - self.down / self.below * x, right + self.up / self.above * x)

    def share(self, change: _Change) -> float:
        """Return how much of a change keeps all rooms and multipliers above 0, at most 1."""
        low, high = self.problem.low, self.problem.high
        rooms = min(_longest(self.below, change.x, low), _longest(self.above, -change.x, high))
        return min(rooms, _longest(self.down, change.down, low), _longest(self.up, change.up, high))

    def moved(self, change: _Change, share: float) -> _Point:
        """Return the point after a share of a change."""
        before = (self.x, self.price, self.down, self.up)
        return _Point(self.problem, *(a + share * b for a, b in zip(before, change, strict=True)))


def _interior(problem: _Problem, run: Run) -> FloatArray:
    """Return the x that comes closest to being optimal, by steps from the middle of the bounds.

    Whatever it is, it lies within the bounds of the movers: what falls short of the optimum is no danger but a loss.
    """
    point = best = _Point.middle(problem)
    since = 0
    for _ in range(_STEPS):
        run.check()
        since = 0 if point.off < best.off else since + 1
        best = point if point.off < best.off else best
        if best.off < _CLOSE or since > _PATIENCE:
            break
        ahead = point.change(0.0)
        after = point.moved(ahead, point.share(ahead)).mean
        centre = point.mean * (after / point.mean) ** 3
        change = point.change(centre, ahead.x * ahead.down, -ahead.x * ahead.up)
        point = point.moved(change, _NEARLY * point.share(change))
    return best.x


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
