"""Combinations of parts, the cover cells of a cluster: those that its tables do not say to be empty.

A dimension's leaves fall into *parts* that no table of the cluster divides (see `views`), and a cover cell is one part
per dimension. Of the product of all parts only those count that every table allows: a table that has no row for a
combination of its codes says that nobody is there. So cover cells are never listed as a product. Each table gives the
combinations within its own finest rows, and what lies outside its codes, of which it says nothing; the tables of a
cluster are then joined on the dimensions that they share, as relations of a database are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from cellguard.arrays import BoolArray, IntArray, LongArray, Positions
from cellguard.table.keys import Keys, combine, find
from cellguard.table.table import Table
from cellguard.world.table_views import OUTSIDE, Labels, View, codes_of_parts

Columns = Mapping[str, LongArray]
UNSAID, EMPTY = -1, -2  # a table says nothing of a combination; it says that it is empty


class TooLarge(Exception):
    """There are more combinations than can be looked at."""


@dataclass(frozen=True, eq=False)
class TableView:
    """A table with its views: where it shows a combination of parts. ``there`` marks the rows that are not empty."""

    table: Table
    views: Mapping[str, View]
    there: BoolArray
    values_known: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The table's dimensions."""
        return tuple(d.name for d in self.table.dimensions)

    def key(self, columns: Sequence[npt.NDArray[np.integer]]) -> Keys:
        """Return the rows' key of code columns; rows that are not there have none."""
        return combine(columns, [len(d.codes) for d in self.table.dimensions])

    def rows(self, columns: Sequence[npt.NDArray[np.integer]]) -> Positions:
        """Return the row with each combination of codes, -1 where there is none; codes may be `OUTSIDE`."""
        inside = np.logical_and.reduce([c >= 0 for c in columns])
        wanted = [
            np.concatenate([own[self.there], np.maximum(c, 0)])
            for own, c in zip(self.table.codes, columns, strict=True)
        ]
        there = np.flatnonzero(self.there)
        keys = self.key(wanted)
        place = find(keys[len(there) :], keys[: len(there)])
        if not len(there):
            return np.full(len(place), -1)
        return np.where(inside & (place >= 0), there[np.maximum(place, 0)], -1)

    def refined_by(self, labels: Mapping[str, Labels]) -> bool:
        """Whether partitions of (at least) the table's dimensions divide whatever the table divides."""
        for name, shown in self.views.items():
            if name not in labels:
                if shown.rest.any() or shown.labels.any():
                    return False
                continue
            size = int(shown.labels.max(initial=0)) + 1
            if len(np.unique(labels[name] * size + shown.labels)) > int(labels[name].max(initial=-1)) + 1:
                return False
        return True

    def locate(self, labels: Mapping[str, Labels], columns: Columns) -> list[Positions]:
        """Return the row that holds each cover cell, for each choice of groupings; `UNSAID` or `EMPTY` where none
        does.
        """
        n = length(columns)
        rest, near = np.zeros(n, bool), []
        for name, shown in self.views.items():
            part = columns[name] if name in columns else np.zeros(n, np.int64)
            leaf = first_leaf(labels[name])[part] if name in columns else np.zeros(n, np.intp)
            near.append([row[leaf] for row in shown.near])
            rest |= shown.rest[leaf]
        rows = []
        for choice in product(*near):
            outside = np.logical_or.reduce([c == OUTSIDE for c in choice])
            row = self.rows(choice)
            rows.append(np.where(outside, UNSAID, np.where(rest | (row < 0), EMPTY, row)))
        return rows

    def lists(self, labels: Mapping[str, Labels], columns: Columns) -> Positions:
        """Return the row that is exactly each combination of parts (the total of dimensions without parts), or -1."""
        codes = []
        for name, shown in self.views.items():
            if name in columns:
                codes.append(codes_of_parts(shown, labels[name])[columns[name]])
            else:
                codes.append(np.full(length(columns), 0 if shown.occurs[0] else OUTSIDE, np.int32))
        return self.rows(codes)


def length(columns: Columns) -> int:
    """Return how many combinations there are: a single one, if there are no dimensions."""
    return len(next(iter(columns.values()))) if columns else 1


def first_leaf(labels: Labels) -> Positions:
    """Return a leaf of each part."""
    return np.unique(labels, return_index=True)[1]


