"""The cover cells of each cluster, the latent cells among them, and the sums of cover cells that rows and neighbours
must be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cellguard.verifier.cells import Cells, combine
from cellguard.verifier.clusters import Piece, Pieces
from cellguard.verifier.leaves import OUTSIDE, REST, TableViews, View, coarser, parts_of_codes, per_part, whole
from cellguard.verifier.numbers import LARGEST, Bools, Int64
from cellguard.verifier.relations import Terms
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder, read_parquet

NAME = "internal/world.parquet"
ABSENT, BEYOND, REMAINDER = -1, -2, -3  # a cover cell lies in no row: none is there, it is outside, it is in the rest


@dataclass(frozen=True)
class Between:
    """The latent cells: their response (position in ``world``), cluster, part of each dimension and value."""

    group: Int64
    cluster: Int64
    part: Int64
    value: Int64


@dataclass(frozen=True)
class CoverCells:
    """The cover cells of a cluster that may be other than empty: the part in each dimension (-1: not divided) and the
    column.

    Columns are the distinct cells and, after these, the latent cells.
    """

    part: Int64
    column: Int64


def read_between(folder: Folder, cells: Cells, pieces: Pieces) -> Between:
    """Read the latent cells; refuse one that is no cover cell of its cluster, or is there twice."""
    stored = read_parquet(folder, NAME)
    names = [f"part:{d.name}" for d in cells.dimensions]
    kinds = {"group": pa.int32(), "cluster": pa.int32(), **dict.fromkeys(names, pa.int32()), "value": pa.int64()}
    if {field.name: field.type for field in stored.schema} != kinds or any(c.null_count for c in stored.columns):
        raise Refused(f"{NAME} does not have exactly the columns and types {', '.join(kinds)}, without gaps")
    columns = {name: stored.column(name).to_numpy().astype(np.int64) for name in kinds}
    part = np.column_stack([columns[name] for name in names])
    group, cluster, value = columns["group"], columns["cluster"], columns["value"]
    if (value < -LARGEST).any():
        raise Refused(f"{NAME} has a value that is too large")
    placed = np.zeros(group.size, dtype=bool)
    for g, clusters in enumerate(pieces.clusters):
        for c, piece in enumerate(clusters):
            here = np.flatnonzero((group == g) & (cluster == c))
            placed[here] = not piece.open and _are_cover_cells(cells, piece, part[here])
    if not placed.all():
        raise Refused(f"{NAME} row {int(np.argmin(placed))} is no cover cell of a cluster, or a second time the same")
    return Between(group, cluster, part, value)


def _are_cover_cells(cells: Cells, piece: Piece, part: Int64) -> bool:
    for axis in range(len(cells.dimensions)):
        there = np.unique(piece.parts[axis]) if axis in piece.parts else np.array([-1])
        if not np.isin(part[:, axis], there).all():
            return False
    key = combine(list(part.T + 1), _sizes(cells), len(part))
    return np.unique(key).size == key.size


def _sizes(cells: Cells) -> list[int]:
    return [len(d.codes) + 2 for d in cells.dimensions]


def find_cover_cells(cells: Cells, pieces: Pieces, between: Between, group: int, cluster: int) -> CoverCells:
    """Return the cover cells of a cluster: the latent cells, and the rows of its tables with exactly a cover cell's
    leaves.
    """
    piece = pieces.clusters[group][cluster]
    mine = np.flatnonzero((between.group == group) & (between.cluster == cluster))
    parts, columns = [between.part[mine]], [cells.count + mine]
    for table in () if piece.open else piece.tables:
        if cells.spec.tables[table].group == pieces.groups[group]:
            part, column = _listed(cells, piece, table)
            parts.append(part)
            columns.append(column)
    part, column = np.concatenate(parts), np.concatenate(columns)
    # A latent cell stands first, so it is the cover cell even if a row has the same leaves: that row must then equal
    # it.
    first = np.unique(combine(list(part.T + 1), _sizes(cells), len(part)), return_index=True)[1]
    return CoverCells(part[first], column[first])


def _listed(cells: Cells, piece: Piece, table: int) -> tuple[Int64, Int64]:
    rows = cells.rows(table)
    codes = cells.row_codes[rows]
    part = np.full_like(codes, -1)
    fits = np.ones(len(codes), dtype=bool)
    for axis, dimension in enumerate(cells.dimensions):
        if axis in piece.parts:
            part[:, axis] = parts_of_codes(dimension, piece.parts[axis])[codes[:, axis]]
            fits &= part[:, axis] >= 0
        else:
            leaves = sum(1 for code in dimension.trees[0].codes if code in dimension.trees[0].leaves)
            everything = parts_of_codes(dimension, np.zeros(leaves, dtype=np.int64))
            fits &= everything[codes[:, axis]] == 0
    return part[fits], cells.cell[rows][fits]


def labels(cover_cells: CoverCells, piece: Piece, views: TableViews, choice: Sequence[View]) -> Int64:
    """Return the code (or OUTSIDE, REST) that each cover cell has in each dimension of a table, in a choice of
    groupings.
    """
    columns = []
    for axis, view in zip(views.axes, choice, strict=True):
        label = per_part(whole(piece.parts, axis, view.label.size), view.label)
        if label is None:
            raise Refused("a cluster does not divide what a table divides")
        columns.append(label[np.maximum(cover_cells.part[:, axis], 0)])
    return np.column_stack(columns)


def locate(cells: Cells, table: int, axes: Sequence[int], codes: Int64) -> Int64:
    """Return the row of a table (from 0) with each combination of codes; ABSENT, BEYOND or REMAINDER."""
    mine = cells.row_codes[cells.rows(table)][:, list(axes)]
    both = np.concatenate([mine, np.maximum(codes, 0)])
    key = combine(list(both.T), [len(cells.dimensions[a].codes) for a in axes], len(both))
    own, wanted = key[: len(mine)], key[len(mine) :]
    order = np.argsort(own, kind="stable")
    places = order[np.minimum(np.searchsorted(own, wanted, sorter=order), len(mine) - 1)]
    row = np.where(own[places] == wanted, places, ABSENT)
    row = np.where((codes == REST).any(axis=1), REMAINDER, row)
    return np.where((codes == OUTSIDE).any(axis=1), BEYOND, row)


def finest(cells: Cells, table: int, axes: Sequence[int], choice: Sequence[View]) -> Bools:
    """Return which rows of a table are finest in a choice of groupings."""
    codes = cells.row_codes[cells.rows(table)]
    return np.asarray(np.all([v.finest[codes[:, a]] for a, v in zip(axes, choice, strict=True)], axis=0))


def rows_are_sums(
    cells: Cells, views: TableViews, table: int, piece: Piece, cover_cells: CoverCells
) -> tuple[list[Terms], Int64]:
    """Return row - sum of cover cells for each finest row of a table, and the columns of cover cells that it says to
    be empty.
    """
    terms, empty = [], [np.zeros(0, dtype=np.int64)]
    cell = cells.cell[cells.rows(table)]
    for choice in views.choices():
        row = locate(cells, table, views.axes, labels(cover_cells, piece, views, choice))
        empty.append(cover_cells.column[(row == ABSENT) | (row == REMAINDER)])
        own = np.flatnonzero(finest(cells, table, views.axes, choice))
        number = np.full(cell.size, -1, dtype=np.int64)
        number[own] = np.arange(own.size)
        inside = np.flatnonzero(row >= 0)
        relation = np.concatenate([number[own], number[row[inside]]])
        column = np.concatenate([cell[own], cover_cells.column[inside]])
        sign = np.concatenate([np.ones(own.size, np.int64), np.full(inside.size, -1, np.int64)])
        terms.append(Terms(relation, column, sign))
    return terms, np.concatenate(empty)


def neighbours_agree(cells: Cells, left: tuple[Piece, CoverCells], right: tuple[Piece, CoverCells]) -> Terms:
    """Return, for each combination of parts that two clusters share, the difference of the sums of their cover
    cells.
    """
    shared = sorted(set(left[0].parts) & set(right[0].parts))
    keys = []
    for axis in shared:
        part = coarser(left[0].parts[axis], right[0].parts[axis])
        if part is None:
            raise Refused("neighbouring clusters divide a dimension in ways that do not fit")
        keys.append(part)
    return summed(cells, [(*left, 1), (*right, -1)], dict(zip(shared, keys, strict=True)))


def summed(cells: Cells, sides: Sequence[tuple[Piece, CoverCells, int]], shared: dict[int, Int64]) -> Terms:
    """Return sums of cover cells over the given coarser partitions, one relation a combination, each side with its
    factor.
    """
    size = [cover_cells.column.size for _, cover_cells, _ in sides]
    columns = []
    for axis, part in shared.items():
        sided = []
        for piece, cover_cells, _ in sides:
            coarse = per_part(piece.parts[axis], part)
            if coarse is None:
                raise Refused("a cluster does not divide what it shares")
            sided.append(coarse[cover_cells.part[:, axis]])
        columns.append(np.concatenate(sided))
    key = combine(columns, [len(cells.dimensions[a].codes) for a in shared], sum(size))
    relation = np.unique(key, return_inverse=True)[1].astype(np.int64)
    factor = np.repeat(np.array([f for _, _, f in sides], dtype=np.int64), size)
    return Terms(relation, np.concatenate([cover_cells.column for _, cover_cells, _ in sides]), factor)
