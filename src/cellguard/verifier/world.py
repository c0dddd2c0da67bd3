"""The world behind the tables: whether base values and every witness are tables that one set of records has."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from cellguard.verifier.cells import Cells
from cellguard.verifier.clusters import Pieces
from cellguard.verifier.cover_cells import Between, find_cover_cells, neighbours_agree, rows_are_sums
from cellguard.verifier.numbers import LARGEST, Bools, Int64, Ints, narrow
from cellguard.verifier.relations import Matrix, Terms, stacked
from cellguard.verifier.requirements import Capacities
from cellguard.verifier.responses import counts, empty_cover_cells, equations, listed_counts, somebody
from cellguard.verifier.rows import Rows
from cellguard.verifier.spec import Group
from cellguard.verifier.stages import Refused
from cellguard.verifier.sums import allowances
from cellguard.verifier.witnesses import Witnesses, check_relations

NOT_CHECKED = "tables that cross were not checked: nothing is claimed about their cover tables"


@dataclass(frozen=True)
class World:
    """What binds the distinct cells and, after these, the latent cells.

    ``relations`` are sums that witnesses keep; the values themselves may miss them by less than ``slack``. ``empty``
    columns are 0 and stay so; each sum in ``occupied`` is 1 or more; of the latent cells, ``floored`` ones are not
    negative.
    """

    cells: Cells
    value: Ints
    relations: Matrix
    slack: Ints
    empty: Bools
    occupied: Matrix
    counted: Bools
    floored: Bools

    def name(self, column: int) -> str:
        """Name a cell or a latent cell."""
        if column < self.cells.count:
            return self.cells.cell_name(column)
        return f"internal/world.parquet row {column - self.cells.count}"


def moved_groups(proof: Witnesses, cells: Cells, pieces: Pieces, between: Between) -> set[int]:
    """Return the responses, by position in the certificate's world, that some witness changes."""
    listed = np.unique(cells.group[proof.cell[proof.cell < cells.count]])
    hidden = between.group[proof.cell[proof.cell >= cells.count] - cells.count]
    return {pieces.groups.index(cells.spec.groups[g]) for g in listed} | set(hidden.tolist())


def build_world(
    cells: Cells,
    rows: Rows,
    pieces: Pieces,
    between: Between,
    moved: Collection[int],
    counted: Collection[Group] = frozenset(),
) -> World:
    """Gather everything that a world must keep.

    ``moved`` are the responses (by position in the certificate's world) that a witness changes. The others stay as they
    truly are, so what tables of other responses say of them holds anyway. No latent cell of the responses that are
    ``counted`` is negative, whatever values may be.
    """
    width = cells.count + between.value.size
    cover_cells = [
        [find_cover_cells(cells, pieces, between, g, c) for c in range(len(clusters))]
        for g, clusters in enumerate(pieces.clusters)
    ]
    sums, agreed, occupied = list[Terms](), list[Terms](), list[Terms]()
    empty = np.zeros(width, dtype=bool)
    for g, clusters in enumerate(pieces.clusters):
        for piece, here in zip(clusters, cover_cells[g], strict=True):
            for table in () if piece.open else piece.tables:
                if cells.spec.tables[table].group == pieces.groups[g]:
                    own, gone = rows_are_sums(cells, pieces.views[table], table, piece, here)
                    sums += own
                    empty[gone] = True
            if piece.parent is not None and not piece.open and not clusters[piece.parent].open:
                agreed.append(
                    neighbours_agree(cells, (piece, here), (clusters[piece.parent], cover_cells[g][piece.parent]))
                )
        if g in moved:
            empty[empty_cover_cells(cells, rows, pieces, cover_cells, g)] = True
            occupied += somebody(cells, rows, pieces, cover_cells, g)
    _spread(agreed, empty)
    relations = stacked([*sums, *agreed, *equations(cells, pieces, cover_cells, moved)], width)
    value = np.concatenate([np.concatenate(rows.value)[cells.first_row()], between.value])
    order = [pieces.groups.index(group) for group in cells.spec.groups]
    group = np.concatenate([np.array(order)[cells.group], between.group])
    lower = cells.spec.attack.lower
    plain = lower is not None and lower >= 0
    return World(
        cells=cells,
        value=value,
        relations=relations,
        slack=_slack(cells, rows, pieces.groups, relations, group, value),
        empty=empty,
        occupied=stacked(occupied, width),
        counted=np.array([counts(cells.spec, g) for g in pieces.groups])[between.group],
        floored=np.array([plain or g in counted for g in pieces.groups], dtype=bool)[between.group],
    )


def _spread(agreed: Sequence[Terms], empty: Bools) -> None:
    """Mark as empty what one of two neighbours has where the other has nothing at all, until nothing is left to mark.

    If values may be negative, equal sums alone do not say that.
    """
    marked = -1
    while marked != int(empty.sum()):
        marked = int(empty.sum())
        for terms in agreed:
            there = ~empty[terms.cell]
            sides = [
                np.bincount(terms.relation[there & side]) for side in (terms.coefficient > 0, terms.coefficient < 0)
            ]
            relations = int(terms.relation.max(initial=-1)) + 1
            left, right = (np.pad(side, (0, relations - side.size)) for side in sides)
            empty[terms.cell[((left == 0) | (right == 0))[terms.relation]]] = True


