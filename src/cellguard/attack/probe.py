"""How far can single variables move? Warm-started programs, a component at a time, in chunks that may run in parallel.

Chunks are cut the same way whatever the number of threads, and no chunk learns from another, so that results are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from cellguard.attack.reduction import Reduction
from cellguard.errors import InternalError
from cellguard.solver.highs import Session, solve
from cellguard.solver.program import Program, Status

FloatArray = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]
T = TypeVar("T")
R = TypeVar("R")

_CHUNK = 100
_WIDE = 2.0**22
_FARTHEST = 2.0**52  # moves this long still add up within int64


@dataclass(frozen=True, slots=True)
class Task:
    """Move a variable as far as it goes, up (sign 1) or down (sign -1); ``scale`` is the size that matters."""

    variable: int
    sign: int
    scale: float


@dataclass(frozen=True, eq=False)
class Component:
    """Variables that depend on each other, and the relations between them."""

    variables: Positions
    matrix: sp.csr_array


def components(reduction: Reduction, wanted: Positions) -> list[tuple[Component, Positions]]:
    """Return the components that hold wanted variables, each with the wanted ones in it."""
    matrix = reduction.matrix
    rows, columns = matrix.shape
    terms = matrix.tocoo()
    place = (terms.row, terms.col + rows)
    graph = sp.csr_array((np.ones(terms.nnz), place), shape=(rows + columns, rows + columns))
    _, label = connected_components(graph, directed=False)
    of_row, of_column = label[:rows], label[rows:]
    found = []
    for name in np.unique(of_column[wanted]):
        variables = np.flatnonzero(of_column == name)
        part = sp.csr_array(matrix[np.flatnonzero(of_row == name)][:, variables])
        found.append((Component(variables, part), wanted[of_column[wanted] == name]))
    return found


class Prober:
    """The programs of one component at one scale: d = 0 is feasible, so each solve starts from the last vertex.

    With ``enough`` a move that goes far beyond the scale will do, and is kept short enough for exact arithmetic.
    """

    def __init__(
        self, component: Component, lower: FloatArray, upper: FloatArray, scale: float, *, enough: bool = False
    ) -> None:
        self.component = component
        self.scale = scale
        self._enough = enough
        self._place = {int(v): i for i, v in enumerate(component.variables)}
        self._lower, self._upper = lower[component.variables] / scale, upper[component.variables] / scale
        self._first = min(_WIDE, _FARTHEST / scale) if enough else _WIDE
        self._sessions: dict[float, tuple[Session, list[int]]] = {}

    def extreme(self, variable: int, sign: int) -> FloatArray:
        """Return the moves, in grains, of a vertex in which the variable has moved as far as it can.

        Bounds are cut off far out, to keep the numbers in one order of magnitude. A vertex that does not touch a cut is
        optimal without it too; otherwise the cut is moved further out. If the variable then goes no further, it never
        will: how far it goes is a concave function of the cut.
        """
        at, wide = self._place[variable], self._first
        moves = self._solve(at, sign, wide)
        while self._is_cut(moves, wide) and wide * self.scale < 2.0**60:
            if self._enough and np.abs(moves[at]) >= wide / 4:
                break
            wide *= 2.0**10
            further = self._solve(at, sign, wide)
            if np.abs(further[at]) <= np.abs(moves[at]) * (1 + 1e-9) + 1e-9:
                break
            moves = further
        return moves * self.scale

    def inside(self, variable: int, amount: int) -> FloatArray | None:
        """Return the moves, in grains, of a point in the middle of all in which the variable moves by an amount."""
        at, wide = self._place[variable], self._first
        lower, upper = np.maximum(self._lower, -wide), np.minimum(self._upper, wide)
        lower[at] = upper[at] = amount / self.scale
        matrix = self.component.matrix.astype(float)
        zero = np.zeros(matrix.shape[0])
        found = solve(Program(matrix, zero, zero, lower, upper, np.zeros(len(lower))), interior=True)
        return found.x * self.scale if found.status is Status.optimal else None

    def _is_cut(self, moves: FloatArray, wide: float) -> bool:
        beyond = np.where(moves > 0, self._upper, -self._lower) > wide
        return bool((beyond & (np.abs(moves) >= wide * (1 - 1e-9))).any())

    def _session(self, wide: float) -> tuple[Session, list[int]]:
        """Return the session with bounds cut off at ``wide``, and the columns that have a cost in it."""
        if wide not in self._sessions:
            matrix = self.component.matrix.astype(float)
            zero = np.zeros(matrix.shape[0])
            lower, upper = np.maximum(self._lower, -wide), np.minimum(self._upper, wide)
            program = Program(matrix, zero, zero, lower, upper, np.zeros(matrix.shape[1]))
            self._sessions[wide] = Session(program, primal=True), []
        return self._sessions[wide]

    def _solve(self, at: int, sign: int, wide: float) -> FloatArray:
        session, priced = self._session(wide)
        changed = [*(last for last in priced if last != at), at]
        session.set_cost(np.array(changed), np.array([0.0] * (len(changed) - 1) + [-float(sign)]))
        priced[:] = [at]
        solution = session.solve()
        if solution.status is not Status.optimal:
            raise InternalError(f"an attacker's program ended as {solution.status.value}")
        return solution.x


def decades(scales: FloatArray) -> npt.NDArray[np.int64]:
    """Return the order of magnitude (of 2**13) of each scale."""
    return np.floor(np.log2(np.maximum(scales, 1)) / 13).astype(np.int64)


def chunks(tasks: Sequence[Task]) -> Iterator[list[Task]]:
    """Cut tasks of like scale into chunks, the same way every time."""
    group = decades(np.array([task.scale for task in tasks]))
    for decade in np.unique(group):
        same = [task for task, d in zip(tasks, group, strict=True) if d == decade]
        for start in range(0, len(same), _CHUNK):
            yield same[start : start + _CHUNK]


def in_parallel(jobs: Sequence[T], work: Callable[[T], R], threads: int) -> Iterator[R]:
    """Do the jobs, in threads if there are several, and yield the results in the order of the jobs."""
    if threads <= 1 or len(jobs) <= 1:
        yield from map(work, jobs)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, jobs)
