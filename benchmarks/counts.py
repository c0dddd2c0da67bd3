"""Named synthetic frequency tables of any size, the same on every machine.

People fall into the leaf cells of hierarchies with rates that differ by row, column and cell; every level combination
is a sum. ``mean`` sets how many cells count 1 or 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

import cellguard as cg

from instances import tree


@dataclass(frozen=True)
class Crowd:
    """For each dimension the number of codes at each level below the total, and the mean count of a leaf cell."""

    levels: tuple[tuple[int, ...], ...]
    mean: float
    zeros: str = "possible"
    spread: float = 0.6
    seed: int = 1


_2D_15K = ((9, 130), (9, 100))
_2D_240K = ((9, 90, 500), (9, 60, 330))
_2D_930K = ((9, 90, 900), (9, 70, 850))
_3D_60K = ((9, 50), (9, 40), (19,))
_3D_500K = ((9, 90), (9, 90), (9, 40))

CROWDS = {
    "counts-2d-15k": Crowd(_2D_15K, 5.0),
    "counts-2d-15k-known": Crowd(_2D_15K, 5.0, zeros="known"),
    "counts-2d-240k": Crowd(_2D_240K, 5.0),
    "counts-2d-240k-known": Crowd(_2D_240K, 5.0, zeros="known"),
    "counts-2d-240k-40": Crowd(_2D_240K, 1.5, spread=0.15),
    "counts-2d-240k-40-known": Crowd(_2D_240K, 2.4, zeros="known", spread=0.15),
    "counts-2d-930k": Crowd(_2D_930K, 5.0),
    "counts-2d-930k-known": Crowd(_2D_930K, 5.0, zeros="known"),
    "counts-2d-930k-40": Crowd(_2D_930K, 1.5, spread=0.15),
    "counts-2d-930k-40-known": Crowd(_2D_930K, 2.4, zeros="known", spread=0.15),
    "counts-3d-60k": Crowd(_3D_60K, 4.5),
    "counts-3d-60k-known": Crowd(_3D_60K, 4.5, zeros="known"),
    "counts-3d-60k-40": Crowd(_3D_60K, 1.5, spread=0.15),
    "counts-3d-60k-40-known": Crowd(_3D_60K, 2.4, zeros="known", spread=0.15),
    "counts-3d-500k": Crowd(_3D_500K, 5.0),
    "counts-3d-500k-known": Crowd(_3D_500K, 5.0, zeros="known"),
    "counts-3d-500k-40": Crowd(_3D_500K, 1.5, spread=0.15),
    "counts-3d-500k-40-known": Crowd(_3D_500K, 2.4, zeros="known", spread=0.15),
}


def build_counts(name: str) -> cg.Table:
    """Return a named frequency table."""
    crowd = CROWDS[name]
    rng = np.random.default_rng([crowd.seed, *(size for levels in crowd.levels for size in levels)])
    dimensions, columns = [], []
    for prefix, sizes in zip("abcdef", crowd.levels, strict=False):
        dimension, above = tree(sizes, prefix, rng)
        dimensions.append(dimension)
        columns.append(above)
    rates = [np.exp(rng.normal(0, crowd.spread, sizes[-1])) for sizes in crowd.levels]
    rate = reduce(np.multiply.outer, [each / each.mean() for each in rates])
    full = rng.poisson(crowd.mean * rate * np.exp(rng.normal(0, crowd.spread, rate.shape)))
    for axis, (dimension, above) in enumerate(zip(dimensions, columns, strict=True)):
        full = _summed(full, axis, len(dimension.codes), above)
    codes = np.indices(full.shape).reshape(full.ndim, -1)
    listed = np.flatnonzero(full.ravel() > 0) if crowd.zeros == "known" else np.arange(full.size)
    data = {d.name: np.array(d.codes)[codes[i][listed]] for i, d in enumerate(dimensions)}
    data["n"] = full.ravel()[listed]
    about = cg.About(is_count=True, zeros=crowd.zeros)
    return cg.cells(data, by=dimensions, value="n", count="n", name=name, about=about)


def _summed(leaves: np.ndarray, axis: int, codes: int, above: list[np.ndarray]) -> np.ndarray:
    """Return the counts by all codes of a dimension: the total first, and each level's codes in their places."""
    leaves = np.moveaxis(leaves, axis, 0)
    full = np.zeros((codes, *leaves.shape[1:]), np.int64)
    full[0] = leaves.sum(axis=0)
    for column in above:
        np.add.at(full, column, leaves)
    return np.moveaxis(full, 0, axis)
