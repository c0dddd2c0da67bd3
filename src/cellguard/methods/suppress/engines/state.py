"""`State`: a pattern with what propagation knows of it, under changes that can be undone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.methods.suppress.engines import incremental_kernel, search_kernel
from cellguard.methods.suppress.engines import propagation_kernel as kernel
from cellguard.methods.suppress.engines.cuts import Cut, as_rows
from cellguard.methods.suppress.engines.propagation import LEAF_PRICE, Propagation
from cellguard.proofs.extent_kernel import WORK, Graph
from cellguard.run_context import Run

_LOG = 1 << 20


class State:
    """Which cells are suppressed, and which targets and watched cuts are served as far as propagation sees.

    Targets are named by their number, watched cuts by the number of targets plus theirs.
    """

    def __init__(self, propagation: Propagation, hidden: BoolArray, *, seed: int = 1) -> None:
        system, goals = propagation.system, propagation.goals
        self.system = system
        self._graph, self._goals = propagation.graph, goals
        n, nodes = system.n, 2 * system.n * len(goals.size)
        barred = system.never & ~system.hidden
        self._pattern = kernel.Pattern(
            (hidden & ~system.never) | system.hidden,
            barred,
            system.hidden,
            system.cost,
            np.empty(nodes),
            np.empty(nodes, np.int32),
        )
        self._scratch = kernel.Scratch(
            np.zeros(n), np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64),
            np.zeros(len(self._graph.row_start) - 1, np.int64), np.empty(_LOG, np.int64), np.empty(_LOG),
            np.empty(_LOG, np.int32), np.empty(4 * n + 16, np.int64), np.zeros(8, np.int64),
        )  # fmt: skip
        self._scratch.counts[kernel.SEED] = 88172645463325252 + seed
        self._cuts: list[Cut] = []
        self._watched = self._watch([])
        incremental_kernel.rebuild(LEAF_PRICE, goals, self._pattern, self._graph, self._scratch)

    @property
    def hidden(self) -> BoolArray:
        """Which cells are suppressed now."""
        return self._pattern.hidden.copy()

    @property
    def reach(self) -> FloatArray:
        """How far each cell can move at most, up and down, by scale, in units of the scale."""
        return self._pattern.reach.copy()

    @property
    def cost(self) -> float:
        """What the secondaries cost."""
        return float(self.system.cost[self._pattern.hidden & ~self.system.hidden].sum())

    @property
    def work(self) -> int:
        """How much was done so far: terms of relations that were looked at."""
        return int(self._scratch.counts[WORK])

    def watch(self, cuts: Sequence[Cut]) -> None:
        """Keep these cuts served as well from now on."""
        self._cuts += [cut for cut in cuts if len(cut.cells)]
        self._watched = self._watch(self._cuts)

    def _watch(self, cuts: Sequence[Cut]) -> kernel.Watched:
        rows = as_rows(cuts, self.system.n)
        columns = sp.csc_array(rows)
        left = np.asarray(rows @ self._pattern.hidden.astype(float), float).reshape(len(cuts))
        return kernel.Watched(
            rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data.astype(float),
            columns.indptr.astype(np.int64), columns.indices.astype(np.int64), columns.data.astype(float), left,
        )  # fmt: skip

    def move_to(self, hidden: BoolArray) -> None:
        """Make another pattern the present one."""
        other = (hidden & ~self.system.never) | self.system.hidden
        cells = np.flatnonzero(other != self._pattern.hidden)
        if len(cells) > max(200, len(other) // 50):
            self._pattern.hidden[:] = other
            self._watched = self._watch(self._cuts)
            incremental_kernel.rebuild(LEAF_PRICE, self._goals, self._pattern, self._graph, self._scratch)
        elif len(cells):
            self._change(cells.astype(np.int64))
        incremental_kernel.begin(self._scratch)

    def _change(self, cells: LongArray) -> list[int]:
        return list(
            incremental_kernel.change(
                cells, False, LEAF_PRICE, self._goals, self._pattern, self._watched, self._graph, self._scratch
            )
        )

    def unserved(self) -> LongArray:
        """Return all targets and watched cuts that are not served."""
        open_ = kernel_unserved(self._goals, self._pattern, self._graph, self._scratch)
        short = np.flatnonzero(self._watched.left < kernel.SERVED) + len(self._goals.cell)
        return np.concatenate([open_, short]).astype(np.int64)

    def cover(self, open_: LongArray, guide: FloatArray) -> bool:
        """Suppress cheap cells until these are served; False if some cannot be."""
        incremental_kernel.begin(self._scratch)
        _, done = search_kernel.cover(
            open_, guide, np.inf, -1, 0.0, LEAF_PRICE, self._goals, self._pattern, self._watched, self._graph,
            self._scratch,
        )  # fmt: skip
        incremental_kernel.begin(self._scratch)
        return bool(done)

    def construct(self, guide: FloatArray, run: Run) -> None:
        """Suppress cheap cells until propagation sees everything served: by rounds for all, then one by one for the
        last.

        A round satisfies the present cuts of all open targets and propagates afresh. While most cells are determined,
        that is far less work than to follow what each single cell changes.
        """
        for _ in range(self.system.policy.construct_rounds):
            run.check()
            open_ = self.unserved()
            if len(open_) <= self.system.policy.construct_few:
                break
            run.left(len(open_), len(self._goals.cell) + len(self._watched.left), "protection levels unmet")
            run.check()
            need = np.concatenate([self._goals.need, np.zeros(len(self._watched.left))])
            order = open_[np.argsort(-need[open_], kind="stable")]
            cells, _ = search_kernel.choose(
                order, guide, self._goals, self._pattern, self._watched, self._graph, self._scratch
            )
            if not len(cells):
                break
            self.move_to(self.hidden | np.isin(np.arange(self.system.n), cells))
        self.cover(self.unserved(), guide)

    def clean(self, cells: Positions | None = None, *, most: int = 1 << 60) -> int:
        """Publish secondaries, the dearest first, where all stays served; return how many."""
        some = np.flatnonzero(self._pattern.hidden & ~self.system.hidden) if cells is None else cells
        order = some[np.argsort(-self.system.cost[some], kind="stable")].astype(np.int64)
        return int(
            search_kernel.clean(
                order, most, LEAF_PRICE, self._goals, self._pattern, self._watched, self._graph, self._scratch
            )
        )

    def improve(self, cells: Positions, guide: FloatArray, *, sizes: Sequence[int], noise: float) -> float:
        """Try to exchange or insert these cells; return what was saved."""
        return float(
            search_kernel.improve(
                cells.astype(np.int64), np.array(sizes, np.int64), noise, guide, LEAF_PRICE, self._goals,
                self._pattern, self._watched, self._graph, self._scratch,
            )
        )  # fmt: skip


def kernel_unserved(goals: kernel.Goals, pattern: kernel.Pattern, graph: Graph, scratch: kernel.Scratch) -> LongArray:
    """Return the targets that are not served."""
    return np.asarray(search_kernel.unserved(goals, pattern, graph, scratch), np.int64)
