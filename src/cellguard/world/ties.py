"""What ties the cells of all tables of a population together, though no table may list the cells in between.

For each response the tables are arranged in clusters (see `hypergraph`). The atoms of a cluster are cells that a table
lists, or else *cells between*: unpublished variables. Every finest cell of a table is the sum of its atoms, and
clusters that hang together agree on what they share. Tables of other responses say where there is nobody at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.table.apriori import State
from cellguard.table.facts import BoolArray
from cellguard.table.keys import combine
from cellguard.table.numbering import Topic
from cellguard.table.relations import Relations, distinct_rows
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet
from cellguard.world.atoms import (
    Columns,
    Positions,
    Sight,
    TooLarge,
    allowed,
    first_leaf,
    keep,
    natural_join,
    table_atoms,
)
from cellguard.world.hypergraph import Attributes, Cluster, Detail, align, join_tree
from cellguard.world.views import Labels, coarsest, view

T = TypeVar("T", bound=np.generic)
MOST = 2_000_000  # atoms of a cluster that are looked at


@dataclass(frozen=True, eq=False)
class Room:
    """A cluster of one response: the tables in it, its partition of each dimension, and its atoms with their cells.

    ``cell`` is the cell of the whole numbering that each atom is: a listed one, or one between. ``crossing`` tells that
    several tables meet in it.
    """

    tables: tuple[int, ...]
    labels: Mapping[str, Labels]
    atoms: Columns
    cell: Positions
    parent: int | None
    crossing: bool

    def __len__(self) -> int:
        return len(self.cell)


@dataclass(frozen=True, eq=False)
class House:
    """All clusters of one response and population, those that hang on others first."""

    topic: Topic
    rooms: tuple[Room, ...]


@dataclass(frozen=True, eq=False)
class Ties:
    """The cells between and what ties them to the listed ones.

    Cells are numbered on from the listed ones. ``topic`` is the number of each between-cell's response and population;
    ``crossing`` marks between-cells that belong to no single
    table. ``empty`` marks listed cells of which readers know that they are 0, ``occupied`` those that they know to be
    not empty. ``open`` says in words what could not be tied, and so is not part of any proof; ``accepted`` the same of
    what the user does not want to be looked at.
    """

    tables: TableSet
    relations: Relations
    topic: Positions
    crossing: BoolArray
    empty: BoolArray
    occupied: BoolArray
    houses: tuple[House, ...]
    open: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()

    def extend(self, listed: npt.NDArray[T], between: npt.NDArray[T] | bool | float) -> npt.NDArray[T]:
        """Return one array over all cells from one over the listed ones and a filling for those between."""
        return np.concatenate([listed, np.broadcast_to(np.asarray(between, listed.dtype), len(self.topic))])

    def by_topic(self, listed: npt.NDArray[T]) -> npt.NDArray[T]:
        """Return a property of the listed cells for all cells: between, that of another cell of the same response."""
        some = np.zeros(len(self.tables.topics), np.intp)
        for table, cells in zip(self.tables.tables, self.tables.cells_of, strict=True):
            some[self.tables.topics.index((table.response, table.population))] = cells[0]
        return self.extend(listed, listed[some][self.topic])

    def cell_name(self, cell: int) -> str:
        """Return a cell as 'turnover: North/B'; of a cell between, in words which part of the world it is."""
        if cell < len(self.tables):
            return self.tables.cell_name(cell)
        response = self.tables.topics[int(self.topic[cell - len(self.tables)])][0]
        for room in (room for house in self.houses for room in house.rooms):
            at = np.flatnonzero(room.cell == cell)
            if len(at):
                words = [f"{name} part {int(column[at[0]])}" for name, column in room.atoms.items()]
                return f"an unpublished cell of {response} ({', '.join(words)})"
        return f"an unpublished cell of {response}"


@dataclass(eq=False)
class _Builder:
    """Collects between-cells and relations."""

    tables: TableSet
    sights: Sequence[Sight]
    n: int
    topic: list[int] = field(default_factory=list)
    crossing: list[bool] = field(default_factory=list)
    occupied_between: list[bool] = field(default_factory=list)
    number: list[npt.NDArray[np.int64]] = field(default_factory=list)
    columns: list[npt.NDArray[np.int64]] = field(default_factory=list)
    signs: list[npt.NDArray[np.float64]] = field(default_factory=list)
    height: int = 0

    def between(self, many: int, topic: int, *, crossing: bool, occupied: bool = False) -> Positions:
        """Return new cells between."""
        start = self.n + len(self.topic)
        self.topic += [topic] * many
        self.crossing += [crossing] * many
        self.occupied_between += [occupied] * many
        return np.arange(start, start + many)

    def tie(self, wholes: Positions, group: Positions, parts: Positions, sign: float = -1.0) -> None:
        """Add relations whole = sum of parts, one for each whole (-1: 0); ``group`` is the whole of each part."""
        there = np.flatnonzero(wholes >= 0)
        self.number.append(self.height + np.concatenate([there, group]))
        self.columns.append(np.concatenate([wholes[there], parts]))
        self.signs.append(np.concatenate([np.ones(len(there)), np.full(len(parts), sign)]))
        self.height += len(wholes)

    def relations(self, first: Relations) -> Relations:
        width = self.n + len(self.topic)
        first = sp.csr_array((first.data, first.indices, first.indptr), shape=(first.shape[0], width))
        if not self.height:
            return first
        place = (np.concatenate(self.number), np.concatenate(self.columns))
        more = sp.csr_array((np.concatenate(self.signs), place), shape=(self.height, width))
        return distinct_rows(sp.csr_array(sp.vstack([first, more], format="csr")))


def tie_tables(tables: TableSet, *, crossing: bool = True, most: int = MOST) -> Ties:
    """Find what lies between the listed cells. Without ``crossing`` nothing is asked of tables that only cross."""
    n = len(tables)
    sights = [
        Sight(t, {d.name: view(d, c) for d, c in zip(t.dimensions, t.codes, strict=True)}, np.ones(len(t), bool))
        for t in tables.tables
    ]
    builder = _Builder(tables, sights, n)
    empty, occupied = np.zeros(n, bool), np.zeros(n, bool)
    houses, open_ = [], []
    for number, topic in enumerate(tables.topics):
        try:
            houses.append(_house(builder, number, topic, empty, occupied, crossing, most))
        except TooLarge:
            names = [t.name for t in tables.tables if (t.response, t.population) == topic]
            open_.append(f"the tables {', '.join(names)} cross in more than {most:,} combinations, too many to look at")
    try:
        open_ += _tie_equations(builder, {house.topic: house for house in houses})
    except TooLarge:
        open_.append("an equation ties tables whose groupings do not nest")
    open_ += [] if crossing else _crossings(tables, houses)
    return Ties(
        tables,
        builder.relations(tables.relations),
        np.array(builder.topic, np.intp),
        np.array(builder.crossing, bool),
        empty,
        np.concatenate([occupied, np.array(builder.occupied_between, bool)]),
        tuple(houses),
        tuple(open_) if crossing else (),
        () if crossing else tuple(open_),
    )


def _house(
    builder: _Builder, number: int, topic: Topic, empty: BoolArray, occupied: BoolArray, crossing: bool, most: int
) -> House:
    tables = builder.tables.tables
    own = [i for i, t in enumerate(tables) if (t.response, t.population) == topic]
    others = [i for i, t in enumerate(tables) if t.population == topic[1] and t.response != topic[0]]
    if len(own) == 1 and not others and not builder.tables.equations and _is_plain(builder.sights[own[0]]):
        views = builder.sights[own[0]].views
        labels = {name: v.labels for name, v in views.items() if v.labels.any() or v.rest.any()}
        room = Room((own[0],), labels, {}, np.zeros(0, np.intp), None, False)
        if tables[own[0]].is_count:
            _mark_occupied(builder, number, topic, (room,), own, others, occupied)
        return House(topic, (room,))
    is_count = tables[own[0]].is_count
    strict = {i: _there(builder.sights[i]) for i in others}
    needed = _informative(builder, own, others, strict, is_count)
    edges = [*own, *needed]
    detail = _details(builder, edges)
    attributes = [_attributes(detail, i) for i in edges]
    clusters = join_tree(attributes)
    rooms: list[Room] = []
    for cluster in clusters:
        members = tuple(edges[e] for e in cluster.edges)
        rooms.append(_room(builder, number, members, own, strict, detail, cluster, crossing, most))
        _tie_room(builder, rooms[-1], own, empty)
    for room, cluster in zip(rooms, clusters, strict=True):
        if cluster.parent is not None:
            _tie_neighbours(builder, room, rooms[cluster.parent], own, detail)
    if is_count:
        _mark_occupied(builder, number, topic, rooms, own, others, occupied)
    return House(topic, tuple(rooms))


def _is_plain(sight: Sight) -> bool:
    """Whether a table by itself says all there is: one grouping a dimension, and no leaf outside its codes."""
    return all(len(v.near) == 1 and not v.outside.any() for v in sight.views.values())


def _there(sight: Sight) -> Sight:
    """Return a table as other responses see it: where it counts 0, there is nobody, as where it has no row."""
    return Sight(sight.table, sight.views, _somebody(sight.table)) if sight.table.is_count else sight


def _somebody(table: Table) -> BoolArray:
    """Tell which rows of a table hold a respondent; a hidden count may stand as 0 where it is not known."""
    if table.is_count:
        return np.asarray((table.value != 0) | table.apriori.has(State.secondary), bool)
    return np.ones(len(table), bool) if table.facts.count is None else np.asarray(table.facts.count > 0, bool)


def _informative(
    builder: _Builder, own: Sequence[int], others: Sequence[int], strict: Mapping[int, Sight], is_count: bool
) -> list[int]:
    """Return the tables of other responses that say where there is nobody (for counts: or somebody).

    Those that the response's own tables can take up are not among them. A response with one table that holds all others
    of it needs none of them if its empty cells are public and no leaf lies outside its codes: on each of its cells lies
    a true record, and all that moves can lie on that record's combination.
    """
    found: list[int] = []
    whole = [
        i
        for i in own
        if all(_covers(builder, i, j) for j in own)
        and not any(shown.outside.any() for shown in builder.sights[i].views.values())
    ]
    if whole and not is_count and builder.tables.tables[whole[0]].zeros == "known":
        return []
    for other in others:
        if any(_covers(builder, i, other) for i in own) or any(_covers(builder, i, other) for i in found):
            continue
        if is_count or _has_gaps(strict[other]):
            found.append(other)
    return found


def _covers(builder: _Builder, large: int, small: int) -> bool:
    """Whether a table divides whatever another one does."""
    if large == small:
        return True
    labels = {name: v.labels for name, v in builder.sights[large].views.items()}
    return builder.sights[small].refined_by(labels)


def _has_gaps(sight: Sight) -> bool:
    """Whether a table says of some combination of its codes that there is nobody."""
    room = 1.0
    for shown, column in zip(sight.views.values(), sight.table.codes, strict=True):
        if shown.rest.any():
            return True
        room *= len(np.unique(column))
    return int(sight.there.sum()) < room


def _details(builder: _Builder, edges: Sequence[int]) -> dict[str, Detail]:
    names = dict.fromkeys(name for i in edges for name in builder.sights[i].names)
    return {
        name: align({i: builder.sights[i].views[name] for i in edges if name in builder.sights[i].views})
        for name in names
    }


def _attributes(detail: Mapping[str, Detail], table: int) -> Attributes:
    return frozenset(
        (name, level) for name, found in detail.items() for level in range(1, found.level.get(table, 0) + 1)
    )


def _room(
    builder: _Builder,
    number: int,
    members: tuple[int, ...],
    own: Sequence[int],
    strict: Mapping[int, Sight],
    detail: Mapping[str, Detail],
    cluster: Cluster,
    crossing: bool,
    most: int,
) -> Room:
    """Return a cluster with its atoms."""
    level = {name: max(found.level.get(i, 0) for i in members) for name, found in detail.items()}
    labels = {name: detail[name].parts[at] for name, at in level.items() if at}
    several = len(members) > 1
    if several and not crossing:
        return Room(members, labels, {}, np.zeros(0, np.intp), cluster.parent, True)
    atoms: Columns | None = None
    for i in _in_order(members, detail):
        sight = builder.sights[i] if i in own else strict[i]
        mine = table_atoms(sight, {n: labels[n] for n in sight.names if detail[n].level.get(i, 0)}, most)
        atoms = mine if atoms is None else natural_join(atoms, mine, most)
    atoms = atoms or {}
    for i, sight in enumerate(builder.sights):
        # What any other table says to be empty is empty here too.
        if i not in members and sight.table.population == builder.tables.tables[own[0]].population:
            seen = sight if i in own else strict.get(i, sight)
            if seen.refined_by(labels):
                atoms = keep(atoms, allowed(seen, labels, atoms))
    many = len(next(iter(atoms.values()))) if atoms else 1
    cell = np.full(many, -1, np.intp)
    if not several and members[0] in own:
        row = builder.sights[members[0]].lists(labels, atoms)
        cell = np.where(row >= 0, builder.tables.cells_of[members[0]][np.maximum(row, 0)], -1)
    new = cell < 0
    cell[new] = builder.between(int(new.sum()), number, crossing=several)
    return Room(members, labels, atoms, cell, cluster.parent, several)


def _in_order(members: Sequence[int], detail: Mapping[str, Detail]) -> list[int]:
    """Return tables in an order in which each shares a dimension with one before it, if it can."""
    left, found = list(members), list[int]()
    names = {i: {n for n, d in detail.items() if d.level.get(i, 0)} for i in members}
    seen: set[str] = set()
    while left:
        best = max(left, key=lambda i: (len(names[i] & seen), -len(names[i] - seen), -i))
        left.remove(best)
        found.append(best)
        seen |= names[best]
    return found


def _tie_room(builder: _Builder, room: Room, own: Sequence[int], empty: BoolArray) -> None:
    """Tie the finest cells of a cluster's tables to its atoms."""
    if room.crossing and not len(room):
        return
    for i in room.tables:
        if i not in own:
            continue
        cells = builder.tables.cells_of[i]
        sight = builder.sights[i]
        for choice, row in enumerate(sight.locate(room.labels, room.atoms)):
            at = np.flatnonzero(row >= 0)
            finest = _finest_rows(sight, choice)
            members = np.bincount(row[at], minlength=len(cells))
            gone = finest & (members == 0)
            empty[cells[gone]] = True
            same = np.zeros(len(cells), bool)
            same[row[at]] = room.cell[at] == cells[row[at]]
            wanted = np.flatnonzero((members > 0) & ~((members == 1) & same))
            group = np.full(len(cells), -1)
            group[wanted] = np.arange(len(wanted))
            at = at[group[row[at]] >= 0]
            if len(wanted):
                builder.tie(cells[wanted], group[row[at]], room.cell[at])


