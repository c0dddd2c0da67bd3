"""How large a unit of noise is: a share of a contribution, the same for all or smaller for large ones.

The flex function m(x) is p1 up to the flex point f, and beyond it

    m(x) = p2 (1 + (p1 x - p2 f) / (p2 f) * (2 f / (f + x))^q),

which is p1 at x = f and goes to p2 for large x (Giessing and Tent 2019). A unit of the noise of the j-th largest
contribution x is epsilon_j m(x) x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.errors import InputError


@dataclass(frozen=True)
class Multiplier:
    """The share ``small`` of a contribution up to the ``point``, ``large`` of large ones; without a point, ``small``.

    >>> flex = Multiplier(0.20, 0.03, 1000, 2)
    >>> flex.share(np.array([500.0, 1000, 2000, 1e9])).round(4).tolist()
    [0.2, 0.2, 0.1944, 0.03]
    """

    small: float
    large: float = 0.0
    point: float = np.inf
    power: float = 3.0

    def __post_init__(self) -> None:
        if not 0 < self.small <= 1 or not 0 <= self.large <= self.small:
            raise InputError(
                f"the noise is a share of a contribution: above 0, at most 1, and for large ones not larger than for "
                f"small ones; not {self.small:g} and {self.large:g}"
            )
        if not self.point > 0 or self.power < 1:
            raise InputError(
                f"the flex point is above 0 and its power 1 or more, not {self.point:g} and {self.power:g}"
            )

    def share(self, size: FloatArray) -> FloatArray:
        """Return the share for each size of a contribution."""
        if not np.isfinite(self.point):
            return np.full(len(size), self.small)
        x = np.maximum(size, self.point)
        # p2 is taken into the brackets, so that it may be 0.
        beyond = (
            self.large + (self.small * x / self.point - self.large) * (2 * self.point / (self.point + x)) ** self.power
        )
        return np.where(size < self.point, self.small, np.clip(beyond, 0.0, 1.0))
