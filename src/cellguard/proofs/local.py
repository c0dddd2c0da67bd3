"""Short moves: the cheapest one that moves a goal by an amount, through the cells near it, and exact.

    minimise  the sum of price_c |d_c|   with M d = 0, d within the rooms, and the goal, a sum of cells, moved by an
    amount

Moves are looked for in neighbourhoods that grow, since a short move mostly is a near one. Going down a cell has a
second price, beyond the depth that is ``calm``: what costs nothing to most may be dear to some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.linalg.echelon import echelon
from cellguard.proofs.exact import exact_move, tight_move
from cellguard.proofs.extent_kernel import SURELY, Graph, propagate
from cellguard.proofs.levels import Levels
from cellguard.proofs.moves import Move
from cellguard.proofs.near_kernel import relations_near
from cellguard.proofs.neighbourhood_kernel import movable, neighbourhood
from cellguard.proofs.reduction import Reduction
from cellguard.proofs.scale import as_floats
from cellguard.run_context import Run
from cellguard.solver.program import Program, Status

_FAR = 1e5  # times the amount: bounds beyond that are cut off
_RAISE = 1e-6  # by which a goal is raised where the exact move falls short of it by rounding error
_TERMS = 20  # that each relation around a cell may have, on average


@dataclass(frozen=True, eq=False)
class Rooms:
    """How far cells may go down and up, in grains; how deep they go at the lower price, and the prices."""

    down: LongArray
    up: LongArray
    calm: LongArray
    price: FloatArray
    dear: FloatArray
    price_up: FloatArray


@dataclass(frozen=True, slots=True)
class Goal:
    """A sum of cells, each with weight 1, and by how much it must move; up if positive."""

    cells: tuple[int, ...]
    amount: int

    def reach(self, move: Move) -> int:
        """Return how far a move takes the sum, rounded towards 0, with its sign."""
        n = sum(move.amount(cell) for cell in self.cells)
        return (abs(n) // move.denominator) * (1 if n > 0 else -1)


class Neighbours:
    """The relations between cells, as short moves need them; ``order`` says which cells of a relation come first."""

    def __init__(self, matrix: sp.csr_array, whole: BoolArray | None = None, order: FloatArray | None = None) -> None:
        self.matrix = sp.csr_array(matrix)
        self.whole = np.zeros(self.matrix.shape[1], bool) if whole is None else whole
        self._columns = sp.csc_array(self.matrix)
        rows = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr))
        key = np.zeros(self.matrix.shape[1]) if order is None else order
        ranked = np.lexsort((key[self.matrix.indices], rows))
        self._row_start = self.matrix.indptr.astype(np.int64)
        self._row_cells = self.matrix.indices[ranked].astype(np.int64)
        self._cell_start = self._columns.indptr.astype(np.int64)
        self._cell_rows = self._columns.indices.astype(np.int64)
        values = self.matrix.data[ranked].astype(float), self._columns.data.astype(float)
        room = np.zeros(self.n)
        self._graph = Graph(
            self._row_start, self._row_cells, values[0], self._cell_start, self._cell_rows, values[1], room, room
        )

    @property
    def n(self) -> int:
        """The number of cells."""
        return int(self.matrix.shape[1])

    def near(self, cells: Sequence[int], step: tuple[int, int, int], hidden: BoolArray, barred: BoolArray) -> Positions:
        """Return the cells near some, all ``hidden`` ones and a few others of each relation: rounds, others, most."""
        rounds, others, most = step
        parts = [
            neighbourhood(
                cell, rounds, others, most, self._row_start, self._row_cells, self._cell_start, self._cell_rows,
                hidden, barred,
            )
            for cell in cells
        ]  # fmt: skip
        return np.unique(np.concatenate(parts)).astype(np.intp)

    def around(self, cell: int, most: int) -> tuple[Positions, Positions]:
        """Return so many relations near a cell, and the cells that they have, that one first."""
        rows, cells = relations_near(
            cell, most, _TERMS * most, self._row_start, self._row_cells, self._cell_start, self._cell_rows
        )
        return np.asarray(rows, np.intp), np.asarray(cells, np.intp)

    def block(self, cell: int, most: int) -> tuple[Positions, sp.csr_array]:
        """Return the cells near one that can move while others stay fixed, in rising order, and their relations.

        A move of a block is a move of the whole system. A very large system falls into hundreds of blocks, whose pooled
        programs take a tenth of a second each, where one program of all of it takes minutes.
        """
        cells = self.movable(np.sort(self.around(cell, most)[1]))
        return cells, self.relations_of(cells)

    def movable(self, cells: Positions) -> Positions:
        """Return those of some cells that can move while all others stay fixed, as far as single relations tell."""
        relations = self.relations_of(cells)
        return cells[movable(relations.indptr, relations.indices, len(cells))]

    def relations_of(self, cells: Positions) -> sp.csr_array:
        """Return the relations of some cells, over them alone: whatever else is in them stays fixed."""
        first = self._cell_start[cells]
        size = self._cell_start[cells + 1] - first
        entry = np.repeat(first - np.cumsum(size) + size, size) + np.arange(size.sum())
        rows = self._cell_rows[entry]
        order = np.argsort(rows, kind="stable")
        new = np.flatnonzero(np.diff(rows[order])) + 1
        start = np.concatenate([[0], new, [len(rows)]] if len(rows) else [[0]]).astype(np.int32)
        columns = np.repeat(np.arange(len(cells), dtype=np.int32), size)[order]
        return sp.csr_array((self._columns.data[entry][order], columns, start), shape=(len(start) - 1, len(cells)))

    def touching(self, cells: Positions) -> tuple[sp.csr_array, Positions]:
        """Return the relations of some cells with all their terms, and which cells these are."""
        rows = np.unique(self._columns[:, cells].indices)
        part = sp.csr_array(self.matrix[rows])
        terms, columns = np.unique(part.indices, return_inverse=True)
        shape = (len(rows), len(terms))
        return sp.csr_array((part.data, columns.astype(np.int32), part.indptr), shape=shape), terms.astype(np.intp)

    def cheapest(self, cells: Positions, goal: Goal, rooms: Rooms, *, run: Run) -> Move | None:
        """Return the cheapest exact move through some cells that moves the goal by its amount, or None."""
        matrix = self.relations_of(cells)
        place = np.searchsorted(cells, goal.cells)
        program = _program(matrix, place, goal.amount, [getattr(rooms, f)[cells] for f in Rooms.__dataclass_fields__])
        if program is None:
            return None
        whole = bool(self.whole[cells].any())
        solution = solver.solve(program, presolve=False, run=run)  # a few steps from 0 are quicker
        if solution.status is not Status.optimal:
            return None
        moves = _joined(solution.x, len(cells)) * abs(goal.amount)
        move = self._exact_among(cells, moves, goal, rooms)
        if move is not None:
            return move
        local = reduction_of(matrix, rooms.down[cells], rooms.up[cells], self.whole[cells])
        move = _exact(local, moves, place, goal.amount)
        if move is None and not whole:
            move = self._raised(local, program, place, goal.amount, run)
        if move is None and whole:
            move = _whole(local, program, place, goal.amount, run)
        return None if move is None else Move(cells[move.variables], move.n, move.denominator)

    def _exact_among(self, cells: Positions, moves: FloatArray, goal: Goal, rooms: Rooms) -> Move | None:
        """Return an exact move of those cells alone that a solver moves, which are few, or None."""
        moving = moves != 0
        moving[np.searchsorted(cells, goal.cells)] = True
        used = cells[moving]
        local = reduction_of(self.relations_of(used), rooms.down[used], rooms.up[used], self.whole[used])
        move = _exact(local, moves[moving], np.searchsorted(used, goal.cells), goal.amount)
        return None if move is None else Move(used[move.variables], move.n, move.denominator)

    def hopeless(self, goal: Goal, down: LongArray, up: LongArray) -> bool:
        """Return whether propagation shows that no move within these rooms takes a goal of one cell as far as it
        must.
        """
        if len(goal.cells) > 1:
            return False
        graph = self._graph._replace(up=as_floats(up), down=as_floats(down))
        reach, via = np.empty(2 * self.n), np.empty(2 * self.n, np.int32)
        node = 2 * goal.cells[0] + (goal.amount < 0)
        propagate(float(abs(goal.amount)), np.ones(self.n), 0.0, graph, reach, via, np.zeros(8, np.int64), node)
        return bool(reach[node] < SURELY)

    def _raised(self, local: Reduction, program: Program, place: Positions, amount: int, run: Run) -> Move | None:
        """Try again with a goal that is a little further, so that what exactness takes off does not matter."""
        further = program.row_lower.copy()
        further[-1] *= 1 + _RAISE
        again = Program(program.matrix, further, further, program.lower, program.upper, program.cost)
        solution = solver.solve(again, presolve=False, run=run)
        if solution.status is not Status.optimal:
            return None
        return _exact(local, _joined(solution.x, local.n) * abs(amount), place, amount)


def _program(matrix: sp.csr_array, place: Positions, amount: int, rooms: list[FloatArray]) -> Program | None:
    """Return the program in units of the amount; three columns per cell: up, down while calm, further down."""
    down, up, calm, price, dear, price_up = rooms
    size, n = float(abs(amount)), matrix.shape[1]
    upper_up, upper_down, upper_calm = (np.minimum(r / size, _FAR) for r in (up, down, np.minimum(calm, down)))
    sign = np.sign(amount)
    reach = upper_up[place].sum() if sign > 0 else upper_down[place].sum()
    if reach < 1 - 1e-9:
        return None
    target = np.zeros(matrix.shape[0] + 1)
    target[-1] = 1.0
    upper = np.concatenate([upper_up, upper_calm, upper_down - upper_calm])
    return Program(
        _thrice(matrix, place, sign), target, target, np.zeros(3 * n), upper, np.concatenate([price_up, price, dear])
    )


def _thrice(matrix: sp.csr_array, place: Positions, sign: int) -> sp.csr_array:
    """Return the relations and, below them, the goal, over the columns up, down and further down of all cells."""
    n, size = matrix.shape[1], np.append(np.diff(matrix.indptr), len(place))
    columns = np.append(matrix.indices, place)
    data = np.append(matrix.data, np.full(len(place), sign)).astype(float)
    start = np.concatenate([[0], np.cumsum(size)])
    # Row by row: its terms three times, one copy after the other.
    entry = np.arange(len(columns)) + np.repeat(2 * start[:-1], size)
    width = np.repeat(size, size)
    wide, values = np.empty(3 * len(columns), np.int32), np.empty(3 * len(columns))
    for copy, way in enumerate((1.0, -1.0, -1.0)):
        wide[entry + copy * width], values[entry + copy * width] = columns + copy * n, way * data
    return sp.csr_array((values, wide, (3 * start).astype(np.int32)), shape=(len(size), 3 * n))


def _joined(x: FloatArray, n: int) -> FloatArray:
    moves = x[:n] - x[n : 2 * n] - x[2 * n : 3 * n]
    return np.where(np.abs(moves) > 1e-9, moves, 0.0)


def reduction_of(matrix: sp.csr_array, down: LongArray, up: LongArray, whole: BoolArray) -> Reduction:
    """Return the problem of some relations and rooms as they are, without protection levels."""
    n = matrix.shape[1]
    return Reduction(matrix.astype(np.int64), np.arange(n), np.ones(n, np.int64), down, up, Levels.none(n), whole)


def _exact(local: Reduction, moves: FloatArray, place: Positions, amount: int) -> Move | None:
    """Return an exact move that reaches the goal, or None."""
    goal = Goal(tuple(place.tolist()), amount)
    move = exact_move(local, echelon(local.matrix), moves)
    if move is None or not _reaches(goal, move, local):
        single = len(place) == 1
        move = tight_move(local, _snapped(moves, place, amount), int(place[0])) if single else None
    return move if move is not None and _reaches(goal, move, local) else None


def _snapped(moves: FloatArray, place: Positions, amount: int) -> FloatArray:
    moves = moves.copy()
    moves[place[0]] = amount
    return moves


def _reaches(goal: Goal, move: Move, local: Reduction) -> bool:
    if (local.matrix[:, move.variables] @ move.n).any():
        return False
    reach = goal.reach(move)
    return reach >= goal.amount if goal.amount > 0 else reach <= goal.amount


def _whole(local: Reduction, program: Program, place: Positions, amount: int, run: Run) -> Move | None:
    """Solve for a whole move, of counts."""
    n = local.n
    up, down = (np.minimum(room, max(1_000_000, 4 * abs(amount))).astype(float) for room in (local.up, local.down))
    size = float(abs(amount))
    scaled = program.row_lower * size
    calm = np.minimum(np.rint(program.upper[n : 2 * n] * size), down)
    upper = np.concatenate([up, calm, down - calm])
    mixed = Program(program.matrix, scaled, scaled, program.lower, upper, program.cost, np.ones(3 * n, bool))
    solution = solver.solve(mixed, run=run)
    if solution.status is not Status.optimal:
        return None
    x = np.rint(solution.x).astype(np.int64)
    move = Move.of(x[:n] - x[n : 2 * n] - x[2 * n : 3 * n], 1)
    return move if _reaches(Goal(tuple(place.tolist()), amount), move, local) else None
