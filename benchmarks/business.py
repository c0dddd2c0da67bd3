"""Business microdata for comparisons with other tools: the records behind the published figures, drawn the same way.

Firms with a class of industry (20 > 88 > 272 > 615 codes), a municipality (4 > 12 > 400), a size class, a holding and a
turnover. The order of the random draws is part of the data, so it must not change.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

import cellguard as cg
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.fact import Count, Holdings, Top
from cellguard.table.read import About
from cellguard.table.tabulate import Wanted, make_tables

_TREES = 20240101
TABLES = {
    "A": (("division",), ("region",)),
    "B0": (("section", "division", "group"), ("land", "region")),
    "C": (("section", "division", "group"), ("land", "region"), ("size",)),
    "D": (("section", "division", "group", "class"), ("land", "region", "municipality")),
}


@dataclass(frozen=True)
class Trees:
    """For each level the parent of every code, and the weights that firms are drawn with."""

    parent: dict[str, np.ndarray]
    industry: np.ndarray
    municipality: np.ndarray
    effect: np.ndarray


def _split(rng: np.random.Generator, parents: int, total: int, skew: float, least: int) -> np.ndarray:
    """Return the parent of each of ``total`` children, at least so many a parent."""
    share = rng.dirichlet(np.full(parents, skew)) * (total - least * parents)
    many = np.floor(share).astype(int)
    many[np.argsort(-(share - many))[: total - least * parents - many.sum()]] += 1
    return np.repeat(np.arange(parents), many + least)


def trees() -> Trees:
    rng = np.random.default_rng(_TREES)
    region = _split(rng, 4, 12, 3.0, 2)
    municipality = _split(rng, 12, 400, 4.0, 8)
    share = rng.dirichlet(np.full(12, 2.0))
    weight = np.empty(400)
    for i in range(12):
        inside = np.flatnonzero(municipality == i)
        zipf = 1.0 / np.arange(1, len(inside) + 1) ** 1.05
        weight[inside] = share[i] * zipf / zipf.sum()
    division = _split(rng, 20, 88, 0.8, 1)
    group = _split(rng, 88, 272, 2.0, 1)
    class_ = _split(rng, 272, 615, 1.5, 1)
    industry = rng.lognormal(0, 1.5, 615)
    effect = rng.normal(0, 0.8, 615)
    parent = {"region": region, "municipality": municipality, "division": division, "group": group, "class": class_}
    return Trees(parent, industry / industry.sum(), weight, effect)


def records(firms: int, seed: int = 1) -> dict[str, np.ndarray]:
    """Return the codes of each firm at every level, its holding and its turnover."""
    t = trees()
    rng = np.random.default_rng([seed, firms])
    municipality = rng.choice(400, firms, p=t.municipality).astype(np.int32)
    class_ = rng.choice(615, firms, p=t.industry).astype(np.int32)
    home = np.random.default_rng(_TREES + 1).choice(400, 615, p=t.municipality)
    municipality = np.where(rng.random(firms) < 0.10, home[class_], municipality)
    size_of = 6.0 + t.effect[class_] + rng.normal(0, 2.0, firms)
    turnover = np.maximum(1, np.round(np.exp(size_of))).astype(np.int64)
    staff = np.maximum(0, np.round(np.exp(0.75 * (size_of - 6.0) + 0.7 + rng.normal(0, 0.6, firms)))).astype(np.int64)
    size = np.searchsorted([2, 10, 50, 250], staff, side="right") + 1
    group = t.parent["class"][class_]
    division = t.parent["group"][group]
    region = t.parent["municipality"][municipality]
    return {
        "section": t.parent["division"][division],
        "division": division,
        "group": group,
        "class": class_,
        "land": t.parent["region"][region],
        "region": region,
        "municipality": municipality,
        "size": size,
        "holding": _holdings(rng, size, region, division),
        "turnover": turnover,
    }


def _holdings(rng: np.random.Generator, size: np.ndarray, region: np.ndarray, division: np.ndarray) -> np.ndarray:
    """Put some firms, the larger the likelier, into groups; six of ten within one division and region."""
    firms = len(size)
    member = np.flatnonzero(rng.random(firms) < np.clip(0.03 + 0.02 * size, 0, 0.2))
    groups = max(1, int(len(member) / 3.5))
    holding = np.arange(firms, dtype=np.int64) + 1
    local = rng.random(len(member)) < 0.6
    holding[member[~local]] = firms + 1 + rng.integers(0, groups, (~local).sum())
    near = member[local]
    near = near[np.lexsort((rng.random(len(near)), region[near], division[near]))]
    holding[near] = firms + 1 + groups + np.cumsum(rng.random(len(near)) < 0.4)
    return holding


def table(name: str, firms: int) -> cg.Table:
    """Return table A, B0 or C of the figures: turnover with the two largest holdings of every cell."""
    dimensions, columns = _cells(name, firms)
    return cg.cells(columns, by=dimensions, value="total", count="count", top=["top1", "top2"], name=name)


def firm_counts(name: str, firms: int) -> cg.Table:
    """Return the numbers of firms in the cells of table A, B0 or C, empty ones included."""
    dimensions, columns = _cells(name, firms)
    about = cg.About(is_count=True, zeros="possible")
    return cg.cells(columns, by=dimensions, value="firms", count="firms", name=name, about=about)


def _cells(name: str, firms: int) -> tuple[list[Dimension], dict[str, list]]:
    data, levels = records(firms), TABLES[name]
    dimensions = [Dimension(str(i), cg.Hierarchy.from_levels(_paths(data, names))) for i, names in enumerate(levels)]
    parts = [_roll_up(data, chosen) for chosen in itertools.product(*([None, *names] for names in levels))]
    return dimensions, {key: [x for part in parts for x in part[key]] for key in parts[0]}


def with_contributors(name: str, firms: int, seed: int = 1) -> cg.Table:
    """Return the same table made from the records, with who contributes what to each cell."""
    data, levels = records(firms, seed), TABLES[name]
    by = {names[-1]: cg.Hierarchy.from_levels(_paths(data, names)) for names in levels}
    columns: dict[str, list] = {key: _codes(key, data[key]) for key in by}
    columns |= {"turnover": data["turnover"].tolist(), "holding": data["holding"].tolist()}
    grouped = cg.records(columns, by=list(by), values=["turnover"], holding="holding")
    facts = (Count(), Top(2), Holdings())
    return make_tables(grouped, [Wanted(by, "turnover", About(name), facts)])[0]


def _paths(data: dict[str, np.ndarray], names: tuple[str, ...]) -> list[tuple[str, ...]]:
    found = np.unique(np.stack([data[n] for n in names], axis=1), axis=0)
    return [tuple(f"{n}{code}" for n, code in zip(names, row, strict=True)) for row in found.tolist()]


def _roll_up(data: dict[str, np.ndarray], chosen: tuple[str | None, ...]) -> dict[str, list]:
    keys = np.stack([np.zeros(len(data["size"]), int) if n is None else data[n] for n in chosen], axis=1)
    cells, cell = np.unique(keys, axis=0, return_inverse=True)
    pairs, at = np.unique(np.stack([cell.ravel(), data["holding"]], axis=1), axis=0, return_inverse=True)
    value = np.bincount(at.ravel(), data["turnover"])
    order = np.lexsort((-value, pairs[:, 0]))
    owner, value = pairs[order, 0], value[order]
    start = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    count = np.diff(np.r_[start, len(owner)])
    second = np.where(count > 1, value[np.minimum(start + 1, len(value) - 1)], 0)
    codes = {str(i): _codes(name, cells[:, i]) for i, name in enumerate(chosen)}
    figures = {"total": np.add.reduceat(value, start), "count": count, "top1": value[start], "top2": second}
    figures["firms"] = np.bincount(cell.ravel())
    return codes | {key: column.tolist() for key, column in figures.items()}


def _codes(name: str | None, column: np.ndarray) -> list[str]:
    return ["Total"] * len(column) if name is None else [f"{name}{code}" for code in column.tolist()]
