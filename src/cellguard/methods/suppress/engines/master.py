"""The master problem: the cheapest x that satisfies all cuts found so far; its optimum bounds every safe pattern.

Minimise sum(cost_c x_c) with a x >= 1 for each cut a and 0 <= x <= 1, x_c = 1 for primaries (Fischetti and Salazar
2001). Every safe pattern satisfies all cuts, so any optimum, fractional or whole, is a lower bound on its cost; and a
whole optimum that is safe is the cheapest pattern there is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellguard import solver
from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InternalError
from cellguard.methods.suppress.engines.cuts import Cut, as_rows
from cellguard.methods.suppress.engines.system import System
from cellguard.run_context import Run
from cellguard.solver.program import Program, Solution, Status

_LOOK = 70  # simplex iterations between two looks of an integer program at whether to stop
_ROWS, _TIMES = 2_000, 2.0  # an integer program has cuts of its own and heuristics: each iteration takes as long as of
# so many rows and so many times its own in a linear program


class Master:
    """Collects cuts and solves for x, fractional or whole. Costs are scaled to ordinary numbers."""

    def __init__(self, system: System, cuts: Sequence[Cut], *, run: Run) -> None:
        self.system = system
        self.run = run
        # Tolerances of solvers are absolute: costs in millions would make every gap look large, cents none.
        some = system.cost[system.cost > 0]
        self.scale = float(np.median(some)) if len(some) else 1.0
        self.cuts: list[Cut] = []
        self.work = 0.0  # spent on whole masters: simplex iterations times rows
        self.iterations = 0  # of the last fractional master
        self._seen: set[tuple[bytes, bytes]] = set()
        self._lower = system.hidden.astype(float)
        self._upper = np.where(system.never & ~system.hidden, 0.0, 1.0)
        self._session = solver.open(self._program(), run=run)
        self.add(cuts)

    def add(self, cuts: Sequence[Cut]) -> int:
        """Add the cuts that are new; return how many."""
        new = []
        for cut in cuts:
            # Propagation finds the same cut for many targets, and in many rounds.
            key = cut.key()
            if key not in self._seen:
                self._seen.add(key)
                new.append(cut)
        if new:
            self._session.add_rows(as_rows(new, self.system.n), np.ones(len(new)), np.full(len(new), np.inf))
            self.cuts += new
        return len(new)

    def fractional(self) -> tuple[FloatArray, float]:
        """Return the cheapest fractional x and its cost."""
        solution = self._session.solve()
        self.iterations = self._session.iterations
        return self._x(solution), solution.objective * self.scale

    def whole(
        self,
        *,
        nodes: int,
        gap: float,
        start: BoolArray | None = None,
        among: BoolArray | None = None,
        allowed: float = np.inf,
    ) -> tuple[BoolArray, float]:
        """Return a cheap whole x and a bound on the cost of all of them, or of those that only suppress cells
        ``among``.

        Once the work that is allowed is done, it is the cheapest so far: ``start``, if there is none.
        """
        session = solver.open(self._program(whole=True, among=among), run=self.run)
        session.limit_nodes(nodes, gap=gap)
        terms = _ROWS + _TIMES * len(self.cuts)
        if np.isfinite(allowed):
            session.limit_looks(max(int(allowed / (_LOOK * terms)), 1))
        if start is not None:
            session.start_from(start.astype(float))
        solution = session.solve()
        self.work += float(session.iterations) * terms
        bound = solution.bound * self.scale if np.isfinite(solution.bound) else 0.0
        if solution.status is Status.stopped and not len(solution.x) and start is not None:
            return start.copy(), bound
        return self._x(solution) > 0.5, bound

    def _x(self, solution: Solution) -> FloatArray:
        if not len(solution.x):
            if solution.status is Status.infeasible:
                raise Impossible
            raise InternalError(f"the master problem ended as {solution.status.value}")
        x = np.clip(solution.x, 0.0, 1.0)
        x[x < 1e-7] = 0.0
        return x

    def _program(self, *, whole: bool = False, among: BoolArray | None = None) -> Program:
        many = len(self.cuts)
        upper = self._upper if among is None else np.where(among | self.system.hidden, self._upper, 0.0)
        integer = np.ones(self.system.n, bool) if whole else None
        rows, cost = as_rows(self.cuts, self.system.n), self.system.cost / self.scale
        return Program(rows, np.ones(many), np.full(many, np.inf), self._lower, upper, cost, integer)


class Impossible(Exception):
    """No pattern satisfies the cuts: cells that must be published leave some unsafe cell without protection."""
