"""Cells drawn at random, to see on which kinds of cells rules disagree.

A distribution is written as in the literature, ``exponential(1)`` or ``normal(100, 50)``; or it is an array of values,
of which contributions are drawn with replacement; or any function from probabilities to quantiles.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from cellguard.arrays import FloatArray
from cellguard.errors import InputError, did_you_mean
from cellguard.microdata.checked import check_records
from cellguard.microdata.query import read_units
from cellguard.microdata.roles import Missing, Roles
from cellguard.microdata.sources import open_records
from cellguard.randomness import Stream, stream
from cellguard.rules.rule import Rule
from cellguard.table.fact import Count, Fact, Top, Total
from cellguard.table.facts import Facts
from cellguard.table.signed_cells import signed_contributions

Quantiles = Callable[[FloatArray], FloatArray]
Distribution = str | FloatArray | Quantiles
Negatives = Literal["keep", "truncate", "abs", "redraw"]
NEGATIVES: tuple[Negatives, ...] = ("keep", "truncate", "abs", "redraw")
_MOST_REDRAWS = 1000


class _Shape(NamedTuple):
    quantiles: Callable[..., FloatArray]  # of probabilities and the parameters
    defaults: tuple[float, ...]
    positive: int  # how many of the last parameters must be above 0


_SHAPES: Mapping[str, _Shape] = {
    "exponential": _Shape(lambda u, rate: -np.log1p(-u) / rate, (1.0,), 1),
    "normal": _Shape(lambda u, mean, sd: mean + sd * ndtri(u), (100.0, 50.0), 1),
    "lognormal": _Shape(lambda u, mean, sd: np.exp(mean + sd * ndtri(u)), (0.0, 1.0), 1),
    "pareto": _Shape(lambda u, shape: (1 - u) ** (-1 / shape), (2.0,), 1),
    "uniform": _Shape(lambda u, low, high: low + (high - low) * u, (0.0, 1.0), 0),
}


@dataclass(frozen=True, eq=False)
class Draws:
    """Cells with equally many contributions each, one row per cell, largest first."""

    contributions: FloatArray

    @property
    def n(self) -> int:
        """The number of contributions per cell."""
        return int(self.contributions.shape[1])

    def __len__(self) -> int:
        return len(self.contributions)

    @property
    def facts(self) -> Facts:
        """The cells as rules see them; the rules' formulas are then taken literally, negative values or not."""
        total = self.contributions.sum(axis=1)
        count = np.full(len(self), float(self.n))
        return Facts({Total(): total, Count(): count, Top(self.n): self.contributions}, complete=True)


def draw_cells(
    distribution: Distribution = "exponential(1)",
    n: int = 4,
    *,
    cells: int = 1000,
    seed: int = 1,
    negatives: Negatives = "keep",
) -> Draws:
    """Draw cells of ``n`` contributions each.

    ``negatives`` says what becomes of negative draws: they are kept, set to 0 (truncate), taken without their sign
    (abs), or drawn again. Raises `InputError` for an unknown distribution or impossible numbers.

    >>> draw_cells("uniform(0, 10)", 3, cells=2, seed=1).contributions.shape
    (2, 3)
    """
    if n < 1 or cells < 1:
        raise InputError(f"cells and their contributions must be 1 or more, not {cells} and {n}")
    if negatives not in NEGATIVES:
        raise InputError(f"`negatives` cannot be {negatives!r}{did_you_mean(negatives, NEGATIVES)}")
    quantiles = quantiles_of(distribution)
    numbers = stream(seed, "cells", n)
    values = quantiles(numbers.uniform(cells * n))
    if negatives == "truncate":
        values = np.maximum(values, 0.0)
    elif negatives == "abs":
        values = np.abs(values)
    elif negatives == "redraw":
        values = _redrawn(values, quantiles, numbers)
    return Draws(-np.sort(-values.reshape(cells, n), axis=1))


def seen_by(rules: Iterable[Rule], drawn: Draws) -> Facts:
    """Return the cells as these rules see them.

    Where one of them looks at signs or at the spread, all rules see sizes, as in a table with `negative: absolute`.

    >>> from cellguard.rules.linear import PPercent
    >>> from cellguard.rules.signed import Signed
    >>> cells = Draws(np.array([[5.0, 2.0, -8.0]]))
    >>> seen_by([PPercent(10)], cells).basis.tolist(), seen_by([Signed(PPercent(10))], cells).basis.tolist()
    ([-1.0], [15.0])
    """
    plain = drawn.facts
    if all(fact in plain for rule in rules for fact in _looked_at(rule)):
        return plain
    return signed_contributions(*drawn.contributions)


def _looked_at(rule: Rule) -> list[Fact]:
    """Return the facts of a rule, each as what stands in for it where cells are complete."""
    return [fact if fact.stand_in is None else fact.stand_in for fact in rule.facts]


def recorded_values(path: Path, column: str) -> FloatArray:
    """Return the values that records have in a column, to draw cells from. Confidential."""
    opened = open_records(path)
    return read_units(check_records(opened, Roles((), (column,), missing=Missing("drop")))).values[column]


def quantiles_of(distribution: Distribution) -> Quantiles:
    """Return the quantile function of a distribution.

    >>> quantiles_of("exponential(2)")(np.array([0.5])).round(3).tolist()
    [0.347]
    """
    if isinstance(distribution, str):
        shape, parameters = _parsed(distribution)
        return lambda u: np.asarray(shape.quantiles(u, *parameters), float)
    if callable(distribution):
        return distribution
    values = np.sort(np.asarray(distribution, float).ravel())
    if not len(values) or not np.isfinite(values).all():
        raise InputError("a distribution that is given by its values needs some, and none missing or infinite")
    return lambda u: values[(u * len(values)).astype(np.intp)]


def _parsed(text: str) -> tuple[_Shape, tuple[float, ...]]:
    form = re.fullmatch(r"\s*([a-z]+)\s*(?:\(([^()]*)\))?\s*", text)
    if form is None or form[1] not in _SHAPES:
        raise InputError(f"the distribution {text!r} is not known{did_you_mean(form[1] if form else text, _SHAPES)}")
    shape = _SHAPES[form[1]]
    try:
        given = tuple(float(part) for part in form[2].split(",")) if form[2] else shape.defaults
    except ValueError:
        given = ()
    positive = given[len(given) - shape.positive :]
    if len(given) != len(shape.defaults) or not np.isfinite(given).all() or any(p <= 0 for p in positive):
        example = f"{form[1]}({', '.join(f'{p:g}' for p in shape.defaults)})"
        raise InputError(f"the distribution {text!r} has parameters that make no sense; write it as {example}")
    return shape, given


def _redrawn(values: FloatArray, quantiles: Quantiles, numbers: Stream) -> FloatArray:
    for _ in range(_MOST_REDRAWS):
        negative = values < 0
        if not negative.any():
            return values
        values[negative] = quantiles(numbers.uniform(int(negative.sum())))
    raise InputError("`negatives: redraw` does not end, since nearly all draws are negative; take another distribution")
