"""`HiddenSystem`: the moves of suppressed cells alone, in fewer variables, with the way back to all cells.

Published cells do not move, so a relation with one suppressed cell fixes it, and one with two ties them: a d_i + b d_j
= 0 makes d_j = -(a / b) d_i. Eliminating such relations until none is left makes classes of cells that move together,
with the tightest bounds of their members. What remains is M' d' = 0 over classes, without relations that follow from
others. A vector of multipliers for M' becomes one for M by undoing the steps in reverse.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.linalg import modular_kernel
from cellguard.linalg.circuits_kernel import PRIME
from cellguard.methods.suppress.engines import hidden_system_kernel
from cellguard.methods.suppress.engines.system import System
from cellguard.proofs.extent_kernel import Graph
from cellguard.table.components import components

_DENOMINATORS = (1, 2, 3, 4, 6, 12, 60)


class HiddenSystem:
    """Classes of cells that move together. Cell c moves by ``ratio[c]`` times class ``place[c]``; -1 is fixed."""

    def __init__(self, system: System, graph: Graph, hidden: BoolArray) -> None:
        self.system = system
        self._graph = graph
        itself = np.where(hidden & ~system.never, np.arange(system.n), -1)
        self._root, self.ratio, high, low, done, steps = hidden_system_kernel.eliminate_short(
            itself, system.up, system.down, *graph[:5]
        )
        self._steps = hidden_system_kernel.Steps(*steps)
        self.roots = np.unique(self._root[self._root >= 0])
        number = np.full(system.n, -1)
        number[self.roots] = np.arange(len(self.roots))
        self.place: Positions = np.where(self._root >= 0, number[self._root], -1).astype(np.intp)
        self.up, self.down = high[self.roots], low[self.roots]
        matrix, rows = self._left(np.flatnonzero(~done))
        keep = _independent(matrix)
        self.matrix, self.rows = sp.csr_array(matrix[keep]), rows[keep]
        self.label = components(self.matrix)[1]

    def _left(self, rows: Positions) -> tuple[sp.csr_array, Positions]:
        """Return the relations that are left, over classes."""
        terms = sp.csr_array(self.system.matrix[rows]).tocoo()
        some = self.place[terms.col] >= 0
        at = (terms.row[some], self.place[terms.col[some]])
        values = terms.data[some] * self.ratio[terms.col[some]]
        matrix = sp.csr_array((values, at), shape=(len(rows), len(self.roots)))
        matrix.sum_duplicates()
        # Ratios are fractions of small whole numbers: what is left of a cancelled term is rounding.
        matrix.data[np.abs(matrix.data) < 1e-9] = 0.0
        matrix.eliminate_zeros()
        some_left = np.flatnonzero(np.diff(matrix.indptr))
        return sp.csr_array(matrix[some_left]), rows[some_left]

    def expand(self, moves: FloatArray) -> FloatArray:
        """Return the moves of all cells from those of the classes."""
        return np.where(self.place >= 0, moves[self.place] * self.ratio, 0.0) if len(moves) else np.zeros(self.system.n)

    def expand_some(self, columns: Positions, moves: FloatArray) -> tuple[Positions, FloatArray]:
        """Return the cells of some classes, and their moves from those of the classes."""
        start, cells = self._cells
        size = start[columns + 1] - start[columns]
        entry = np.repeat(start[columns] - np.cumsum(size) + size, size) + np.arange(size.sum())
        return cells[entry], np.repeat(moves, size) * self.ratio[cells[entry]]

    @cached_property
    def _cells(self) -> tuple[LongArray, Positions]:
        """Return where the cells of each class begin, and the cells by class."""
        moving = np.flatnonzero(self.place >= 0)
        return _listed(self.place[moving], moving, len(self.roots))

    def lift(self, cell: int, upward: bool, rows: Positions, multipliers: FloatArray) -> tuple[Positions, FloatArray]:
        """Return z with d_cell = z d for every move of all cells, from multipliers on some of the relations left.

        These are the cells where it is not 0, and its values there.
        """
        cells, values = hidden_system_kernel.lift(
            cell, upward, self.rows[rows].astype(np.int64), multipliers, self._root, self.ratio, self._steps,
            self._trail, *self._graph[:3],
        )  # fmt: skip
        return np.asarray(cells, np.intp), np.asarray(values, float)

    @cached_property
    def _trail(self) -> hidden_system_kernel.Trail:
        """Return what the way back needs besides the steps."""
        steps, n = self._steps, self.system.n
        step = np.repeat(np.arange(len(steps.row)), np.diff(steps.start))
        joining = np.flatnonzero(steps.joined >= 0)
        return hidden_system_kernel.Trail(
            *_listed(steps.member, step, n), *_listed(steps.joined[joining], joining, n), np.zeros(n), np.zeros(n),
            np.zeros(n, bool), np.zeros(len(steps.row), bool),
        )  # fmt: skip


def _listed(keys: LongArray, items: LongArray, n: int) -> tuple[LongArray, LongArray]:
    """Return where the items of each of n keys begin, and the items by key."""
    start = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=n))]).astype(np.int64)
    return start, items[np.argsort(keys, kind="stable")].astype(np.int64)


def _independent(matrix: sp.csr_array) -> Positions:
    """Return rows that the others depend on; rows whose numbers are no small fractions are all kept."""
    residues, plain = _residues(matrix)
    keep = np.ones(matrix.shape[0], bool)
    rows = np.flatnonzero(plain)
    part = sp.csr_array((residues, matrix.indices, matrix.indptr), shape=matrix.shape)[rows]
    _, independent, *_ = modular_kernel.eliminate(
        part.indptr.astype(np.int64), part.indices.astype(np.int64), part.data.astype(np.int64), matrix.shape[1]
    )
    keep[rows] = False
    keep[rows[independent]] = True
    return np.flatnonzero(keep)


def _residues(matrix: sp.csr_array) -> tuple[LongArray, BoolArray]:
    """Return rows times a small denominator, modulo the prime, and for which rows there is one."""
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    whole = np.zeros(len(matrix.data), np.int64)
    plain = np.zeros(matrix.shape[0], bool)
    for denominator in _DENOMINATORS:
        scaled = matrix.data * denominator
        off = np.abs(scaled - np.rint(scaled)) > 1e-9
        good = ~plain & (np.bincount(row, off, matrix.shape[0]) == 0)
        whole[good[row]] = np.rint(scaled[good[row]]).astype(np.int64)
        plain |= good
        if plain.all():
            break
    return whole % PRIME, plain