def table_cover_cells(view: TableView, labels: Mapping[str, Labels], most: int) -> Columns:
    """Return the combinations of parts that a table may have something in.

    ``labels`` are for the dimensions that the table divides, at least as finely as it does. Whatever lies within its
    codes is found from its finest rows; what lies outside them it says nothing of.
    """
    names = [name for name in view.names if name in labels]
    if not names:
        return {}  # the table is a single cell
    near = {name: view.views[name].near[0][first_leaf(labels[name])] for name in names}
    codes = dict(zip(view.names, view.table.codes, strict=True))
    rows = np.flatnonzero(np.logical_and.reduce([view.there, *(v.finest[0][codes[n]] for n, v in view.views.items())]))
    inside = _product_within([_expand_codes(near[name], codes[name][rows]) for name in names], most)
    blocks = [inside, *_outside(names, near, most)]
    joined = {name: np.concatenate([block[i] for block in blocks]) for i, name in enumerate(names)}
    return keep(joined, allowed(view, labels, joined))


def allowed(view: TableView, labels: Mapping[str, Labels], columns: Columns) -> BoolArray:
    """Return which cover cells a table does not say to be empty."""
    return np.logical_and.reduce([row != EMPTY for row in view.locate(labels, columns)])


def keep(columns: Columns, some: BoolArray) -> Columns:
    """Return some of the cover cells."""
    return columns if some.all() else {name: column[some] for name, column in columns.items()}


def _expand_codes(near: IntArray, codes: IntArray) -> tuple[Positions, Positions, Positions]:
    """Return for each row's code where its parts start in a list, how many there are, and the list."""
    order = np.argsort(near, kind="stable")
    start = np.searchsorted(near[order], codes, "left")
    return start, np.searchsorted(near[order], codes, "right") - start, order


def _product_within(columns: Sequence[tuple[Positions, Positions, Positions]], most: int) -> list[LongArray]:
    """Return all combinations of each row's parts, one column per dimension."""
    rows = np.arange(len(columns[0][0]))
    combined: list[LongArray] = []
    for start, size, order in columns:
        if int(size[rows].sum()) > most:
            raise TooLarge
        again, step = _repeat(size[rows])
        combined = [column[again] for column in combined]
        rows = rows[again]
        combined.append(order[start[rows] + step].astype(np.int64))
    return combined


def _repeat(size: Positions) -> tuple[Positions, Positions]:
    """Return each position as often as its size says, and which of its repetitions each is: 0, 1, ..."""
    again = np.repeat(np.arange(len(size)), size)
    return again, np.arange(len(again)) - np.repeat(np.cumsum(size) - size, size)


def _outside(names: Sequence[str], near: Mapping[str, IntArray], most: int) -> Iterator[list[LongArray]]:
    """Yield the combinations with a part that lies outside a table's codes: the first such dimension is the k-th."""
    for k in range(len(names)):
        sides = []
        for i, name in enumerate(names):
            is_out = near[name] == OUTSIDE
            sides.append(np.flatnonzero(~is_out if i < k else is_out if i == k else np.ones(len(is_out), bool)))
        size = int(np.prod([float(len(s)) for s in sides]))
        if size > most:
            raise TooLarge
        if size:
            yield [g.ravel().astype(np.int64) for g in np.meshgrid(*sides, indexing="ij")]


def natural_join(left: Columns, right: Columns, most: int) -> Columns:
    """Return the combinations whose parts agree with a row of both; a row of each side is there once."""
    common = [name for name in left if name in right]
    size = [int(max(left[n].max(initial=0), right[n].max(initial=0))) + 1 for n in common]
    n = length(left)
    both = (
        combine([np.concatenate([left[c], right[c]]) for c in common], size)
        if common
        else np.zeros(n + length(right), np.int64)
    )
    mine, theirs = both[:n], both[n:]
    order = np.argsort(theirs, kind="stable")
    start = np.searchsorted(theirs[order], mine, "left")
    matches = np.searchsorted(theirs[order], mine, "right") - start
    if int(matches.sum()) > most:
        raise TooLarge
    again, step = _repeat(matches)
    other = order[start[again] + step]
    joined = {name: column[again] for name, column in left.items()}
    return joined | {name: column[other] for name, column in right.items() if name not in left}