def _slack(cells: Cells, rows: Rows, groups: Sequence[Group], relations: Matrix, group: Int64, value: Ints) -> Ints:
    """Return how far each sum may miss: counts not at all.

    Magnitudes may by a unit, the tolerance and a billionth per term, and by what the stored values were rounded.
    """
    spec, each = cells.spec, []
    for name in groups:
        tables = [t for t in spec.tables if t.group == name]
        unit = 10 ** max(0, spec.grains[name] - min(t.decimals for t in tables))
        loose = unit + math.ceil(max(t.tolerance for t in tables) * 10 ** spec.grains[name])
        each.append(0 if counts(spec, name) else loose)
    own = np.array(each, dtype=object)[group]
    own = own + np.where(own > 0, np.abs(value) // 10**9, 0)
    listed = np.ceil(allowances(cells, rows)).astype(np.int64)
    own[: cells.count] += np.where(own[: cells.count] > 0, listed, 0)
    return np.maximum(_times(sparse.csr_array(abs(relations)), own), 1)


def check_base(world: World) -> None:
    """Refuse values that are no world themselves: sums of cover cells beyond rounding, and what is negative or not
    empty.
    """
    apart = np.abs(_times(world.relations, world.value)) >= world.slack
    if apart.any():
        raise Refused(f"the values of the cover table do not add up to {_first(world, world.relations, apart)}")
    held = world.empty & (world.value != 0)
    if held.any():
        raise Refused(f"{world.name(int(np.argmax(held)))} is not 0, but a table says that nobody is there")
    between = world.value[world.cells.count :]
    below = world.floored & (between < 0)
    if below.any():
        raise Refused(f"{world.name(world.cells.count + int(np.argmax(below)))} is negative")
    deserted = _times(world.occupied, world.value) < 1
    if deserted.any():
        raise Refused(
            f"the cover table has no respondent in {_first(world, world.occupied, deserted)}, where a row is listed"
        )


def check_worlds(proof: Witnesses, world: World) -> None:
    """Refuse a witness that is no world: it fills what is empty, empties what is not, or breaks a sum of cover
    cells.
    """
    _none(world.empty[proof.cell], proof, world, "moves a cell where a table says that nobody is:")
    start = world.cells.count
    entries = np.flatnonzero(proof.cell >= start)
    between = proof.cell[entries] - start
    wrong = np.zeros(proof.cell.size, dtype=bool)
    wrong[entries] = world.counted[between] & (proof.denominator[entries] != 1)
    _none(wrong, proof, world, "does not move in whole numbers the count")
    down = narrow(world.value[start:])[between]
    wrong[entries] = world.floored[between] & (proof.move[entries] // proof.denominator[entries] < -down)
    _none(wrong, proof, world, "takes below 0 the latent cell")
    check_relations(proof, world.relations, world.cells, world.name)
    _check_occupied(proof, world)


def _check_occupied(proof: Witnesses, world: World) -> None:
    counted = np.zeros(world.value.size, dtype=bool)
    counted[world.occupied.indices] = True
    entries = np.flatnonzero(counted[proof.cell])
    longest = int(np.diff(world.occupied.indptr).max(initial=0))
    if longest * int(np.abs(proof.move[entries]).max(initial=0)) > LARGEST:
        raise Refused("a witness moves counts too far")
    shape = (proof.starts.size - 1, world.value.size)
    moves = sparse.csr_array((proof.move[entries], (proof.witness[entries], proof.cell[entries])), shape=shape)
    sums = (moves @ sparse.csr_array(world.occupied.T)).tocoo()
    base = narrow(_times(world.occupied, world.value))
    # Counts move in whole numbers, so moves are not to be divided.
    wrong = sums.data < 1 - base[sums.coords[1]]
    if wrong.any():
        entry = int(np.argmax(wrong))
        rows = np.zeros(world.occupied.shape[0], dtype=bool)
        rows[sums.coords[1][entry]] = True
        name = _first(world, world.occupied, rows)
        raise Refused(f"witness {int(sums.coords[0][entry])} leaves no respondent in {name}, where a row is listed")


def with_listed(limits: Capacities, cells: Cells, rows: Rows, made: Collection[int] = ()) -> Capacities:
    """Return the capacities, where a count that is listed as not empty stays 1 or more; ``made`` are from records."""
    listed = listed_counts(cells, rows, made)
    value = np.concatenate(rows.value)[cells.first_row()]
    one = np.array([10 ** cells.spec.grains[group] for group in cells.spec.groups], dtype=object)[cells.group]
    return Capacities(np.where(listed, np.minimum(limits.down, narrow(value - one)), limits.down), limits.up)


def _times(matrix: Matrix, value: Ints) -> Ints:
    """Return matrix @ value exactly."""
    longest = int(np.abs(matrix.data).max(initial=0)) * int(np.diff(matrix.indptr).max(initial=0))
    if value.dtype != object and int(np.abs(value).max(initial=0)) * longest <= LARGEST:
        return np.asarray(matrix @ value)
    terms = matrix.tocoo()
    sums = np.zeros(matrix.shape[0], dtype=object)
    np.add.at(sums, terms.coords[0], terms.data.astype(object) * value.astype(object)[terms.coords[1]])
    return sums


def _first(world: World, matrix: Matrix, wrong: Bools) -> str:
    """Name a cell of the first relation that is wrong."""
    row = int(np.argmax(wrong))
    return world.name(int(matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].min()))


def _none(wrong: Bools, proof: Witnesses, world: World, what: str) -> None:
    if wrong.any():
        entry = int(np.argmax(wrong))
        raise Refused(f"witness {int(proof.witness[entry])} {what} {world.name(int(proof.cell[entry]))}")
