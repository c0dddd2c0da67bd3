"""Published perturbed cells as a linear system: what an attacker knows of the perturbed contributions.

A cell says that the perturbed contributions u of its contributors add up to its perturbed total. Records that are in
the same published cells of all tables always come together, so they are one unknown: their sum. It does not matter by
which codes, levels, dimensions or tables they are told apart, only whether a published cell holds one and not the
other. Responses that are tied by definitions (Z = X + Y) are one system, in the perturbed contributions to their
pieces, see `pieces`. So an attacker has A u = t and T u = 0: A the cells by unknowns (``members``), t the published
totals, T the constraints; and knows c u for every c = A'y + T'z, and nothing else but that u >= 0 where nobody
subtracts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.methods.perturb.cells.alike import Parts, alike
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.cells.respondents import Respondents
from cellguard.methods.perturb.checks.finding import Cell
from cellguard.methods.perturb.checks.pieces import Pieces, pieces_of


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Cells by unknowns. ``members`` holds 1 (or -1 for what is subtracted), the cells with the fewest first.

    ``units`` are the 0/1 matrix of unknowns by units (holdings or respondents), and ``amounts`` what each of them
    contributes, without weights. Of each unknown ``leaves`` are its leaf responses, ``size`` the weighted sum of its
    contributions by their size, ``value`` the sum as it is, without weights, ``perturbed`` what it adds to perturbed
    totals, ``noise`` how much of this is noise, ``signed`` whether it may be below 0, and ``weighted`` whether some of
    its units stand for more than themselves. ``totals`` are the perturbed totals. ``follows`` marks margins: sums of
    other cells of their table, which say nothing new. ``constraints`` are sums of unknowns that are 0 by definition.
    """

    tables: tuple[CalibrationTable, ...]
    table: LongArray
    cell: LongArray
    members: sp.csr_array
    constraints: sp.csr_array
    follows: BoolArray
    totals: FloatArray
    units: sp.csr_array
    amounts: sp.csr_array
    leaves: tuple[tuple[str, ...], ...]
    size: FloatArray
    value: FloatArray
    perturbed: FloatArray
    noise: FloatArray
    signed: BoolArray
    weighted: BoolArray
    keys: npt.NDArray[np.str_]

    @cached_property
    def sizes(self) -> LongArray:
        """How many units each unknown stands for."""
        return np.diff(self.units.indptr).astype(np.int64)

    @cached_property
    def contributors(self) -> LongArray:
        """How many unknowns' units each cell has; holdings in several unknowns of a cell count for each."""
        return np.asarray(abs(self.members) @ self.sizes, np.int64)

    def name(self, row: int) -> Cell:
        """Return the name of the cell in a row."""
        table = self.tables[int(self.table[row])]
        return Cell(table.name, table.table.cell_name(int(self.cell[row])))

    def units_of(self, unknowns: npt.ArrayLike) -> LongArray:
        """Return the numbers of the units behind some unknowns."""
        return np.unique(self.units[np.atleast_1d(np.asarray(unknowns, np.int64))].indices).astype(np.int64)

    def whose(self, unknowns: npt.ArrayLike) -> tuple[str, ...]:
        """Return the keys of the units behind some unknowns."""
        return tuple(self.keys[self.units_of(unknowns)].tolist())


def unknowns_of(
    tables: Sequence[CalibrationTable], contributions: Mapping[str, FloatArray], definitions: Parts | None = None
) -> Unknowns:
    """Build the system of one family of tables.

    ``contributions`` are for each leaf response what each record adds to perturbed totals. ``definitions`` give each
    derived response its leaves with their signs. Who contributes nothing to a response is no unknown of it.
    """
    records = tables[0].records
    definitions = definitions or {}
    parts = [definitions.get(t.response, {t.response: 1}) for t in tables]
    leaves = {leaf for part in parts for leaf in part}
    pieces = pieces_of(parts, records, [part for part in definitions.values() if leaves.issuperset(part)])
    blocks = [_block(records, tables, pieces, number, contributions) for number in range(len(pieces.pieces))]
    rows = [
        sp.hstack(
            [
                piece.signs[at]
                * sp.csr_array(table.membership.below.astype(np.int8))[:, table.membership.leaf[block.first]]
                for piece, block in zip(pieces.pieces, blocks, strict=True)
            ]
        )
        for at, table in enumerate(tables)
    ]
    members = sp.csr_array(sp.vstack(rows, format="csr")).astype(np.int64)
    members.eliminate_zeros()
    lengths = [len(t) for t in tables]
    totals = [_totals(t, part, contributions) for t, part in zip(tables, parts, strict=True)]
    shown = np.concatenate([~t.table.unpublished for t in tables]) & (np.diff(members.indptr) > 0)
    follows = np.concatenate([_follows(t) for t in tables])
    units = sp.csr_array(sp.vstack([b.units for b in blocks], format="csr"))
    size = abs(members) @ np.diff(units.indptr)
    order = np.flatnonzero(shown)[np.argsort(size[shown], kind="stable")]
    return Unknowns(
        tables=tuple(tables),
        table=np.repeat(np.arange(len(tables)), lengths)[order],
        cell=np.concatenate([np.arange(n) for n in lengths])[order],
        members=sp.csr_array(members[order]),
        constraints=_constraints(pieces, blocks),
        follows=follows[order],
        totals=np.concatenate(totals)[order],
        units=units,
        amounts=sp.csr_array(sp.vstack([b.amounts for b in blocks], format="csr")),
        leaves=tuple(tuple(piece.leaves) for piece, b in zip(pieces.pieces, blocks, strict=True) for _ in b.first),
        size=np.concatenate([b.size for b in blocks]),
        value=np.concatenate([b.value for b in blocks]),
        perturbed=np.concatenate([b.perturbed for b in blocks]),
        noise=np.concatenate([b.noise for b in blocks]),
        signed=np.concatenate([np.full(len(b.first), b.signed) for b in blocks]),
        weighted=np.concatenate([b.weighted for b in blocks]),
        keys=records.keys,
    )


