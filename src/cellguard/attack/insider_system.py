"""The suppressed cells as flat arrays, with equal cells merged: what proofs against insiders are kept and found on.

Cells that a relation makes equal, and of which everybody knows the same, move together and are one *merged cell* here.
A move of merged cells is a move of all cells behind them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from cellguard.arrays import BoolArray, IntArray, LongArray, Positions
from cellguard.attack.insider_knowledge import InsiderKnowledge
from cellguard.attack.kernel_layout import Known, Rows
from cellguard.proofs.problem import Problem
from cellguard.proofs.scale import UNLIMITED
from cellguard.proofs.stack import Stack
from cellguard.table.relations import distinct_rows

LIMIT = 2**61  # grains: rooms beyond are cut off, so that sums of two fit into int64


@dataclass(frozen=True, eq=False)
class InsiderSystem:
    """Merged cells, their relations, and what is known of them; ``at`` is the merged cell of each cell of a problem."""

    problem: Problem
    at: Positions
    first: Positions
    matrix: sp.csr_array
    columns: sp.csc_array
    rows: Rows
    known: Known
    signed: BoolArray
    by_start: LongArray
    by_cell: Positions
    by_amount: LongArray
    knowledge: InsiderKnowledge

    @property
    def n(self) -> int:
        """The number of merged cells."""
        return len(self.first)

    def any_of(self, listed: BoolArray) -> BoolArray:
        """Return which merged cells hold one of some cells."""
        return np.bincount(self.at, listed, self.n) > 0

    def within(self, merged: BoolArray) -> sp.csr_array:
        """Return the relations over some merged cells alone."""
        part = sp.csr_array(self.matrix[:, np.flatnonzero(merged)])
        return sp.csr_array(part[np.flatnonzero(np.diff(part.indptr))])

    def lift(self, moves: Stack) -> Stack:
        """Return moves of merged cells as moves of all cells behind them."""
        order = np.argsort(self.at, kind="stable")
        start = np.searchsorted(self.at[order], np.arange(self.n + 1))
        size = np.diff(start)[moves.cells]
        entry = np.repeat(start[moves.cells] - np.cumsum(size) + size, size) + np.arange(size.sum())
        cells, number = order[entry], np.repeat(moves.number, size)
        n, denominator = np.repeat(moves.n, size), np.repeat(moves.denominator, size)
        ranked = np.lexsort((cells, number))
        count = np.bincount(number, minlength=len(moves))
        begin = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        return Stack(begin, cells[ranked], n[ranked], denominator[ranked])

    def lower(self, moves: Stack) -> tuple[Stack, BoolArray]:
        """Return moves of cells as moves of merged ones, and which of them are: all cells behind one move alike."""
        number, cell = moves.number, self.at[moves.cells]
        same = moves.n == moves.n  # all
        key = number * self.n + cell
        order = np.argsort(key, kind="stable")
        new = np.concatenate([[True], np.diff(key[order]) != 0]) if len(key) else np.zeros(0, bool)
        head = order[new]
        group = np.cumsum(new) - 1
        same = moves.n[order] == moves.n[head[group]] if len(key) else same
        full = np.bincount(group, minlength=len(head)) == np.bincount(self.at, minlength=self.n)[cell[head]]
        broken = np.zeros(len(moves), bool)
        broken[number[order[~same]]] = True
        broken[number[head[~full]]] = True
        count = np.bincount(number[head], minlength=len(moves))
        start = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
        return Stack(start, cell[head].astype(np.intp), moves.n[head], moves.denominator[head]), ~broken


def system_of(knowledge: InsiderKnowledge) -> InsiderSystem:
    """Return the cells of a problem with equal ones merged, as flat arrays."""
    problem = knowledge.problem
    at, matrix = _merged(knowledge)
    n = int(at.max(initial=-1)) + 1
    first = np.full(n, len(at), np.intp)
    np.minimum.at(first, at, np.arange(len(at)))
    size = np.diff(knowledge.start)[first]
    start = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    entry = np.repeat(knowledge.start[first] - start[:-1], size) + np.arange(start[-1])
    who, amount = knowledge.who[entry], knowledge.amount[entry]
    cell = np.repeat(np.arange(n), size)
    order = np.argsort(who, kind="stable")
    signed = knowledge.signed[first]
    knowing = knowledge.knowing[first].astype(np.int64)
    calm = np.where(signed & (knowing < 0), UNLIMITED, knowledge.calm[first])
    columns = sp.csc_array(matrix)
    columns.sort_indices()
    known = Known(
        np.minimum(problem.up[first], LIMIT), np.minimum(knowledge.floor[first], LIMIT), np.minimum(calm, LIMIT),
        knowledge.value[first], knowing, knowledge.owner[first].astype(np.int64), start, who.astype(np.int32), amount,
        problem.whole[first],
    )  # fmt: skip
    rows = Rows(columns.indptr.astype(np.int64), columns.indices.astype(np.int32), columns.data.astype(np.int64))
    return InsiderSystem(
        problem, at, first, matrix, columns, rows, known, signed,
        np.searchsorted(who[order], np.arange(int(who.max(initial=-1)) + 2)).astype(np.int64),
        cell[order], amount[order], knowledge,
    )  # fmt: skip


def _merged(knowledge: InsiderKnowledge) -> tuple[Positions, sp.csr_array]:
    """Return the merged cell of each cell, and the relations over merged cells."""
    matrix = distinct_rows(sp.csr_array(knowledge.problem.matrix))
    at: Positions = np.arange(matrix.shape[1])
    while True:
        two = np.flatnonzero(np.diff(matrix.indptr) == 2)
        a, b = matrix.indices[matrix.indptr[two]], matrix.indices[matrix.indptr[two] + 1]
        equal = matrix.data[matrix.indptr[two]] + matrix.data[matrix.indptr[two] + 1] == 0
        first = np.full(matrix.shape[1], len(at))
        np.minimum.at(first, at, np.arange(len(at)))
        equal[equal] = _alike(knowledge, first[a[equal]], first[b[equal]])
        if not equal.any():
            return at, sp.csr_array(matrix.astype(np.int64))
        n = matrix.shape[1]
        graph = sp.csr_array((np.ones(int(equal.sum())), (a[equal], b[equal])), shape=(n, n))
        label = np.unique(first[_first_of(connected_components(graph, directed=False)[1])], return_inverse=True)[1]
        fold = sp.csr_array((np.ones(n, np.int64), (np.arange(n), label)), shape=(n, int(label.max()) + 1))
        matrix = distinct_rows(sp.csr_array(matrix @ fold))
        at = label[at]


def _first_of(label: IntArray) -> Positions:
    """Return for each member of a group the first member."""
    first = np.full(int(label.max(initial=-1)) + 1, len(label))
    np.minimum.at(first, label, np.arange(len(label)))
    return np.asarray(first[label], np.intp)


def _alike(knowledge: InsiderKnowledge, a: Positions, b: Positions) -> BoolArray:
    """Return which pairs of cells have the same value, bounds and levels, and the same contributors."""
    problem, levels = knowledge.problem, knowledge.problem.levels
    columns = (
        knowledge.value, knowledge.rest, knowledge.owner, knowledge.told, knowledge.accuracy, knowledge.unit,
        knowledge.signed, knowledge.unlisted, problem.down, problem.up, problem.whole,
        levels.down, levels.up, levels.width, np.diff(knowledge.start),
    )  # fmt: skip
    alike = np.ones(len(a), bool)
    for column in columns:
        alike &= column[a] == column[b]
    some = np.flatnonzero(alike)
    size = np.diff(knowledge.start)[a[some]]
    step = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    left, right = (np.repeat(knowledge.start[cells[some]], size) + step for cells in (a, b))
    same = (knowledge.who[left] == knowledge.who[right]) & (knowledge.amount[left] == knowledge.amount[right])
    alike[some] = np.bincount(np.repeat(np.arange(len(some)), size), ~same, len(some)) == 0
    return alike


def among(problem: Problem, cells: Positions) -> Problem:
    """Return a problem in which only some of the cells move."""
    part = sp.csr_array(problem.matrix[:, cells])
    part = sp.csr_array(part[np.flatnonzero(np.diff(part.indptr))])
    arrays = {name: getattr(problem, name)[cells] for name in ("cells", "down", "up", "whole")}
    return replace(problem, matrix=part, levels=problem.levels.take(cells), **arrays)
