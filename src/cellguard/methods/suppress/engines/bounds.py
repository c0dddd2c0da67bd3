"""Bounds and optima: the relaxed master with cuts of every kind, and whole masters for small sets.

The cutting plane method: solve the relaxed master, find cuts that its x violates, add them, and repeat. Each optimum is
a lower bound on the cost of any safe pattern, and they never fall. Cuts of propagation are quickest, cuts of programs
are deeper; whole masters close the gap where cells are few.
"""

from __future__ import annotations

import numpy as np

from cellguard.arrays import BoolArray, FloatArray
from cellguard.methods.suppress.engines.cuts import deepen, relation_cuts, separate
from cellguard.methods.suppress.engines.effort import QUICK
from cellguard.methods.suppress.engines.master import Master
from cellguard.methods.suppress.engines.search import Search


class Bounds:
    """The master of one search: what it proves goes to the search's bound, what it likes to the search's guide."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.system, self.policy = search.system, search.policy
        few = len(search.propagation.goals.cell) <= search.policy.relation_targets
        self.master = Master(self.system, relation_cuts(self.system) if few else [], run=search.run)
        self.x: FloatArray = self.system.hidden.astype(float)
        if few:
            search.kinds.add("relations")

    def add_propagation_cuts(self) -> None:
        """Raise the bound by cuts of propagation until rounds gain little, or the work is used up."""
        search, end = self.search, self.search.work + self.search.bounding
        search.run.tell("computing a lower bound")
        search.run.check()
        self._solve()
        gain = self.policy.quick_gain if search.effort is QUICK else self.policy.bound_gain
        bounds = [search.bound]
        while search.work < end:
            search.run.check()
            if not self.master.add(search.propagation.separate(self.x)):
                break
            self.search.kinds.add("propagation")
            self._solve()
            bounds.append(search.bound)
            search.run.tell(f"{len(self.master.cuts):,} cuts in the master problem")
            search.run.check()
            if len(bounds) > 6 and bounds[-1] - bounds[-4] < gain * bounds[-1]:
                break

    def add_program_cuts(self, rounds: int) -> None:
        """Raise the bound by cuts of programs at fractional x: in two dimensions they are the better ones."""
        search = self.search
        for number in range(rounds):
            look = separate(self.system, self.x, seed=number, run=search.run)
            if not self.master.add(look.cuts):
                break
            self.search.kinds.add("programs")
            before = search.bound
            self._solve()
            search.run.tell(f"{len(self.master.cuts):,} cuts, {len(look.unserved):,} protection levels unmet")
            search.run.check()
            if search.bound - before < 1e-4 * search.bound and number > 5:
                break

    def _solve(self) -> None:
        self.x, bound = self.master.fractional()
        most = self.policy.dense_rows if self.system.is_flat else self.policy.master_rows
        self.search.spent += float(self.master.iterations) * min(len(self.master.cuts), most)
        self.search.bound = max(self.search.bound, bound)
        self.search.guide = self.system.cost * (1.0 - self.policy.likely * np.clip(self.x, 0, 1)) + 1e-9

    def add_search_cuts(self) -> None:
        """Add the exact cuts that the search has found."""
        if self.master.add(self.search.cuts):
            self.search.kinds.add("programs")
            self._solve()

    def raise_bound(self) -> None:
        """Solve one whole master roughly, for its bound: a solver's own cuts raise it well above the fractional one."""
        self.search.run.tell("computing a lower bound with whole numbers")
        self.search.run.check()
        self._whole(self.policy.near, 1, self.policy.raised_share * self.search.budget)

    def _whole(self, gap: float, nodes: int, allowed: float) -> BoolArray:
        """Solve a whole master, and take over its bound."""
        search, before = self.search, self.master.work
        chosen, bound = self.master.whole(nodes=nodes, gap=gap, start=search.pattern(), allowed=allowed)
        search.spent += self.master.work - before
        search.bound = max(search.bound, bound)
        return chosen

    def solve_masters(self, patience: int, to_the_end: bool, allowed: float = np.inf) -> None:
        """Solve whole masters, each with the cuts that the last pattern violates; mend what is nearly safe.

        Rounds that neither save nor prove anything end it when they are too many in a row, and so does the work that is
        ``allowed``. Masters are only solved ``to_the_end`` where they are small; then only that work ends them before
        the gap is what the effort asks for.
        """
        search, idle, fresh, begin = self.search, 0, 1, self.search.work
        for number in range(self.policy.optimal_rounds):
            before = search.gap
            # As long as the best pattern is far from the bound, the next cuts matter more than this master's last bit.
            rough = self.policy.rough * before if fresh and before > self.policy.near else 0.0
            left = begin + (allowed if before > search.effort.gap else self.policy.closing * allowed) - search.work
            if left <= 0:
                break
            chosen = self._whole(rough, self.policy.optimal_nodes if to_the_end else 1, left)
            chosen |= self.system.hidden
            look = separate(self.system, chosen.astype(float), seed=100 + number, run=search.run)
            search.spent += float(look.programs) * self.system.matrix.nnz
            fresh = self.master.add(look.cuts)
            self.search.kinds.add("programs")
            if len(look.unserved) < self.policy.open_worth:
                self.master.add(deepen(self.system, chosen.astype(float), look.unserved, run=search.run))
                search.mend(chosen, self.policy.first_repair)
                search.trim()
            search.report_progress(f"round {number + 1}")
            idle = 0 if search.gap < before * (1 - self.policy.progress) else idle + 1
            tired = idle >= patience and (not to_the_end or search.gap <= search.effort.gap)
            if (not fresh and not rough) or search.gap <= self.policy.proven or tired:
                break
