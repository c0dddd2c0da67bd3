"""Named synthetic business tables of any size, the same on every machine.

Firms are drawn with skewed industries, regions and turnovers; every level combination of the hierarchies is rolled up
with count, total and the two largest firms. No file is needed.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

import cellguard as cg
from cellguard.hierarchy.hierarchy import Dimension, Edge, grow


@dataclass(frozen=True)
class Shape:
    """How many firms, and for each dimension the number of codes at each level below the total."""

    firms: int
    levels: tuple[tuple[int, ...], ...]
    seed: int = 1


SHAPES = {
    "2d-2k": Shape(8_000, ((6, 20, 80), (4, 16))),
    "2d-10k": Shape(20_000, ((10, 40, 150), (4, 12, 60))),
    "2d-100k": Shape(600_000, ((20, 88, 272, 615), (4, 12, 120))),  # a third of the cells primary under p % 10
    "2d-400k": Shape(1_700_000, ((20, 88, 272, 615), (4, 12, 120, 430))),
    "3d-16k": Shape(10_000, ((20, 88, 272), (4, 12), (5,))),
    "3d-60k": Shape(250_000, ((20, 88, 272), (4, 12, 27), (5,))),
    "3d-sparse": Shape(24_000, ((20, 88, 272, 615), (4, 12, 120), (5,))),  # most cells have one or two firms
    "3d-1m": Shape(1_300_000, ((20, 88, 272, 615), (4, 12, 400), (5,))),
}


def tree(levels: tuple[int, ...], prefix: str, rng: np.random.Generator) -> tuple[Dimension, list[np.ndarray]]:
    """Return a dimension with the given number of codes a level, and for each level the code of every leaf."""
    edges = [Edge("Total", "")]
    above = np.zeros(1, int)
    names = ["Total"]
    parents: list[np.ndarray] = []
    for depth, size in enumerate(levels):
        parent = np.sort(np.r_[np.arange(len(names)), rng.integers(0, len(names), size - len(names))])
        new = [f"{prefix}{depth}.{i}" for i in range(size)]
        edges += [Edge(code, names[p]) for code, p in zip(new, parent, strict=True)]
        parents.append(parent)
        names = new
    dimension = Dimension(prefix, grow(edges))
    above = np.arange(levels[-1])
    columns = []
    for depth in range(len(levels) - 1, -1, -1):
        columns.append(np.array([dimension.position[f"{prefix}{depth}.{i}"] for i in range(levels[depth])])[above])
        above = parents[depth][above]
    return dimension, [*columns[::-1]]


def build(name: str) -> cg.Table:
    """Return a named table."""
    shape = SHAPES[name]
    rng = np.random.default_rng([shape.seed, shape.firms])
    dimensions, levels = [], []
    for prefix, sizes in zip("abcdef", shape.levels, strict=False):
        dimension, columns = tree(sizes, prefix, rng)
        dimensions.append(dimension)
        levels.append(columns)
    leaf = [rng.choice(s[-1], shape.firms, p=rng.dirichlet(np.full(s[-1], 0.7))) for s in shape.levels]
    turnover = np.maximum(1, np.rint(np.exp(rng.normal(6, 2, shape.firms))))
    parts = [
        _group(
            [np.zeros(shape.firms, int) if c is None else c[x] for c, x in zip(combination, leaf, strict=True)],
            turnover,
        )
        for combination in itertools.product(*([None, *columns] for columns in levels))
    ]
    data = {key: np.concatenate([p[key] for p in parts]) for key in parts[0]}
    for d, dimension in enumerate(dimensions):
        data[dimension.name] = np.array(dimension.codes, object)[data.pop(f"code{d}")].astype(str)
    return cg.cells(data, by=dimensions, value="total", count="count", top=["top1", "top2"], name=name)


def _group(codes: list[np.ndarray], values: np.ndarray) -> dict[str, np.ndarray]:
    """Return count, total and the two largest values of each occurring combination of codes."""
    key = np.zeros(len(values), np.int64)
    for column in codes:
        key = key * (int(column.max()) + 1) + column
    order = np.lexsort((-values, key))
    key, values = key[order], values[order]
    start = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
    count = np.diff(np.r_[start, len(key)])
    second = np.where(count > 1, values[np.minimum(start + 1, len(values) - 1)], 0.0)
    found = {f"code{d}": column[order][start] for d, column in enumerate(codes)}
    return found | {"total": np.add.reduceat(values, start), "count": count, "top1": values[start], "top2": second}
