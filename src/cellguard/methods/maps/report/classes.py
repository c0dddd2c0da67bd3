"""The classes of a map's legend: where each begins, and what it is called."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from cellguard.arrays import FloatArray, Positions

_CLASSES = 7


def breaks(values: FloatArray, threshold: float | None = None) -> list[float]:
    """Return where the classes of the legend begin: each as many times the one before, or at round quantiles.

    Counts and values of places differ by orders, so that steps of one ratio tell more than quantiles; where some are 0
    there is no such ratio. With a ``threshold`` one class begins there, in place of the nearest: cells below it have
    colours of their own.

    >>> breaks(np.array([3.0, 3, 3, 4, 5, 9, 1234])), breaks(np.array([1.0, 2, 9]))
    ([3, 7, 17, 40, 94, 220, 520], [1, 2, 3, 4, 5, 7])
    >>> breaks(np.array([1.0, 2, 40, 1234]), threshold=5)
    [1, 5, 8, 21, 58, 160, 450]
    """
    if not len(values):
        return [0]
    if values.min() > 0:
        ends = np.geomspace(values.min(), values.max(), _CLASSES + 1)[:-1]
        ends = np.round(ends) if (values == np.round(values)).all() else ends
    else:
        ends = np.quantile(values, np.linspace(0, 1, _CLASSES + 1)[:-1], method="lower")
    neat = [float(f"{end:.2g}") if i else float(end) for i, end in enumerate(ends.tolist())]
    starts = {int(x) if x == int(x) else x for x in neat if x >= neat[0]}
    if threshold is not None and neat[0] < threshold <= values.max() and threshold not in starts:
        starts -= {min(starts - {min(starts)}, key=lambda start: abs(start - threshold), default=threshold)}
        starts.add(int(threshold) if threshold == int(threshold) else threshold)
    return sorted(starts)


def class_of(values: FloatArray, starts: Sequence[float]) -> Positions:
    """Return the class of each value."""
    return np.clip(np.searchsorted(np.asarray(starts, float), values, side="right") - 1, 0, None)


def names(starts: Sequence[float], *, whole: bool) -> list[str]:
    """Return what classes are called; of whole numbers both ends belong to a class.

    >>> names([3, 4, 9], whole=True), names([0.5, 4, 9], whole=False)
    (['3', '4 to 8', '9 and more'], ['0.5 to below 4', '4 to below 9', '9 and more'])
    """
    said = []
    for start, end in pairwise(starts):
        last = f"{start:,g}" if end - start == 1 else f"{start:,g} to {end - 1:,g}"
        said.append(last if whole else f"{start:,g} to below {end:,g}")
    return [*said, f"{starts[-1]:,g} and more"]
