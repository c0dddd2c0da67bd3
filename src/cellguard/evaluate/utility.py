"""What a release loses, in measures that every method can be held to.

A hidden cell counts as lost. Where a measure needs a figure for it, it is the middle of what an outsider can work out,
which is what a careful reader would put there.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from scipy.stats import rankdata

from cellguard.table.pattern import ReleasedTable
from cellguard.table.table import Table
from cellguard.types import BoolArray, FloatArray, Positions


@dataclass(frozen=True)
class Utility:
    """The losses of one released table.

    ``utility`` is the mean over cells of 1 - relative error, at least 0; a hidden cell adds nothing. ``distortion`` is
    the mean relative error and ``deviation`` the mean absolute one (AAD) of the published cells. ``hellinger`` is the
    Hellinger distance between the shares of the innermost cells, from 0 to 1; ``rank`` Spearman's correlation of all
    cells, and ``association`` the change of Cramer's V between the first two dimensions; NaN where they do not exist.
    """

    cells: int
    hidden: int
    hidden_value: float
    utility: float
    distortion: float
    deviation: float
    hellinger: float
    rank: float
    association: float

    def plain(self) -> dict[str, float | None]:
        """Return the figures as plain data, None where they do not exist."""
        return {name: None if value != value else value for name, value in asdict(self).items()}


def measure_utility(table: Table, released: ReleasedTable, guess: FloatArray) -> Utility:
    """Compare a released table with the true one; ``guess`` is what a reader would take a hidden cell for."""
    shown = np.flatnonzero(~table.unpublished)
    true, hidden = table.value[shown], released.suppressed
    figures = np.array([float(text) if text else 0.0 for text in released.value])
    figures = np.where(hidden, guess[shown], figures)
    error = np.abs(figures - true)
    scale = np.maximum(np.abs(true), table.unit)
    relative = np.minimum(error / scale, 1.0)
    published = ~hidden
    inner = _innermost(table)[shown]
    return Utility(
        cells=len(shown),
        hidden=int(hidden.sum()),
        hidden_value=float(np.abs(true[hidden]).sum()),
        utility=float(np.where(hidden, 0.0, 1.0 - relative).mean()) if len(shown) else float("nan"),
        distortion=_mean(relative[published]),
        deviation=_mean(error[published]),
        hellinger=_hellinger(true[inner], figures[inner]),
        rank=_correlation(rankdata(true), rankdata(figures)),
        association=_association(table, shown, figures) - _association(table, shown, true),
    )


def _innermost(table: Table) -> BoolArray:
    """Tell which cells have no parts in any dimension."""
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
