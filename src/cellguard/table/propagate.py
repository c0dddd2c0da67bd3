"""Interval propagation: what single relations say about the bounds of their cells, again and again."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cellguard.arrays import BoolArray, FloatArray
from cellguard.table.relations import Relations


def tighten(
    relations: Relations, lower: FloatArray, upper: FloatArray, *, rounds: int = 30
) -> tuple[FloatArray, FloatArray]:
    """Return bounds that every table with M x = 0 and the given bounds satisfies; they may not be the tightest.

    In each relation a cell is what the others leave over, so bounds of the others bound it.

    >>> import scipy.sparse as sp
    >>> lower, upper = tighten(sp.csr_array([[1.0, -1.0, -1.0]]), np.array([5.0, 0, 0]), np.array([5.0, 9, 9]))
    >>> upper.tolist()
    [5.0, 5.0, 5.0]
    """
    lower, upper = lower.astype(float), upper.astype(float)
    rows = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    columns, weights = relations.indices, relations.data
    for _ in range(rounds):
        low = np.where(weights > 0, weights * lower[columns], weights * upper[columns])
        high = np.where(weights > 0, weights * upper[columns], weights * lower[columns])
        # The others' sum lies in [below, over]; the cell's term is minus that.
        below, over = (_others(end, rows, relations.shape[0]) for end in (low, high))
        ends = np.stack([-over / weights, -below / weights])
        new_lower, new_upper = lower.copy(), upper.copy()
        np.maximum.at(new_lower, columns, ends.min(axis=0))
        np.minimum.at(new_upper, columns, ends.max(axis=0))
        if not (_beyond(new_lower, lower) | _beyond(-new_upper, -upper)).any():
            break
        lower, upper = new_lower, new_upper
    return lower, upper


def _beyond(new: FloatArray, old: FloatArray) -> BoolArray:
    """Return where a bound has risen by more than rounding dust."""
    size = np.where(np.isinf(old), 0.0, np.abs(old))
    return np.asarray(new > old + 1e-9 * np.maximum(1, size), bool)


def _others(terms: FloatArray, rows: npt.NDArray[np.intp], height: int) -> FloatArray:
    """Return for each term the sum of the other terms of its relation, where some may be infinite."""
    endless = np.isinf(terms)
    finite = np.where(endless, 0.0, terms)
    sums = np.bincount(rows, finite, height)[rows] - finite
    endless_others = np.bincount(rows, endless, height)[rows] - endless
    sign = np.sign(np.bincount(rows, np.where(endless, np.sign(terms), 0.0), height))[rows]
    return np.where(endless_others > 0, np.where(sign == 0, 1.0, sign) * np.inf, sums)
