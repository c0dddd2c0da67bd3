"""The noise of a cell where sizes are not normal, or as many units go up as down (Cuppen 2000, sections 3.2 and 5.1).

With sizes r = mu + a v, v symmetric on [-1, 1], the noise is e = sum s mu X + sum a X v: what the directions give, and
a smooth part that does not depend on them. Both are bounded, by E in all, so that for b <= E

    P(|e| <= b) = b/E + 2/pi sum over k >= 1 of phi(pi k / E) sin(pi k b / E) / k,

with phi(t) = prod cos(mu X t) phi_v(a X t). If half of all U units go up, the directions of n units have the
probability C(U - n, U/2 - j) / C(U, U/2) with j of them up, and their sum over few large units is enumerated.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import gammaln, ndtr

from cellguard.arrays import FloatArray

HALFWIDTH = {"uniform": 3**0.5, "triangular": 6**0.5, "beta": 5**0.5}  # in standard deviations
_TERMS, _WORK, _LARGE, _FEW = 60_000, 100_000, 60, 11
_FAR = 9.0


def _uniform(z: FloatArray) -> FloatArray:
    return np.sinc(z / np.pi)


def _triangular(z: FloatArray) -> FloatArray:
    return np.sinc(z / (2 * np.pi)) ** 2


def _beta(z: FloatArray) -> FloatArray:
    small = np.abs(z) < 1e-2
    safe = np.where(small, 1.0, z)
    return np.where(small, 1 - z**2 / 10 + z**4 / 280, 3 * (np.sin(safe) - safe * np.cos(safe)) / safe**3)


CHARACTERISTIC: dict[str, Callable[[FloatArray], FloatArray]] = {
    "uniform": _uniform,
    "triangular": _triangular,
    "beta": _beta,
}


def by_series(step: FloatArray, reach: FloatArray, bound: float, shape: str, spread: float = 0.0) -> float:
    """Return P(|e| > bound) for steps mu X and reaches a X; all but the 60 largest steps are taken as normal.

    ``spread`` is the standard deviation of what else there is, which is normal.

    >>> round(by_series(np.array([0.1]), np.array([0.05]), 0.1, "uniform"), 4)
    0.5
    """
    order = np.argsort(-step, kind="stable")
    large, rest = order[:_LARGE], order[_LARGE:]
    variance = spread**2 + float((step[rest] ** 2 + (reach[rest] / HALFWIDTH[shape]) ** 2).sum())
    most = float((step[large] + reach[large]).sum()) + _FAR * math.sqrt(variance)
    if bound >= most:
        return 0.0
    k = np.arange(1.0, min(_TERMS, _WORK // max(len(large), 1)) + 1)
    t = np.pi * k / most
    phi = np.exp(-variance * t**2 / 2)
    for i in large.tolist():
        phi = phi * np.cos(step[i] * t) * CHARACTERISTIC[shape](reach[i] * t)
    inside = bound / most + 2 / np.pi * float((phi * np.sin(t * bound) / k).sum())
    return min(max(1 - inside, 0.0), 1.0)


def by_balanced(step: FloatArray, reach: FloatArray, bound: float, shape: str, spread: float, among: int) -> float:
    """Return P(|e| > bound) where half of ``among`` units go up: the largest 11 enumerated, the rest taken as normal.

    ``spread`` is the standard deviation of the sizes' own part, for a normal shape; ``reach`` that of bounded ones.

    >>> round(by_balanced(np.array([5.0, 5.0]), np.zeros(2), 1.0, "normal", 1e-6, 4), 6)  # one in three has equal signs
    0.333333
    """
    order = np.argsort(-step, kind="stable")
    large, rest = order[:_FEW], order[_FEW:]
    others = step[rest]
    squares, whole, many = float((others**2).sum()), float(others.sum()), max(among - len(large) - 1, 1)
    variance = spread**2 + max(squares * (1 + 1 / many) - whole**2 / many, 0.0)
    n = len(large)
    signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    centre, up = signs @ step[large], (signs > 0).sum(axis=1)
    chance = _hypergeometric(n, among)[up]
    if shape in HALFWIDTH:
        variance += float(((reach[rest] / HALFWIDTH[shape]) ** 2).sum())
        tails = np.array([_shifted(reach[large], bound, float(c), shape, math.sqrt(variance)) for c in np.abs(centre)])
        return float(chance @ tails / chance.sum())
    sd = math.sqrt(variance)
    if sd <= 0:
        return float(chance @ (np.abs(centre) > bound * (1 - 1e-12)) / chance.sum())
    tails = ndtr((centre - bound) / sd) + ndtr((-centre - bound) / sd)
    return float(chance @ tails / chance.sum())


def _shifted(reach: FloatArray, bound: float, centre: float, shape: str, spread: float) -> float:
    """Return P(|c + V| > bound) for the smooth part V of bounded sizes."""
    most = float(reach.sum()) + _FAR * spread
    k = np.arange(1.0, _WORK // (16 * max(len(reach), 1)) + 1)

    def below(x: float) -> float:
        if x >= most or x <= -most:
            return float(x > 0)
        t = np.pi * k / most
        phi = np.exp(-((spread * t) ** 2) / 2)
        for a in reach.tolist():
            phi = phi * CHARACTERISTIC[shape](a * t)
        return 0.5 + x / (2 * most) + float((phi * np.sin(t * x) / k).sum()) / np.pi

    return 1 - below(bound - centre) + below(-bound - centre)


def _hypergeometric(n: int, among: int) -> FloatArray:
    """Return the probability of one pattern of n directions, by how many are up, if half of all go up."""
    half = np.array([among // 2, among - among // 2], float)  # an odd unit is up or down at random
    j = np.arange(n + 1.0)[:, None]
    room = (half - j >= 0) & (among - n - (half - j) >= 0)
    left = np.where(room, half - j, 0.0)
    ways = gammaln(among - n + 1) - gammaln(left + 1) - gammaln(np.where(room, among - n - left, 0.0) + 1)
    return np.asarray(np.where(room, np.exp(ways - ways[room].max(initial=-np.inf)), 0.0).sum(axis=1), float)
