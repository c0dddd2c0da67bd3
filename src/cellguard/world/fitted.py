"""Cells of counts that no ready-made table lists, with numbers that fit those that some table lists.

Tables by a and b, a and c, b and c have one table by a, b and c behind them, of which only the sums are known; and one
table that groups its codes twice has cells where the groups overlap. Any whole numbers that fit will do for these:
where the tables leave no choice they are the true ones, and where they do, somebody who knows no more than all tables
cannot tell either. So whatever published tables determine has its true number here, and is judged like a listed cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.arrays import BoolArray, IntArray, LongArray
from cellguard.errors import Place
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.table.apriori import Apriori
from cellguard.table.cell_order import in_hierarchy_order
from cellguard.table.fact import Count, Total
from cellguard.table.facts import Facts
from cellguard.table.lattice import build_lattice, cells_by_leaves
from cellguard.table.table import Table
from cellguard.world.builder import ResponseClusters
from cellguard.world.table_views import Labels
from cellguard.world.world import World

MOST = 200_000  # cells of such a table up to which it is judged


def fitted_table(world: World, clusters: ResponseClusters, number: int, name: str, most: int = MOST) -> Table | None:
    """Return a table of the cells in a cluster of a response, with counts that fit; None if it has too many cells.

    It is None, too, if tables of other responses divide dimensions that the response's own do not have, or if a part
    without a code would have to be shown as one of its leaves although other tables tell these apart.
    """
    room = clusters.rooms[number]
    own = [t for t in world.tables.tables if t.response_key == clusters.response_key]
    dimensions = {d.name: d for t in own for d in t.dimensions}
    if not 0 < len(room) <= most or not room.labels or not set(room.labels) <= set(dimensions):
        return None
    by = tuple(dimensions[name] for name in room.labels)
    named = [_Codes.of(d, room.labels[d.name], room.cover_cells[d.name]) for d in by]
    if any(_told_apart(clusters, d.name, room.labels[d.name], axis.lent) for axis, d in zip(named, by, strict=True)):
        return None
    lattice = build_lattice(by, [axis.leaf[room.cover_cells[d.name]] for axis, d in zip(named, by, strict=True)])
    codes = lattice.codes
    rows = np.flatnonzero(np.logical_and.reduce([axis.shown[c] for axis, c in zip(named, codes, strict=True)]))
    if len(rows) > most:
        return None
    cover_cells = np.bincount(lattice.leaf, world.value[room.cell], lattice.combinations)
    value = np.asarray((cells_by_leaves(lattice) @ cover_cells)[rows], float)
    told = [table.tolerance for table in own if table.tolerance is not None]
    table = Table(
        name=name,
        dimensions=by,
        codes=tuple(column[rows] for column in codes),
        facts=Facts({Total(): value, Count(): value}),
        apriori=Apriori.silent(len(rows)),
        response=clusters.response_key[0],
        population=clusters.response_key[1],
        is_count=True,
        zeros="possible",
        decimals=max(table.decimals for table in own),
        tolerance=max(told, default=None),
        place=Place(f"the table {name!r}", unit="cell"),
        rows=np.arange(len(rows)),
        release="fitted",
    )
    return in_hierarchy_order(table)


def _told_apart(clusters: ResponseClusters, name: str, labels: Labels, lent: BoolArray) -> bool:
    """Return whether some cluster divides a part of a dimension that is shown as one of its leaves (``lent``)."""
    finer = [room.labels[name] for room in clusters.rooms if name in room.labels]
    parts = np.flatnonzero(lent).tolist()
    return any(np.ptp(other[labels == part]) > 0 for other in finer for part in parts)


@dataclass(frozen=True, eq=False)
class _Codes:
    """Which codes of a dimension a table of its parts shows, and for each part the leaf that stands for it.

    A part that some grouping has no code for is ``lent`` its leaf's: as if nobody had another one of its leaves, of
    which no table may say anything.
    """

    shown: BoolArray
    leaf: IntArray
    lent: BoolArray

    @classmethod
    def of(cls, dimension: Dimension, labels: Labels, cover_cells: LongArray) -> _Codes:
        """Look at the codes as far as they hold parts that ``cover cells`` have: nobody is in the others."""
        occurs = np.zeros(int(labels.max()) + 1, bool)
        occurs[cover_cells] = True
        size = np.bincount(labels)
        part = dict(zip(dimension.main.leaves, labels.tolist(), strict=True))
        shown = np.zeros(len(dimension.codes), bool)
        groupings = np.zeros(len(size), np.intp)  # that have a code for just a part
        for hierarchy in dimension.hierarchies:
            own = set[int]()
            for code, held in hierarchy.leaf_sets().items():
                inside = [part[leaf] for leaf in held if occurs[part[leaf]]]
                parts = set(inside)
                if parts and len(inside) == int(size[list(parts)].sum()):
                    shown[dimension.position[code]] = True
                    own |= parts if len(parts) == 1 else set()
            groupings[list(own)] += 1
        first = np.unique(labels, return_index=True)[1]
        leaf = np.array([dimension.position[dimension.main.leaves[i]] for i in first], np.int32)
        lent = occurs & (groupings < len(dimension.hierarchies))
        shown[leaf[lent]] = True
        return cls(shown, leaf, lent)
