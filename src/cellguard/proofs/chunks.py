"""Many variables to probe: cut into chunks that may be done in parallel.

Chunks are cut the same way whatever the number of threads, and no chunk learns from another, so that results are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import FloatArray, Positions
from cellguard.proofs.probe import ScaledProbe
from cellguard.proofs.reduction import Reduction
from cellguard.proofs.scale import decades, power_of_two
from cellguard.run_context import Run
from cellguard.table.components import components

R = TypeVar("R")

_CHUNK = 100  # tasks per chunk: long enough for warm starts to pay, short enough to share among threads


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

    def among(self, some: Positions) -> Component:
        """Return the part of some of the variables, in rising order: all others stay fixed."""
        part = sp.csr_array(self.matrix[:, np.searchsorted(self.variables, some)])
        return Component(some, sp.csr_array(part[np.flatnonzero(np.diff(part.indptr))]))


@dataclass(frozen=True, eq=False)
class Chunk:
    """Tasks of like scale in one component."""

    component: Component
    tasks: Sequence[Task]

    def probe(self, limits: tuple[FloatArray, FloatArray], *, run: Run, enough: bool = False) -> ScaledProbe:
        """Return the programs of the component at the tasks' scale, within limits over all variables."""
        scale = power_of_two(self.tasks[0].scale)
        return ScaledProbe(self.component.variables, self.component.matrix, limits, scale, run=run, enough=enough)

    def spread(self, moves: FloatArray, n: int) -> FloatArray:
        """Return the moves of all n variables from those of the component's."""
        spread = np.zeros(n)
        spread[self.component.variables] = moves
        return spread


def cut_tasks(reduction: Reduction, tasks: Sequence[Task]) -> list[Chunk]:
    """Cut tasks into chunks of one component and like scale, the same way every time."""
    of_row, of_column = components(reduction.matrix)
    variable, scale = np.array([t.variable for t in tasks], np.intp), np.array([t.scale for t in tasks], float)
    chunks = []
    for name in np.unique(of_column[variable]):
        inside = np.flatnonzero(of_column == name)
        component = Component(inside, sp.csr_array(reduction.matrix[np.flatnonzero(of_row == name)][:, inside]))
        own = np.flatnonzero(of_column[variable] == name)
        for decade in decades(scale[own]):
            same = [tasks[i] for i in own[decade].tolist()]
            chunks += [Chunk(component, same[i : i + _CHUNK]) for i in range(0, len(same), _CHUNK)]
    return chunks


def in_parallel(chunks: Sequence[Chunk], work: Callable[[Chunk], R], threads: int) -> Iterator[R]:
    """Do the chunks, in threads if there are several, and yield the results in the order of the chunks."""
    if threads <= 1 or len(chunks) <= 1:
        yield from map(work, chunks)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, chunks)
