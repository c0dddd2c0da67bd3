"""Elimination: the cheapest cells with which no cell that needs to move is determined by linear algebra.

Sweep the columns of M from left to right, cells with needs first and the others by rising cost. A column that no pivot
to its left explains is free: it closes a *circuit*, a move of that column and pivots to its left, the cheapest move
there is. Once every cell with a protection level lies on a circuit, the cells of these circuits protect all of them
(the matroid form of Kruskal's algorithm). Then cells that are not needed are published again, the dearest first. The
arithmetic is exact, modulo a prime.

Algebra knows no bounds. Where needs are amounts, only cells with room for a share of the protection level may be on its
circuits (`with_room`): needs of like size are looked at together, the largest first, and what they suppress serves the
smaller ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.linalg.circuits import Circuits, circuits
from cellguard.methods.suppress.engines import gauss_kernel as kernel
from cellguard.methods.suppress.engines.system import System
from cellguard.run_context import Run

_REFRESH = 50  # times the terms of the circuits that may be written before a fresh basis pays


def eliminated(system: System, start: BoolArray | None = None, *, run: Run, refresh: float = _REFRESH) -> BoolArray:
    """Return the cells to suppress so that no cell with a protection level is determined by linear algebra, as far as
    that can be.

    ``refresh`` is how many times as many terms as a basis of circuits has are written before a fresh one is made.
    """
    run.tell("eliminating")
    run.check()
    ranking = Ranking.of(system, start)
    chosen = system.hidden.copy()
    chosen[_needed(system, ranking, refresh, run)] = True
    return chosen


def with_room(system: System, hidden: BoolArray, need: FloatArray, share: float, *, run: Run) -> BoolArray:
    """Return the pattern with more cells, so that each with a protection level lies on a circuit of cells that have
    room for it.

    ``need`` has one entry per cell. Room for a ``share`` of the protection level will do, since a move may go several
    ways.
    """
    hidden, room = hidden.copy(), np.minimum(system.up, system.down)
    cells = np.flatnonzero(need > 0)
    size = np.floor(np.log2(need[cells]))
    for power in np.unique(size)[::-1].tolist():
        run.tell(f"{int((size <= power).sum()):,} cells to put on circuits")
        run.check()
        targets = cells[size == power]
        movable = (room >= share * need[targets].max()) & ~system.never
        ranking = Ranking.among(system, hidden, movable, targets, roomy=False, tie=system.down)
        hidden[_needed(system, ranking, _REFRESH, run, quietly=True)] = True
    return hidden


def _needed(system: System, ranking: Ranking, refresh: float, run: Run, *, quietly: bool = False) -> Positions:
    """Return the cells of circuits that all targets need, and of no more of those that may be published."""
    sparse = in_order(system, ranking.order)
    basis = circuits(sparse, ranking.targets)
    hidden = np.unique(basis.columns)
    left = hidden[hidden >= ranking.free][::-1]
    while len(left):
        if not quietly:
            run.tell(f"{len(left):,} suppressed cells to look at")
        run.check()
        published, looked = _publish(basis, left, ranking.targets, refresh)
        hidden = np.setdiff1d(hidden, published, assume_unique=True)
        left = left[looked:]
        if len(left):
            basis = circuits(sparse, ranking.targets, hidden)
    return ranking.order[hidden]


@dataclass(frozen=True, eq=False)
class Ranking:
    """The cells in the order of elimination: ``targets`` first; ``free`` is where cells begin that may be published."""

    order: Positions
    targets: int
    free: int

    @classmethod
    def of(cls, system: System, start: BoolArray | None) -> Ranking:
        """Rank the cells that may move: with needs, suppressed anyway, of an earlier pattern, others by rising cost.

        Of cells that cost the same, those that can move both ways come first, and then small ones: these are inner
        cells, whose circuits are short.
        """
        stuck = (system.never | ((system.up < 1) & (system.down < 1))) & ~system.hidden
        group = np.where(system.needy, 0, np.where(system.hidden, 1, 3))
        if start is not None:
            group = np.where((group == 3) & start, 2, group)
        room = np.minimum(system.up, system.down)
        order = np.lexsort((system.down, -np.minimum(room, 2), system.cost, group))
        order = order[~stuck[order]]
        return cls(order, int(system.needy.sum()), int((group[order] < 2).sum()))

    @classmethod
    def among(
        cls,
        system: System,
        hidden: BoolArray,
        movable: BoolArray,
        targets: Positions,
        *,
        roomy: bool,
        tie: FloatArray,
    ) -> Ranking:
        """Rank some targets, then suppressed cells and then others; none that is not movable.

        Cells are ranked by rising cost or, if ``roomy``, first those that can go far: longer moves fit them.
        """
        group = np.where(hidden, 1, 2)
        group[targets] = 0
        rank = -np.minimum(np.minimum(system.up, system.down), 3) if roomy else system.cost
        order = np.lexsort((tie, rank, group))
        order = order[(movable | (group == 0))[order]]
        return cls(order, len(targets), int((group[order] < 2).sum()))


def _publish(basis: Circuits, cells: Positions, targets: int, refresh: float) -> tuple[Positions, int]:
    """Publish cells in this order while no target loses all its moves; return them, and how many were looked at."""
    circuit = basis.circuit
    own, place = np.unique(basis.columns, return_inverse=True)
    order = np.lexsort((circuit, place))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=len(own)))]).astype(np.int64)
    absent = np.setdiff1d(cells, own)
    present = cells[np.isin(cells, own)]
    published, looked = kernel.publish(
        indptr, circuit[order].astype(np.int32), basis.values[order], len(basis), own < targets,
        np.searchsorted(own, present), int(min(refresh * len(basis.columns), 2.0**62)),
    )  # fmt: skip
    looked = len(cells) if looked == len(present) else int(np.flatnonzero(cells == present[looked])[0])
    return np.union1d(own[published], absent), looked


def in_order(system: System, order: Positions) -> sp.csr_array:
    """Return the relations with their columns in this order, all other cells left out."""
    sparse = sp.csr_array(sp.csc_array(system.matrix)[:, order])
    sparse.sort_indices()
    return sparse
