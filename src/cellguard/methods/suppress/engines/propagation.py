"""Separation by propagation: how far all targets can move at x, at once, and a cut for each that falls short.

Let e_c be how far cell c can move one way at x: at most its room scaled by x_c, and in each relation at most the sum of
what the others can move against it. The least fixed point of e_c = min(x_c room_c, sum of e_j) bounds every move from
above. It is found cell by cell, the smallest first, as in Knuth's generalisation of Dijkstra (1977), and each cell
keeps the relation that bounded it. Following these from a target t gives weights w with sum(w_c x_c) >= need_t for all
safe x: a capacity cut (Fischetti and Salazar 2001), which x violates if e_t is below the need.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import FloatArray, LongArray
from cellguard.methods.suppress.engines import propagation_kernel as kernel
from cellguard.methods.suppress.engines.cuts import Cut
from cellguard.methods.suppress.engines.system import System
from cellguard.proofs import extent_kernel

LEAF_PRICE = 1e-3  # what a published cell counts for in a derivation, so that short ones win
_VIOLATED = 1e-3  # by how much a cut must be violated to count


class Propagation:
    """The relations and targets of a system, ready for the kernels."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.graph = _graph(system)
        self.goals = _goals(system)
        n = system.n
        self._scratch = kernel.Scratch(
            np.zeros(n), np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64),
            np.zeros(len(self.graph.row_start) - 1, np.int64), np.empty(0, np.int64), np.empty(0),
            np.empty(0, np.int32), np.empty(0, np.int64), np.zeros(8, np.int64),
        )  # fmt: skip

    @property
    def work(self) -> int:
        """How much was done so far: terms of relations that were looked at."""
        return int(self._scratch.counts[extent_kernel.WORK])

    def separate(self, x: FloatArray, *, violated: float = _VIOLATED) -> list[Cut]:
        """Return the cuts that x violates: at most one a target."""
        n, goals, system = self.system.n, self.goals, self.system
        reach, via = np.empty(2 * n), np.empty(2 * n, np.int32)
        # Cells that must stay published have no variable: what they could move counts for nothing in a cut.
        barred = system.never & ~system.hidden
        cuts: dict[tuple[bytes, bytes], Cut] = {}
        for scale, size in enumerate(goals.size):
            extent_kernel.propagate(size, x, LEAF_PRICE, self.graph, reach, via, self._scratch.counts, -1)
            targets = np.flatnonzero(goals.scale == scale)
            start, cells, weights = kernel.cuts_of(
                targets, x, violated, goals, reach, via, self.graph, barred, system.hidden, self._scratch
            )
            for k in range(len(start) - 1):
                at = slice(start[k], start[k + 1])
                order = np.argsort(cells[at])
                cut = Cut(cells[at][order].astype(np.intp), weights[at][order])
                cuts[cut.key()] = cut
        return list(cuts.values())


def _graph(system: System) -> extent_kernel.Graph:
    rows, columns = sp.csr_array(system.matrix), sp.csc_array(system.matrix)
    return extent_kernel.Graph(
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.int64),
        rows.data.astype(float),
        columns.indptr.astype(np.int64),
        columns.indices.astype(np.int64),
        columns.data.astype(float),
        system.up,
        system.down,
    )


def _goals(system: System) -> kernel.Goals:
    """Collect the targets: a sliding need is a width, others go one way; sizes within a factor of 2 share a scale."""
    need_up = np.where(system.pinned, system.asked.up, system.levels.up)
    need_down = np.where(system.pinned, system.asked.down, system.levels.down)
    up, down, width = (np.flatnonzero(some) for some in (need_up > 0, need_down > 0, system.pinned))
    cell = np.concatenate([up, down, width]).astype(np.int64)
    kind = np.repeat([kernel.UP, kernel.DOWN, kernel.WIDTH], [len(up), len(down), len(width)]).astype(np.int64)
    need = np.concatenate([need_up[up], need_down[down], system.levels.width[width]])
    names, scale = np.unique(np.floor(np.log2(need)).astype(np.int64), return_inverse=True)
    size = np.zeros(len(names))
    np.maximum.at(size, scale, need)
    of_node, of_cell = np.full(2 * system.n, -1, np.int64), np.full(system.n, -1, np.int64)
    number: LongArray = np.arange(len(cell))
    one_way = kind != kernel.WIDTH
    of_node[2 * cell[one_way] + kind[one_way]] = number[one_way]
    of_cell[width] = number[~one_way]
    return kernel.Goals(cell, kind, need, scale.astype(np.int64), size, of_node, of_cell)
