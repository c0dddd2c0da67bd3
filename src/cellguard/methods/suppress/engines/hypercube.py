"""The hypercube engine (GHMITER): each unsafe cell is made a corner of a hypercube of suppressed cells.

In a subtable without hierarchies an unsafe cell and one other code of each dimension span a hypercube. Its corners can
move by turns up and down, so that the cell can move as far as the tightest corner allows. Of the hypercubes that allow
its protection level the one is taken whose other corners cost least; if none does, the one that allows most. What is
suppressed so is a total elsewhere, or an inner cell of the subtable above, and is protected there in turn. A cell with
a single respondent becomes a corner of two hypercubes. What all that leaves unsafe is repaired. Reference: Giessing
and Repsilber (2002), see `subtables`.
"""

from __future__ import annotations

import itertools

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.methods.suppress.engines.effort import NORMAL, Effort
from cellguard.methods.suppress.engines.subtables import Subtable, counts_of, mended, subtables_of
from cellguard.methods.suppress.engines.system import System
from cellguard.methods.suppress.engines.witness import EngineResult, refuse_fixed
from cellguard.run_context import Run

_ROUNDS = 12
_LEVELS = 4  # how many times as much a corner costs for each dimension in which it is a total


def hypercube(system: System, *, start: BoolArray | None = None, effort: Effort = NORMAL, run: Run) -> EngineResult:
    """Return the pattern of the hypercube method, and what repairs it; ``start`` is suppressed from the beginning."""
    refuse_fixed(system)
    pattern = system.hidden | (start if start is not None else False)
    work = _Work(system, np.asarray(pattern & (system.hidden | ~system.never), bool))
    tables = subtables_of(system)
    for _ in range(_ROUNDS):
        before = work.pattern.copy()
        for done, table in enumerate(tables):
            run.check()
            run.left(len(tables) - done, len(tables), "subtables to protect")
            work.protect(table)
        if (before == work.pattern).all():
            break
    return mended(system, work.pattern, "hypercube", run)


class _Work:
    """The pattern, and which cells are protected in which subtable already."""

    def __init__(self, system: System, pattern: BoolArray) -> None:
        self.system, self.pattern = system, pattern
        self.counts = counts_of(system)
        self.done: set[tuple[int, int]] = set()

    def protect(self, table: Subtable) -> None:
        """Make every suppressed cell of a subtable a corner of a hypercube there."""
        key = id(table)
        inside = np.argwhere(table.cells >= 0)
        mine = table.cells[tuple(inside.T)]
        hidden = self.pattern[mine]
        # Those with the largest levels first: what they need serves others.
        need = self.system.levels.up[mine] + self.system.levels.down[mine]
        order = np.flatnonzero(hidden)[np.argsort(-need[hidden], kind="stable")]
        for i in order.tolist():
            cell = int(mine[i])
            if (key, cell) in self.done:
                continue
            self.done.add((key, cell))
            cubes = 2 if self.counts[cell] == 1 and self.system.needy[cell] else 1
            self._suppress_cubes(table, tuple(inside[i].tolist()), cubes)

    def _suppress_cubes(self, table: Subtable, at: tuple[int, ...], cubes: int) -> None:
        system = self.system
        corners, signs = _corners(table.cells, at)
        if not len(corners):
            return
        usable = np.asarray((corners >= 0).all(axis=1), bool)
        usable[usable] &= ~(system.never[corners[usable]] & ~self.pattern[corners[usable]]).any(axis=1)
        corners, signs = corners[usable], signs[usable]
        if not len(corners):
            return
        cell = int(table.cells[at])
        up, down = _reach(system, corners, signs)
        enough = (up >= system.levels.up[cell]) & (down >= system.levels.down[cell])
        cost = self._cost(table, corners)
        for _ in range(min(cubes, len(corners))):
            if enough.any():
                best = int(np.flatnonzero(enough)[np.argmin(cost[enough])])
            else:
                share = np.minimum(up, system.levels.up[cell]) + np.minimum(down, system.levels.down[cell])
                most = np.flatnonzero(share >= share.max(initial=0.0))
                best = int(most[np.argmin(cost[most])])
            self.pattern[corners[best]] = True
            # A second hypercube must not be the first one again.
            enough[best], up[best], down[best] = False, -1.0, -1.0

    def _cost(self, table: Subtable, corners: Positions) -> FloatArray:
        totals = np.zeros(self.system.n)
        for axis in range(table.cells.ndim):
            first = np.take(table.cells, 0, axis=axis)
            totals[first[first >= 0]] += 1
        paid = np.where(self.pattern, 0.0, (self.system.cost + 1e-9) * float(_LEVELS) ** totals)
        return np.asarray(paid[corners].sum(axis=1), float)


def _corners(cells: Positions, at: tuple[int, ...]) -> tuple[Positions, FloatArray]:
    """Return the corners of all hypercubes through a cell, the cell first, and how each moves when the cell goes up.

    A code goes against another one below the same total, and with the total itself.
    """
    axes = [i for i, size in enumerate(cells.shape) if size > 1]
    others = [[code for code in range(cells.shape[i]) if code != at[i]] for i in axes]
    grid = np.array(list(itertools.product(*others)), np.intp).reshape(-1, len(axes))
    corners, signs = [], []
    for chosen in itertools.product((False, True), repeat=len(axes)):
        index = [np.full(len(grid), code) for code in at]
        sign = np.ones(len(grid))
        for column, (axis, other) in enumerate(zip(axes, chosen, strict=True)):
            if other:
                index[axis] = grid[:, column]
                both_inner = (grid[:, column] > 0) & (at[axis] > 0)
                sign = np.where(both_inner, -sign, sign)
        corners.append(cells[tuple(index)])
        signs.append(sign)
    return np.stack(corners, axis=1), np.stack(signs, axis=1)


def _reach(system: System, corners: Positions, signs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return how far the first corner of each hypercube can go up and down."""
    room_up, room_down = system.up[corners], system.down[corners]
    up = np.where(signs > 0, room_up, room_down).min(axis=1)
    down = np.where(signs > 0, room_down, room_up).min(axis=1)
    return up, down
