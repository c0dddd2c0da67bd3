"""Named sets of the shapes that statistical offices publish: many small dimensions, counts with two groupings."""

from __future__ import annotations

import itertools

import numpy as np

import cellguard as cg
from cellguard.hierarchy.hierarchy import Dimension, Edge, grow


def cube(sizes: tuple[int, ...], firms: int, seed: int) -> cg.Table:
    """Return a table over flat dimensions with so many codes each, total included; small cells are unsafe."""
    rng = np.random.default_rng([seed, firms])
    names = "abcdefgh"[: len(sizes)]
    leaf = [rng.choice(n - 1, firms, p=rng.dirichlet(np.full(n - 1, 1.2))) for n in sizes]
    value = np.maximum(1, np.rint(np.exp(rng.normal(5, 1.5, firms))))
    parts = []
    for shown in itertools.product((False, True), repeat=len(sizes)):
        columns = [c if s else np.full(firms, -1) for c, s in zip(leaf, shown, strict=True)]
        cells, at = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
        parts.append((cells, np.bincount(at.ravel(), value), np.bincount(at.ravel())))
    codes = np.concatenate([part[0] for part in parts])
    data: dict[str, object] = {
        name: np.where(codes[:, i] < 0, "Total", np.char.add(name, codes[:, i].astype(str)))
        for i, name in enumerate(names)
    }
    data["x"] = np.concatenate([part[1] for part in parts])
    data["n"] = np.concatenate([part[2] for part in parts])
    by = [Dimension(name, cg.flat([f"{name}{i}" for i in range(n - 1)])) for name, n in zip(names, sizes, strict=True)]
    return cg.cells(data, by=by, value="x", count="n", name="cube")


def regions(seed: int = 5) -> cg.Table:
    """Return counts of 437 regions, in 19 groups and, not nested, in 15 others, by 4 by 3; a third are below 3."""
    rng = np.random.default_rng(seed)
    many = 437
    first, second = (np.sort(np.r_[np.arange(k), rng.integers(0, k, many - k)]) for k in (19, 15))
    second = rng.permutation(second)
    leaves = [f"r{i}" for i in range(many)]
    trees = [
        grow([Edge("Total", ""), *(Edge(f"{name}{g}", "Total") for g in range(k)), *_under(name, leaves, parent)])
        for name, k, parent in (("g", 19, first), ("h", 15, second))
    ]
    region = Dimension("region", *trees)
    mean = rng.dirichlet(np.full(many, 1.0)) * many * 5.0
    inner = rng.poisson(
        mean[:, None, None] * rng.dirichlet(np.ones(4) * 2)[:, None] * rng.dirichlet(np.ones(3) * 2) * 12
    )
    groups = [
        *np.eye(many, dtype=int),
        *(first == g for g in range(19)),
        *(second == g for g in range(15)),
        np.ones(many),
    ]
    names = [*leaves, *(f"g{g}" for g in range(19)), *(f"h{g}" for g in range(15)), "Total"]
    full = np.tensordot(np.array(groups, float), inner, axes=1)
    full = np.concatenate([full, full.sum(axis=1, keepdims=True)], axis=1)
    full = np.concatenate([full, full.sum(axis=2, keepdims=True)], axis=2)
    grid = list(itertools.product(names, ["a0", "a1", "a2", "a3", "Total"], ["b0", "b1", "b2", "Total"]))
    data = {"region": [g[0] for g in grid], "a": [g[1] for g in grid], "b": [g[2] for g in grid]}
    data["n"] = full.ravel().astype(int).tolist()
    by = [
        region,
        Dimension("a", cg.flat([f"a{i}" for i in range(4)])),
        Dimension("b", cg.flat([f"b{i}" for i in range(3)])),
    ]
    return cg.cells(data, by=by, value="n", count="n", about=cg.About("regions", is_count=True))


def _under(name: str, leaves: list[str], parent: np.ndarray) -> list[Edge]:
    return [Edge(leaf, f"{name}{p}") for leaf, p in zip(leaves, parent.tolist(), strict=True)]
