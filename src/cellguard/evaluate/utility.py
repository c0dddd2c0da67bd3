"""What a release loses, in measures that every method can be held to.

A suppressed cell counts as lost. Where a measure needs a figure for it, it is the middle of what an outsider can work
out, which is what a careful reader would put there.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.stats import rankdata

from cellguard.arrays import BoolArray, FloatArray, IntArray, Positions
from cellguard.table.pattern import ReleasedTable
from cellguard.table.table import Table

MEASURES = ("suppressed", "suppressed_value", "width", "distortion", "deviation", "hellinger", "rank", "association")


@dataclass(frozen=True)
class LevelLoss:
    """What is lost at one combination of levels: cells, how many are suppressed, their value, and the mean
    distortion.
    """

    level: tuple[int, ...]
    cells: int
    suppressed: int
    suppressed_value: float
    distortion: float


@dataclass(frozen=True)
class Utility:
    """The losses of one released table.

    ``utility`` is the mean over cells of 1 - relative error, at least 0; a suppressed cell adds nothing. ``width`` is
    the median width of what an outsider knows of suppressed cells, as a share of their value (infinite where it has no
    end). ``distortion`` is the mean relative error and ``deviation`` the mean absolute one (AAD) of the published
    cells. ``hellinger`` is the Hellinger distance between the shares of the innermost cells, from 0 to 1; ``rank``
    Spearman's correlation of all cells, and ``association`` the change of Cramer's V between the first two dimensions;
    NaN where they do not exist. ``levels`` has the losses by level, the coarsest first.
    """

    cells: int
    suppressed: int
    suppressed_value: float
    utility: float
    width: float
    distortion: float
    deviation: float
    hellinger: float
    rank: float
    association: float
    levels: tuple[LevelLoss, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return the figures as plain data, None where they do not exist or have no end."""
        figures = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "levels"}
        plain: dict[str, Any] = {name: _finite(value) for name, value in figures.items()}
        return plain | {"levels": [{k: _finite(v) for k, v in asdict(level).items()} for level in self.levels]}


def _finite(value: Any) -> Any:  # noqa: ANN401
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True, eq=False)
class Known:
    """What an outsider knows of cells that are suppressed: the ends of what they may be."""

    lower: FloatArray
    upper: FloatArray

    @property
    def guess(self) -> FloatArray:
        """The middle, or the lower end where there is no upper one."""
        return (self.lower + np.where(np.isfinite(self.upper), self.upper, self.lower)) / 2

    def take(self, cells: Positions) -> Known:
        """Return what is known of some cells."""
        return Known(self.lower[cells], self.upper[cells])


def measure_utility(table: Table, released: ReleasedTable, known: Known) -> Utility:
    """Compare a released table with the true one; ``known`` is what an outsider can tell of each cell."""
    shown = np.flatnonzero(~table.unpublished)
    inner = _innermost(table)[shown]
    figures = np.where(released.suppressed, known.guess[shown], released.figures)
    depth = np.stack([d.level[c] for d, c in zip(table.dimensions, table.codes, strict=True)], axis=1)[shown]
    loss = measure_loss(table.value[shown], figures, released.suppressed, unit=table.unit, inner=inner)
    return replace(
        loss,
        width=_width(table.value[shown], known.take(shown), released.suppressed),
        association=_association(table, shown, figures) - _association(table, shown, table.value[shown]),
        levels=_by_level(
            depth, table.value[shown], _relative(table.value[shown], figures, table.unit), released.suppressed
        ),
    )


def measure_loss(
    true: FloatArray, figures: FloatArray, hidden: BoolArray, *, unit: float, inner: BoolArray | None = None
) -> Utility:
    """Compare figures with the true ones; what is suppressed has the figure that a reader would take it for."""
    relative, published = _relative(true, figures, unit), ~hidden
    inner = np.ones(len(true), bool) if inner is None else inner
    return Utility(
        cells=len(true),
        suppressed=int(hidden.sum()),
        suppressed_value=float(np.abs(true[hidden]).sum()),
        utility=float(np.where(hidden, 0.0, 1.0 - relative).mean()) if len(true) else float("nan"),
        width=float("nan"),
        distortion=_mean(relative[published]),
        deviation=_mean(np.abs(figures - true)[published]),
        hellinger=_hellinger(true[inner], figures[inner]),
        rank=_correlation(rankdata(true), rankdata(figures)),
        association=float("nan"),
    )


def _relative(true: FloatArray, figures: FloatArray, unit: float) -> FloatArray:
    """Return the relative error of each figure, at most 1."""
    return np.minimum(np.abs(figures - true) / np.maximum(np.abs(true), unit), 1.0)


def _width(true: FloatArray, known: Known, hidden: BoolArray) -> float:
    some = hidden & (true != 0)
    return float(np.median((known.upper - known.lower)[some] / np.abs(true[some]))) if some.any() else float("nan")


def _by_level(depth: IntArray, true: FloatArray, relative: FloatArray, hidden: BoolArray) -> tuple[LevelLoss, ...]:
    levels, group = np.unique(depth, axis=0, return_inverse=True)
    losses = []
    for number, level in enumerate(levels.tolist()):
        here = group.ravel() == number
        gone = here & hidden
        distortion = _mean(relative[here & ~hidden])
        losses.append(
            LevelLoss(tuple(level), int(here.sum()), int(gone.sum()), float(np.abs(true[gone]).sum()), distortion)
        )
    return tuple(sorted(losses, key=lambda loss: (sum(loss.level), loss.level)))


def _innermost(table: Table) -> BoolArray:
    """Return which cells have no parts in any dimension."""
    parts = [
        np.isin(codes, [dimension.position[leaf] for leaf in dimension.main.leaves])
        for dimension, codes in zip(table.dimensions, table.codes, strict=True)
    ]
    return np.asarray(np.logical_and.reduce(parts), bool)


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _hellinger(true: FloatArray, figures: FloatArray) -> float:
    """Return sqrt(1 - sum of sqrt(p q)) of the two distributions; NaN with negative or no values."""
    if not len(true) or (true < 0).any() or not true.sum() or not np.maximum(figures, 0).sum():
        return float("nan")
    p, q = true / true.sum(), np.maximum(figures, 0) / np.maximum(figures, 0).sum()
    return float(np.sqrt(max(1.0 - np.sqrt(p * q).sum(), 0.0)))


def _correlation(first: FloatArray, second: FloatArray) -> float:
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def _association(table: Table, shown: Positions, figures: FloatArray) -> float:
    """Return Cramer's V of the first two dimensions, of the innermost cells summed over all other dimensions."""
    if len(table.dimensions) < 2:
        return float("nan")
    inner = _innermost(table)[shown]
    rows, columns = (np.unique(codes[shown][inner], return_inverse=True)[1] for codes in table.codes[:2])
    if not len(rows) or min(rows.max(), columns.max()) < 1:
        return float("nan")
    matrix = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(matrix, (rows, columns), np.maximum(figures[inner], 0))
    whole = matrix.sum()
    if not whole:
        return float("nan")
    expected = np.outer(matrix.sum(axis=1), matrix.sum(axis=0)) / whole
    chi = np.divide((matrix - expected) ** 2, expected, out=np.zeros_like(matrix), where=expected > 0).sum()
    return float(np.sqrt(chi / (whole * (min(matrix.shape) - 1))))
