"""The simulated data of the literature on maps of residuals: three regressions that go wrong.

After J. P. Reiter, *Model diagnostics for remote access regression servers* (2003), as in Lee, Choi
and O'Keefe (2012), section 3: x ~ N(5, 1), a response with e ~ N(0, 1), and the map of x against the standardised
residual of the straight line fitted by least squares.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import ndtri

from cellguard.arrays import FloatArray
from cellguard.errors import InputError
from cellguard.randomness import stream

Model = Literal["piecewise", "outliers", "curvilinear"]


def simulate(model: Model, *, records: int = 500, seed: int = 1) -> tuple[FloatArray, FloatArray]:
    """Return x and the standardised residual of each record.

    >>> x, residual = simulate("piecewise", seed=1)
    >>> len(x), bool(abs(residual.mean()) < 0.01)
    (500, True)
    """
    draws = stream(seed, "map", model)
    x = 5.0 + np.asarray(ndtri(draws.uniform(records)), float)
    error = np.asarray(ndtri(draws.uniform(records)), float)
    if model == "piecewise":
        y = np.where(x < 4.5, 20.0, np.where(x < 5.5, 10 + 8 * x, -4 + 14 * x)) + error
    elif model == "outliers":
        low, high = int(np.abs(x - 3.8).argmin()), int(np.abs(x - 5.8).argmin())
        x[low], x[high] = 3.8, 5.8
        y = 10 * x + error
        y[low] += 30
        y[high] -= 25
    elif model == "curvilinear":
        y = 10 * (x - 5) - 5 * (x - 5) ** 2 + error
    else:
        raise InputError(f"unknown model {model!r}; known are 'piecewise', 'outliers', 'curvilinear'")
    return x, _standardised(x, y)


def _standardised(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the residuals of the fitted line, each divided by its standard error."""
    centred = x - x.mean()
    slope = centred @ y / (centred @ centred)
    residual = y - y.mean() - slope * centred
    leverage = 1 / len(x) + centred**2 / (centred @ centred)
    scale = np.sqrt(residual @ residual / (len(x) - 2) * (1 - leverage))
    return np.asarray(residual / scale, float)
