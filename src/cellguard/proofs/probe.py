"""How far can single variables move? Warm-started programs, one variable after the other.

d = 0 satisfies M d = 0 and every bound, and only the costs change from one variable to the next: so each program starts
from the last vertex, and only the first one pays for finding a basis.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import FloatArray, Positions
from cellguard.errors import InternalError
from cellguard.proofs.scale import FARTHEST, NEARLY, WIDE
from cellguard.run_context import Run
from cellguard.solver.program import Program, Solution, Status

_FURTHER = 2.0**10  # how many times further out the next cut is
_STILL = NEARLY / _FURTHER  # what moves less goes no further than next to nothing at the next cut
_END = 2.0**60  # grains beyond which no cut is moved


class Unsolved(InternalError):
    """The numbers of a program are beyond the solver."""


class Probe:
    """One program: moves with matrix @ d = 0 within bounds, asked for the furthest move of one column at a time."""

    def __init__(
        self, matrix: sp.csr_array, lower: FloatArray, upper: FloatArray, *, run: Run, primal: bool = False
    ) -> None:
        zero = np.zeros(matrix.shape[0])
        program = Program(matrix.astype(float), zero, zero, lower, upper, np.zeros(matrix.shape[1]))
        self._session = solver.open(program, primal=primal, run=run)
        self._columns = np.arange(matrix.shape[1])
        self._priced: list[int] = []
        self.iterations = 0  # of the last program

    def limit(self, lower: FloatArray, upper: FloatArray, columns: Positions | None = None) -> None:
        """Change the bounds of some columns, or of all; 0 must lie within them when they are asked about."""
        self._session.set_bounds(self._columns if columns is None else columns, lower, upper)

    def furthest(self, column: int, sign: float) -> Solution:
        """Return an optimal solution in which the column has moved as far as it can, up (sign 1) or down (sign -1)."""
        changed = [*(last for last in self._priced if last != column), column]
        self._session.set_cost(np.array(changed), np.array([0.0] * (len(changed) - 1) + [-float(sign)]))
        self._priced = [column]
        solution = self._session.solve()
        if solution.status is not Status.optimal:
            # d = 0 satisfies everything, so it is the numbers that went wrong.
            solution = self._session.solve_afresh()
        self.iterations = self._session.iterations
        if solution.status is not Status.optimal:
            raise Unsolved(f"an attacker's program ended as {solution.status.value}")
        return solution


class ScaledProbe:
    """The programs of some variables at one scale, in grains, whatever their bounds.

    With ``enough`` a move that goes far beyond the scale will do, and is kept short enough for exact arithmetic.
    """

    def __init__(
        self,
        variables: Positions,
        matrix: sp.csr_array,
        limits: tuple[FloatArray, FloatArray],
        scale: float,
        *,
        run: Run,
        enough: bool = False,
    ) -> None:
        self.scale = scale
        self._matrix = matrix.astype(float)
        self._run = run
        self._enough = enough
        self._place = {int(v): i for i, v in enumerate(variables)}
        self._lower, self._upper = (limit[variables] / scale for limit in limits)
        self._first = min(WIDE, FARTHEST / scale) if enough else WIDE
        self._probes: dict[float, Probe] = {}

    def extreme(self, variable: int, sign: int) -> FloatArray:
        """Return the moves, in grains, of a vertex in which the variable has moved as far as it can.

        Bounds are cut off far out, to keep the numbers in one order of magnitude. A vertex that does not touch a cut is
        optimal without it too; otherwise the cut is moved further out. If the variable then goes no further, it never
        will: how far it goes is a concave function of the cut. So it is at most in proportion to the cut, and one that
        does not move at all is not asked about a cut further out, where numbers are large enough to fail the solver.
        """
        column, wide = self._place[variable], self._first
        moves = self._furthest(column, sign, wide)
        while self._is_cut(moves, wide) and np.abs(moves[column]) > _STILL and wide * self.scale < _END:
            if self._enough and np.abs(moves[column]) >= wide / 4:
                break
            wide *= _FURTHER
            further = self._furthest(column, sign, wide)
            if np.abs(further[column]) <= np.abs(moves[column]) * (1 + NEARLY) + NEARLY:
                break
            moves = further
        return moves * self.scale

    def inside(self, variable: int, amount: int) -> FloatArray | None:
        """Return the moves, in grains, of a point in the middle of all in which the variable moves by an amount."""
        column, zero = self._place[variable], np.zeros(self._matrix.shape[0])
        lower, upper = self._limits(self._first)
        lower[column] = upper[column] = amount / self.scale
        program = Program(self._matrix, zero, zero, lower, upper, np.zeros(len(lower)))
        solution = solver.solve(program, interior=True, run=self._run)
        return solution.x * self.scale if solution.status is Status.optimal else None

    def _limits(self, wide: float) -> tuple[FloatArray, FloatArray]:
        return np.maximum(self._lower, -wide), np.minimum(self._upper, wide)

    def _is_cut(self, moves: FloatArray, wide: float) -> bool:
        beyond = np.where(moves > 0, self._upper, -self._lower) > wide
        return bool((beyond & (np.abs(moves) >= wide * (1 - NEARLY))).any())

    def _furthest(self, column: int, sign: int, wide: float) -> FloatArray:
        if wide not in self._probes:
            self._probes[wide] = Probe(self._matrix, *self._limits(wide), primal=True, run=self._run)
        return self._probes[wide].furthest(column, sign).x
