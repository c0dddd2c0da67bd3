"""The clusters of one response: which tables, which cover cells, and how their cells are tied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cellguard.arrays import BoolArray, LongArray, Positions
from cellguard.table.keys import combine
from cellguard.table.numbering import ResponseKey
from cellguard.world.builder import Builder, ResponseCluster, ResponseClusters
from cellguard.world.cover_cells import (
    Columns,
    TableView,
    allowed,
    first_leaf,
    keep,
    length,
    natural_join,
    table_cover_cells,
)
from cellguard.world.emptiness import as_others_see, informative, mark_occupied
from cellguard.world.hypergraph import Attributes, Cluster, Detail, align, join_tree
from cellguard.world.table_views import Labels


def build_response(builder: Builder, number: int, response_key: ResponseKey) -> ResponseClusters:
    """Arrange the tables of a response in clusters, and tie their cells."""
    tables, own = builder.tables.tables, builder.own(response_key)
    people = [i for i, t in enumerate(tables) if t.population == response_key[1] and t.response != response_key[0]]
    others = [i for i in people if tables[i].release != "fitted"]  # which says nothing that its tables do not
    is_count = tables[own[0]].is_count
    if len(own) == 1 and not others and not builder.tables.equations and _is_plain(builder.views[own[0]]):
        views = builder.views[own[0]].views
        labels = {name: v.labels for name, v in views.items() if v.labels.any() or v.rest.any()}
        rooms = [ResponseCluster((own[0],), labels, {}, np.zeros(0, np.intp), None, False)]
    else:
        rooms = _build_rooms(builder, number, own, others)
    if is_count:
        mark_occupied(builder, number, response_key, rooms, own, others)
    return ResponseClusters(response_key, tuple(rooms))


def _build_rooms(builder: Builder, number: int, own: Sequence[int], others: Sequence[int]) -> list[ResponseCluster]:
    strict = {i: as_others_see(builder.views[i]) for i in others}
    edges = [*own, *informative(builder, own, others, strict)]
    detail = _details(builder, edges)
    clusters = join_tree([_attributes(detail, i) for i in edges])
    rooms: list[ResponseCluster] = []
    for cluster in clusters:
        members = tuple(edges[e] for e in cluster.edges)
        rooms.append(_room(builder, number, members, own, strict, detail, cluster))
        tie_room(builder, rooms[-1], own)
    for room, cluster in zip(rooms, clusters, strict=True):
        if cluster.parent is not None:
            tie_neighbours(builder, room, rooms[cluster.parent], own, detail)
    return rooms


def _is_plain(view: TableView) -> bool:
    """Whether a table by itself says all there is: one grouping per dimension, and no leaf outside its codes."""
    return all(len(v.near) == 1 and not v.outside.any() for v in view.views.values())


def _details(builder: Builder, edges: Sequence[int]) -> dict[str, Detail]:
    names = dict.fromkeys(name for i in edges for name in builder.views[i].names)
    return {
        name: align({i: builder.views[i].views[name] for i in edges if name in builder.views[i].views})
        for name in names
    }


def _attributes(detail: Mapping[str, Detail], table: int) -> Attributes:
    return frozenset(
        (name, level) for name, shown in detail.items() for level in range(1, shown.level.get(table, 0) + 1)
    )


def _room(
    builder: Builder,
    number: int,
    members: tuple[int, ...],
    own: Sequence[int],
    strict: Mapping[int, TableView],
    detail: Mapping[str, Detail],
    cluster: Cluster,
) -> ResponseCluster:
    """Return a cluster with its cover cells."""
    levels = {name: max(shown.level.get(i, 0) for i in members) for name, shown in detail.items()}
    labels = {name: detail[name].parts[level] for name, level in levels.items() if level}
    several = len(members) > 1
    if several and not builder.crossing:
        return ResponseCluster(members, labels, {}, np.zeros(0, np.intp), cluster.parent, True, asked=False)
    cover_cells: Columns | None = None
    for i in _in_order(members, detail):
        view = builder.views[i] if i in own else strict[i]
        mine = table_cover_cells(view, {n: labels[n] for n in view.names if detail[n].level.get(i, 0)}, builder.most)
        cover_cells = mine if cover_cells is None else natural_join(cover_cells, mine, builder.most)
    cover_cells = cover_cells or {}
    for i, view in enumerate(builder.views):
        # What any other table says to be empty is empty here too.
        if i not in members and view.table.population == builder.tables.tables[own[0]].population:
            seen = view if i in own else strict.get(i, view)
            if seen.refined_by(labels):
                cover_cells = keep(cover_cells, allowed(seen, labels, cover_cells))
    cell = np.full(length(cover_cells), -1, np.intp)
    if not several and members[0] in own:
        row = builder.views[members[0]].lists(labels, cover_cells)
        cell = np.where(row >= 0, builder.tables.cells_of[members[0]][np.maximum(row, 0)], -1)
    new = cell < 0
    cell[new] = builder.between(int(new.sum()), number, crossing=several)
    return ResponseCluster(members, labels, cover_cells, cell, cluster.parent, several)


def _in_order(members: Sequence[int], detail: Mapping[str, Detail]) -> list[int]:
    """Return tables in an order in which each shares a dimension with one before it, if it can."""
    left, ordered = list(members), list[int]()
    names = {i: {n for n, d in detail.items() if d.level.get(i, 0)} for i in members}
    seen: set[str] = set()
    while left:
        best = max(left, key=lambda i: (len(names[i] & seen), -len(names[i] - seen), -i))
        left.remove(best)
        ordered.append(best)
        seen |= names[best]
    return ordered


def tie_room(builder: Builder, room: ResponseCluster, own: Sequence[int]) -> None:
    """Tie the finest cells of a cluster's tables to its cover cells."""
    if not room.asked:
        return
    for i in room.tables:
        if i not in own:
            continue
        cells = builder.tables.cells_of[i]
        view = builder.views[i]
        for choice, row in enumerate(view.locate(room.labels, room.cover_cells)):
            cover_cells = np.flatnonzero(row >= 0)
            finest = _finest_rows(view, choice)
            members = np.bincount(row[cover_cells], minlength=len(cells))
            gone = finest & (members == 0)
            builder.empty[cells[gone]] = True
            same = np.zeros(len(cells), bool)
            same[row[cover_cells]] = room.cell[cover_cells] == cells[row[cover_cells]]
            wanted = np.flatnonzero((members > 0) & ~((members == 1) & same))
            group = np.full(len(cells), -1)
            group[wanted] = np.arange(len(wanted))
            cover_cells = cover_cells[group[row[cover_cells]] >= 0]
            if len(wanted):
                builder.tie(cells[wanted], group[row[cover_cells]], room.cell[cover_cells])


