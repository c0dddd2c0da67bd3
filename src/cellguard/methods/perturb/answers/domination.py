"""Whom an outsider learns too closely from some combination of cells, whatever its coefficients.

A combination c of published rows with c_t = 1 tells u_t but for the others. It is dangerous by a rule (p, q) if

    q sum over others of |c_i| x_i + |sum of c_i e_i| < p x_t,          e = what multipliers add,

and no c is, if S = min of (sum over others of |c_i| x_i) / x_t is at least

    tau = min(p / q, (p - |e_t| / x_t) / (q - r)),                      r = the largest |e_i| / x_i,

since the noise of the others takes no more than r S of that of t away. Three proofs that S >= tau, the cheap one first:
leverage in the metric of sizes, S >= sqrt(P_tt / (1 - P_tt)); a world v with A v = 0 and
|v_t| / x_t >= tau max |v_i| / x_i, for which P e_t is taken; and where the system is small the linear program itself,
with the noise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.linalg.growing import Extension
from cellguard.linalg.layers import Ints, Rows
from cellguard.rules.limits import NoiseRule
from cellguard.solver import solve
from cellguard.solver.program import Program, Status

DOUBT = 7.0  # a mean of 8 squares is more than 7 times what it estimates with a chance of 3e-9
_SAFE = 1 + 1e-6
_MOVES = 1e-6  # the least leverage that is more than rounding
_WIDE = 32
_ROWS, _CLASSES, _PROGRAMS = 250, 700, 60


def thresholds(size: FloatArray, noise: FloatArray, rules: Sequence[NoiseRule]) -> FloatArray:
    """Return tau for every contributor: how much of others, as a share of its own, must be in every combination.

    >>> thresholds(np.array([10.0, 10]), np.array([0.0, 0.6]), [NoiseRule(2, p=10)]).round(4).tolist()
    [0.1, 0.0426]
    """
    share = np.abs(noise) / size
    most = float(share.max(initial=0.0))
    tau = np.zeros(len(size))
    for rule in rules:
        p, q = rule.accuracy, rule.prior
        with_noise = np.maximum(p - share, 0.0) / (q - most) if q > most else np.full(len(size), np.inf)
        tau = np.maximum(tau, np.minimum(p / q, with_noise))
    return tau


def suspects(worlds: FloatArray, tau: FloatArray) -> BoolArray:
    """Return who may have too little leverage, by the worlds in the metric of sizes."""
    return np.asarray((tau > 0) & ((worlds**2).mean(axis=1) < DOUBT * tau**2 / (1 + tau**2)), bool)


def dominated(extension: Extension, rows: Rows, leaf: Ints, doubtful: LongArray, tau: FloatArray) -> LongArray:
    """Return which of the doubtful are not proven safe by leverage or by a world."""
    if not len(doubtful):
        return doubtful
    leverage = extension.leverage(rows, leaf, doubtful)
    limit = tau[doubtful] ** 2
    open_ = doubtful[leverage < limit / (1 + limit) * _SAFE]
    left = list[LongArray]()
    for start in range(0, len(open_), _WIDE):
        some = open_[start : start + _WIDE]
        world = np.abs(extension.projected(rows, leaf, some))
        place = np.arange(len(some))
        own = world[some, place].copy()
        world[some, place] = 0
        proven = (own > _MOVES) & (own >= tau[some] * world.max(axis=0) * _SAFE)
        left.append(some[~proven])
    return np.concatenate(left) if left else open_


def programs_decide(rows: int, classes: int, targets: int) -> bool:
    """Return whether the system is so small that linear programs are solved."""
    return rows <= _ROWS and classes <= _CLASSES and targets <= _PROGRAMS


def dangerous(
    rows: sp.csr_array,
    of: LongArray,
    size: FloatArray,
    noise: FloatArray,
    target: int,
    rules: Sequence[NoiseRule],
) -> bool:
    """Return whether some combination of rows (cells by classes of contributors) is dangerous for a contributor.

    All members of a class have the same coefficient; ``of`` is the class of each contributor. The program is
    min q sum w_b s_b + z with -s <= c <= s, c = A'y, c_t = 1, -z <= c e <= z.
    """
    cells, classes = rows.shape
    own = int(of[target])
    scale = float(size[target])
    width = np.bincount(of, size, classes) / scale
    width[own] -= 1.0
    shift = np.bincount(of, noise, classes) / scale
    combine = sp.csr_array(rows.T.astype(float))
    for rule in rules:
        wide = sp.eye_array(classes, format="csr")
        blank = sp.csr_array((classes, 1))
        by_cell = sp.csr_array((rows @ shift)[None, :])
        program = sp.vstack(
            [
                sp.hstack([combine, wide, blank]),  # c + s >= 0
                sp.hstack([-combine, wide, blank]),
                sp.hstack([by_cell, sp.csr_array((1, classes)), sp.csr_array([[1.0]])]),
                sp.hstack([-by_cell, sp.csr_array((1, classes)), sp.csr_array([[1.0]])]),
                sp.hstack([combine[[own]], sp.csr_array((1, classes + 1))]),
            ],
            format="csr",
        )
        lower = np.zeros(program.shape[0])
        upper = np.full(program.shape[0], np.inf)
        lower[-1] = upper[-1] = 1.0
        cost = np.concatenate([np.zeros(cells), rule.prior * np.maximum(width, 0.0), [1.0]])
        free = np.concatenate([np.full(cells, -np.inf), np.zeros(classes + 1)])
        done = solve(Program(sp.csr_array(program), lower, upper, free, np.full(len(cost), np.inf), cost))
        if done.status is Status.infeasible:
            continue
        if done.status is not Status.optimal or done.objective < rule.accuracy * (1 - 1e-9):
            return True
    return False
