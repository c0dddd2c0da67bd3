"""Local programs: the cheapest move of one cell through cells near it, at a price for being noticed.

    minimise  the sum of price_c |d_c|   with M d = 0, d within the rooms, and one cell moved by an amount

Going down a cell has a second price, beyond the depth that nobody notices. Vertices of such programs are next to always
whole numbers in two dimensions, and have small denominators in more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import BoolArray, FloatArray, IntArray, LongArray, Positions
from cellguard.attack import insider_near_kernel as near
from cellguard.attack import insider_program_kernel as kernel
from cellguard.attack.insider_circuits import widths
from cellguard.attack.insider_coverage import Moves
from cellguard.attack.insider_system import InsiderSystem
from cellguard.linalg import circuits_kernel
from cellguard.linalg.echelon import echelon
from cellguard.proofs.exact import exact_move, tight_move
from cellguard.proofs.local import reduction_of
from cellguard.run_context import Run
from cellguard.solver.program import Program, Solution, Status

_FAR = 1e5  # times the amount: rooms beyond that are cut off
_SMALL, _NOTICED = 1e-3, 1.0  # prices of moving a cell by the amount: unnoticed, and noticed
_NARROW = 1e-6  # share of the amount: cells that cannot move by more are left out
_STILL = 1e-9
_FLOOR, _WIDE = 0.2, 1e3  # of the price of a cell as wide as the amount: the part for any cell; and how wide is wide
_SURELY = 1 - 1e-9  # of an amount: what gives way to less is too narrow
_PEELED = 16  # cells that are peeled in the time that a program takes for one

Step = tuple[int, int]  # merged cells in all, and how many of each relation


@dataclass(frozen=True, eq=False)
class Room:
    """How far some cells may go down and up, and down without anybody noticing; which only their respondent knows."""

    cells: Positions
    down: LongArray
    up: LongArray
    calm: LongArray
    noticed: BoolArray

    def take(self, some: BoolArray) -> Room:
        """Return the room of some of the cells."""
        return Room(self.cells[some], self.down[some], self.up[some], self.calm[some], self.noticed[some])


class Programs:
    """The relations as local programs need them, and how many cells all programs had so far."""

    def __init__(self, system: InsiderSystem, run: Run) -> None:
        self.system, self.run, self.looked, self.solved = system, run, 0, 0
        self._width = widths(system)
        matrix = system.matrix
        self.row_start = matrix.indptr.astype(np.int64)
        self._row_cells = ranked_cells(matrix, -self._width)
        self._place = np.full(matrix.shape[0], -1, np.int32)
        self._session: solver.Session | None = None
        self._near_cell, self._near_hidden = -1, np.zeros(0, bool)
        self._near: dict[tuple[Step, float], Positions] = {}  # of that cell, among those hidden cells

    def near(self, cell: int, step: Step, amount: int, hidden: BoolArray, narrow: float = _NARROW) -> Positions:
        """Return suppressed cells around one, in rising order, without those that are narrower than a share of it."""
        if cell != self._near_cell or not np.array_equal(hidden, self._near_hidden):
            self._near_cell, self._near_hidden, self._near = cell, hidden.copy(), {}
        (most, per), least = step, float(abs(amount) * narrow)
        if (step, least) not in self._near:
            start, cells, rows = self.row_start, self._row_cells, self.system.rows
            found = near.widest_near(cell, most, per, least, start, cells, rows, hidden, self._width)
            self._near[step, least] = np.sort(found).astype(np.intp)
        return self._near[step, least]

    def relations_of(self, cells: Positions) -> sp.csr_array:
        """Return the relations of some cells, over them alone."""
        start, column, value = self._rows_of(cells)
        return sp.csr_array((value, column, start.astype(np.int32)), shape=(len(start) - 1, len(cells)))

    def _rows_of(self, cells: Positions) -> tuple[LongArray, IntArray, LongArray]:
        start, column, value = kernel.rows_of(cells.astype(np.int32), self.system.rows, self._place)
        return start, column, value

    def circuit(self, cells: Positions) -> Moves | None:
        """Return the circuit of the last of some cells and others before it, if there is one."""
        n = len(cells)
        pivot, _, *rest = circuits_kernel.sweep(*self._rows_of(cells), n, n)
        if pivot[-1] >= 0:
            return None
        _, own, values = circuits_kernel.circuits(np.array([n - 1], np.int32), pivot, *rest)
        prime = circuits_kernel.PRIME
        return Moves.one(cells[own], np.where(values > prime // 2, values - prime, values))

    def live(self, room: Room, cell: int, amount: int) -> Room | None:
        """Return the part of a room that a move of a cell by an amount may use; None if it can have no such move.

        A cell that is alone in a relation, among those that can move, stays where it is; without it others are alone.
        """
        self.looked += len(room.cells) // _PEELED
        place = int(np.searchsorted(room.cells, cell))
        if (room.up if amount > 0 else room.down)[place] < abs(amount):
            return None
        can = (room.up > 0) | (room.down > 0)
        start, column, value = self._rows_of(room.cells)
        kept = kernel.peeled(start, column, can)
        if not kept[place]:
            return None
        # What its own relations give way to: next to all amounts that are too large are so there.
        for entry in np.flatnonzero(column == place).tolist():
            row = int(np.searchsorted(start, entry, side="right")) - 1
            part = slice(int(start[row]), int(start[row + 1]))
            others, along = column[part], value[part] * int(np.sign(value[entry]) * np.sign(amount)) < 0
            reach = np.where(along, room.up[others], room.down[others]) * kept[others] * (others != place)
            if float(reach @ np.abs(value[part]).astype(float)) < abs(amount) * abs(int(value[entry])) * _SURELY:
                return None
        return room.take(kept)

    def cheapest(self, room: Room, cell: int, amount: int, slope: FloatArray | None = None) -> FloatArray | None:
        """Return the cheapest move, in grains, that moves a cell by the amount; None if there is none."""
        size, n = float(abs(amount)), len(room.cells)
        place = int(np.searchsorted(room.cells, cell))
        up, down = np.minimum(room.up / size, _FAR), np.minimum(room.down / size, _FAR)
        if (up if amount > 0 else down)[place] < 1:
            return None
        calm = np.minimum(room.calm / size, down)
        up[place] = down[place] = calm[place] = 0
        self.looked += n
        self.solved += 1
        price, dear = np.where(room.noticed, _NOTICED, _SMALL), np.full(n, _NOTICED)
        deep = down - calm
        first, index, factor, weight, cells, sign = kernel.program_of(*self._rows_of(room.cells), up, calm, deep, place)
        ups, calms, columns = int((up > 0).sum()), int((calm > 0).sum()), len(cells)
        upper, cost = up[cells], price[cells]
        upper[ups : ups + calms] = calm[cells[ups : ups + calms]]
        upper[ups + calms :], cost[ups + calms :] = deep[cells[ups + calms :]], dear[cells[ups + calms :]]
        # Wide cells first: fewer are at their bounds then, and fewer move.
        cost = cost * (_FLOOR + 1 / np.clip(upper, 1 / _WIDE, _WIDE)) + (0 if slope is None else slope[cells])
        target = -np.sign(amount) * weight
        if not columns and target.any():
            return None
        matrix = sp.csr_array((factor, index, first), shape=(len(target), columns))
        moves = np.zeros(n)
        if target.any():
            solution = self._solve(Program(matrix, target, target, np.zeros(columns), upper, cost))
            if solution.status is not Status.optimal:
                return None
            moves = np.bincount(cells, sign * solution.x, n).astype(float)
        moves[np.abs(moves) < _STILL] = 0
        moves[place] = np.sign(amount)
        return np.asarray(moves * size, float)

    def _solve(self, program: Program) -> Solution:
        if self._session is None:
            self._session = solver.open(program, brief=True, run=self.run)
        else:
            self._session.load(program)
        return self._session.solve()

    def exact(self, room: Room, cell: int, moves: FloatArray, *, rounded: bool = False) -> Moves | None:
        """Return a program's move as one in whole numbers, mostly by rounding; if that does not do, by elimination."""
        moving = np.flatnonzero(moves)
        if not rounded:
            n = np.rint(moves[moving]).astype(np.int64)
            return Moves.one(room.cells[moving[n != 0]], n[n != 0])
        cells = room.cells[moving]
        whole = self.system.known.whole[cells]
        local = reduction_of(self.relations_of(cells), room.down[moving], room.up[moving], whole)
        place, amount = int(np.searchsorted(cells, cell)), moves[np.searchsorted(room.cells, cell)]
        for move in (exact_move(local, echelon(local.matrix), moves[moving]), tight_move(local, moves[moving], place)):
            if move is not None and move.amount(place) * np.sign(amount) >= abs(amount) * move.denominator:
                return Moves.one(cells[move.variables], move.n, move.denominator)
        return None


def ranked_cells(matrix: sp.csr_array, key: FloatArray) -> IntArray:
    """Return the cells of each relation in the order of a key."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return matrix.indices[np.lexsort((key[matrix.indices], rows))].astype(np.int32)