def _finest_rows(view: TableView, choice: int) -> BoolArray:
    """Return which rows no code of the table divides further, in one choice of groupings (counted as in `locate`)."""
    finest = np.ones(len(view.table), bool)
    for shown, column in reversed(list(zip(view.views.values(), view.table.codes, strict=True))):
        choice, grouping = divmod(choice, len(shown.finest))
        finest &= shown.finest[grouping][column]
    return finest


def tie_neighbours(
    builder: Builder, room: ResponseCluster, other: ResponseCluster, own: Sequence[int], detail: Mapping[str, Detail]
) -> None:
    """Make two clusters agree on what they share: their sums over each combination of common parts are equal."""
    if not (room.asked and other.asked):
        return
    common: dict[str, Labels] = {}
    for name in room.labels:
        if name in other.labels:
            levels = [max(detail[name].level.get(i, 0) for i in r.tables) for r in (room, other)]
            common[name] = detail[name].parts[min(levels)]
    keys, columns = shared(common, (room, other))
    sides = [
        (listed(builder, r, own, common, columns), group, r.cell) for r, group in zip((room, other), keys, strict=True)
    ]
    (a, group_a, cell_a), (b, group_b, cell_b) = sides
    plain = (a >= 0) & (b >= 0)
    for mask, whole, group, cell in (
        ((a >= 0) & (b < 0), a, group_b, cell_b),
        ((a < 0) & (b >= 0), b, group_a, cell_a),
    ):
        _tie_some(builder, mask, whole, group, cell)
    differ = np.flatnonzero(plain & (a != b))
    builder.tie(a[differ], np.arange(len(differ)), b[differ])
    neither = (a < 0) & (b < 0)
    in_a, in_b = neither[group_a], neither[group_b]
    rank = np.cumsum(neither) - 1
    relations = int(neither.sum())
    if relations:
        nobody = np.full(relations, -1)
        builder.tie(nobody, rank[group_a[in_a]], cell_a[in_a], 1.0)
        builder.height -= relations  # the other side's terms belong to the same relations
        builder.tie(nobody, rank[group_b[in_b]], cell_b[in_b])


def _tie_some(builder: Builder, mask: BoolArray, whole: Positions, group: Positions, cell: Positions) -> None:
    cover_cells = mask[group]
    rank = np.cumsum(mask) - 1
    if mask.any():
        builder.tie(whole[mask], rank[group[cover_cells]], cell[cover_cells])


def shared(common: Mapping[str, Labels], rooms: Sequence[ResponseCluster]) -> tuple[list[Positions], Columns]:
    """Return for each cluster the shared combination of each cover cell, and the combinations."""
    both: dict[str, LongArray] = {}
    for name, labels in common.items():
        both[name] = np.concatenate([labels[first_leaf(r.labels[name])][r.cover_cells[name]] for r in rooms])
    sizes = [int(labels.max(initial=0)) + 1 for labels in common.values()]
    key = combine(list(both.values()), sizes) if both else np.zeros(sum(len(r) for r in rooms), np.int64)
    _, seen, group = np.unique(key, return_index=True, return_inverse=True)
    ends = np.cumsum([len(r) for r in rooms])[:-1]
    return np.split(group, ends), {name: column[seen] for name, column in both.items()}


def listed(
    builder: Builder, room: ResponseCluster, own: Sequence[int], common: Mapping[str, Labels], columns: Columns
) -> Positions:
    """Return the cell that one of a cluster's own tables lists for each shared combination, -1 if none does."""
    cell = np.full(length(columns), -1, np.intp)
    for i in room.tables:
        if i in own and set(common) <= set(builder.views[i].names):
            row = builder.views[i].lists(common, columns)
            new = (cell < 0) & (row >= 0)
            cell[new] = builder.tables.cells_of[i][row[new]]
    return cell
