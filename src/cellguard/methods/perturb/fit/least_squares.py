"""The least squares of OPT: few cells, many movers with bounds.

    min  sum w/2 (e - t)^2 + ridge/2 sum d^2     with e = A y, y = amount d, |d| <= cap, lower <= e <= upper.

Movers and cells are variables with bounds, tied by e - A y = 0, so that no Hessian of respondents is ever made. The
ridge picks one of many optima, that with multipliers closest to 1.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import FloatArray
from cellguard.errors import InternalError
from cellguard.methods.perturb.fit.wish import Wish
from cellguard.run_context import UNWATCHED, Run
from cellguard.solver.program import Program, Status

_RIDGE = 1e-6
_SMALL = 1e-5  # of what is typical: the smallest need in units of which a row is measured
_ROOM = 1e-6, 1e-5, 1e-4  # by which bounds of cells are widened, so that there is something between them


def least_squares(
    wish: Wish, *, scale: float = 1.0, known: FloatArray | None = None, run: Run = UNWATCHED
) -> FloatArray:
    """Return the movers' deviations from 1 with the least squared difference from what is wished.

    ``scale`` is a typical size of what is wished, so that the solver sees numbers around 1. There must be deviations
    within all bounds; ``known`` are such, and are returned where the solver finds none: amounts over many powers of ten
    leave it no room. Those returned are within the bounds of the movers whatever the solver says: what falls short of
    the optimum, or of a cell's bound, is no danger but a loss, since all noise is judged afterwards.

    >>> two = sp.csr_array(np.array([[100.0, 0.0], [0.0, 50.0], [100.0, 50.0]]))
    >>> free = np.full(3, np.inf)
    >>> wish = Wish(two, np.array([6.0, 0.0, 0.0]), np.ones(3), -free, free, free, np.full(2, 0.2))
    >>> (two @ least_squares(wish)).round(3).tolist()
    [4.0, -2.0, 2.0]
    """
    amount, unit = wish.amount / scale, _units(wish, scale)
    curvature = np.concatenate([_RIDGE / amount**2, wish.weight * unit**2])
    reached = [] if known is None else [known]
    for room in _ROOM:
        found = solver.solve_quadratic(_program(wish, scale, unit, room), curvature, run=run)
        if len(found.x):
            reached.append(np.clip(found.x[: len(amount)] / amount, -wish.cap, wish.cap))
        if found.status is Status.optimal:
            return reached[-1]
    if not reached:
        raise InternalError(f"least squares with bounds ended with {found.status.value}")
    return min(reached, key=lambda d: _loss(wish, d))


def _loss(wish: Wish, d: FloatArray) -> float:
    """Return the squared difference, beyond bounds at the price of leaving them."""
    e = np.asarray(wish.matrix @ d, float)
    return float(wish.weight @ (e - wish.target) ** 2 + wish.hard @ wish.violation(e) ** 2)


def _units(wish: Wish, scale: float) -> FloatArray:
    """Return what each row is measured in: a row with a bound in units of it, so that small needs are met as well."""
    size = np.minimum(np.abs(wish.lower), np.abs(wish.upper)) / scale
    return np.where((size > 0) & np.isfinite(size), np.clip(size, _SMALL, 1.0), 1.0)


def _program(wish: Wish, scale: float, unit: FloatArray, room: float) -> Program:
    """Return the program but for its squares; movers come first, then cells."""
    target, lower, upper = (values / scale / unit for values in (wish.target, wish.lower, wish.upper))
    across = sp.diags_array(1 / unit) @ wish.matrix @ sp.diags_array(1 / wish.amount)
    none, most = np.zeros(len(unit)), wish.amount / scale * wish.cap
    return Program(
        sp.csr_array(sp.hstack([-across, sp.eye_array(len(unit))])),
        none,
        none,
        np.concatenate([-most, lower - room]),
        np.concatenate([most, upper + room]),
        np.concatenate([np.zeros(len(most)), -wish.weight * target * unit**2]),
    )