@dataclass(frozen=True, eq=False)
class _Block:
    """The unknowns of one piece; of each, ``group`` is its number among groups of alike records, ``first`` a record."""

    group: LongArray
    first: LongArray
    units: sp.csr_array
    amounts: sp.csr_array
    size: FloatArray
    value: FloatArray
    perturbed: FloatArray
    noise: FloatArray
    weighted: BoolArray
    signed: bool


def _block(
    records: Respondents,
    tables: Sequence[CalibrationTable],
    pieces: Pieces,
    number: int,
    contributions: Mapping[str, FloatArray],
) -> _Block:
    """Return the groups of alike records with a contribution to a piece: who is in them, and the sums.

    Pieces that are tied have the same groups.
    """
    piece = pieces.pieces[number]
    showing = [t for t, sign in zip(tables, piece.signs, strict=True) if sign or pieces.constraints]
    group, groups = alike(showing)
    plain, weighted, added = (
        np.sum([sign * of(leaf) for leaf, sign in piece.leaves.items()], axis=0)
        for of in (records.plain, records.weighted, contributions.__getitem__)
    )
    present = np.logical_or.reduce([records.plain(leaf) != 0 for leaf in piece.leaves])
    there = np.flatnonzero(present & (True if records.weight is None else records.weight > 0))
    pairs, at = np.unique(group[there] * records.units + records.unit[there], return_inverse=True)
    place, shape = (pairs // records.units, pairs % records.units), (groups, records.units)
    units = sp.csr_array((np.ones(len(pairs), np.int8), place), shape=shape)
    amounts = sp.csr_array((np.bincount(at, plain[there], len(pairs)), place), shape=shape)
    first = np.zeros(groups, np.int64)
    first[group] = np.arange(len(group))
    kept = np.flatnonzero(np.diff(units.indptr))
    heavy = there if records.weight is None else there[records.weight[there] > 1]
    weighted_ = np.bincount(group[heavy], minlength=groups) > 0
    size, value, perturbed, true = (
        np.asarray(np.bincount(group, x, groups), float)[kept] for x in (np.abs(weighted), plain, added, weighted)
    )
    return _Block(
        kept,
        first[kept],
        sp.csr_array(units[kept]),
        sp.csr_array(amounts[kept]),
        size,
        value,
        perturbed,
        perturbed - true,
        np.asarray(weighted_[kept] & (records.weight is not None), bool),
        bool((plain < 0).any() or (added < 0).any()),
    )


def _constraints(pieces: Pieces, blocks: Sequence[_Block]) -> sp.csr_array:
    """Return the sums of unknowns that are 0: each constraint of pieces, for each group of records."""
    starts = np.cumsum([0, *(len(b.group) for b in blocks)])
    constraints = [sp.csr_array((0, int(starts[-1])), dtype=np.int64)]
    for constraint in pieces.constraints:
        groups = max(int(blocks[at].group.max(initial=-1)) for at in constraint) + 1
        row = np.concatenate([blocks[at].group for at in constraint])
        column = np.concatenate([starts[at] + np.arange(len(blocks[at].group)) for at in constraint])
        sign = np.concatenate([np.full(len(blocks[at].group), s) for at, s in constraint.items()])
        constraints.append(sp.csr_array((sign, (row, column)), shape=(groups, int(starts[-1]))))
    return sp.csr_array(sp.vstack(constraints, format="csr")).astype(np.int64)


def _totals(table: CalibrationTable, part: Mapping[str, int], contributions: Mapping[str, FloatArray]) -> FloatArray:
    return table.sums(np.sum([sign * contributions[leaf] for leaf, sign in part.items()], axis=0))


def _follows(table: CalibrationTable) -> BoolArray:
    """Return which margins are made up of whole interior cells, all of which are published."""
    inside = np.flatnonzero(table.interior & ~table.table.unpublished)
    below = table.membership.below
    shared = sp.csr_array(below @ sp.csr_array(below[inside]).T)
    size = np.asarray(below.sum(axis=1)).ravel()
    split = shared.data != size[inside][shared.indices]
    row = np.repeat(np.arange(len(table)), np.diff(shared.indptr))
    covered = np.bincount(row, shared.data, len(table)) == size
    return np.asarray(~table.interior & covered & (np.bincount(row[split], minlength=len(table)) == 0), bool)
