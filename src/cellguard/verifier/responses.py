"""What tables of one response say of another: where nobody is, where somebody is, and what equations tie."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import product

import numpy as np

from cellguard.verifier.cells import Cells
from cellguard.verifier.clusters import Piece, Pieces
from cellguard.verifier.cover_cells import ABSENT, REMAINDER, CoverCells, finest, labels, locate, summed
from cellguard.verifier.leaves import REST, TableViews, View, common, per_part, whole
from cellguard.verifier.numbers import Bools, Int64
from cellguard.verifier.relations import Terms, tied_groups
from cellguard.verifier.rows import Rows, listed
from cellguard.verifier.spec import FITTED, Group, Spec
from cellguard.verifier.stages import Refused


def others(spec: Spec, group: Group) -> list[int]:
    """Return the tables of the other responses of a population; fitted counts say nothing that others do not."""
    apart = [i for i, t in enumerate(spec.tables) if t.population == group[1] and t.group != group]
    return [i for i in apart if spec.tables[i].where != FITTED]


def counts(spec: Spec, group: Group) -> bool:
    """Return whether a response counts."""
    return any(t.count for t in spec.tables if t.group == group)


def nobody(cells: Cells, rows: Rows, table: int) -> Bools:
    """Return the rows that say that there is nobody: those of a table of counts whose value is 0."""
    value = rows.value[table]
    return np.asarray(value == 0, dtype=bool) & cells.spec.tables[table].count


def empty_cover_cells(
    cells: Cells, rows: Rows, pieces: Pieces, cover_cells: Sequence[Sequence[CoverCells]], group: int
) -> Int64:
    """Return the columns of a response that lie where a table of another response says that there is nobody."""
    empty = [np.zeros(0, dtype=np.int64)]
    told = [t for t in others(cells.spec, pieces.groups[group]) if _has_gap(cells, rows, pieces.views[t], t)]
    full = _full(cells, pieces, group) if told else None
    if full is not None:
        empty.append(cells.cell[cells.rows(full)][rows.count[cells.rows(full)] == 0])
    for table in told:
        empty.append(_covered_gaps(cells, rows, table, cells.spec.groups.index(pieces.groups[group])))
        if full is None:
            at = _dividing(cells, pieces, group, table)
            if not pieces.clusters[group][at].open:
                piece = pieces.clusters[group][at]
                empty.append(_in_gaps(cells, rows, pieces.views[table], table, piece, cover_cells[group][at]))
    return np.concatenate(empty)


def _has_gap(cells: Cells, rows: Rows, views: TableViews, table: int) -> bool:
    if any((view.label == REST).any() for axis in views.views for view in axis):
        return True
    there = ~nobody(cells, rows, table)
    for choice in views.choices():
        combinations = 1
        for view in choice:
            combinations *= int(view.finest.sum())
        if int((finest(cells, table, views.axes, choice) & there).sum()) < combinations:
            return True
    return False


def _full(cells: Cells, pieces: Pieces, group: int) -> int | None:
    """Return a table of magnitudes, zeros known, that divides whatever its response's others do and leaves none out.

    Whatever moves in its response then lies in its rows, and each of these has a record: it can lie there.
    """
    spec, name = cells.spec, pieces.groups[group]
    tables = [i for i, t in enumerate(spec.tables) if t.group == name]
    if counts(spec, name):
        return None
    for table in tables:
        mine = pieces.views[table]
        if spec.tables[table].zeros == "known" and all(
            _divided_by(pieces.views[other], mine) and _no_further(pieces.views[other], mine) for other in tables
        ):
            return table
    return None


def _divided_by(other: TableViews, mine: TableViews) -> bool:
    """Return whether one table divides whatever the other does, on all leaves where it says that somebody may be."""
    parts, views = mine.classes(), dict(zip(mine.axes, mine.views, strict=True))
    for axis, theirs in zip(other.axes, other.views, strict=True):
        leaves = theirs[0].label.size
        anybody = ~np.any([view.label == REST for view in views.get(axis, ())] or [np.zeros(leaves, bool)], axis=0)
        part = whole(parts, axis, leaves)[anybody]
        if any(per_part(part, view.label[anybody]) is None for view in theirs):
            return False
    return True


def _no_further(other: TableViews, mine: TableViews) -> bool:
    """Return whether every leaf that lies outside one table lies outside the other too."""
    for axis, views in zip(mine.axes, mine.views, strict=True):
        leaves = views[0].label.size
        if (mine.outside(axis, leaves) & ~other.outside(axis, leaves)).any():
            return False
    return True


def _dividing(cells: Cells, pieces: Pieces, group: int, table: int) -> int:
    """Return a cluster of a response that divides whatever a table divides, with cover cells if there is one."""
    clusters = pieces.clusters[group]
    fitting = [i for i, piece in enumerate(clusters) if pieces.views[table].within(piece.parts)]
    if not fitting:
        name, response = cells.spec.tables[table].name, pieces.groups[group][0]
        raise Refused(
            f"no cluster of {response} divides what table {name} divides, which says where nobody or somebody is"
        )
    return min(fitting, key=lambda i: clusters[i].open)


def _covered_gaps(cells: Cells, rows: Rows, table: int, group: int) -> Int64:
    """Return the distinct cells of a response, all of whose codes a table has, where it says that there is nobody."""
    mine = np.flatnonzero(cells.group == group)
    there = cells.combination[cells.cell[cells.rows(table)][~nobody(cells, rows, table)]]
    gap = cells.covered(table, cells.combination[mine]) & ~np.isin(cells.combination[mine], there)
    return mine[gap]


def _in_gaps(cells: Cells, rows: Rows, views: TableViews, table: int, piece: Piece, cover_cells: CoverCells) -> Int64:
    gone, empty = nobody(cells, rows, table), [np.zeros(0, dtype=np.int64)]
    for choice in views.choices():
        row = locate(cells, table, views.axes, labels(cover_cells, piece, views, choice))
        empty.append(cover_cells.column[(row == ABSENT) | (row == REMAINDER) | ((row >= 0) & gone[np.maximum(row, 0)])])
    return np.concatenate(empty)


def _somebody(cells: Cells, rows: Rows, table: int) -> Bools:
    """Return the rows of a table that tell readers of other responses that somebody is there.

    Where zeros are known every row that the release lists does; and everywhere one with a value, which readers may work
    out from others even if it is not listed.
    """
    part = cells.rows(table)
    known = listed(cells, rows, table) & (cells.spec.tables[table].zeros == "known")
    told = known | np.asarray(rows.value[table] != 0, dtype=bool)
    return told & ~nobody(cells, rows, table) & (rows.count[part] != 0)


def _single_codes(cells: Cells, rows: Rows, table: int) -> Bools:
    """Return the rows with one code at most that some listed row has, or has a code below.

    A code that all rows have says whom the table is about, and is not counted.
    """
    codes, there = cells.row_codes[cells.rows(table)], listed(cells, rows, table)
    own = (codes != codes[:1]).any(axis=0)
    single = (codes[:, own] != 0).sum(axis=1) <= 1
    for axis in cells.axes(cells.spec.tables[table]):
        shown = np.zeros(len(cells.dimensions[axis].codes), dtype=bool)
        shown[codes[there, axis]] = True
        for tree in cells.dimensions[axis].trees:
            for code, parent in reversed(list(zip(tree.codes, tree.parents, strict=True))):
                shown[parent] |= shown[code] and parent >= 0
        single &= shown[codes[:, axis]]
    return single


def listed_counts(cells: Cells, rows: Rows, made: Collection[int] = ()) -> Bools:
    """Return the distinct cells that count 1 or more and of which a table says that somebody is there.

    A table ``made`` from records has a code only because a record has it: so a code by itself is not empty.
    """
    occupied = np.zeros(cells.count, dtype=bool)
    for i, table in enumerate(cells.spec.tables):
        part = cells.rows(i)
        single = _single_codes(cells, rows, i) if i in made else np.zeros(part.stop - part.start, dtype=bool)
        own = listed(cells, rows, i) & (table.zeros == "known") & ~nobody(cells, rows, i) & (rows.count[part] != 0)
        for g, group in enumerate(cells.spec.groups):
            if group[1] == table.population and counts(cells.spec, group):
                told = own if group == table.group else _somebody(cells, rows, i)
                places = cells.find(g, cells.combination[cells.cell[part][told | single]])
                occupied[places[places >= 0]] = True
    value = np.concatenate(rows.value)[cells.first_row()]
    return occupied & np.asarray(value > 0, dtype=bool)


def somebody(
    cells: Cells, rows: Rows, pieces: Pieces, cover_cells: Sequence[Sequence[CoverCells]], group: int
) -> list[Terms]:
    """Return sums of a count's cover cells that must be 1 or more, since a table of another response lists their
    row.
    """
    sums: list[Terms] = []
    name = pieces.groups[group]
    for table in others(cells.spec, name) if counts(cells.spec, name) else ():
        own = cells.find(cells.spec.groups.index(name), cells.combination[cells.cell[cells.rows(table)]])
        targets = _somebody(cells, rows, table) & (own < 0)
        if targets.any():
            which = _dividing(cells, pieces, group, table)
            piece = pieces.clusters[group][which]
            if not piece.open:
                hidden = (~listed(cells, rows, table)).any()
                sums += _sums(
                    cells, pieces.views[table], table, piece, cover_cells[group][which], targets, climb=bool(hidden)
                )
    return sums


def _sums(
    cells: Cells, views: TableViews, table: int, piece: Piece, cover_cells: CoverCells, targets: Bools, *, climb: bool
) -> list[Terms]:
    """Return the sums of cover cells in the finest rows asked for; with ``climb`` in all of them.

    A row that lists anybody has a finest row that does, so more than these are needed only if some are not shown.
    """
    terms = []
    codes = cells.row_codes[cells.rows(table)]
    for choice in views.choices():
        own = targets & np.all([v.member[codes[:, a]] for a, v in zip(views.axes, choice, strict=True)], axis=0)
        own &= climb | finest(cells, table, views.axes, choice)
        label = labels(cover_cells, piece, views, choice)
        pairs = [locate(cells, table, views.axes, up) for up in (_climbs(label, choice) if climb else [label])]
        row, column = np.concatenate(pairs), np.tile(cover_cells.column, len(pairs))
        inside = (row >= 0) & own[np.maximum(row, 0)]
        number = np.cumsum(own) - 1
        wanted = np.flatnonzero(own)
        relation, cell = number[row[inside]], column[inside]
        missing = np.setdiff1d(np.arange(wanted.size), relation)
        if missing.size:
            where = cells.row_name(int(cells.offsets[table]) + int(wanted[missing[0]]))
            raise Refused(f"{where} is listed, so somebody is there, but the world has nobody there")
        if wanted.size:
            terms.append(Terms(relation, cell, np.ones(cell.size, dtype=np.int64)))
    return terms


def _climbs(label: Int64, choice: Sequence[View]) -> list[Int64]:
    """Return the labels, and every way to go up from them in some dimensions; above the top is outside."""
    chains = []
    for column, view in enumerate(choice):
        chain = [label[:, column]]
        while (chain[-1] >= 0).any():
            chain.append(np.where(chain[-1] >= 0, view.above[np.maximum(chain[-1], 0)], chain[-1]))
        chains.append(chain[:-1] or chain)
    return [np.column_stack(levels) for levels in product(*chains)]


def equations(
    cells: Cells, pieces: Pieces, cover_cells: Sequence[Sequence[CoverCells]], moved: Collection[int]
) -> list[Terms]:
    """Return what equations ask of sums of cover cells; refuse one between responses whose clusters are not of one
    shape.
    """
    terms = []
    parts: set[int] = set()
    for equation in cells.spec.equations:
        for factors in tied_groups(cells.spec, equation):
            groups = [pieces.groups.index(cells.spec.groups[g]) for g in factors]
            if not set(groups) & set(moved):
                continue
            shapes = [_largest(pieces.clusters[g]) for g in groups]
            repeated = [g for g, factor in zip(groups, factors.values(), strict=True) if factor < 0 and g in parts]
            parts |= {g for g, factor in zip(groups, factors.values(), strict=True) if factor < 0}
            for shape in _tied_shapes(shapes, list(factors.values()), bool(repeated)):
                alike = [
                    _alike(shape, pieces.clusters[g], cover_cells[g], factor)
                    for g, factor in zip(groups, factors.values(), strict=True)
                ]
                for sides in product(*alike):
                    shared = {axis: common([piece.parts[axis] for piece, _, _ in sides]) for axis in sorted(shape)}
                    terms.append(summed(cells, sides, shared))
    return terms


def _tied_shapes(
    shapes: Sequence[set[frozenset[int]]], factors: Sequence[int], repeated: bool
) -> Collection[frozenset[int]]:
    """Return the sets of dimensions over which an equation is asked for; refuse one that may tie more than these."""
    whole = next((shape for shape, factor in zip(shapes, factors, strict=True) if factor > 0), set())
    parts = [shape for shape, factor in zip(shapes, factors, strict=True) if factor < 0]
    if all(shape == whole for shape in shapes) and len(whole) == 1:
        return whole
    if sum(factor > 0 for factor in factors) == 1 and not repeated:
        if all(shape == whole for shape in parts):
            return whole
        one = parts[0]
        if all(shape == one for shape in parts) and len(one) == 1 and any(next(iter(one)) <= other for other in whole):
            return one
    raise Refused("an equation ties responses whose clusters do not divide the same dimensions")


def _alike(
    shape: frozenset[int], clusters: Sequence[Piece], cover_cells: Sequence[CoverCells], factor: int
) -> list[tuple[Piece, CoverCells, int]]:
    """Return the clusters that divide just these dimensions, or, if there is none, one that divides more."""
    wide = [i for i, piece in enumerate(clusters) if shape <= frozenset(piece.parts) and not piece.open]
    just = [i for i in wide if shape == frozenset(clusters[i].parts)]
    return [(clusters[i], cover_cells[i], factor) for i in just or wide[:1]]


def _largest(clusters: Sequence[Piece]) -> set[frozenset[int]]:
    """Return the sets of dimensions of clusters that no other one contains."""
    sets = {frozenset(piece.parts) for piece in clusters}
    return {one for one in sets if not any(one < other for other in sets)}
