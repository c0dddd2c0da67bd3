"""Tables as the edges of a hypergraph over attributes: where it is acyclic, tables that agree always have a whole.

An attribute is a dimension at one level of detail; a table that shows a dimension finely has the coarser attributes
too. If the hypergraph is emptied by removing ears (Graham, Yu and Ozsoyoglu), non-negative tables that agree on what
they share are margins of some non-negative crossing table: join them one after the other along the tree that the
removal gives, z(e, f) = e f / s, where s is what both share (Vorob'ev 1962; Lauritzen 1996, section 4.4); for whole
numbers take the north-west corner rule instead. What is left after the removal is cyclic, and only a crossing table
proves that there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellguard.world.table_views import Labels, View

Attributes = frozenset[tuple[str, int]]


@dataclass(frozen=True, eq=False)
class Detail:
    """How finely each table divides one dimension: its level of detail (0: not at all), and the parts at each level."""

    level: dict[int, int]
    parts: tuple[Labels, ...]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Edges that need one crossing table (a single edge, where nothing is cyclic), and the cluster that it hangs on."""

    edges: tuple[int, ...]
    parent: int | None


def align(views: dict[int, View]) -> Detail:
    """Arrange the tables' partitions of one dimension from coarse to fine; one partition for all, if they do not nest.

    Where a table says that nothing lies on some leaves (``rest``), it does not matter how it divides them.
    """
    leaves = len(next(iter(views.values())).rest)
    parts: list[Labels] = [np.zeros(leaves, np.int64)]
    level: dict[int, int] = {}
    for table in sorted(views, key=lambda t: (_parts(views[t].labels[~views[t].rest]), t)):
        shown = views[table]
        if not shown.rest.any() and not shown.labels.any():
            level[table] = 0
            continue
        both = _meet(parts[-1], shown.labels)
        if _parts(both[~shown.rest]) > _parts(shown.labels[~shown.rest]):
            return _common(views)
        if _parts(both) > _parts(parts[-1]) or len(parts) == 1:
            parts.append(both)
        level[table] = len(parts) - 1
    return Detail(level, tuple(parts))


def _common(views: dict[int, View]) -> Detail:
    """Return the partition that distinguishes what any table does, for all tables that divide the dimension at all."""
    finest = np.zeros(len(next(iter(views.values())).rest), np.int64)
    for shown in views.values():
        finest = _meet(finest, shown.labels)
    level = {t: int(bool(v.rest.any() or v.labels.any())) for t, v in views.items()}
    return Detail(level, (np.zeros_like(finest), finest))


def _meet(a: Labels, b: Labels) -> Labels:
    """Return the partition into the intersections of the parts of two others."""
    return np.unique(a * (int(b.max(initial=0)) + 1) + b, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _parts(labels: Labels) -> int:
    return len(np.unique(labels))


def join_tree(edges: Sequence[Attributes]) -> list[Cluster]:
    """Remove ears until none is left; return the clusters, those that hang on others first, roots last.

    An ear is an edge whose attributes that others have too all lie in one other edge. What is left, if it is more than
    one edge, is one cluster.

    >>> a, b, c = ("a", 1), ("b", 1), ("c", 1)
    >>> join_tree([frozenset({a, b}), frozenset({b, c}), frozenset({b})])
    [Cluster(edges=(0,), parent=1), Cluster(edges=(1,), parent=2), Cluster(edges=(2,), parent=None)]
    >>> join_tree([frozenset({a, b}), frozenset({b, c}), frozenset({a, c})])
    [Cluster(edges=(0, 1, 2), parent=None)]
    """
    left = list(range(len(edges)))
    ears: list[tuple[int, int]] = []
    while (ear := _ear(edges, left)) is not None:
        ears.append(ear)
        left.remove(ear[0])
    home = {edge: number for number, (edge, _) in enumerate(ears)} | dict.fromkeys(left, len(ears))
    clusters = [Cluster((edge,), home[other]) for edge, other in ears]
    return [*clusters, Cluster(tuple(left), None)]


def _ear(edges: Sequence[Attributes], left: Sequence[int]) -> tuple[int, int] | None:
    """Return an ear and the edge that it hangs on."""
    for ear in left:
        others = [e for e in left if e != ear]
        shared = edges[ear] & frozenset[tuple[str, int]]().union(*(edges[e] for e in others))
        for other in others:
            if shared <= edges[other]:
                return ear, other
    return None
