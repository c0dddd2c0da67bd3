"""The attacker's model: one unknown set of records behind all released tables.

For every combination z of the columns' leaf codes there is a number of records n_z (whole, not negative) and for each
value column a sum x_z >= 0, which is above 0 only where n_z >= 1. Every published number fixes a sum of these over the
combinations that belong to its cell. A row that a table with known zeros leaves out has no records, one that it lists
has at least one.

Leaves that no table tells apart are one *atom*: sums over them behave as one combination would.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from fuzz.cases import Records
from fuzz.public import Axis, Codes, ResponseKey, Shown, uncovered

MOST = 4000
Vector = np.ndarray


class TooLarge(Exception):
    """There are more combinations than the oracle looks at."""


@dataclass(frozen=True)
class Knowledge:
    """What the attacker makes use of. Everything by default; parts are left out to say why a cell is disclosed.

    ``listed``: a listed row of a table with known zeros has a record. ``across``: what one table shows to be empty is
    empty in all. ``identity``: one column is one dimension and one value column one response, whatever their names.
    ``crossing``: one table lies behind all; otherwise each set of columns has its own, and only their margins agree.
    ``codes``: a code that a table made from records lists has a record, even with possible zeros. ``together``: where
    there is a value there is a record, in every combination of all columns; otherwise in every row of a table only.
    """

    listed: bool = True
    across: bool = True
    identity: bool = True
    crossing: bool = True
    codes: bool = True
    together: bool = True


ALL = Knowledge()


@dataclass(frozen=True)
class Rows:
    """Sums that lie between ``lower`` and ``upper``: one row of the matrix each, one column a combination."""

    matrix: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True)
class Facts:
    """All that the attacker knows: by response its sums and where it is 0; ``listed`` are sums of records >= 1.

    ``ties`` are sums that are 0 in every response. ``count`` is the response that counts records, if any does;
    ``signed`` are those that may be negative.
    """

    sums: Mapping[str, Rows]
    zero: Mapping[str, Vector]
    listed: np.ndarray
    ties: np.ndarray
    count: str | None
    coupled: bool
    signed: frozenset[str] = frozenset()


class Space:
    """The combinations: all atoms of all columns, or with separate tables one block for each set of columns."""

    def __init__(self, axes: Collection[Axis], used: Mapping[str, set[frozenset[str]]], know: Knowledge, sets) -> None:
        self.know = know
        leaves: dict[str, set[str]] = {}
        for axis in axes:
            own = axis.below["Total"]
            column = self.column(axis)
            leaves[column] = leaves[column] & own if column in leaves else set(own)
        self.cover_cells = {column: _atoms(leaves[column], used[column]) for column in leaves}
        names = [tuple(leaves)] if know.crossing else list(dict.fromkeys(sets))
        self.blocks = [tuple(name for name in leaves if name in block) for block in names]
        sizes = [int(np.prod([len(self.cover_cells[name]) for name in block])) for block in self.blocks]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self.size = int(self.starts[-1])
        if self.size > MOST:
            raise TooLarge(f"{self.size} combinations")

    def column(self, axis: Axis) -> str:
        return axis.column if self.know.identity else axis.name

    def block(self, columns: Collection[str]) -> int:
        """The block that tells the given columns apart."""
        return next(i for i, block in enumerate(self.blocks) if set(columns) <= set(block))

    def cell(self, axes: Sequence[Axis], leaves: Sequence[frozenset[str]]) -> Vector:
        """Which combinations belong to a cell, given by the leaves of each of its dimensions."""
        wanted: dict[str, frozenset[str]] = {}
        for axis, own in zip(axes, leaves, strict=True):
            column = self.column(axis)
            wanted[column] = wanted[column] & own if column in wanted else own
        return self.where(self.block(wanted), wanted)

    def where(self, number: int, wanted: Mapping[str, Collection[str]]) -> Vector:
        """Which combinations of a block have the wanted leaves."""
        inside = np.ones(1)
        for name in self.blocks[number]:
            cover_cells = self.cover_cells[name]
            marks = np.array([name not in wanted or atom <= set(wanted[name]) for atom in cover_cells], float)
            inside = np.multiply.outer(inside, marks).ravel()
        found = np.zeros(self.size)
        found[self.starts[number] : self.starts[number + 1]] = inside
        return found

    def ties(self) -> np.ndarray:
        """What separate tables share: the margins of the columns that two of them have."""
        found = []
        for one, other in combinations(range(len(self.blocks)), 2):
            shared = [name for name in self.blocks[one] if name in self.blocks[other]]
            for cover_cells in product(*(self.cover_cells[name] for name in shared)):
                wanted = dict(zip(shared, cover_cells, strict=True))
                found.append(self.where(one, wanted) - self.where(other, wanted))
        return np.array(found).reshape(-1, self.size)

    def truth(self, records: Records, amounts: Sequence[int], columns: Mapping[str, str]) -> Vector:
        """The sums of the records over each combination; ``columns`` names the record column of each column."""
        found = np.zeros(self.size)
        for number in range(len(self.blocks)):
            np.add.at(found, self.places(number, records, columns), amounts)
        return found

    def places(self, number: int, records: Records, columns: Mapping[str, str]) -> np.ndarray:
        """The combination of a block in which each record is."""
        at = np.zeros(len(records), int)
        for name in self.blocks[number]:
            owner = {leaf: i for i, atom in enumerate(self.cover_cells[name]) for leaf in atom}
            at = at * len(self.cover_cells[name]) + [owner[code] for code in records.codes[columns[name]]]
        return self.starts[number] + at


def _atoms(leaves: Collection[str], used: Collection[frozenset[str]]) -> list[frozenset[str]]:
    by_sign: dict[tuple[bool, ...], set[str]] = {}
    used = list(used)
    for leaf in sorted(leaves):
        by_sign.setdefault(tuple(leaf in group for group in used), set()).add(leaf)
    return [frozenset(group) for group in by_sign.values()]


def response(response_key: ResponseKey, know: Knowledge) -> str:
    """The name under which all tables of one response are known to be about the same."""
    return response_key.column if know.identity else f"{response_key.name}/{response_key.population}"


def make_space(tables: Sequence[Shown], cells: Sequence[tuple[Sequence[Axis], Codes]], know: Knowledge) -> Space:
    """The combinations that the tables, and the cells to be judged, tell apart."""
    used: dict[str, set[frozenset[str]]] = {}
    axes = list({axis.name: axis for table in tables for axis in table.axes}.values())
    names = {axis.name: axis.column if know.identity else axis.name for axis in axes}
    for axis in axes:
        used.setdefault(names[axis.name], set())
    for table in tables:
        for i, axis in enumerate(table.axes):
            groups = used[names[axis.name]]
            groups |= {axis.below[code] for code in table.codes(i)}
            groups |= {frozenset([leaf]) for leaf in _absent(table, i)}
            if table.levels.get(axis.name):
                groups.add(_visible(table, axis))
    for own, codes in cells:
        for axis, code in zip(own, codes, strict=True):
            used[names[axis.name]].add(axis.below[code])
    sets = [tuple(names[axis.name] for axis in table.axes) for table in tables]
    return Space(axes, used, know, sets)


def gather(space: Space, tables: Sequence[Shown]) -> Facts:
    """All facts that the released tables give away."""
    know = space.know
    names = list(dict.fromkeys(response(table.response_key, know) for table in tables))
    sums: dict[str, list[tuple[Vector, float, float]]] = {name: [] for name in names}
    zero = {name: np.zeros(space.size, bool) for name in names}
    empty = np.zeros(space.size, bool)
    listed = []
    for table in tables:
        name = response(table.response_key, know)
        for codes, value in table.rows.items():
            cell = space.cell(table.axes, [a.below[c] for a, c in zip(table.axes, codes, strict=True)])
            if value is not None:
                sums[name].append((cell, value, value))
            if codes in table.bounds:
                sums[name].append((cell, *table.bounds[codes]))
            if table.zeros == "known" and know.listed and (know.across or table.response_key.is_count):
                listed.append(cell)
        if know.codes and table.made:
            listed += _with_codes(space, table)
        here, only_value = _known_empty(space, table)
        zero[name] |= here | only_value
        empty |= here
    count = next((response(t.response_key, know) for t in tables if t.response_key.is_count), None)
    if know.across:
        if count is not None:
            empty |= zero[count] | _published_zeros(sums[count], space.size)
        zero = {name: own | empty for name, own in zero.items()}
    return Facts(
        {name: _rows(parts, space.size) for name, parts in sums.items()},
        zero,
        np.array(listed).reshape(-1, space.size),
        space.ties(),
        count,
        know.across and know.together and count is not None,
        frozenset(response(table.response_key, know) for table in tables if table.least < 0),
    )


def _rows(parts: Sequence[tuple[Vector, float, float]], size: int) -> Rows:
    distinct = {(cell.tobytes(), lower, upper): (cell, lower, upper) for cell, lower, upper in parts}.values()
    matrix = np.array([cell for cell, _, _ in distinct]).reshape(-1, size)
    return Rows(matrix, np.array([p[1] for p in distinct], float), np.array([p[2] for p in distinct], float))


def _published_zeros(parts: Sequence[tuple[Vector, float, float]], size: int) -> Vector:
    found = np.zeros(size, bool)
    for cell, _, upper in parts:
        if upper == 0:
            found |= cell > 0
    return found


def _known_empty(space: Space, table: Shown) -> tuple[Vector, Vector]:
    """Where a table shows that there are no records, and where it shows that its own response is 0.

    The first: rows that a table with known zeros leaves out although it has all their codes. Both: codes that it does
    not have although it would show them if they had records.
    """
    empty, zero = (np.zeros(space.size, bool) for _ in range(2))
    occurs = [sorted(table.codes(i)) for i in range(len(table.axes))]
    if table.zeros == "known":
        for codes in product(*occurs):
            if codes not in table.rows:
                empty |= space.cell(table.axes, [a.below[c] for a, c in zip(table.axes, codes, strict=True)]) > 0
    for i in range(len(table.axes)):
        rest = [_seen(table, j, occurs[j]) for j in range(len(table.axes))]
        for leaf in _absent(table, i):
            rest[i] = frozenset([leaf])
            gone = space.cell(table.axes, rest) > 0
            if table.made or table.zeros == "known":
                empty |= gone
            else:
                zero |= gone
    return empty, zero


def _absent(table: Shown, i: int) -> set[str]:
    """The leaves of a dimension that a table would show, itself or a code above it, if they were not empty."""
    axis, occurs = table.axes[i], table.codes(i)
    if not table.rows:
        return set()
    if table.made:
        gone = [axis.below[code] for code in axis.below if table.shows(axis, code) and code not in occurs]
        return set().union(*gone)
    if axis.name in table.levels:
        return set()  # a level that is not shown may hold them
    own = [set(tree) for tree in axis.trees]
    used = [t for n, t in enumerate(axis.trees) if n == 0 or occurs & (own[n] - own[0])]
    return set().union(*(uncovered(tree, occurs) for tree in used))


def _visible(table: Shown, axis: Axis) -> frozenset[str]:
    return frozenset().union(*(axis.below[code] for code in axis.below if table.shows(axis, code)))


def _people(table: Shown, j: int) -> frozenset[str]:
    """The leaves of a dimension that the table is about: all, unless it says whom it is about."""
    axis = table.axes[j]
    return next((axis.below[code] for code in table.codes(j) if axis.level[code] < 0), axis.below["Total"])


def _seen(table: Shown, j: int, occurs: Collection[str]) -> frozenset[str]:
    """The leaves of a dimension whose records are in some row of the table."""
    if table.made:
        return _visible(table, table.axes[j])
    return frozenset().union(*(table.axes[j].below[code] for code in occurs))


def _with_codes(space: Space, table: Shown) -> list[Vector]:
    found = []
    for i, axis in enumerate(table.axes):
        everything = [_people(table, j) for j in range(len(table.axes))]
        for code in table.codes(i):
            everything[i] = axis.below[code]
            found.append(space.cell(table.axes, everything))
    return found
