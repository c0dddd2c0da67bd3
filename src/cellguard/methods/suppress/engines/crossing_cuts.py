"""`CrossingCuts`: the world with its crossing table behind a system without it, and the cuts of patterns unsafe there.

Nobody publishes a crossing table, so its cells are suppressed in every pattern: in a cut of the whole world they only
add a constant, and what is left is a cut over the cells of the smaller system. Every pattern that is safe in the whole
world satisfies it, so that a master with such cuts still bounds what safe patterns cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray
from cellguard.methods.suppress.engines.cuts import Cut, Target, asked_of, cut_of, rooms, unproven
from cellguard.methods.suppress.engines.system import System, build_system, manageable
from cellguard.proofs.pricing import Priced, widened
from cellguard.protection import Requirements
from cellguard.run_context import Run
from cellguard.table.pattern import Pattern


class CrossingCuts:
    """The whole world of requirements in a thin one, seen from a small system of the same tables and costs."""

    def __init__(self, small: System, thin: Requirements, cost: FloatArray, known: sp.csr_array | None) -> None:
        self._thin, self._cost, self._known = thin, cost, known
        world, n = thin.world, len(thin.tables)
        everything = replace(world, moving=np.ones(world.between, bool))
        self._whole = build_system(replace(thin, world=everything), cost, known)
        self._listed, self._small = self._whole.merged.merged[:n], small.merged.merged[:n]
        self._taken = np.zeros(self._whole.n, bool)  # the cells that moved in a program so far
        self._taken[self._listed] = True
        self._taken[self._whole.merged.merged[n:][world.moving]] = True

    def cuts(self, hidden: BoolArray, *, run: Run) -> list[Cut]:
        """Return cuts over the small system's cells that one of its patterns violates in the whole world, if any."""
        whole, published = self._whole, ~hidden[self._small]
        moving = np.ones(whole.n, bool)
        moving[self._listed[published]] = False
        moving |= whole.hidden
        moving &= ~whole.never
        # Of the cells that are one in the whole world, one that is published stands for all.
        place = np.full(whole.n, -1)
        place[self._listed] = self._small
        place[self._listed[published]] = self._small[published]
        cuts = [_alone(int(cell)) for cell in np.unique(self._small[published & whole.needy[self._listed]])]
        for cut in self._violated(moving, run):
            cells = place[cut.cells]
            order = np.argsort(cells)
            cuts.append(Cut(cells[order].astype(np.intp), cut.weights[order]))
        return cuts

    def system_for(self, pattern: Pattern, *, run: Run) -> System:
        """Return the system of a world in which as many cover cells move as a pattern's needs ask for."""
        system = build_system(self._thin, self._cost, self._known)
        hidden = (system.merge(pattern.hidden) | system.hidden) & ~system.never
        open_ = [target.cell for target in unproven(system, hidden, run=run)]
        cells = np.flatnonzero(self._thin.primary & np.isin(system.merged.merged[: len(self._cost)], open_))
        unknown = pattern.unknown & ~self._thin.world.constraints.empty
        wide = widened(self._thin, unknown, cells, self._known, run=run)
        return system if wide is self._thin else build_system(wide, self._cost, self._known)

    def _violated(self, moving: BoolArray, run: Run) -> list[Cut]:
        """Return cuts over the whole world's cells when some of them may move."""
        whole = self._whole
        open_ = unproven(whole, moving & self._taken, run=run)
        if not open_:
            return []
        down, up = (np.where(moving, room, 0.0) for room in (whole.down, whole.up))
        priced = Priced(whole.matrix, down, up, moving & self._taken, moving, run=run)
        cuts = [self._cut(priced, target) for target in open_]
        self._taken |= priced.taken
        return [cut for cut in cuts if cut is not None]

    def _cut(self, priced: Priced, target: Target) -> Cut | None:
        """Return the cut of a target, or None if it is served; a sliding need may be met on both sides together."""
        whole, cell, sign = self._whole, target.cell, float(np.sign(target.amount))
        asked = asked_of(whole, target)
        cut = self._short(priced, cell, asked, (sign,)) if asked else None
        if cut is None and whole.pinned[cell]:
            cut = self._short(priced, cell, float(whole.levels.width[cell]), (sign, -sign))
        return cut

    def _short(self, priced: Priced, cell: int, need: float, signs: Sequence[float]) -> Cut | None:
        """Return the cut if a cell does not reach a protection level in these directions together."""
        weights, reached = np.zeros(self._whole.n), 0.0
        for sign in signs:
            reach = priced.reach(cell, sign * need)
            reached += reach.share
            weights += rooms(self._whole, cell, priced.prices(reach))
        return cut_of(self._whole, weights / need) if reached < 1 - 1e-6 else None


def _alone(cell: int) -> Cut:
    """Return the cut of a cell that equals an unsafe one in the whole world: suppress it."""
    return Cut(np.array([cell], np.intp), np.ones(1))


def first_system(needs: Requirements, cost: FloatArray, known: sp.csr_array | None) -> System:
    """Return the system to search in: where a crossing table is too large for that, it is left out, and behind it."""
    thin = manageable(needs)
    if not thin.world.is_thin:
        return build_system(needs, cost, known)
    small = build_system(replace(needs, world=needs.world.without_crossing()), cost, known)
    return replace(small, behind=CrossingCuts(small, thin, cost, known))
