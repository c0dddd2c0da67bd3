"""Circuits through the widest cells: most of what proves unsafe cells against insiders, without a program.

Order the cells by how far they can move. Elimination from left to right gives each cell the circuit (a move of as few
cells as can be) whose narrowest cell is the widest possible: what is best in a matroid the greedy algorithm finds. A
singleton counts as narrower, since its respondent notices whenever it moves. Further rounds shuffle the order, and put
those cells at the end that belong to insiders against whom something is open.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.attack.insider_coverage import Coverage, Moves
from cellguard.attack.insider_system import InsiderSystem
from cellguard.linalg.circuits import circuits
from cellguard.run_context import Run
from cellguard.solver.program import SEED

_ALONE = 0.9  # how much narrower a singleton looks than it is
_NOISE = 0.5
_PATIENCE = 2  # rounds in a row that help few, after which it ends
_WORTH = 0.004  # share of the open asks: helping fewer is helping few
_LATE = 1e-12


def widths(system: InsiderSystem) -> FloatArray:
    """Return how far each merged cell can move both ways, at most, for insiders who are not alone in it."""
    known = system.known
    alone = known.knowing >= 0
    down = np.where(alone, known.floor, np.maximum(np.minimum(known.calm, known.floor), 1))
    return np.minimum(known.up, down) * np.where(alone, _ALONE, 1.0)


def enter_circuits(coverage: Coverage, hidden: BoolArray, rounds: int, *, seed: int = 0, run: Run) -> None:
    """Enter the widest circuits of suppressed cells, in so many orders at most, as long as they prove more."""
    system, cells = coverage.system, np.flatnonzero(hidden)
    width, rng, idle = widths(system)[cells], np.random.default_rng([SEED, seed]), 0
    for number in range(rounds):
        open_ = coverage.open()
        if not len(open_) or idle > _PATIENCE:
            break
        order = width * np.exp(rng.normal(0, _NOISE * (number > 0), len(cells)))
        if number % 2:
            some = rng.permutation(open_)[: max(len(open_) // 4, 20)]
            order = np.where(np.isin(system.known.knowing[cells], coverage.left_of(some)), order * _LATE, order)
        helped = coverage.enter(_circuits(system, cells[np.argsort(-order, kind="stable")]), repeat=True)
        idle = idle + 1 if helped < _WORTH * len(open_) else 0
        run.check()


def _circuits(system: InsiderSystem, ranked: Positions) -> Moves:
    """Return the circuits of ranked cells."""
    found = circuits(sp.csr_array(system.columns[:, ranked]), len(ranked))
    return Moves(found.start, ranked[found.columns].astype(np.int32), found.moves, np.ones(len(found), np.int64))
