"""Programs over a crossing table too large to move as a whole: its cover cells are taken in as cells need them.

How far a cell goes while few cover cells move is no more than it goes while all do. The multipliers of its program
price the cover cells left out: one with a gain would take the cell further, and is taken in. Once none has a gain, all
of them together take the cell no further, and the multipliers prove it (column generation).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.proofs.probe import Probe
from cellguard.proofs.problem import grains_of, pose
from cellguard.proofs.scale import NEARLY, as_floats
from cellguard.protection import Requirements
from cellguard.run_context import Run

_TAKEN = 300  # cover cells with the largest gain that are taken in before the next program
_FAR = 1e6  # times the request of a cell that another one may move


@dataclass(frozen=True, eq=False)
class Reach:
    """How far a column goes, as a share of what was asked, and multipliers on the relations that keep it there."""

    share: float
    multipliers: FloatArray


class Priced:
    """Moves with matrix @ d = 0 within bounds. ``taken`` columns move, and those ``left`` as soon as they gain."""

    def __init__(
        self, matrix: sp.csr_array, down: FloatArray, up: FloatArray, taken: BoolArray, left: BoolArray, *, run: Run
    ) -> None:
        self.taken = taken.copy()
        self._left = left & ~taken
        self._matrix, self._columns = matrix, sp.csr_array(matrix.T)
        self._down, self._up = down, up
        self._run = run
        self._open()

    def _open(self) -> None:
        self._some = np.flatnonzero(self.taken)
        none = np.zeros(len(self._some))
        self._probe = Probe(sp.csr_array(self._matrix[:, self._some]), none, none, run=self._run)

    def reach(self, column: int, amount: float) -> Reach:
        """Return how far a column that is taken goes towards an amount when all columns left may be taken in."""
        while True:
            self._run.check()
            reach = self._furthest(column, amount)
            gaining = self._gaining(reach) if reach.share < 1 - NEARLY else np.zeros(0, np.intp)
            if not len(gaining):
                return reach
            self.taken[gaining] = True
            self._left[gaining] = False
            self._open()

    def prices(self, reach: Reach) -> FloatArray:
        """Return what a move of each column by 1 upwards takes from how far the column of a reach goes."""
        return np.asarray(-(self._columns @ reach.multipliers), float)

    def _furthest(self, column: int, amount: float) -> Reach:
        at, size = int(np.searchsorted(self._some, column)), abs(amount)
        lower, upper = (np.minimum(room[self._some] / size, _FAR) for room in (self._down, self._up))
        lower[at], upper[at] = (0.0, min(upper[at], 1.0)) if amount > 0 else (min(lower[at], 1.0), 0.0)
        self._probe.limit(-lower, upper)
        solution = self._probe.furthest(at, np.sign(amount))
        return Reach(abs(float(solution.x[at])), solution.duals)

    def _gaining(self, reach: Reach) -> Positions:
        """Return the columns left that would take a cell further, those with the largest gain first, not too many."""
        price = self.prices(reach)
        gain = np.where(self._left & (np.where(price < 0, self._up, self._down) > 0), np.abs(price), 0.0)
        order = np.argsort(-gain, kind="stable")[:_TAKEN]
        return np.asarray(order[gain[order] > NEARLY], np.intp)


def widened(
    needs: Requirements, unknown: BoolArray, cells: Positions, known: sp.csr_array | None, *, run: Run
) -> Requirements:
    """Return the requirements in a world in which those cover cells move, too, that some unknown cells need for their
    protection levels.

    ``unknown`` marks the distinct cells that are not published, ``known`` are sums that the attacker has besides. If no
    more are needed, the requirements are returned as they are.
    """
    if not len(cells):
        return needs
    world = needs.world
    whole = replace(world, moving=np.ones(world.between, bool))
    problem = pose(replace(needs, world=whole), unknown, grains_of(world), known)
    taken = world.extend(np.ones(len(needs.tables), bool), world.moving)[problem.cells]
    priced = Priced(
        problem.matrix.astype(float), as_floats(problem.down), as_floats(problem.up), taken, ~taken, run=run
    )
    for column in np.searchsorted(problem.cells, cells).tolist():
        level = problem.levels.take(slice(column, column + 1)).rows()[0]
        for amount in (max(level.up, level.width), -max(level.down, level.width)):
            if amount:
                priced.reach(column, float(amount))
    more = problem.cells[priced.taken & ~taken]
    if not len(more):
        return needs
    moving = world.moving.copy()
    moving[more - len(needs.tables)] = True
    return replace(needs, world=replace(world, moving=moving))
