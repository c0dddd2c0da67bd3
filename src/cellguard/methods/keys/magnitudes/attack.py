"""What an attacker who knows the method concludes of the largest contribution of a sensitive cell.

The attacker is the strongest that there may be without the secret: all other contributors of the cell together. It
knows every other contribution to every published sum, which cells are sensitive, the perturbation table and what the
noise of all contributions but the largest comes to. What is left is one number: the largest contribution s. If the
respondent gave several records, the attacker knows in what proportion they stand.

For each candidate of s the sum, its unit and so the probability of what is published follow, as the difference of two
values of the distribution of changes, since what is published is rounded. Noise of cells with different records is
independent, as its keys are hashed. Beforehand all orders of magnitude are alike: s is uniform on a logarithmic scale.
Two results per cell: by its own published value alone, and by those of all cells that the respondent is in. The largest
probability of any guess to lie within p percent of s counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.methods.keys.magnitudes.noise import Noise, Sums
from cellguard.run_context import UNWATCHED, Run

_SPAN = 8.0  # how many times larger or smaller than the truth, and than its published figure, candidates may be
_FARTHEST = 64.0  # times the truth that its published figure is taken to be at most
_STEPS, _LEAST = 40, 5e-4  # of candidates in p percent; and the least distance of two, as a share
_MOST = 120_000_000  # candidates times cells; sensitive cells beyond are left open


@dataclass(frozen=True, eq=False)
class Seen:
    """What is published of distinct cells, in units of ``unit``, and what the attacker knows of them.

    ``rest`` is the noise of all parts but the first; ``fixed`` are cells that are published as they are, and ``shown``
    those that are published at all.
    """

    sums: Sums
    shares: sp.csr_array
    published: FloatArray
    unit: FloatArray
    rest: FloatArray
    fixed: BoolArray
    shown: BoolArray


@dataclass(frozen=True, eq=False)
class Guessed:
    """For each distinct cell the probability of the best guess of its largest contribution; 0 if nobody asks.

    ``alone`` is by its own published value, ``together`` by all; ``open`` are cells that there was no room to look at,
    to which ``together`` gives 1.
    """

    alone: FloatArray
    together: FloatArray
    open: int


def guess(seen: Seen, noise: Noise, wanted: BoolArray, percent: FloatArray, *, run: Run = UNWATCHED) -> Guessed:
    """Attack the ``wanted`` cells: how likely is the best guess within ``percent`` of the largest contribution?"""
    alone, together = np.zeros(len(wanted)), np.zeros(len(wanted))
    by_holding = sp.csr_array(seen.shares.T)
    work, open_ = float(_MOST), 0
    wide = wanted & (percent >= 99.0)
    alone[wide] = together[wide] = 1.0
    for cell in np.flatnonzero(wanted & ~wide).tolist():
        run.heed()
        span = slice(seen.shares.indptr[cell], seen.shares.indptr[cell + 1])
        if span.start == span.stop:
            continue
        largest = span.start + int(np.argmax(seen.shares.data[span]))
        holding, own = int(seen.shares.indices[largest]), float(seen.shares.data[largest])
        told = seen.published[cell] - seen.rest[cell] - (seen.sums.value[cell] - own)
        grid = _candidates(percent[cell], told / own)
        here = slice(by_holding.indptr[holding], by_holding.indptr[holding + 1])
        cells, amounts = by_holding.indices[here].astype(np.int64), by_holding.data[here].astype(float)
        first = np.array([cell], np.int64)
        found = _likelihood(seen, noise, first, np.array([own]), holding, grid)
        alone[cell] = _best(found, grid, percent[cell])
        seen_ones = seen.shown[cells]
        cells, amounts = _different(seen, cell, cells[seen_ones], amounts[seen_ones])
        work -= len(cells) * len(grid)
        if work < 0:
            together[cell], open_ = 1.0, open_ + 1
            continue
        if seen.fixed[cells].any():
            together[cell] = 1.0
            continue
        others, able = cells != cell, np.isfinite(found)
        found[able] += _likelihood(seen, noise, cells[others], amounts[others], holding, grid[able])
        together[cell] = max(_best(found, grid, percent[cell]), alone[cell])
    return Guessed(alone, together, open_)


def _candidates(percent: float, told: float) -> FloatArray:
    """Return candidates of the largest contribution, as multiples of it, evenly on a logarithmic scale.

    They reach as far beyond what is ``told`` of it as beyond the truth: at an end of them few would share all chances.
    """
    step = max(float(percent) / 100 / _STEPS, _LEAST)
    near = float(np.clip(told, 1 / _FARTHEST, _FARTHEST))
    low, high = (int(np.ceil(np.log(_SPAN * most) / step)) for most in (max(1 / near, 1.0), max(near, 1.0)))
    return np.asarray(np.exp(step * np.arange(-low, high + 1)), float)


def _different(seen: Seen, cell: int, cells: LongArray, amounts: FloatArray) -> tuple[LongArray, FloatArray]:
    """Return a cell and those with other records: those with the same have the same noise, and say nothing new."""
    sums = seen.sums
    order = np.argsort(cells != cell, kind="stable")  # the cell itself comes first of those with its records
    cells, amounts = cells[order], amounts[order]
    same = np.stack([sums.key[cells], sums.number[cells], np.round(sums.value[cells] / seen.unit[cells], 3)])
    first = np.sort(np.unique(same, axis=1, return_index=True)[1])
    return cells[first], amounts[first]


def _likelihood(
    seen: Seen, noise: Noise, cells: LongArray, amounts: FloatArray, holding: int, grid: FloatArray
) -> FloatArray:
    """Return the logarithm of the probability of what is published of some cells, for each candidate."""
    found = np.zeros(len(grid))
    for cell, amount in zip(cells.tolist(), amounts.tolist(), strict=True):
        with np.errstate(divide="ignore"):
            found += np.log(_of_cell(seen, noise, cell, amount, holding, grid))
    return found


def _of_cell(seen: Seen, noise: Noise, cell: int, amount: float, holding: int, grid: FloatArray) -> FloatArray:
    sums = seen.sums
    value = np.maximum(sums.value[cell] + amount * (grid - 1), 0.0)
    size = _sizes(seen, noise, cell, amount, holding, grid, value)
    unit, small, _ = noise.unit(size, value, 0)
    hair = seen.unit[cell] / 2
    told = seen.published[cell] - seen.rest[cell]
    least = np.full(len(grid), -np.inf) if seen.published[cell] < hair else told - hair - value
    most = told + hair - value
    unit = np.where(unit > 0, unit, np.nan)
    kind = noise.kinds(np.array([sums.number[cell]]))[0]
    chance = np.zeros(len(grid))
    for name, at in ((noise.names[kind], ~small), (noise.names[-1], small)):
        if at.any():
            figure = value[at] / unit[at]
            above = _below(noise, name, figure, most[at] / unit[at], bool(sums.sensitive[cell]))
            chance[at] = above - _below(noise, name, figure, least[at] / unit[at], bool(sums.sensitive[cell]))
    return np.where(np.isnan(unit), 0.0, np.maximum(chance, 0.0))


def _sizes(
    seen: Seen, noise: Noise, cell: int, amount: float, holding: int, grid: FloatArray, value: FloatArray
) -> FloatArray:
    """Return what noise would be in proportion to, for each candidate."""
    if noise.scaling == "sum":
        return value
    number = int(seen.sums.number[cell])
    if noise.scaling == "mean":
        return value / max(number, 1)
    span = slice(seen.shares.indptr[cell], seen.shares.indptr[cell + 1])
    others = seen.shares.data[span][seen.shares.indices[span] != holding]
    own = amount * grid
    most = np.maximum(own, float(others.max(initial=0.0)))
    if noise.scaling == "top_contr" or number < 2:
        return np.asarray(most, float)
    return np.asarray(most - np.minimum(own, float(others.min(initial=np.inf))), float)


def _below(noise: Noise, name: str, figure: FloatArray, change: FloatArray, sensitive: bool) -> FloatArray:
    """Return the probability that the change, with what sensitive cells have on top, is at most so much."""
    rows = noise.table.kinds[name]
    if not sensitive or noise.mu == 0:
        return rows.below(figure, change)
    without = np.where(change >= noise.mu, change - noise.mu, np.where(change < -noise.mu, change + noise.mu, -1e-300))
    return rows.below(figure, without)


def _best(logarithm: FloatArray, grid: FloatArray, percent: float) -> float:
    """Return the largest share that candidates have which one guess is near to; 1 if no candidate is possible.

    A guess g is within p percent of s if s is from g / (1 + p) to g / (1 - p).
    """
    top = float(logarithm.max())
    if not np.isfinite(top):
        return 1.0
    weight = np.exp(logarithm - top)
    p = float(percent) / 100
    step = float(np.log(grid[1] / grid[0]))
    wide = min(int(np.ceil(np.log((1 + p) / (1 - p)) / step)) + 1, len(grid))
    sums = np.append(0.0, np.cumsum(weight))
    return float(min((sums[wide:] - sums[:-wide]).max() / sums[-1], 1.0))
