"""How far rounded tables are from the true ones: what is lost by rounding, in a few figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.arrays import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class Distance:
    """The distance of published from true values, over the cells of which a value is published.

    ``hellinger`` is the Hellinger distance of the two tables, sqrt(sum (sqrt x - sqrt y)^2 / 2), over values that are
    not negative; ``utility`` is 1 less its share of the largest one possible, sqrt(sum x).

    References
    ----------
    Shlomo, N. (2007). Statistical disclosure control methods for census frequency tables. *International Statistical
    Review* 75(2), 199-217, section 4.

    >>> d = distance(np.array([4.0, 9.0]), np.array([9.0, 9.0]), np.array([True, True]))
    >>> d.cells, d.changed, d.largest, d.mean, round(d.hellinger, 4)
    (2, 1, 5.0, 2.5, 0.7071)
    """

    cells: int
    changed: int
    largest: float
    mean: float
    hellinger: float
    utility: float

    def plain(self) -> dict[str, float]:
        """Return it as plain data."""
        figures = (self.cells, self.changed, self.largest, self.mean, self.hellinger, self.utility)
        return dict(zip(self.__slots__, figures, strict=True))


def distance(true: FloatArray, published: FloatArray, seen: BoolArray) -> Distance:
    """Return how far the published values are from the true ones."""
    x, y = true[seen], published[seen]
    off = np.abs(y - x)
    there = (x >= 0) & (y >= 0)
    hellinger = float(np.sqrt(((np.sqrt(x[there]) - np.sqrt(y[there])) ** 2).sum() / 2))
    most = float(np.sqrt(x[there].sum()))
    return Distance(
        len(x),
        int((off > 0).sum()),
        float(off.max(initial=0.0)),
        float(off.mean()) if len(off) else 0.0,
        hellinger,
        1 - hellinger / most if most else 1.0,
    )
