"""Published perturbed cells as a linear system: what an attacker knows of the perturbed contributions.

A cell says that the perturbed contributions u of its contributors add up to its perturbed total. Records with the same
codes in all tables always come together, so they are one unknown: their sum. Responses that are tied by definitions
(Z = X + Y) are one system, in the perturbed contributions to the leaves X and Y.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.protect.perturb.finding import Cell
from cellguard.protect.perturb.incidence import CalibrationTable
from cellguard.protect.perturb.respondents import Respondents
from cellguard.table.facts import BoolArray, FloatArray
from cellguard.table.keys import combine

Positions = npt.NDArray[np.int64]
Parts = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Cells by unknowns. ``members`` holds 1 (or -1 for what is subtracted), the cells with the fewest first.

    ``units`` are the 0/1 matrix of unknowns by units (holdings or respondents), ``response`` the response of each
    unknown, ``totals`` the perturbed totals; of each unknown ``value`` is the sum as it is, without weights,
    ``perturbed`` what it adds to perturbed totals, and ``noise`` how much of this is noise.
    ``follows`` marks margins: sums of other cells of their table, which say nothing new.
    """

    tables: tuple[CalibrationTable, ...]
    table: Positions
    cell: Positions
    members: sp.csr_array
    follows: BoolArray
    totals: FloatArray
    units: sp.csr_array
    response: tuple[str, ...]
    value: FloatArray
    perturbed: FloatArray
    noise: FloatArray
    keys: npt.NDArray[np.str_]

    @cached_property
    def sizes(self) -> Positions:
        """How many units each unknown stands for."""
        return np.diff(self.units.indptr).astype(np.int64)

    @cached_property
    def contributors(self) -> Positions:
        """How many unknowns' units each cell has; holdings in several unknowns of a cell count for each."""
        return np.asarray(abs(self.members) @ self.sizes, np.int64)

    def name(self, row: int) -> Cell:
        """Return the name of the cell in a row."""
        table = self.tables[int(self.table[row])]
        return Cell(table.name, table.table.cell_name(int(self.cell[row])))

    def units_of(self, unknowns: npt.ArrayLike) -> Positions:
        """Return the numbers of the units behind some unknowns."""
        return np.unique(self.units[np.atleast_1d(np.asarray(unknowns, np.int64))].indices).astype(np.int64)

    def whose(self, unknowns: npt.ArrayLike) -> tuple[str, ...]:
        """Return the keys of the units behind some unknowns."""
        return tuple(self.keys[self.units_of(unknowns)].tolist())


def families(tables: Sequence[CalibrationTable], definitions: Parts) -> list[tuple[CalibrationTable, ...]]:
    """Return the tables in groups that share a response, directly or through definitions."""
    groups: list[tuple[set[str], list[CalibrationTable]]] = []
    for table in tables:
        leaves = set(definitions.get(table.response, {table.response: 1}))
        touching = [g for g in groups if g[0] & leaves]
        merged = (leaves.union(*(g[0] for g in touching)), [t for g in touching for t in g[1]] + [table])
        groups = [g for g in groups if g not in touching] + [merged]
    return [tuple(sorted(found, key=list(tables).index)) for _, found in groups]


