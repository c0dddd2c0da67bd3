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
from cellguard.solver.highs import Session
from cellguard.solver.program import Program, Status

FloatArray = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]
T = TypeVar("T")
R = TypeVar("R")

_CHUNK = 100
_WIDE = 2.0**22


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
    """The programs of one component at one scale: d = 0 is feasible, so each solve starts from the last vertex."""

    def __init__(self, component: Component, lower: FloatArray, upper: FloatArray, scale: float) -> None:
        self.component = component
        self.scale = scale
        self._place = {int(v): i for i, v in enumerate(component.variables)}
        self._lower, self._upper = lower[component.variables] / scale, upper[component.variables] / scale
        self._wide = _WIDE
        self._session = self._open(self._wide)
        self._last: int | None = None

    def extreme(self, variable: int, sign: int) -> FloatArray:
        """Return the moves, in grains, of a vertex in which the variable has moved as far as it can.

        Bounds are cut off far out, to keep the numbers in one order of magnitude. A vertex that does not touch a cut is
        optimal without it too; otherwise the cut is moved further out.
        """
        while True:
            moves = self._solve(self._place[variable], sign)
            cut = (np.abs(moves) >= self._wide * (1 - 1e-9)) & (np.maximum(-self._lower, self._upper) > self._wide)
            if not cut.any() or self._wide > 1e12:
                return moves * self.scale
            if np.abs(moves[self._place[variable]]) >= 2.0**20:
                return moves * self.scale  # far beyond the size that matters
            self._wide *= 2.0**10
            self._session = self._open(self._wide)

    def _open(self, wide: float) -> Session:
        matrix = self.component.matrix.astype(float)
        zero = np.zeros(matrix.shape[0])
        lower, upper = np.maximum(self._lower, -wide), np.minimum(self._upper, wide)
        self._last = None
        return Session(Program(matrix, zero, zero, lower, upper, np.zeros(matrix.shape[1])), primal=True)

    def _solve(self, at: int, sign: int) -> FloatArray:
        changed = [at] if self._last in (None, at) else [self._last, at]
        cost = np.array([0.0] * (len(changed) - 1) + [-float(sign)])
        self._session.set_cost(np.array(changed), cost)
        self._last = at
        solution = self._session.solve()
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
