"""Where the attacker knows no bounds, elimination decides: no program is needed.

The moves of suppressed cells are then a linear space, so a cell that can move at all can move as far as any protection
level, both ways: a protection level is met if some move d with M d = 0 that is 0 on all published cells has d_p != 0. A
basis of that space tells it of all cells at once, and also what publishing a cell does (see the kernel). Every move of
the basis is kept small, whole numbers up to `_LARGEST`; so M d = 0 modulo a prime far beyond them is M d = 0, each is a
witness, and no protection hangs on a move that takes one cell a million times as far as another.

At first all cells are suppressed, and the dearest are published first. Then a trial publishes a few secondaries near
each other, suppresses all cells around them, and publishes what it can, those that were not suppressed before first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.arrays import BoolArray, LongArray, Positions
from cellguard.linalg import circuits_kernel, modular_kernel
from cellguard.methods.suppress.engines import algebra_kernel
from cellguard.methods.suppress.engines.bounds import Bounds
from cellguard.methods.suppress.engines.effort import BEST, QUICK, Effort
from cellguard.methods.suppress.engines.engine_result import EngineResult, anytime
from cellguard.methods.suppress.engines.search import Search
from cellguard.methods.suppress.engines.system import System
from cellguard.run_context import Run

Basis = npt.NDArray[np.int16]

_LARGEST = 1_000
_MULTIPLES = 60  # that are tried to make fractions whole


def solved(system: System, start: BoolArray | None, effort: Effort, *, run: Run) -> EngineResult | None:
    """Return a cheap safe pattern; None if there are bounds, too many cells, or too few small moves."""
    movable = ~system.never
    unbounded = np.isinf(system.up[movable]).all() and np.isinf(system.down[movable]).all()
    whole = (system.matrix.data == np.rint(system.matrix.data)).all()
    if not unbounded or not whole or system.n > system.policy.algebra_cells:
        return None
    algebra = Algebra(system)
    moves = algebra.first(start, run)
    if moves is None:
        return None
    search = Search(system, effort, run)
    search.keep(moves.hidden)
    return anytime(search, lambda: _improve(search, algebra, moves))


@dataclass(frozen=True, eq=False)
class Moves:
    """A safe pattern, and a basis of moves that shows it: one row per move, one column per cell."""

    hidden: BoolArray
    basis: Basis


class Algebra:
    """The relations of a system, by row and by cell, and which cells must not be determined."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.target: BoolArray = system.needy
        self._rows, self._columns = sp.csr_array(system.matrix), sp.csc_array(system.matrix)

    def first(self, start: BoolArray | None, run: Run) -> Moves | None:
        """Return a safe pattern from all cells suppressed, or None if small moves do not move every target.

        Cells that cost the same are published from the first to the last, or the other way round, whichever is better.
        """
        run.tell("eliminating")
        run.check()
        system = self.system
        everything = ~system.never
        basis = self._basis(np.flatnonzero(everything))
        if not basis[:, self.target].any(axis=0).all():
            return None
        again = np.zeros(system.n) if start is None else start.astype(float)
        free = np.flatnonzero(everything & ~system.hidden)
        tries = []
        for ties in (free, -free):
            run.check()
            order = free[np.lexsort((ties, -system.cost[free], again[free]))]
            tries.append(self._publish(everything, basis.copy(), order, 0))
        return min(tries, key=lambda moves: float(system.cost[moves.hidden & ~system.hidden].sum()))

    def exchanged(self, moves: Moves, near: BoolArray, gone: Positions, order: Positions) -> Moves | None:
        """Suppress all cells near, publish some for good and others in this order; None if no target could move
        then.
        """
        hidden = moves.hidden | near
        basis = self._basis(np.flatnonzero(hidden & ~self.system.never))
        if not basis[:, self.target].any(axis=0).all():
            return None
        trial = self._publish(hidden, basis, np.concatenate([gone, order]), len(gone))
        return None if trial.hidden[gone].any() else trial

    def _publish(self, hidden: BoolArray, basis: Basis, order: Positions, forced: int) -> Moves:
        published, left = algebra_kernel.publish(basis, self.target, order.astype(np.int64), forced, _LARGEST)
        return Moves(hidden & ~published, basis[:left].copy())

    def _basis(self, cells: Positions) -> Basis:
        """Return a basis of the moves in which only these cells move, without those whose numbers are too large."""
        part, n = sp.csr_array(self._columns[:, cells]), len(cells)
        pivots, rows, columns, values, begin, length = modular_kernel.eliminate(
            part.indptr.astype(np.int64), part.indices.astype(np.int64),
            np.rint(part.data).astype(np.int64) % circuits_kernel.PRIME, n,
        )  # fmt: skip
        # In this order every pivot's row has later columns only, and the free columns come last.
        order = np.concatenate([pivots, np.setdiff1d(np.arange(n), pivots)])
        place = np.empty(n, np.int32)
        place[order] = np.arange(n)
        pivot = np.where(np.arange(n) < len(pivots), np.arange(n), -1).astype(np.int32)
        start, moving, residues = circuits_kernel.circuits(
            np.arange(len(pivots), n), pivot, place[columns], values, begin[rows], length[rows]
        )
        move = np.repeat(np.arange(len(start) - 1), np.diff(start))
        small, amounts = _small_multiples(residues, move, start)
        basis = np.zeros((len(start) - 1, self.system.n), np.int16)
        basis[move, cells[order[moving]]] = np.where(small[move], amounts, 0)
        return np.ascontiguousarray(basis[small])

    def around(self, cell: int, rng: np.random.Generator) -> BoolArray:
        """Mark the cells of a cell's relations, and of some relations of those."""
        near = np.zeros(self.system.n, bool)
        near[cell] = True
        for most in (len(near), self.system.policy.algebra_relations):
            rows = np.unique(sp.csc_array(self._columns[:, np.flatnonzero(near)]).indices)
            some = rng.permutation(rows)[:most]
            near[sp.csr_array(self._rows[some]).indices] = True
        return near & ~self.system.never & ~self.system.hidden