def unknowns_of(
    tables: Sequence[CalibrationTable], contributions: Mapping[str, FloatArray], definitions: Parts | None = None
) -> Unknowns:
    """Build the system of one family of tables.

    ``contributions`` are for each leaf response what each record adds to perturbed totals. ``definitions`` give each
    derived response its leaves with their signs. Who contributes nothing to a response is no unknown of it.
    """
    definitions, records = definitions or {}, tables[0].records
    group, many = _alike([t.leaf for t in tables])
    first = np.zeros(many, np.int64)
    first[group] = np.arange(len(group))
    parts = [definitions.get(t.response, {t.response: 1}) for t in tables]
    leaves = list(dict.fromkeys(leaf for part in parts for leaf in part))
    blocks = [_block(records, contributions[leaf], leaf, group, many) for leaf in leaves]
    kept = [np.flatnonzero(np.diff(block.units.indptr)) for block in blocks]
    rows = []
    for table, part in zip(tables, parts, strict=True):
        below = sp.csr_array(table.below.astype(np.int8))[:, table.leaf[first]]
        rows.append(sp.hstack([part.get(leaf, 0) * below[:, k] for leaf, k in zip(leaves, kept, strict=True)]))
    members = sp.csr_array(sp.vstack(rows, format="csr")).astype(np.int64)
    members.eliminate_zeros()
    lengths = [len(t) for t in tables]
    totals = [_totals(t, part, contributions) for t, part in zip(tables, parts, strict=True)]
    shown = np.concatenate([~t.table.unpublished for t in tables]) & (np.diff(members.indptr) > 0)
    follows = np.concatenate([_follows(t) for t in tables])
    units = sp.csr_array(sp.vstack([b.units[k] for b, k in zip(blocks, kept, strict=True)], format="csr"))
    size = abs(members) @ np.diff(units.indptr)
    order = np.flatnonzero(shown)[np.argsort(size[shown], kind="stable")]
    return Unknowns(
        tuple(tables),
        np.repeat(np.arange(len(tables)), lengths)[order],
        np.concatenate([np.arange(n) for n in lengths])[order],
        sp.csr_array(members[order]),
        follows[order],
        np.concatenate(totals)[order],
        units,
        tuple(leaf for leaf, k in zip(leaves, kept, strict=True) for _ in range(len(k))),
        np.concatenate([b.value[k] for b, k in zip(blocks, kept, strict=True)]),
        np.concatenate([b.perturbed[k] for b, k in zip(blocks, kept, strict=True)]),
        np.concatenate([b.noise[k] for b, k in zip(blocks, kept, strict=True)]),
        records.keys,
    )


@dataclass(frozen=True, eq=False)
class _Block:
    units: sp.csr_array
    value: FloatArray
    perturbed: FloatArray
    noise: FloatArray


def _block(records: Respondents, added: FloatArray, leaf: str, group: Positions, many: int) -> _Block:
    """Return for each group of alike records who contributes to a leaf response, and the sums."""
    value = np.nan_to_num(records.value(leaf))
    there = np.flatnonzero((value != 0) & (True if records.weight is None else records.weight > 0))
    pairs = np.unique(group[there] * records.units + records.unit[there])
    units = sp.csr_array(
        (np.ones(len(pairs), np.int8), (pairs // records.units, pairs % records.units)), shape=(many, records.units)
    )
    sums = [np.asarray(np.bincount(group, x, many), float) for x in (value, added, records.weighted(leaf))]
    return _Block(units, sums[0], sums[1], sums[1] - sums[2])


def _alike(leaves: Sequence[npt.NDArray[np.int32]]) -> tuple[Positions, int]:
    """Return the group of each record: records with the same codes in all tables; and the number of groups."""
    key = combine([leaf.astype(np.int64) for leaf in leaves], [int(leaf.max(initial=0)) + 1 for leaf in leaves])
    different, group = np.unique(key, return_inverse=True)
    return group.astype(np.int64), len(different)


def _totals(table: CalibrationTable, part: Mapping[str, int], contributions: Mapping[str, FloatArray]) -> FloatArray:
    return table.sums(np.sum([sign * contributions[leaf] for leaf, sign in part.items()], axis=0))


def _follows(table: CalibrationTable) -> BoolArray:
    """Tell which margins are made up of whole interior cells, all of which are published."""
    inside = np.flatnonzero(table.interior & ~table.table.unpublished)
    shared = sp.csr_array(table.below @ sp.csr_array(table.below[inside]).T)
    size = np.asarray(table.below.sum(axis=1)).ravel()
    split = shared.data != size[inside][shared.indices]
    row = np.repeat(np.arange(len(table)), np.diff(shared.indptr))
    covered = np.bincount(row, shared.data, len(table)) == size
    return np.asarray(~table.interior & covered & (np.bincount(row[split], minlength=len(table)) == 0), bool)