def _finest_rows(sight: Sight, choice: int) -> BoolArray:
    """Tell which rows no code of the table divides further, in one choice of groupings (counted as in `locate`)."""
    found = np.ones(len(sight.table), bool)
    for shown, column in reversed(list(zip(sight.views.values(), sight.table.codes, strict=True))):
        choice, grouping = divmod(choice, len(shown.finest))
        found &= shown.finest[grouping][column]
    return found


def _tie_neighbours(
    builder: _Builder, room: Room, other: Room, own: Sequence[int], detail: Mapping[str, Detail]
) -> None:
    """Make two clusters agree on what they share: their sums over each combination of common parts are equal."""
    if (room.crossing and not len(room)) or (other.crossing and not len(other)):
        return
    common: dict[str, Labels] = {}
    for name in room.labels:
        if name in other.labels:
            levels = [max(detail[name].level.get(i, 0) for i in r.tables) for r in (room, other)]
            common[name] = detail[name].parts[min(levels)]
    keys, columns = _shared(common, (room, other))
    sides = [
        (_listed(builder, r, own, common, columns), group, r.cell) for r, group in zip((room, other), keys, strict=True)
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
    at_a, at_b = neither[group_a], neither[group_b]
    rank = np.cumsum(neither) - 1
    many = int(neither.sum())
    if many:
        nobody = np.full(many, -1)
        builder.tie(nobody, rank[group_a[at_a]], cell_a[at_a], 1.0)
        builder.height -= many  # the other side's terms belong to the same relations
        builder.tie(nobody, rank[group_b[at_b]], cell_b[at_b])


def _tie_some(builder: _Builder, mask: BoolArray, whole: Positions, group: Positions, cell: Positions) -> None:
    at = mask[group]
    rank = np.cumsum(mask) - 1
    if mask.any():
        builder.tie(whole[mask], rank[group[at]], cell[at])


def _shared(common: Mapping[str, Labels], rooms: Sequence[Room]) -> tuple[list[Positions], Columns]:
    """Return for each cluster the shared combination of each atom, and the combinations."""
    both: dict[str, npt.NDArray[np.int64]] = {}
    for name, labels in common.items():
        both[name] = np.concatenate([labels[first_leaf(r.labels[name])][r.atoms[name]] for r in rooms])
    sizes = [int(labels.max(initial=0)) + 1 for labels in common.values()]
    key = combine(list(both.values()), sizes) if both else np.zeros(sum(len(r) for r in rooms), np.int64)
    _, seen, group = np.unique(key, return_index=True, return_inverse=True)
    ends = np.cumsum([len(r) for r in rooms])[:-1]
    return np.split(group, ends), {name: column[seen] for name, column in both.items()}


def _listed(
    builder: _Builder, room: Room, own: Sequence[int], common: Mapping[str, Labels], columns: Columns
) -> Positions:
    """Return the cell that one of a cluster's own tables lists for each shared combination, -1 if none does."""
    many = len(next(iter(columns.values()))) if columns else 1
    found = np.full(many, -1, np.intp)
    for i in room.tables:
        if i in own and set(common) <= set(builder.sights[i].names):
            row = builder.sights[i].lists(common, columns)
            new = (found < 0) & (row >= 0)
            found[new] = builder.tables.cells_of[i][row[new]]
    return found


def _mark_occupied(
    builder: _Builder,
    number: int,
    topic: Topic,
    rooms: Sequence[Room],
    own: Sequence[int],
    others: Sequence[int],
    occupied: BoolArray,
) -> None:
    """Mark the counts of which readers know that they are 1 or more: some table with public zeros lists their row."""
    tables = builder.tables
    for i in [*own, *others]:
        table = tables.tables[i]
        some = _somebody(table)
        if table.zeros == "possible":
            some &= _single_codes(table) if i in own else table.value != 0
        rows = np.flatnonzero(some)
        cell = tables.locate(topic, i, rows)
        occupied[cell[(cell >= 0) & ~table.unpublished[rows]]] = True
        if i in others:
            _occupy_between(builder, number, i, rows[cell < 0], rooms)


def _single_codes(table: Table) -> BoolArray:
    """Tell which rows show one code by itself: a table made from records lists a code only if a record has it."""
    if table.origin != "records":
        return np.zeros(len(table), bool)
    return np.asarray(sum((column != 0).astype(int) for column in table.codes) == 1, bool)


def _occupy_between(builder: _Builder, number: int, other: int, rows: Positions, rooms: Sequence[Room]) -> None:
    """Say of another response's finest rows, which this one does not list, that there is somebody."""
    sight = builder.sights[other]
    wanted = np.zeros(len(sight.table), bool)
    wanted[rows] = True
    for room in rooms:
        if not sight.refined_by(room.labels) or not len(room):
            continue
        for row in sight.locate(room.labels, room.atoms):
            at = np.flatnonzero((row >= 0) & wanted[np.maximum(row, 0)])
            if not len(at):
                continue
            named, group = np.unique(row[at], return_inverse=True)
            wholes = builder.between(len(named), number, crossing=room.crossing, occupied=True)
            builder.tie(wholes, group, room.cell[at])
        return


def _tie_equations(builder: _Builder, houses: Mapping[Topic, House]) -> list[str]:
    """Tie the atoms of responses that an equation ties; name those equations that may tie more than is looked at.

    Parts of a whole are like the codes of one more dimension. They leave the hypergraph as it is if all parts have the
    same largest tables as the whole, or all parts have one largest table over the same dimensions, which a table of the
    whole has too. With a minus sign a response is no part of another, and only one largest table will do.
    """
    tables, found = builder.tables, []
    once: set[Topic] = set()
    for equation in tables.equations:
        for population in dict.fromkeys(t.population for t in tables.tables):
            topics = [(name, population) for _, name in equation.terms]
            if any(topic not in tables.topics for topic in topics):
                continue
            shapes = [_shape(houses[topic]) if topic in houses else None for topic in topics]
            signs = [sign for sign, _ in equation.terms]
            again = bool(once & set(topics[1:]))
            once |= set(topics[1:])
            shared = _shared_shapes(shapes, signs, again)
            if shared is None:
                found.append(f"the equation {equation} ties tables that are not of one shape")
                continue
            for shape in shared:
                _tie_sums(builder, [houses[topic] for topic in topics], signs, shape)
    return found


def _shared_shapes(
    shapes: Sequence[frozenset[frozenset[str]] | None], signs: Sequence[int], again: bool
) -> frozenset[frozenset[str]] | None:
    """Return the sets of dimensions over which an equation ties everything there is to tie; None if there is more."""
    whole, parts = shapes[0], shapes[1:]
    if whole is None or any(part is None for part in parts):
        return None
    plus = all(sign < 0 for sign in signs[1:])
    if len(whole) == 1 and all(part == whole for part in parts):
        return whole
    if not plus or again:
        return None
    if all(part == whole for part in parts):
        return whole
    first = parts[0]
    inside = first is not None and len(first) == 1 and any(next(iter(first)) <= other for other in whole)
    return first if inside and all(part == first for part in parts) else None


def _tie_sums(builder: _Builder, houses: Sequence[House], signs: Sequence[int], shape: frozenset[str]) -> None:
    """Tie responses over each combination of the parts of some dimensions."""
    rooms = [max((r for r in h.rooms if shape <= set(r.labels)), key=lambda r: -len(r.labels)) for h in houses]
    common: dict[str, Labels] = {}
    for name in sorted(shape):
        labels = rooms[0].labels[name]
        for room in rooms[1:]:
            coarser = coarsest(labels, room.labels[name])
            if coarser is None:
                raise TooLarge
            labels = coarser
        common[name] = labels
    groups, columns = _shared(common, rooms)
    many = len(next(iter(columns.values()))) if columns else 1
    for house, room, sign, group in zip(houses, rooms, signs, groups, strict=True):
        own = [
            i
            for i in room.tables
            if (builder.tables.tables[i].response, builder.tables.tables[i].population) == house.topic
        ]
        cell = _listed(builder, room, own, common, columns)
        there = np.flatnonzero(cell >= 0)
        rest = np.flatnonzero(cell[group] < 0)
        nobody = np.full(many, -1)
        builder.tie(
            nobody, np.concatenate([there, group[rest]]), np.concatenate([cell[there], room.cell[rest]]), float(sign)
        )
        builder.height -= many  # all terms belong to the same relations
    builder.height += many


def _crossings(tables: TableSet, houses: Sequence[House]) -> list[str]:
    """Name the tables that form cycles."""
    rooms = [room for house in houses for room in house.rooms if room.crossing]
    return [f"the tables {', '.join(tables.tables[i].name for i in room.tables)} cross each other" for room in rooms]


def _shape(house: House) -> frozenset[frozenset[str]]:
    """Return the dimensions of the largest clusters of a response."""
    sets = {frozenset(room.labels) for room in house.rooms}
    return frozenset(one for one in sets if not any(one < other for other in sets))
