"""ZES: one random multiplier per holding, away from 1 by about mu in either direction (Cuppen 2000, section 3.2).

m = 1 + direction * rho with rho ~ N(mu, sigma) or another symmetric shape, so that E[m] = 1. A record with value X and
weight w adds X (m + w - 1) to its cells: only the sampled unit itself is perturbed, not those that it stands for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import ndtri

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError, did_you_mean
from cellguard.methods.perturb.cells.respondents import Respondents, on_grid
from cellguard.methods.perturb.draw.shapes import HALFWIDTH
from cellguard.randomness import Stream, stream

Shape = Literal["normal", "beta", "uniform", "triangular", "unimodal"]
Directions = Literal["random", "balanced"]


@dataclass(frozen=True, slots=True)
class Zes:
    """The distribution of the multipliers.

    ``shape`` is that of rho: ``normal``; ``uniform``, ``triangular`` or ``beta`` (with both parameters 2) on
    [mu - a, mu + a], where ``halfwidth`` a makes the standard deviation sigma unless given; or ``unimodal``, for
    comparison only: m ~ N(1, mu), without a gap around 1. ``directions`` are random, or balanced: as many up as down,
    dealt out at random, which makes less noise in large cells.

    >>> round(Zes().second_moment ** 0.5, 5)
    0.10198
    """

    mu: float = 0.10
    sigma: float = 0.02
    shape: Shape = "normal"
    directions: Directions = "random"
    halfwidth: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.mu < 1:
            raise InputError(f"mu must be above 0 and below 1, not {self.mu:g}")
        if not 0 <= self.sigma < 1:
            raise InputError(f"sigma must be at least 0 and below 1, not {self.sigma:g}")
        for name, value, known in (
            ("shape", self.shape, get_args(Shape)),
            ("directions", self.directions, get_args(Directions)),
        ):
            if value not in known:
                raise InputError(f"no {name} {value!r}{did_you_mean(value, known)}")
        if self.halfwidth is not None and (self.shape not in HALFWIDTH or not 0 <= self.halfwidth <= self.mu):
            raise InputError("halfwidth is for the shapes uniform, triangular and beta, from 0 to mu")

    @property
    def reach(self) -> float:
        """The half-width a of a bounded shape."""
        return HALFWIDTH[self.shape] * self.sigma if self.halfwidth is None else self.halfwidth

    @property
    def deviation(self) -> float:
        """The standard deviation of rho."""
        return self.reach / HALFWIDTH[self.shape] if self.shape in HALFWIDTH else self.sigma

    @property
    def second_moment(self) -> float:
        """E[(m - 1)^2] = mu^2 + sigma^2: the variance of a multiplier (rejected draws left out of account)."""
        return self.mu**2 if self.shape == "unimodal" else self.mu**2 + self.deviation**2


def draw_multipliers(
    records: Respondents,
    zes: Zes,
    seed: int,
    *,
    mu: FloatArray | None = None,
    only: BoolArray | None = None,
    purpose: str | int = "zes",
) -> FloatArray:
    """Return one multiplier per unit, all records of a holding sharing it.

    Random numbers are dealt out in the order of the units' keys, so the order of the records does not matter. ``mu``
    gives every unit a mu of its own (strata); units not in ``only`` keep the multiplier 1. Draws with rho <= 0 or
    rho >= 1 are rejected and drawn again: no multiplier is 0 or below, and E[m] stays 1.
    """
    centre = np.full(records.units, zes.mu) if mu is None else np.asarray(mu, float)
    if centre.shape != (records.units,) or not ((centre > 0) & (centre < 1)).all():
        raise InputError("mu must be above 0 and below 1 for every respondent")
    in_order = records.owners.in_order(centre)
    if zes.shape == "unimodal":
        deviation = _rejecting(stream(seed, purpose, "sizes"), in_order, _unimodal)
    else:
        sizes = _rejecting(stream(seed, purpose, "sizes"), in_order, _SHAPES[zes.shape](zes))
        deviation = sizes * _directions(stream(seed, purpose, "directions"), records.units, zes.directions)
    multipliers = records.owners.deal(1 + deviation)
    return multipliers if only is None else np.where(only, multipliers, 1.0)


def perturbed(records: Respondents, response: str, multipliers: FloatArray) -> FloatArray:
    """Return what each record adds to a perturbed total: X m, with weights X (m + w - 1); 0 where X is missing.

    >>> from cellguard.methods.perturb.cells.respondents import respondents
    >>> firms = respondents({}, {"x": [8000, 850, 600, 550]}, weight=[1, 6, 8, 10])
    >>> perturbed(firms, "x", np.array([0.89, 1.11, 1.12, 0.91])).round(6).tolist()
    [7120.0, 5193.5, 4872.0, 5450.5]
    """
    if multipliers.shape != (records.units,):
        raise InputError(f"{len(multipliers)} multipliers for {records.units} respondents; there must be one each")
    factor = multipliers[records.unit]
    if records.weight is not None:
        factor = factor + records.weight - 1
    return on_grid(np.nan_to_num(records.value(response) * factor))


def weight_warnings(records: Respondents) -> list[str]:
    """Say if weights are below 1: such a unit stands for less than itself, yet its own noise is added in full."""
    low = 0 if records.weight is None else int((records.weight < 1).sum())
    if not low:
        return []
    return [
        f"{low} records have a weight below 1; they are perturbed as X (m + w - 1) like all others. Check the weights"
    ]


def _directions(source: Stream, n: int, how: Directions) -> FloatArray:
    if how == "random":
        return source.signs(n)
    signs = np.empty(n)
    signs[source.permutation(n)] = np.where(np.arange(n) % 2, -1.0, 1.0) * source.signs(1)
    return signs


def _rejecting(source: Stream, centre: FloatArray, draw: Callable[[FloatArray, FloatArray], FloatArray]) -> FloatArray:
    """Draw until every size is above 0 and below 1 (of a unimodal deviation: above -1, below 1 and not 0)."""
    sizes = draw(source.uniform(len(centre)), centre)
    while len(bad := np.flatnonzero(~_valid(sizes, draw))):
        sizes[bad] = draw(source.uniform(len(bad)), centre[bad])
    return sizes


def _valid(sizes: FloatArray, draw: Callable[[FloatArray, FloatArray], FloatArray]) -> BoolArray:
    size = np.abs(sizes) if draw is _unimodal else sizes
    return np.asarray((size > 0) & (size < 1), bool)


def _unimodal(u: FloatArray, centre: FloatArray) -> FloatArray:
    return np.asarray(centre * ndtri(u), float)


def _normal(zes: Zes) -> Callable[[FloatArray, FloatArray], FloatArray]:
    return lambda u, centre: centre + zes.sigma * ndtri(u)


def _uniform(zes: Zes) -> Callable[[FloatArray, FloatArray], FloatArray]:
    return lambda u, centre: centre + zes.reach * (2 * u - 1)


def _triangular(zes: Zes) -> Callable[[FloatArray, FloatArray], FloatArray]:
    def draw(u: FloatArray, centre: FloatArray) -> FloatArray:
        tail = np.sqrt(2 * np.minimum(u, 1 - u))
        return centre + zes.reach * np.where(u < 0.5, tail - 1, 1 - tail)

    return draw


def _beta(zes: Zes) -> Callable[[FloatArray, FloatArray], FloatArray]:
    # The distribution function 3 x^2 - 2 x^3 of beta (2, 2) has this inverse, here on [-1, 1].
    return lambda u, centre: centre - 2 * zes.reach * np.sin(np.arcsin(1 - 2 * u) / 3)


_SHAPES = {"normal": _normal, "uniform": _uniform, "triangular": _triangular, "beta": _beta}
