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

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from cellguard.arrays import FloatArray
from cellguard.errors import InputError, did_you_mean
from cellguard.methods.perturb.draw.distribution_kernel import by_characteristic, by_patterns
from cellguard.methods.perturb.draw.shapes import HALFWIDTH, by_balanced, by_series

Way = Literal["auto", "enumerate", "characteristic", "largest"]
MOST_SIGNS = 20
_FEW = 12
_WORK = 3e7
_FAR = 9.0  # standard deviations beyond which a normal tail is nothing


def exceedance(
    contributions: npt.ArrayLike,
    bound: float,
    *,
    mu: npt.ArrayLike,
    sigma: float,
    shape: str = "normal",
    among: int | None = None,
    way: Way = "auto",
) -> float:
    """Return P(|e| > bound) for a cell with these contributions; ``mu`` is one number or one per contribution.

    ``shape`` is that of the sizes, see `Zes`; ``among`` says of how many units half go up, None if each goes by itself.
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
    if shape == "unimodal":
        return float(2 * ndtr(-bound / math.sqrt(float((step**2).sum())))) if len(step) else 0.0
    spread = sigma * math.sqrt(float((x * x).sum()))
    if way not in get_args(Way):
        raise InputError(f"no way {way!r} of computing the noise{did_you_mean(way, get_args(Way))}")
    if way == "enumerate" and len(x) > MOST_SIGNS:
        raise InputError(f"{len(x)} contributions have too many patterns of directions; at most {MOST_SIGNS} have not")
    if way == "characteristic" and spread <= 0 < len(x):
        raise InputError("the characteristic function needs a sigma above 0; enumerate the directions instead")
    if way == "auto" and (shape in HALFWIDTH or among is not None) and len(x):
        reach = np.minimum(HALFWIDTH.get(shape, 0.0) * sigma * x, step)
        if among is not None:
            return by_balanced(step, reach, bound, shape, 0.0 if shape in HALFWIDTH else spread, among)
        return by_series(step, reach, bound, shape)
    return _by(way if way != "auto" else _quick(step, spread, bound), step, x, sigma, spread, bound)


def _by(way: Way, step: FloatArray, x: FloatArray, sigma: float, spread: float, bound: float) -> float:
    if way == "characteristic" and len(x):
        return float(by_characteristic(step, spread, bound))
    if way == "largest":
        rest = float((step[_FEW:] ** 2).sum() + sigma**2 * (x[_FEW:] ** 2).sum())
        own = sigma**2 * float((x[:_FEW] ** 2).sum())
        return float(by_patterns(step[:_FEW], math.sqrt(own + rest), bound))
    return float(by_patterns(step, spread, bound))


def _quick(step: FloatArray, spread: float, bound: float) -> Way:
    if len(step) <= _FEW:
        return "enumerate"
    if spread > 0 and len(step) * _FAR * (bound + step.sum() + _FAR * spread) / (2 * math.pi * spread) < _WORK:
        return "characteristic"
    return "enumerate" if len(step) <= MOST_SIGNS else "largest"
