"""How much noise perturbed tables carry: the result tables and the information loss of Cuppen 2000, chapter 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cellguard.arrays import BoolArray, FloatArray
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.cells.sensitivity import dominated, needs_of

GROUPS = ("marginal", "interior", "sensitive", "nonsensitive", "all nonzero")


@dataclass(frozen=True, slots=True)
class Group:
    """The percentage noise of a group of cells; NaN if there are none."""

    average: float
    maximum: float
    minimum: float
    cells: int


@dataclass(frozen=True, eq=False)
class NoiseStatistics:
    """The result table: percentage noise by group of cells, and the information loss.

    ``loss`` is the mean of |noise| over all nonzero cells (7.1), ``loss_per_percent`` that figure divided by the
    average percentage noise (in brackets in the report), ``squared`` the sum of the squared noise.
    """

    groups: Mapping[str, Group]
    loss: float
    loss_per_percent: float
    squared: float

    def plain(self) -> dict[str, Any]:
        """Return the result table as plain data; None stands for a figure of no cells."""
        groups = {name: {key: _there(x) for key, x in asdict(g).items()} for name, g in self.groups.items()}
        return {
            "percent": groups,
            "loss": self.loss,
            "loss_per_percent": _there(self.loss_per_percent),
            "squared": self.squared,
        }


@dataclass(frozen=True, eq=False)
class CellNoise:
    """The noise of cells one below the other: of one run, or its averages over replications.

    ``percent`` is 100 |noise| / |total|, NaN where the total is 0; ``size`` is |noise|, ``square`` its square.
    """

    percent: FloatArray
    size: FloatArray
    square: FloatArray


def cell_noise(total: FloatArray, noise: FloatArray) -> CellNoise:
    """Return the noise of each cell, absolute and in percent."""
    size = np.abs(noise)
    percent = np.divide(100 * size, np.abs(total), out=np.full(len(total), np.nan), where=total != 0)
    return CellNoise(percent, size, size**2)


def noise_statistics(noise: CellNoise, *, interior: BoolArray, sensitive: BoolArray) -> NoiseStatistics:
    """Summarise the noise of cells.

    >>> found = cell_noise(np.array([200.0, 100.0, 100.0]), np.array([1.0, -3.0, 4.0]))
    >>> inside, unsafe = np.array([False, True, True]), np.array([False, True, False])
    >>> result = noise_statistics(found, interior=inside, sensitive=unsafe)
    >>> result.groups["interior"], round(result.loss, 4), result.squared
    (Group(average=3.5, maximum=4.0, minimum=3.0, cells=2), 2.6667, 26.0)
    """
    there = ~np.isnan(noise.percent)
    chosen = (~interior, interior, sensitive, ~sensitive, np.ones(len(there), bool))
    groups = {name: _group(noise.percent[mask & there]) for name, mask in zip(GROUPS, chosen, strict=True)}
    loss = float(np.average(noise.size[there])) if there.any() else 0.0
    average = groups["all nonzero"].average
    ratio = loss / average if average > 0 else float("nan")
    return NoiseStatistics(groups, loss, ratio, float(noise.square[there].sum()))


def table_statistics(
    tables: Sequence[CalibrationTable],
    perturbed: Sequence[FloatArray],
    *,
    by_dominance: bool = False,
) -> NoiseStatistics:
    """Return the statistics of all cells of all tables; ``perturbed`` are their perturbed totals, table by table.

    Cells are sensitive by S_N, or by the (n, k) rule of their table.
    """
    totals = np.concatenate([table.total for table in tables])
    noise = cell_noise(totals, np.concatenate(list(perturbed)) - totals)
    interior, sensitive = groups_of(tables, by_dominance)
    return noise_statistics(noise, interior=interior, sensitive=sensitive)


def groups_of(tables: Sequence[CalibrationTable], by_dominance: bool = False) -> tuple[BoolArray, BoolArray]:
    """Return which cells of all tables are interior and which are sensitive, one table below the other."""
    marks = [dominated(table) if by_dominance else needs_of(table).sensitive for table in tables]
    return np.concatenate([t.interior for t in tables]), np.concatenate(marks)


def _there(figure: float) -> float | None:
    return None if np.isnan(figure) else figure


def _group(percent: FloatArray) -> Group:
    if not len(percent):
        return Group(float("nan"), float("nan"), float("nan"), 0)
    return Group(float(percent.mean()), float(percent.max()), float(percent.min()), len(percent))
