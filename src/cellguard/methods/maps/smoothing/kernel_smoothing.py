"""Smoothing of squares by a Gaussian kernel, and its measures of risk, as in the R package sdcSpatial.

Count, sum, and the two largest values of each square are replaced by means of their surroundings, weighted by a
Gaussian that is cut off at three standard deviations. A square is sensitive where its risk is above a limit, or where
its smoothed count is below the least count, scaled as the kernel spreads a single record:

- ``external``: the largest value by the sum,
- ``internal``: the largest value by the sum without the second largest,
- ``discrete``: the sum by the count, the share of those who have something.

Measures and scale are those of sdcSpatial's code. Its kernel is documented as a Gaussian, which is the one here and in
the paper; the code averages over a disc of that radius, on squares a fifth as wide.

de Jonge, E. and de Wolf, P.-P. (2016): Spatial smoothing and statistical disclosure control. Privacy in Statistical
Databases, LNCS 9867, 107-117.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.ndimage import correlate1d

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.errors import InputError
from cellguard.methods.maps.contributors import Contributors

Risk = Literal["external", "internal", "discrete"]
_CUT = 3  # standard deviations
_MOST = 5_000_000


@dataclass(frozen=True, eq=False)
class Raster:
    """Squares in a box, by column and row from its lower left corner: what risk looks at. Confidential.

    ``scale`` is what a least count is multiplied by, 1 before smoothing.
    """

    left: int
    low: int
    count: FloatArray
    total: FloatArray
    largest: FloatArray
    second: FloatArray
    scale: float = 1.0

    @classmethod
    def of(cls, q: LongArray, r: LongArray, values: Contributors, margin: int) -> Raster:
        """Return squares with a margin of empty ones around them."""
        left, low = int(q.min()) - margin, int(r.min()) - margin
        shape = int(q.max()) - left + 1 + margin, int(r.max()) - low + 1 + margin
        if shape[0] * shape[1] > _MOST:
            raise InputError(f"the map has room for {shape[0] * shape[1]:,} squares; choose larger ones to smooth it")
        layers = []
        for one in (values.count, values.total, values.top(1), values.top(2)):
            layer = np.zeros(shape)
            layer[q - left, r - low] = one
            layers.append(layer)
        return cls(left, low, layers[0], layers[1], layers[2], layers[3])

    def smoothed(self, bandwidth: float) -> Raster:
        """Return the same smoothed; ``bandwidth`` is the standard deviation in squares.

        >>> one = Contributors.of([0], [8.0], 1)
        >>> before = Raster.of(np.array([0]), np.array([0]), one, 3)
        >>> after = before.smoothed(1.0)
        >>> round(float(after.total.sum()), 9), bool(after.total.max() < 2)
        (8.0, True)
        """
        weights = kernel(bandwidth)
        count, total, largest, second = (
            correlate1d(correlate1d(layer, weights, 0, mode="constant"), weights, 1, mode="constant")
            for layer in (self.count, self.total, self.largest, self.second)
        )
        quarter = -(-len(weights) // 4) - 1
        scale = self.scale * float(weights[quarter] ** 2)
        return Raster(self.left, self.low, count, total, largest, second, scale)

    @property
    def reached(self) -> BoolArray:
        """Which squares have anything of a record."""
        return np.asarray(self.count > 0, bool)

    def risk(self, kind: Risk) -> FloatArray:
        """Return the risk of each square, 0 where nothing is."""
        above, below = {
            "external": (self.largest, self.total),
            "internal": (self.largest, self.total - self.second),
            "discrete": (self.total, self.count),
        }[kind]
        return np.divide(above, below, out=np.zeros(self.count.shape), where=below > 0)

    def sensitive(self, kind: Risk, most: float, fewest: float) -> BoolArray:
        """Return which squares are too risky, or have too few records."""
        return self.reached & ((self.risk(kind) > most) | (self.count < self.scale * fewest))


def kernel(bandwidth: float) -> FloatArray:
    """Return the weights along one axis, which add up to 1.

    >>> kernel(0.5).round(3).tolist()
    [0.107, 0.787, 0.107]
    """
    steps = np.arange(-int(_CUT * bandwidth), int(_CUT * bandwidth) + 1)
    weights = np.exp(-(steps**2) / (2 * bandwidth**2))
    return np.asarray(weights / weights.sum(), float)


def reach(bandwidth: float) -> int:
    """Return how many squares away a record is still felt."""
    return int(_CUT * bandwidth)
