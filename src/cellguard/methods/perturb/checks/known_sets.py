"""The published cells of one response and the totals that are known of it, as sets of contributors.

Sets are over atoms: records that no table of the response tells apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.methods.perturb.cells.calibration import CalibrationTable
from cellguard.methods.perturb.checks.finding import Cell
from cellguard.methods.perturb.checks.trends import Perturbed
from cellguard.rules.limits import NoiseRule
from cellguard.table.keys import combine

_NAMED = 3


@dataclass(frozen=True, eq=False)
class KnownTotal:
    """Cells of a table whose true total everybody has from elsewhere."""

    table: CalibrationTable
    cells: Positions

    def __str__(self) -> str:
        names = [self.table.table.cell_name(int(cell)) for cell in self.cells[:_NAMED]]
        more = len(self.cells) - len(names)
        return f"{self.table.name}: {' + '.join(names)}" + (f" + {more} more" if more else "")


@dataclass(frozen=True, eq=False)
class KnownSet:
    """Contributors whose true total is known: ``inside`` says which atoms they are."""

    name: str
    inside: BoolArray


@dataclass(frozen=True, eq=False)
class KnownSets:
    """One response: its tables, the totals that are known, and what each record adds to perturbed totals."""

    tables: tuple[Perturbed, ...]
    known: tuple[KnownTotal, ...]
    added: FloatArray

    @property
    def _table(self) -> CalibrationTable:
        return self.tables[0].table

    @cached_property
    def plain(self) -> FloatArray:
        """What each record contributes, without weights."""
        return self._table.records.plain(self._table.response)

    @cached_property
    def _atoms(self) -> tuple[LongArray, LongArray]:
        """The atom of each record, and a record of each atom."""
        leaves = [t.table.membership.leaf.astype(np.int64) for t in self.tables]
        key = combine(leaves, [int(leaf.max(initial=0)) + 1 for leaf in leaves])
        _, first, atom = np.unique(key, return_index=True, return_inverse=True)
        return atom.astype(np.int64), first.astype(np.int64)

    @cached_property
    def amounts(self) -> sp.csr_array:
        """What each unit contributes to each atom, without weights."""
        atom, first = self._atoms
        there, unit = np.flatnonzero(self.plain != 0), self._table.records.unit
        shape = (len(first), self._table.records.units)
        return sp.csr_array((self.plain[there], (atom[there], unit[there])), shape=shape)

    @cached_property
    def size(self) -> FloatArray:
        """The (weighted) size of each atom."""
        return self._by_atom(np.abs(self._table.records.weighted(self._table.response)))

    @cached_property
    def noise(self) -> FloatArray:
        """The noise of each atom."""
        return self._by_atom(self.added - self._table.records.weighted(self._table.response))

    def _by_atom(self, column: FloatArray) -> FloatArray:
        atom, first = self._atoms
        return np.bincount(atom, column, len(first)).astype(float)

    @cached_property
    def _there(self) -> BoolArray:
        """Atoms to which somebody contributes."""
        return np.asarray(np.diff(self.amounts.indptr) > 0, bool)

    @cached_property
    def cells(self) -> tuple[LongArray, LongArray]:
        """The table and the cell of each row."""
        shown = [np.flatnonzero(~t.table.table.unpublished) for t in self.tables]
        numbers = np.repeat(np.arange(len(shown)), [len(cells) for cells in shown])
        return numbers.astype(np.int64), np.concatenate(shown).astype(np.int64)

    @cached_property
    def rows(self) -> sp.csr_array:
        """The 0/1 matrix of published cells by atoms with somebody in them."""
        number, cell = self.cells
        parts = [self._below(t.table, cell[number == at]) for at, t in enumerate(self.tables)]
        rows = sp.csr_array(sp.vstack(parts, format="csr")).astype(np.int64)
        rows.data *= self._there[rows.indices]
        rows.eliminate_zeros()
        return rows

    @cached_property
    def many(self) -> LongArray:
        """How many atoms each row has."""
        return np.diff(self.rows.indptr).astype(np.int64)

    @cached_property
    def tops(self) -> FloatArray:
        """The largest contributions of each row, by size."""
        number, cell = self.cells
        tops = np.zeros((len(cell), max(t.table.largest.value.shape[1] for t in self.tables)))
        for at, here in enumerate(self.tables):
            value = np.abs(here.table.largest.value)
            tops[number == at, : value.shape[1]] = value[cell[number == at]]
        return tops

    @cached_property
    def rules(self) -> tuple[NoiseRule, ...]:
        """The rules of all tables of the response, each once."""
        return tuple(dict.fromkeys(rule for t in self.tables for rule in t.table.rules))

    @cached_property
    def sensitive(self) -> LongArray:
        """The rows that are unsafe without noise."""
        number, cell = self.cells
        marks = np.zeros(len(cell), bool)
        for at, here in enumerate(self.tables):
            marks[number == at] = here.needs.sensitive[cell[number == at]]
        return np.flatnonzero(marks).astype(np.int64)

    @cached_property
    def sets(self) -> tuple[KnownSet, ...]:
        """What is known: each set once."""
        sets: dict[bytes, KnownSet] = {}
        for total in self.known:
            inside = np.asarray(self._below(total.table, total.cells).sum(axis=0)).ravel() > 0
            inside &= self._there
            if inside.any():
                sets.setdefault(inside.tobytes(), KnownSet(str(total), inside))
        return tuple(sets.values())

    @cached_property
    def known_rows(self) -> LongArray:
        """The published cells whose total is known itself."""
        known = {one.inside.tobytes() for one in self.sets}
        sizes = {int(one.inside.sum()) for one in self.sets}
        alike = np.flatnonzero(np.isin(self.many, list(sizes))).tolist()
        return np.array([row for row in alike if self.row(row).tobytes() in known], np.int64)

    @cached_property
    def remainders(self) -> tuple[KnownSet, ...]:
        """What is left of each known total without the known ones in it."""
        left: dict[bytes, KnownSet] = {}
        for one in self.sets:
            inside = self.without(one.inside)
            left.setdefault(inside.tobytes(), KnownSet(f"{one.name}, less the known totals in it", inside))
        same = {one.inside.tobytes() for one in self.sets}
        return tuple(one for key, one in left.items() if key not in same and one.inside.any())

    def without(self, whole: BoolArray, keep: BoolArray | None = None) -> BoolArray:
        """Return a set without the known ones that are parts of it, the largest first, as far as they are disjoint.

        What has to do with ``keep`` stays.
        """
        left = whole.copy()
        loose = whole.copy() if keep is None else whole & ~keep
        for one in sorted(self.sets, key=lambda s: -int(s.inside.sum())):
            if not (one.inside & ~(left & loose)).any() and (one.inside != whole).any():
                left &= ~one.inside
        return left

    def row(self, row: int) -> BoolArray:
        """Return the set of a published cell."""
        inside = np.zeros(self.rows.shape[1], bool)
        inside[self.rows.indices[self.rows.indptr[row] : self.rows.indptr[row + 1]]] = True
        return inside

    def name(self, row: int) -> Cell:
        """Return the name of a published cell."""
        number, cell = self.cells
        return self.tables[int(number[row])].name(int(cell[row]))

    def _below(self, table: CalibrationTable, cells: Positions) -> sp.csr_array:
        return sp.csr_array(sp.csc_array(table.membership.below[cells])[:, table.membership.leaf[self._atoms[1]]])
