"""Repair: the cheapest move that serves a target, through suppressed cells for nothing and others for their cost.

Split each cell's move into d = d+ - d- with both at least 0, and minimise sum of w_c (d+_c + d-_c) under M d = 0 and
d_t = need, with w_c = 0 for suppressed cells and w_c = cost_c / min(room_c, need) for others: what suppressing c would
cost if it carried all it can. In two dimensions this is a minimum cost flow. All cells that move are suppressed then,
which makes d a witness of t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.methods.suppress.engines.cuts import Target
from cellguard.methods.suppress.engines.policy import Ladder, Policy
from cellguard.methods.suppress.engines.system import System
from cellguard.proofs.local import Neighbours
from cellguard.run_context import Run
from cellguard.solver.program import Program, Status

_WHOLE = 1e-6  # from a whole number: solvers do not resolve less


@dataclass(frozen=True, eq=False)
class Flow:
    """A move that serves a target: the cells that move, how far in grains, and what suppressing the new ones costs."""

    cells: Positions
    moves: FloatArray
    cost: float

    @property
    def is_whole(self) -> bool:
        """Whether all moves are whole numbers, as those of counts are."""
        return bool((np.abs(self.moves - np.rint(self.moves)) < _WHOLE).all())


class Repairer:
    """Finds flows: in a small neighbourhood first, in wider ones while that is cheaper, in the whole table at last."""

    def __init__(self, system: System, *, run: Run) -> None:
        self.system = system
        self.run = run
        self.neighbours = Neighbours(system.matrix, order=system.cost)
        self.looked_at = 0  # cells of all programs so far

    def flow(
        self,
        target: Target,
        hidden: BoolArray,
        guide: FloatArray,
        *,
        allowed: BoolArray | None = None,
        local: bool = False,
    ) -> Flow | None:
        """Return a cheap flow, or None: through ``hidden`` cells for nothing, through others for ``guide``.

        Only ``allowed`` cells may move. With ``local`` the first neighbourhood that has a flow is taken, and none wider
        than the last one is tried; otherwise wider ones are tried while that is cheaper, the whole table at last.
        A two-sided cell may move either way.
        """
        barred = self.system.never if allowed is None else ~allowed
        found = self._one_way(target, hidden, guide, barred, local)
        if self.system.two_sided[target.cell] and (found is None or found.cost > 1e-6):
            other = self._one_way(target.reversed(), hidden, guide, barred, local)
            if found is None or (other is not None and other.cost < found.cost):
                return other
        return found

    def _one_way(
        self, target: Target, hidden: BoolArray, guide: FloatArray, barred: BoolArray, local: bool
    ) -> Flow | None:
        best: _Attempt | None = None
        for step in self.system.policy.ladder:
            cells = self.neighbours.near([target.cell], step, hidden, barred)
            self.looked_at += len(cells)
            found = _Attempt.at(self, target, cells, hidden, guide)
            if found is not None and (best is None or found.cost < best.cost):
                gained = best is None or found.cost < 0.98 * best.cost
                best = found
                if local or found.cost <= 1e-6 or not gained:
                    break
            elif best is not None:
                break
        if best is None and not local:
            cells = np.flatnonzero(~barred | (np.arange(len(barred)) == target.cell))
            self.looked_at += len(cells)
            best = _Attempt.at(self, target, cells, hidden, guide)
        return None if best is None else best.scaled(target)

    def short(
        self, target: Target, hidden: BoolArray, guide: FloatArray, allowed: BoolArray, ladder: Ladder, *, whole: bool
    ) -> Flow | None:
        """Return the first flow near a target that there is, or None: the first ``whole`` one, if one is asked for.

        Cells that cannot move, since they would do so alone in a relation, are left out.
        """
        first = None
        for step in ladder:
            cells = self.neighbours.movable(self.neighbours.near([target.cell], step, hidden, ~allowed))
            if target.cell in cells:
                for way in (target, target.reversed()) if self.system.two_sided[target.cell] else (target,):
                    attempt = _Attempt.at(self, way, cells, hidden, guide, presolve=False)
                    flow = None if attempt is None else attempt.scaled(way)
                    if flow is not None and (flow.is_whole or not whole):
                        return flow
                    first = first or flow
        return first

    def near(self, cell: int, rounds: int, hidden: BoolArray) -> Positions:
        """Return cells near one: in each relation the suppressed ones and the cheapest others, so many steps wide."""
        ladder = self.system.policy.ladder
        _, per_row, most = ladder[min(rounds, len(ladder)) - 1]
        return self.neighbours.near([cell], (rounds, per_row, most), hidden, self.system.never)

    def serves(self, flow: Flow) -> set[Target]:
        """Return the targets that a flow serves, and, where the bounds allow it, its reverse."""
        system, levels, at = self.system, self.system.levels, flow.cells
        found: set[Target] = set()
        for moves in (flow.moves, -flow.moves):
            if (moves <= system.up[at] * (1 + 1e-9)).all() and (-moves <= system.down[at] * (1 + 1e-9)).all():
                either = system.two_sided[at] & (np.abs(moves) >= levels.width[at])
                up = at[(levels.up[at] > 0) & ((moves >= levels.up[at]) | either)]
                down = at[(levels.down[at] > 0) & ((-moves >= levels.down[at]) | either)]
                found |= {Target(int(c), float(levels.up[c])) for c in up}
                found |= {Target(int(c), -float(levels.down[c])) for c in down}
        return found


@dataclass(frozen=True, eq=False)
class _Attempt:
    """The first flow in one neighbourhood, in units of the protection level, and what its cells would cost."""

    network: _Network
    cells: Positions
    price: FloatArray
    moves: FloatArray
    cost: float

    @classmethod
    def at(
        cls,
        repairer: Repairer,
        target: Target,
        cells: Positions,
        hidden: BoolArray,
        guide: FloatArray,
        *,
        presolve: bool = True,
    ) -> _Attempt | None:
        network = _Network.of(repairer, target, cells, presolve)
        price = np.where(hidden[cells], 0.0, guide[cells])
        moves = None if network is None else network.cheapest(price)
        if network is None or moves is None:
            return None
        return cls(network, cells, price, moves, float(price[np.abs(moves) > 1e-7].sum()))

    def scaled(self, target: Target) -> Flow:
        """Return the flow after scaling the slopes until each used cell pays its whole cost.

        What suppressing a cell costs does not depend on how far it moves, but a program's cost does. A cell that moves
        by d gets the slope cost / d the next time, so that using it less does not save anything (dynamic slope
        scaling).
        """
        moves, cost, size = self.moves, self.cost, np.ones(len(self.cells))
        for _ in range(self.network.policy.slope_scalings if cost > 1e-6 else 0):
            size = np.where(np.abs(moves) > 1e-7, np.abs(moves), size)
            other = self.network.cheapest(self.price / np.maximum(size, 1e-6))
            if other is None:
                break
            less = float(self.price[np.abs(other) > 1e-7].sum())
            if less >= cost * (1 - 1e-9):
                break
            moves, cost = other, less
        used = np.abs(moves) > 1e-7
        return Flow(self.cells[used], moves[used] * abs(target.amount), cost)


@dataclass(frozen=True, eq=False)
class _Network:
    """The program of one target in one neighbourhood: moves in units of the protection level, split into up and
    down.
    """

    matrix: sp.csr_array
    lower: FloatArray
    upper: FloatArray
    presolve: bool
    policy: Policy
    run: Run

    @classmethod
    def of(cls, repairer: Repairer, target: Target, cells: Positions, presolve: bool) -> _Network | None:
        system, size, n = repairer.system, abs(target.amount), len(cells)
        matrix = repairer.neighbours.relations_of(cells)
        up, down = (np.minimum(bound[cells] / size, system.policy.flow_far) for bound in (system.up, system.down))
        at = int(np.searchsorted(cells, target.cell))
        lower, upper = np.zeros(2 * n), np.concatenate([up, down])
        forward, backward = (at, n + at) if target.amount > 0 else (n + at, at)
        if upper[forward] < 1 - 1e-9:
            return None
        lower[forward], upper[forward], upper[backward] = 1.0, 1.0, 0.0
        return cls(
            sp.csr_array(sp.hstack([matrix, -matrix], format="csr")),
            lower,
            upper,
            presolve,
            system.policy,
            repairer.run,
        )

    def cheapest(self, slope: FloatArray) -> FloatArray | None:
        """Return the cheapest moves at these slopes, or None if there are none."""
        n = len(slope)
        room = np.clip(self.upper, 1e-9, 1.0)
        cost = np.concatenate([slope, slope]) / room
        some = cost[cost > 0]
        # A touch of cost on suppressed cells keeps moves short; more orders of magnitude than this confuse the solver.
        cost = (np.minimum(cost / np.median(some), self.policy.dearest) if len(some) else cost) + 1e-6
        zero = np.zeros(self.matrix.shape[0])
        program = Program(self.matrix, zero, zero, self.lower, self.upper, cost)
        solution = solver.solve(program, presolve=self.presolve and n > 500, run=self.run)
        return solution.x[:n] - solution.x[n:] if solution.status is Status.optimal else None
