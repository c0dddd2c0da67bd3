"""Variances of perturbed totals: that of the noise, and in a survey that of the sample (Cuppen 2000, section 3.2).

The noise e = sum of r_i X_i has E[e] = 0 and Var(e) = (mu^2 + sigma^2) sum of X_i^2, X_i being what unit i contributes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cellguard.arrays import FloatArray
from cellguard.errors import InputError
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.cells.respondents import Respondents
from cellguard.methods.perturb.draw.zes import Zes


def noise_variance(table: CalibrationTable, zes: Zes) -> FloatArray:
    """Return Var(e) = (mu^2 + sigma^2) times the sum of squared contributions, for census and survey alike."""
    who = table.units_in(np.arange(len(table)))
    cell = np.repeat(np.arange(len(table)), np.diff(who.start))
    return np.asarray(zes.second_moment * np.bincount(cell, who.value**2, minlength=len(table)), float)


def sampling_variance(
    table: CalibrationTable, records: Respondents, strata: npt.NDArray[np.integer] | None = None
) -> FloatArray:
    """Return the estimated Horvitz-Thompson variance of every weighted total, 0 for a census.

    The sample is taken as drawn unit by unit with probability 1/w (Poisson): sum of w (w - 1) x^2. With ``strata``, one
    number per record, as simple random samples without replacement: sum of N^2 (1 - n/N) s^2 / n, with N the sum of the
    stratum's weights and s^2 the variance of x over the whole stratum, 0 for its records outside the cell.
    """
    if records.weight is None:
        return np.zeros(len(table))
    x, w = records.plain(table.response), records.weight
    if strata is None:
        return table.sums(np.maximum(w * (w - 1), 0.0) * x**2)
    count = np.bincount(strata)
    if (count[np.unique(strata)] < 2).any():
        raise InputError("a stratum has one record only, so its variance cannot be estimated; join it to another")
    size = np.bincount(strata, w)
    variance = np.zeros(len(table))
    for h in np.unique(strata).tolist():
        n = count[h]
        inside = strata == h
        mean, square = table.sums(np.where(inside, x, 0.0)) / n, table.sums(np.where(inside, x**2, 0.0))
        variance += size[h] ** 2 * max(1 - n / size[h], 0.0) / n * (square - n * mean**2) / (n - 1)
    return np.maximum(variance, 0.0)


def published_variance(sampling: FloatArray, noise: FloatArray) -> FloatArray:
    """Return the estimated variance of a perturbed survey total: that of the sample plus the squared noise."""
    return np.asarray(sampling + noise**2, float)
