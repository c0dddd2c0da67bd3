"""Combinations of parts, the atoms of a cluster: those that its tables do not say to be empty."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from cellguard.hierarchy.hierarchy import IntArray
from cellguard.table.facts import BoolArray
from cellguard.table.keys import Keys, combine, find
from cellguard.table.table import Table
from cellguard.world.views import OUTSIDE, Labels, View, codes_of_parts

Columns = Mapping[str, npt.NDArray[np.int64]]
Positions = npt.NDArray[np.intp]
UNSAID, EMPTY = -1, -2  # a table says nothing of a combination; it says that it is empty


class TooLarge(Exception):
    """There are more combinations than can be looked at."""


@dataclass(frozen=True, eq=False)
class Sight:
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
        many = int(self.there.sum())
        keys = self.key(wanted)
        at = find(keys[many:], keys[:many])
        return (
            np.where(inside & (at >= 0), np.flatnonzero(self.there)[np.maximum(at, 0)], -1)
            if many
            else np.full(len(at), -1)
        )

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
        """Return the row that holds each atom, for each choice of groupings; `UNSAID` or `EMPTY` where none does."""
        many = len(next(iter(columns.values()))) if columns else 1
        rest, near = np.zeros(many, bool), []
        for name, shown in self.views.items():
            part = columns[name] if name in columns else np.zeros(many, np.int64)
            leaf = first_leaf(labels[name])[part] if name in columns else np.zeros(many, np.intp)
            near.append([row[leaf] for row in shown.near])
            rest |= shown.rest[leaf]
        found = []
        for choice in product(*near):
            outside = np.logical_or.reduce([c == OUTSIDE for c in choice])
            at = self.rows(choice)
            found.append(np.where(outside, UNSAID, np.where(rest | (at < 0), EMPTY, at)))
        return found

    def lists(self, labels: Mapping[str, Labels], columns: Columns) -> Positions:
        """Return the row that is exactly each combination of parts (the total of dimensions without parts), or -1."""
        many = len(next(iter(columns.values()))) if columns else 1
        codes = []
        for name, shown in self.views.items():
            if name in columns:
                codes.append(codes_of_parts(shown, labels[name])[columns[name]])
            else:
                codes.append(np.full(many, 0 if shown.occurs[0] else OUTSIDE, np.int32))
        return self.rows(codes)


def first_leaf(labels: Labels) -> Positions:
    """Return a leaf of each part."""
    return np.unique(labels, return_index=True)[1]


def table_atoms(sight: Sight, labels: Mapping[str, Labels], most: int) -> Columns:
    """Return the combinations of parts that a table may have something in.

    ``labels`` are for the dimensions that the table divides, at least as finely as it does. Whatever lies within its
    codes is found from its finest rows; what lies outside them it says nothing of.
    """
    names = [name for name in sight.names if name in labels]
    if not names:
        return {}  # the table is a single cell
    near = {name: sight.views[name].near[0][first_leaf(labels[name])] for name in names}
    codes = dict(zip(sight.names, sight.table.codes, strict=True))
    rows = np.flatnonzero(
        np.logical_and.reduce([sight.there, *(v.finest[0][codes[n]] for n, v in sight.views.items())])
    )
    inside = _product_within([_expand_codes(near[name], codes[name][rows]) for name in names], most)
    blocks = [inside, *_outside(names, near, most)]
    joined = {name: np.concatenate([block[i] for block in blocks]) for i, name in enumerate(names)}
    return keep(joined, allowed(sight, labels, joined))


def allowed(sight: Sight, labels: Mapping[str, Labels], columns: Columns) -> BoolArray:
    """Tell which atoms a table does not say to be empty."""
    return np.logical_and.reduce([at != EMPTY for at in sight.locate(labels, columns)])


def keep(columns: Columns, some: BoolArray) -> Columns:
    """Return some of the atoms."""
    return columns if some.all() else {name: column[some] for name, column in columns.items()}


def _expand_codes(near: IntArray, codes: IntArray) -> tuple[Positions, Positions, Positions]:
    """Return for each row's code where its parts start in a list, how many there are, and the list."""
    order = np.argsort(near, kind="stable")
    start = np.searchsorted(near[order], codes, "left")
    return start, np.searchsorted(near[order], codes, "right") - start, order


def _product_within(
    columns: Sequence[tuple[Positions, Positions, Positions]], most: int
) -> list[npt.NDArray[np.int64]]:
    """Return all combinations of each row's parts, one column a dimension."""
    rows = np.arange(len(columns[0][0]))
    found: list[npt.NDArray[np.int64]] = []
    for start, many, order in columns:
        if int(many[rows].sum()) > most:
            raise TooLarge
        again = np.repeat(np.arange(len(rows)), many[rows])
        step = np.arange(len(again)) - np.repeat(np.cumsum(many[rows]) - many[rows], many[rows])
        found = [column[again] for column in found]
        rows = rows[again]
        found.append(order[start[rows] + step].astype(np.int64))
    return found


def _outside(names: Sequence[str], near: Mapping[str, IntArray], most: int) -> Iterator[list[npt.NDArray[np.int64]]]:
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
    n = len(next(iter(left.values())))
    both = (
        combine([np.concatenate([left[c], right[c]]) for c in common], size)
        if common
        else np.zeros(n + len(next(iter(right.values()))), np.int64)
    )
    mine, theirs = both[:n], both[n:]
    order = np.argsort(theirs, kind="stable")
    start = np.searchsorted(theirs[order], mine, "left")
    many = np.searchsorted(theirs[order], mine, "right") - start
    if int(many.sum()) > most:
        raise TooLarge
    again = np.repeat(np.arange(n), many)
    step = np.arange(len(again)) - np.repeat(np.cumsum(many) - many, many)
    other = order[start[again] + step]
    found = {name: column[again] for name, column in left.items()}
    return found | {name: column[other] for name, column in right.items() if name not in left}
