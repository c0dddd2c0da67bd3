"""The modular engine (HiTaS): subtables without hierarchies from the top down, each protected by our own engine.

What a subtable suppresses of its inner cells are totals of subtables further down, which must protect them as if they
were unsafe, if only against being told exactly. The totals of a subtable that are published stay so, unless it cannot
be protected otherwise; then the subtables above are looked at again. Each subtable is safe by itself, and all of them
together need not be: what is left is repaired. Reference: de Wolf (2002), see `subtables`.

In each row of a subtable two unsafe cells that are all that is unsafe there must not protect each other if one of them
has a single respondent, who would know the other: their sum is a cell to protect, too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.methods.suppress.engines.effort import NORMAL, QUICK, Effort
from cellguard.methods.suppress.engines.master import Impossible
from cellguard.methods.suppress.engines.search import Unprotectable
from cellguard.methods.suppress.engines.subtables import Subtable, counts_of, mended, subtables_of
from cellguard.methods.suppress.engines.system import System
from cellguard.methods.suppress.engines.witness import EngineResult, refuse_fixed, witness
from cellguard.proofs.levels import Levels
from cellguard.run_context import Run

_ROUNDS = 6  # looks at all subtables, of which the later ones are only at those whose totals were suppressed
_DEAR = 1_000.0  # how many times as much a total costs that was published further up
_CARRIED = 0.01  # of its value: how far a cell must be able to move that was suppressed further up


def modular(system: System, *, start: BoolArray | None = None, effort: Effort = NORMAL, run: Run) -> EngineResult:
    """Return the pattern of the modular method, and what repairs it; ``start`` is suppressed from the beginning."""
    refuse_fixed(system)
    pattern = system.hidden | (start if start is not None else False)
    pattern = np.asarray(pattern & (system.hidden | ~system.never), bool)
    tables = subtables_of(system)
    work = _Work(system, QUICK if effort is QUICK else NORMAL, run)
    waiting = list(range(len(tables)))
    for round_ in range(_ROUNDS):
        settled = np.zeros(system.n, bool)  # cells that are totals of what comes, and were published
        again: set[int] = set()
        for done, number in enumerate(waiting):
            run.check()
            run.left(len(waiting) - done, len(waiting), "subtables to protect")
            before = pattern.copy()
            pattern = work.protect(tables[number], pattern, settled if round_ < _ROUNDS - 1 else settled & False)
            settled[tables[number].present] = True
            new = pattern & ~before
            if new.any():
                again |= {other for other in waiting[:done] if new[tables[other].present].any()}
        if not again:
            break
        waiting = sorted(again | {n for n in range(len(tables)) if n > min(again)})
    return mended(system, pattern, "modular", run, finished=work.finished)


class _Work:
    """What all subtables share."""

    def __init__(self, system: System, effort: Effort, run: Run) -> None:
        self.system, self.effort, self.run = system, effort, run
        self.counts = counts_of(system)
        self.columns = sp.csc_array(system.matrix)
        self.terms = np.diff(system.matrix.indptr)
        self.value = np.minimum(system.down, 1e15)
        self.finished = True

    def protect(self, table: Subtable, pattern: BoolArray, settled: BoolArray) -> BoolArray:
        """Return the pattern with what a subtable needs."""
        cells = table.present
        needy = self.system.needy[cells] & pattern[cells]
        if not pattern[cells].any():
            return pattern
        relations = self._relations(cells)
        if relations.shape[0] == 0:
            return pattern
        fixed = settled[cells] & ~pattern[cells]
        for dear in (False, True):
            part = self._part(cells, relations, pattern, needy, fixed, dear=dear)
            try:
                solved = witness(part, effort=self.effort, run=self.run)
            except (Unprotectable, Impossible):
                continue
            found, self.finished = solved.hidden[: len(cells)], self.finished and solved.finished
            chosen = pattern.copy()
            chosen[cells[found]] = True
            return chosen & (self.system.hidden | ~self.system.never)
        return pattern

    def _relations(self, cells: Positions) -> sp.csr_array:
        """Return the relations among the cells of a subtable."""
        own = sp.csr_array(self.columns[:, cells])
        whole = np.flatnonzero((np.diff(own.indptr) == self.terms) & (self.terms > 0))
        return sp.csr_array(own[whole])

    def _part(
        self,
        cells: Positions,
        relations: sp.csr_array,
        pattern: BoolArray,
        needy: BoolArray,
        fixed: BoolArray,
        *,
        dear: bool,
    ) -> System:
        """Return a subtable as a system; published totals are fixed, or dear if it cannot be protected so."""
        system = self.system
        hidden = pattern[cells]
        never = system.never[cells] | (fixed & (not dear))
        cost = np.where(fixed, (system.cost[cells] + 1) * _DEAR, system.cost[cells])
        carried = hidden & ~needy & ~system.hidden[cells]
        least = np.where(carried, np.maximum(np.ceil(_CARRIED * self.value[cells]), 1.0), 0.0)
        down, up = system.down[cells], system.up[cells]
        levels = [
            np.where(needy, column[cells], 0.0)
            for column in (system.levels.down, system.levels.up, system.levels.width)
        ]
        levels[0] = np.maximum(levels[0], np.minimum(least, np.where(np.isfinite(down), down, least)))
        levels[1] = np.maximum(levels[1], np.minimum(least, np.where(np.isfinite(up), up, least)))
        asked = [
            np.where(needy, column[cells], 0.0) for column in (system.asked.down, system.asked.up, system.asked.width)
        ]
        part = replace(
            system,
            matrix=relations,
            down=np.where(never & ~hidden, 0.0, down),
            up=np.where(never & ~hidden, 0.0, up),
            levels=Levels(*levels),
            asked=Levels(np.maximum(asked[0], levels[0]), np.maximum(asked[1], levels[1]), asked[2]),
            cost=np.where(hidden, 0.0, cost),
            hidden=hidden,
            never=never & ~hidden,
            pinned=system.pinned[cells] & needy,
            two_sided=system.two_sided[cells] & needy,
            behind=None,
        )
        return _with_pairs(part, self.counts[cells])


def _with_pairs(part: System, counts: FloatArray) -> System:
    """Return a subtable with a cell for the sum of each pair of unsafe cells of which one has a single respondent.

    A pair is all that is unsafe in its relation; the sum must not be told exactly, so that a third cell is suppressed.
    """
    unsafe, matrix = part.needy & part.hidden, part.matrix
    pairs = []
    for row in range(matrix.shape[0]):
        terms = slice(matrix.indptr[row], matrix.indptr[row + 1])
        mine = matrix.indices[terms][unsafe[matrix.indices[terms]]]
        signs = matrix.data[terms][unsafe[matrix.indices[terms]]]
        if len(mine) == 2 and signs[0] == signs[1] and (counts[mine] == 1).any():
            pairs.append((int(mine[0]), int(mine[1])))
    pairs = sorted(set(pairs))
    if not pairs:
        return part
    k, n = len(pairs), len(part.cost)
    rows = np.repeat(np.arange(k), 3)
    columns = np.array([[a, b, n + i] for i, (a, b) in enumerate(pairs)]).ravel()
    sums = sp.csr_array((np.tile([1.0, 1.0, -1.0], k), (rows, columns)), shape=(k, n + k))
    wide = sp.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.shape[0], n + k))
    first, second = (np.array(side) for side in zip(*pairs, strict=True))
    up, down = part.up[first] + part.up[second], part.down[first] + part.down[second]
    need = np.minimum(np.maximum(np.ceil(1e-4 * np.minimum(down, 1e15)), 1.0), np.where(np.isfinite(up), up, np.inf))

    def longer(column: FloatArray | BoolArray, more: object) -> FloatArray:
        return np.concatenate([column, np.broadcast_to(np.asarray(more), k)])

    zero = np.zeros(k)
    return replace(
        part,
        matrix=sp.csr_array(sp.vstack([wide, sums])),
        down=longer(part.down, down),
        up=longer(part.up, up),
        levels=Levels(longer(part.levels.down, zero), longer(part.levels.up, need), longer(part.levels.width, zero)),
        asked=Levels(longer(part.asked.down, zero), longer(part.asked.up, need), longer(part.asked.width, zero)),
        cost=longer(part.cost, 0.0),
        hidden=longer(part.hidden, True).astype(bool),
        never=longer(part.never, False).astype(bool),
        pinned=longer(part.pinned, False).astype(bool),
        two_sided=longer(part.two_sided, False).astype(bool),
    )