def _improve(search: Search, algebra: Algebra, moves: Moves) -> None:
    """Bound the cost, and exchange cells until the work is used up or there were enough trials."""
    thorough = search.effort is BEST
    if not search.cost(moves.hidden):
        return
    Bounds(search).add_propagation_cuts()
    search.report_progress("bounded")
    if search.effort is QUICK:
        return
    rng = np.random.default_rng(1)
    end = search.work + search.budget * (1.0 if thorough else search.policy.algebra_share)
    trials = search.policy.algebra_trials * int((moves.hidden & ~search.system.hidden).sum()) * (10 if thorough else 1)
    idle = 0
    for number in range(trials):
        if search.work > end or search.gap <= search.effort.gap or idle > search.policy.algebra_idle * trials:
            break
        before = moves
        moves = _exchanged(search, algebra, moves, rng)
        idle = idle + 1 if moves is before else 0
        if number % 100 == 99:
            search.report_progress("exchanging")
            if search.is_stale(search.effort.stale, search.policy.little):
                break


def _exchanged(search: Search, algebra: Algebra, moves: Moves, rng: np.random.Generator) -> Moves:
    """Try one exchange; return what to go on with, which is safe and costs no more."""
    system, hidden = search.system, moves.hidden
    search.run.check()
    cell = int(rng.choice(np.flatnonzero(hidden & ~system.hidden)))
    near = algebra.around(cell, rng)
    others = np.flatnonzero(near & hidden)
    others = rng.permutation(others[others != cell])
    gone = np.concatenate([[cell], others[: rng.integers(0, search.policy.algebra_gone)]]).astype(np.intp)
    look = np.setdiff1d(np.flatnonzero(near), gone)
    price = system.cost[look] * np.where(hidden[look], search.policy.algebra_loyal, 1.0)
    price = (price + search.policy.token_cost) * np.exp(search.policy.noise * rng.normal(size=len(look)))
    search.spent += search.policy.algebra_work * system.matrix.nnz
    trial = algebra.exchanged(moves, near, gone, look[np.argsort(-price, kind="stable")])
    if trial is None or search.cost(trial.hidden) > search.cost(hidden):
        return moves
    search.keep(trial.hidden)
    return trial


def _small_multiples(residues: LongArray, move: LongArray, start: LongArray) -> tuple[BoolArray, npt.NDArray[np.int64]]:
    """Return which moves are, times some small number, small whole numbers, and these numbers.

    A move with fractions is not small modulo a prime, but times their denominator it is.
    """
    many = len(start) - 1
    small, amounts = np.zeros(many, bool), np.zeros(len(residues), np.int64)
    left = np.ones(len(residues), bool)
    for factor in range(1, _MULTIPLES + 1):
        times = residues[left] * factor % circuits_kernel.PRIME
        signed = np.where(times > circuits_kernel.PRIME // 2, times - circuits_kernel.PRIME, times)
        large = np.bincount(move[left], np.abs(signed) > _LARGEST, many) > 0
        amounts[left] = signed
        small |= ~large & (np.bincount(move[left], minlength=many) > 0)
        left = ~small[move]
        if small.all():
            break
    return small, amounts
