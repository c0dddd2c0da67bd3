"""The leaves of each dimension: what a table says of them, and the partitions of them that the world uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse
from scipy.sparse import csgraph

from cellguard.verifier.cells import Cells, occurring
from cellguard.verifier.hierarchies import Dimension, Tree, upper
from cellguard.verifier.numbers import Bools, Int64, grains
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder, read_bytes, read_csv

OUTSIDE, REST, NO_LEAF = -1, -2, -3

Parts: TypeAlias = Mapping[int, Int64]  # by position of the dimension: the part of each leaf


@dataclass(frozen=True)
class View:
    """What one grouping of a dimension says in one table.

    ``label``: for each leaf the nearest code at or above it that occurs; OUTSIDE if there is none, REST if codes below
    that one occur. ``member``: the codes of the grouping that occur; ``finest``: those of them without one below;
    ``above``: the next code above each.
    """

    label: Int64
    member: Bools
    finest: Bools
    above: Int64


@dataclass(frozen=True)
class TableViews:
    """A table's dimensions, by position, and the views of the groupings that it uses of each."""

    axes: tuple[int, ...]
    views: tuple[tuple[View, ...], ...]

    def choices(self) -> Iterator[tuple[View, ...]]:
        """Yield every choice of one grouping a dimension."""
        return product(*self.views)

    def within(self, parts: Parts) -> bool:
        """Return whether the partitions divide whatever the table divides (a dimension without one is not divided)."""
        return all(
            per_part(whole(parts, axis, view.label.size), view.label) is not None
            for axis, views in zip(self.axes, self.views, strict=True)
            for view in views
        )

    def classes(self) -> Parts:
        """Return the coarsest partitions that divide whatever the table divides."""
        parts = {}
        for axis, views in zip(self.axes, self.views, strict=True):
            labels = np.column_stack([view.label for view in views])
            parts[axis] = np.unique(labels, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
        return parts

    def outside(self, axis: int, leaves: int) -> Bools:
        """Return which leaves of a dimension lie outside in every grouping."""
        if axis not in self.axes:
            return np.zeros(leaves, dtype=bool)
        views = self.views[self.axes.index(axis)]
        return np.asarray(np.all([view.label == OUTSIDE for view in views], axis=0))


def whole(parts: Parts, axis: int, leaves: int) -> Int64:
    """Return the partition of a dimension, the undivided one if there is none."""
    return parts[axis] if axis in parts else np.zeros(leaves, dtype=np.int64)


def per_part(part: Int64, label: Int64) -> Int64 | None:
    """Return the label of each part, None if leaves of one part differ in it.

    >>> per_part(np.array([0, 0, 1]), np.array([5, 5, 7])).tolist()
    [5, 7]
    >>> per_part(np.array([0, 0, 1]), np.array([5, 6, 7])) is None
    True
    """
    labels = np.full(int(part.max(initial=-1)) + 1, NO_LEAF, dtype=np.int64)
    labels[part] = label
    return labels if (labels[part] == label).all() else None


def coarser(left: Int64, right: Int64) -> Int64 | None:
    """Return the coarser of two partitions, None if neither refines the other."""
    if per_part(left, right) is not None:
        return right
    return left if per_part(right, left) is not None else None


def common(partitions: Sequence[Int64]) -> Int64:
    """Return the finest partition that all the given ones refine."""
    joined = partitions[0]
    for other in partitions[1:]:
        shape = int(joined.max()) + 1, int(other.max()) + 1
        both = sparse.coo_array(
            (np.ones(joined.size, dtype=np.int64), (joined, shape[0] + other)), shape=(sum(shape),) * 2
        )
        joined = csgraph.connected_components(both, directed=False)[1][joined].astype(np.int64)
    return np.unique(joined, return_inverse=True)[1].astype(np.int64)


def leaves_of(dimension: Dimension) -> Int64:
    """Return the codes of the leaves, in the main hierarchy's order."""
    tree = dimension.trees[0]
    return np.array([c for c in tree.codes if c in tree.leaves], dtype=np.int64)


def table_views(cells: Cells, table: int) -> TableViews:
    """Return what a table says of the leaves of its dimensions."""
    codes = cells.row_codes[cells.rows(table)]
    axes = cells.axes(cells.spec.tables[table])
    views = []
    for axis in axes:
        dimension = cells.dimensions[axis]
        occurs, leaves = occurring(codes[:, axis], dimension), leaves_of(dimension)
        views.append(tuple(_view(tree, occurs, leaves) for tree in dimension.used(occurs)))
    return TableViews(tuple(axes), tuple(views))


def _view(tree: Tree, occurs: Bools, leaves: Int64) -> View:
    above = upper(tree, occurs)
    member, below = np.zeros(occurs.size, dtype=bool), np.zeros(occurs.size, dtype=bool)
    member[list(tree.codes)] = True
    member &= occurs
    below[above[above >= 0]] = True
    near = [OUTSIDE] * occurs.size
    for code, parent in zip(tree.codes, tree.parents, strict=True):
        near[code] = code if occurs[code] else near[parent] if parent >= 0 else OUTSIDE
    label = np.array(near, dtype=np.int64)[leaves]
    return View(np.where((label >= 0) & below[label], REST, label), member, member & ~below, above)


def parts_of_codes(dimension: Dimension, part: Int64) -> Int64:
    """Return for each code the part that has exactly its leaves, -1 if none has."""
    pieces = np.full(len(dimension.codes), -1, dtype=np.int64)
    size = np.bincount(part)
    for tree in reversed(dimension.trees):
        low, high, sizes = [part.size] * pieces.size, [-1] * pieces.size, [0] * pieces.size
        for leaf, number in zip(leaves_of(dimension).tolist(), part.tolist(), strict=True):
            low[leaf], high[leaf], sizes[leaf] = number, number, 1
        for code, parent in zip(reversed(tree.codes), reversed(tree.parents), strict=True):
            if parent >= 0:
                low[parent], high[parent] = min(low[parent], low[code]), max(high[parent], high[code])
                sizes[parent] += sizes[code]
        codes = np.array(tree.codes)
        first, last, leaves = np.array(low)[codes], np.array(high)[codes], np.array(sizes)[codes]
        pieces[codes] = np.where((first == last) & (size[first] == leaves), first, -1)
    return pieces


def check_groupings(dimension: Dimension) -> None:
    """Refuse a code that has other leaves in one grouping than in another."""
    seen: dict[int, frozenset[int]] = {}
    for tree in dimension.trees if len(dimension.trees) > 1 else ():
        below: dict[int, set[int]] = {code: set() for code in tree.codes}
        for code, parent in zip(reversed(tree.codes), reversed(tree.parents), strict=True):
            below[code] |= set() if below[code] else {code}
            if parent >= 0:
                below[parent] |= below[code]
        for code, leaves in below.items():
            if seen.setdefault(code, frozenset(leaves)) != leaves:
                raise Refused(f"internal/hierarchies/{dimension.name}.csv has a code with other leaves elsewhere")


def read_partitions(folder: Folder, dimension: Dimension) -> list[Int64]:
    """Return the partitions of a dimension's leaves that the world uses; leaves in the main hierarchy's order."""
    name = f"internal/parts/{dimension.name}.csv"
    head = read_bytes(folder, name).split(b"\n", 1)[0].count(b",")
    codes, *columns = read_csv(folder, name, ["leaf", *(str(i) for i in range(head))])
    leaves = leaves_of(dimension)
    words = pa.array([dimension.codes[leaf] for leaf in leaves], pa.string())
    places = pc.index_in(words, value_set=codes)
    if len(codes) != leaves.size or places.null_count or pc.count_distinct(codes).as_py() != leaves.size:
        raise Refused(f"{name} does not have exactly the leaves of hierarchies/{dimension.name}.csv")
    values = []
    for column in columns:
        numbers = grains(column.take(places), 0, f"{name}, part,")
        if ((numbers < 0) | (numbers >= leaves.size)).any():
            raise Refused(f"{name} has a part that is negative or too large")
        values.append(numbers.astype(np.int64))
    return values
