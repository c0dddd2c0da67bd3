"""The exact distribution of a cell's noise e = sum of r_i X_i (Cuppen 2000, sections 5.1 and 8.3).

Given the directions s_i, e is N(sum of s_i mu_i X_i, sigma^2 sum of X_i^2). So P(|e| > a) is an average over all
patterns of directions; or, by the characteristic function

    phi(t) = prod cos(mu_i X_i t) exp(-sigma^2 t^2 sum X_i^2 / 2),

    P(|e| <= a) = 2/pi * integral of sin(a t) / t * phi(t) dt over t > 0.

The trapezoidal rule on that integral is exact up to what lies beyond its period, which is chosen beyond any noise.
Rejected draws are left out of account; at the usual mu and sigma there is one in millions.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numba
import numpy as np
import numpy.typing as npt

from cellguard.errors import InputError, did_you_mean
from cellguard.types import FloatArray

Way = Literal["auto", "enumerate", "characteristic", "largest"]
MOST_SIGNS = 20
_FEW = 12
_WORK = 3e7
_FAR = 9.0  # standard deviations beyond which a normal tail is nothing


def exceedance(
    contributions: npt.ArrayLike, bound: float, *, mu: npt.ArrayLike, sigma: float, way: Way = "auto"
) -> float:
    """Return P(|e| > bound) for a cell with these contributions; ``mu`` is one number or one a contribution.

    ``enumerate`` takes all patterns of directions (at most 20 contributions), ``characteristic`` integrates,
    ``largest`` enumerates the 12 largest and takes the rest as normal; ``auto`` takes the first of them that is quick.

    >>> round(exceedance([8000, 850, 600, 550], 764, mu=0.1, sigma=0.02), 5)
    0.57046
    """
    x = np.abs(np.asarray(contributions, float))
    step = np.broadcast_to(np.asarray(mu, float), x.shape) * x
    order = np.argsort(-step, kind="stable")
    step, x = step[order], x[order]
    step, x = step[x > 0], x[x > 0]
    spread = sigma * math.sqrt(float((x * x).sum()))
    if way not in get_args(Way):
        raise InputError(f"no way {way!r} of computing the noise{did_you_mean(way, get_args(Way))}")
    if way == "enumerate" and len(x) > MOST_SIGNS:
        raise InputError(f"{len(x)} contributions have too many patterns of directions; at most {MOST_SIGNS} have not")
    if way == "characteristic" and spread <= 0 < len(x):
        raise InputError("the characteristic function needs a sigma above 0; enumerate the directions instead")
    return _by(way if way != "auto" else _quick(step, spread, bound), step, x, sigma, spread, bound)


def _by(way: Way, step: FloatArray, x: FloatArray, sigma: float, spread: float, bound: float) -> float:
    if way == "characteristic" and len(x):
        return float(_characteristic(step, spread, bound))
    if way == "largest":
        rest = float((step[_FEW:] ** 2).sum() + sigma**2 * (x[_FEW:] ** 2).sum())
        own = sigma**2 * float((x[:_FEW] ** 2).sum())
        return float(_enumerate(step[:_FEW], math.sqrt(own + rest), bound))
    return float(_enumerate(step, spread, bound))


def _quick(step: FloatArray, spread: float, bound: float) -> Way:
    if len(step) <= _FEW:
        return "enumerate"
    if spread > 0 and len(step) * _FAR * (bound + step.sum() + _FAR * spread) / (2 * math.pi * spread) < _WORK:
        return "characteristic"
    return "enumerate" if len(step) <= MOST_SIGNS else "largest"


@numba.njit(cache=True)
def _enumerate(step, spread, bound):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Average over all directions, of which the first may be fixed; each pattern differs from the last in one sign."""
    n = len(step)
    sign = np.ones(n)
    centre = step.sum()
    total = 0.0
    patterns = 1 << max(n - 1, 0)
    for pattern in range(patterns):
        if pattern:
            flip = 1
            while not (pattern >> (flip - 1)) & 1:
                flip += 1
            sign[flip] = -sign[flip]
            centre += 2 * sign[flip] * step[flip]
        if spread > 0:
            scale = spread * math.sqrt(2.0)
            total += 0.5 * (math.erfc((bound - centre) / scale) + math.erfc((bound + centre) / scale))
        elif abs(centre) > bound * (1 - 1e-12):
            total += 1.0
    return total / patterns


@numba.njit(cache=True)
def _characteristic(step, spread, bound):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
    """Integrate by the trapezoidal rule. Steps that stay small have cos x = exp(-x^2/2 - x^4/12 - x^6/45) by sums."""
    far = 9.0
    last = far / spread
    h = 2 * math.pi / (bound + step.sum() + far * spread)
    many = 0
    while many < len(step) and step[many] * last > 0.1:
        many += 1
    small = step[many:]
    second, fourth, sixth = (small**2).sum() / 2, (small**4).sum() / 12, (small**6).sum() / 45
    total = bound / 2
    t = h
    while t < last:
        square = t * t
        phi = math.exp(-square * (spread * spread / 2 + second + square * (fourth + square * sixth)))
        for i in range(many):
            phi *= math.cos(step[i] * t)
            if abs(phi) < 1e-18:
                break
        total += math.sin(bound * t) / t * phi
        t += h
    return min(max(1 - 2 * h / math.pi * total, 0.0), 1.0)
