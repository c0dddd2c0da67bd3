"""How much noise perturbed tables carry: the result tables and the information loss of Cuppen 2000, chapter 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cellguard.errors import InputError
from cellguard.protect.perturb.cells.calibration import CalibrationTable
from cellguard.protect.perturb.cells.respondents import Respondents
from cellguard.protect.perturb.cells.sensitivity import dominated, needs_of
from cellguard.protect.perturb.draw.zes import Zes
from cellguard.table.facts import BoolArray, FloatArray

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


def noise_statistics(
    noise: CellNoise, *, interior: BoolArray, sensitive: BoolArray, weight: FloatArray | None = None
) -> NoiseStatistics:
    """Summarise the noise of cells. ``weight`` makes some of them count more in the losses, margins say.

    >>> found = cell_noise(np.array([200.0, 100.0, 100.0]), np.array([1.0, -3.0, 4.0]))
    >>> inside, unsafe = np.array([False, True, True]), np.array([False, True, False])
    >>> result = noise_statistics(found, interior=inside, sensitive=unsafe)
    >>> result.groups["interior"], round(result.loss, 4), result.squared
    (Group(average=3.5, maximum=4.0, minimum=3.0, cells=2), 2.6667, 26.0)
    """
    there = ~np.isnan(noise.percent)
    chosen = (~interior, interior, sensitive, ~sensitive, np.ones(len(there), bool))
    groups = {name: _group(noise.percent[mask & there]) for name, mask in zip(GROUPS, chosen, strict=True)}
    heavy = np.ones(len(there)) if weight is None else weight
    loss = float(np.average(noise.size[there], weights=heavy[there])) if there.any() else 0.0
    average = groups["all nonzero"].average
    ratio = loss / average if average > 0 else float("nan")
    return NoiseStatistics(groups, loss, ratio, float((heavy * noise.square)[there].sum()))


def table_statistics(
    tables: Sequence[CalibrationTable],
    perturbed: Sequence[FloatArray],
    *,
    by_dominance: bool = False,
    margin_weight: float = 1.0,
) -> NoiseStatistics:
    """Return the statistics of all cells of all tables; ``perturbed`` are their perturbed totals, table by table.

    Cells are sensitive by S_N, or by the (n, k) rule of their table. Margins count ``margin_weight`` times in the loss.
    """
    totals = np.concatenate([table.total for table in tables])
    noise = cell_noise(totals, np.concatenate(list(perturbed)) - totals)
    interior, sensitive = groups_of(tables, by_dominance)
    weight = _margin_weight(tables, margin_weight)
    return noise_statistics(noise, interior=interior, sensitive=sensitive, weight=weight)


def groups_of(tables: Sequence[CalibrationTable], by_dominance: bool = False) -> tuple[BoolArray, BoolArray]:
    """Return which cells of all tables are interior and which are sensitive, one table below the other."""
    marks = [dominated(table) if by_dominance else needs_of(table).sensitive for table in tables]
    return np.concatenate([t.interior for t in tables]), np.concatenate(marks)


def noise_variance(table: CalibrationTable, zes: Zes) -> FloatArray:
    """Return Var(e) = (mu^2 + sigma^2) times the sum of squared contributions, for census and survey alike."""
    return zes.second_moment * table.largest.squares


def noise_cv(table: CalibrationTable, zes: Zes) -> FloatArray:
    """Return the coefficient of variation of the perturbed totals, NaN where the total is 0."""
    spread = np.sqrt(noise_variance(table, zes))
    return np.divide(spread, np.abs(table.total), out=np.full(len(spread), np.nan), where=table.total != 0)


def sampling_variance(
    table: CalibrationTable, records: Respondents, strata: npt.NDArray[np.integer] | None = None
) -> FloatArray:
    """Return the estimated Horvitz-Thompson variance of every weighted total, 0 for a census.

    The sample is taken as drawn unit by unit with probability 1/w (Poisson): sum of w (w - 1) x^2. With ``strata``, one
    number a record, as simple random samples without replacement: sum of N^2 (1 - n/N) s^2 / n, with N the sum of the
    stratum's weights and s^2 the variance of x over the whole stratum, 0 for its records outside the cell.
    """
    if records.weight is None:
        return np.zeros(len(table))
    x, w = records.plain(table.response), records.weight
    if strata is None:
        return table.sums(np.maximum(w * (w - 1), 0.0) * x**2)
    count = np.bincount(strata)
    if (count[np.unique(strata)] < 2).any():
        raise InputError("a stratum has one record only, so its variance cannot be estimated; join it to another")
    size = np.bincount(strata, w)
    variance = np.zeros(len(table))
    for h in np.unique(strata).tolist():
        n = count[h]
        inside = strata == h
        mean, square = table.sums(np.where(inside, x, 0.0)) / n, table.sums(np.where(inside, x**2, 0.0))
        variance += size[h] ** 2 * max(1 - n / size[h], 0.0) / n * (square - n * mean**2) / (n - 1)
    return np.maximum(variance, 0.0)


def published_variance(sampling: FloatArray, noise: FloatArray) -> FloatArray:
    """Return the estimated variance of a perturbed survey total: that of the sample plus the squared noise."""
    return np.asarray(sampling + noise**2, float)


def _there(figure: float) -> float | None:
    return None if np.isnan(figure) else figure


def _group(percent: FloatArray) -> Group:
    if not len(percent):
        return Group(float("nan"), float("nan"), float("nan"), 0)
    return Group(float(percent.mean()), float(percent.max()), float(percent.min()), len(percent))


def _margin_weight(tables: Sequence[CalibrationTable], weight: float) -> FloatArray:
    if not weight > 0:
        raise InputError(f"the weight of margins in the loss must be above 0, not {weight:g}")
    return np.concatenate([np.where(table.interior, 1.0, weight) for table in tables])
