"""The clusters of tables that the world consists of: whether they divide enough, and are linked as a tree must."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from cellguard.verifier.cells import Cells
from cellguard.verifier.leaves import (
    Parts,
    TableViews,
    check_groupings,
    coarser,
    per_part,
    read_partitions,
    table_views,
)
from cellguard.verifier.spec import Cluster, Group
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder


@dataclass(frozen=True)
class Piece:
    """A cluster with its partitions. ``open``: it has no latent cells, since crossing tables were not checked."""

    tables: tuple[int, ...]
    parts: Parts
    parent: int | None
    open: bool


@dataclass(frozen=True)
class Pieces:
    """The clusters of every response and population, in the certificate's order, and the views of every table."""

    groups: tuple[Group, ...]
    clusters: tuple[tuple[Piece, ...], ...]
    views: tuple[TableViews, ...]


def read_pieces(folder: Folder, cells: Cells) -> Pieces:
    """Read the partitions and refuse clusters that do not stand for the tables, or are no tree for a dimension."""
    spec = cells.spec
    for dimension in cells.dimensions:
        check_groupings(dimension)
    partitions = {d.name: read_partitions(folder, d) for d in cells.dimensions}
    views = tuple(table_views(cells, table) for table in range(len(spec.tables)))
    groups = []
    for group, clusters in spec.world.items():
        pieces = tuple(_piece(cells, cluster, partitions) for cluster in clusters)
        for piece in pieces:
            for table in piece.tables:
                if not views[table].within(piece.parts):
                    name = spec.tables[table].name
                    raise Refused(f"a cluster of {group[0]} does not divide what table {name} in it divides")
        _check_tree(cells, pieces, group)
        groups.append(pieces)
    return Pieces(tuple(spec.world), tuple(groups), views)


def _piece(cells: Cells, cluster: Cluster, partitions: Mapping[str, Sequence[object]]) -> Piece:
    parts: dict[int, object] = {}
    for axis, dimension in enumerate(cells.dimensions):
        if dimension.name in cluster.parts:
            number = cluster.parts[dimension.name]
            if number >= len(partitions[dimension.name]):
                raise Refused(f"internal/parts/{dimension.name}.csv lacks a partition that a cluster names")
            parts[axis] = partitions[dimension.name][number]
    opened = len(cluster.tables) > 1 and not cells.spec.crossing
    return Piece(cluster.tables, parts, cluster.parent, opened)  # type: ignore[arg-type]


def _check_tree(cells: Cells, pieces: Sequence[Piece], group: Group) -> None:
    """Refuse two clusters that divide a dimension unless all between them divide what both of them do."""
    for first, second in combinations(range(len(pieces)), 2):
        way = _way(pieces, first, second)
        for axis in sorted(set(pieces[first].parts) & set(pieces[second].parts)):
            shared = coarser(pieces[first].parts[axis], pieces[second].parts[axis])
            where = f"clusters {first} and {second} of {group[0]}"
            if shared is None:
                raise Refused(f"{where} divide {cells.dimensions[axis].name} in ways that do not fit")
            for position in way:
                between = pieces[position].parts.get(axis)
                if between is None or per_part(between, shared) is None:
                    name = cells.dimensions[axis].name
                    raise Refused(f"{where} divide {name}, but cluster {position} between them does not")


def _way(pieces: Sequence[Piece], first: int, second: int) -> set[int]:
    """Return the clusters on the way between two, without these."""

    def upward(position: int) -> list[int]:
        chain = [position]
        while (parent := pieces[chain[-1]].parent) is not None:
            chain.append(parent)
        return chain

    left, right = upward(first), upward(second)
    joint = next(position for position in left if position in right)
    return set(left[: left.index(joint)] + right[: right.index(joint)] + [joint]) - {first, second}
