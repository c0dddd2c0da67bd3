"""The search for a cheap safe pattern: safe first, then better.

1. Construct: suppress cheap cells until propagation sees every target served, and publish what is needless.
2. Prove: pooled programs; what they leave open is repaired by exact cuts, which are kept for good, and what these leave
   by joint flows. Now a safe pattern stands.
3. Improve: exchange, insert and drop cells where propagation and all known cuts allow it; prove, repair, keep if
   cheaper. The cuts of all steps, in one relaxed master, bound what any safe pattern costs.
"""

from __future__ import annotations

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.errors import InternalError
from cellguard.methods.suppress.engines.blockwise import flow_by_blocks
from cellguard.methods.suppress.engines.coverage import Coverage
from cellguard.methods.suppress.engines.cuts import Cut, Target
from cellguard.methods.suppress.engines.effort import SECOND, Effort
from cellguard.methods.suppress.engines.flows import joint_flows
from cellguard.methods.suppress.engines.oracle import Oracle
from cellguard.methods.suppress.engines.propagation import Propagation
from cellguard.methods.suppress.engines.propagation_kernel import DOWN
from cellguard.methods.suppress.engines.repair import Repairer
from cellguard.methods.suppress.engines.state import State
from cellguard.methods.suppress.engines.system import System
from cellguard.run_context import Run


class Unprotectable(Exception):
    """No flow serves a target, whatever is suppressed."""

    def __init__(self, target: Target) -> None:
        super().__init__(str(target.cell))
        self.target = target


class Search:
    """The best safe pattern so far, the exact cuts so far, and the work spent."""

    def __init__(self, system: System, effort: Effort, run: Run) -> None:
        self.system = system
        self.policy = system.policy
        self.effort = effort
        self.run = run
        self.propagation = Propagation(system)
        self.oracle = Oracle(self.propagation)
        self.repairer = Repairer(system, run=run)
        self.counted = bool(system.needs.tables.is_count[system.needs.primary].all())
        self.state = State(self.propagation, system.hidden)
        self.cuts: list[Cut] = []
        self.best: BoolArray | None = None
        self.bound = 0.0
        self.spent = 0.0  # on masters
        self.kinds: set[str] = set()  # of the cuts that the bound rests on
        self.rests_on_flows = False  # they ended the repair of the first pattern, and suppress more than cuts would
        self.guide: FloatArray = system.cost + 1e-9
        self._rng = np.random.default_rng(1)
        self._history: list[tuple[float, float]] = []

    def pattern(self) -> BoolArray:
        """Return the best safe pattern; there is one once `keep` was called."""
        if self.best is None:
            raise InternalError("no safe pattern yet")
        return self.best

    def cost(self, hidden: BoolArray) -> float:
        """Return the cost of a pattern's secondaries."""
        return float(self.system.cost[hidden & ~self.system.hidden].sum())

    @property
    def is_steep(self) -> bool:
        """Whether patterns are looked for from above: beyond two dimensions, but for counts, which move by
        whole moves.

        Small sets are left to whole masters.
        """
        free = int((~self.system.hidden & ~self.system.never).sum())
        return not self.system.is_flat and not self.counted and free > self.policy.optimal_free

    @property
    def work(self) -> float:
        """The units of work spent so far."""
        return self.spent + self.propagation.work + self.state.work + self.oracle.work

    @property
    def budget(self) -> float:
        """The units of work that the effort allows."""
        return self.effort.work(len(self.system.needs.tables))

    @property
    def gap(self) -> float:
        """How far the best pattern may be above the optimum, as a share of its cost."""
        cost = self.cost(self.pattern())
        return max(cost - self.bound, 0.0) / max(cost, 1e-9)

    def keep(self, hidden: BoolArray) -> bool:
        """Keep a safe pattern if it is the cheapest so far."""
        better = self.best is None or self.cost(hidden) < self.cost(self.best) * (1 - 1e-12)
        if better:
            self.best = hidden.copy()
        return better

    def adopt_cuts(self, cuts: list[Cut]) -> None:
        """Take over cuts that more than this system asks for; of the patterns so far only a repaired one is kept."""
        self.cuts += cuts
        self.state.watch(cuts)
        self.state.move_to(self.pattern())
        self.state.cover(self.state.unserved(), self.guide)
        self.best = self.state.hidden

    def begin(self, start: BoolArray | None) -> None:
        """Make the first safe pattern, from a given one if there is one."""
        open_ = self._construct(self.system.hidden if start is None else start)
        self.rests_on_flows = len(open_) > 0
        self.keep(self.flow(self.state.hidden, open_) if len(open_) else self.state.hidden)

    def reconstruct(self) -> None:
        """Make another pattern, of what the master likes by now, and keep it if it is cheaper.

        Not where flows had to end the repair of the first one.
        """
        if not self.rests_on_flows and not len(self._construct(self.system.hidden)):
            self.keep(self.state.hidden)

    def _construct(self, start: BoolArray) -> LongArray:
        """Construct a pattern from what is suppressed, and repair it by cuts; return the targets left open."""
        self.run.tell("constructing a pattern")
        self.run.check()
        self.state.move_to(start)
        self.state.construct(self.guide, self.run)
        open_ = self._thin()
        return self.repaired(open_)

    def _thin(self) -> LongArray:
        """Publish what propagation finds needless: all in two dimensions, else the dearest part; return what opens.

        In two dimensions cells are exchanged for cheaper ones too. The less is left of it, the less the repaired
        pattern costs, and the longer its repair takes. If too much opens, nothing is published: with each dimension
        propagation sees less of what determines cells.
        """
        whole, cost = self.state.hidden, self.system.cost
        if "thinning" in self.policy.left_out:
            return self.oracle.unproven(whole, self.run, patience=1, split=True)
        self.state.clean()
        if self.system.is_flat:
            self.exchange(round(self.policy.exchanged * (self.state.hidden & ~self.system.hidden).sum()))
        else:
            needless = np.flatnonzero(whole & ~self.state.hidden)
            dearest = needless[np.argsort(-cost[needless], kind="stable")]
            worth = np.cumsum(cost[dearest])
            self.state.move_to(whole)
            self.state.clean(dearest[worth <= self.policy.thinned * worth[-1]] if len(worth) else dearest)
        open_ = self.oracle.unproven(self.state.hidden, self.run, patience=1, split=True)
        if len(open_) <= self.policy.opened * len(self.propagation.goals.cell):
            return open_
        self.state.move_to(whole)
        return self.oracle.unproven(self.state.hidden, self.run, among=open_, patience=1, split=True)

    def trim(self) -> None:
        """Publish what propagation and the cuts find needless, as long as a repair of what that breaks is quick.

        In two dimensions that is little; in more a pattern without all needless cells is far from safe.
        """
        end = self.work + self.policy.trimming * self.size
        most = 1 << 60 if self.system.is_flat else round(self.policy.batch * self.size)
        while self.work < end and self.state.clean(most=most):
            if not self.try_pattern(self._first_repair):
                break

    @property
    def size(self) -> float:
        """How many times 10,000 targets there are, at least 1."""
        return max(1.0, len(self.propagation.goals.cell) / 10_000)

    @property
    def _first_repair(self) -> float:
        """The units of work of one repair by cuts before flows end it: beyond two dimensions less for each target."""
        return self.policy.first_repair * (self.size if self.system.is_flat else float(np.sqrt(self.size)))

    @property
    def bounding(self) -> float:
        """The units of work that may go into cuts of propagation for the bound."""
        return max(self.policy.bound_share * self.budget, self.policy.first_bound * self.size)

    def repaired(self, open_: LongArray, allowed: float | None = None) -> LongArray:
        """Repair the constructed pattern by cuts; flows serve the last few of a flat set. Return what is left.

        Single programs of a large set take minutes, so there all is left to flows.
        """
        if self.oracle.vast or not len(open_):
            return open_
        allowed = self._first_repair if allowed is None else allowed
        few = round(self.policy.flat_few * len(self.propagation.goals.cell)) if self.system.is_flat else 0
        open_ = self.repair(open_, allowed, patience=self.policy.patient_rounds, few=few)
        if not 0 < len(open_) <= few:
            return open_
        self.state.move_to(self._single_flows(self.state.hidden, open_))
        return open_[:0]

    def reroute_flows(self) -> None:
        """Serve all targets once more, by joint flows of the suppressed cells, and publish what none of them moves.

        Cuts say what must be suppressed, one after another, and so do flows for what is open; that leaves cells which
        no target needs any more, and which only flows for all of them together find.
        """
        if self.system.matrix.nnz > self.policy.threaded_terms * self.system.n or self.oracle.vast or self.counted:
            return
        goals, within, hidden = self.propagation.goals, self.pattern(), self.system.hidden
        served, open_ = Coverage(self.propagation), np.arange(len(goals.cell))
        while len(open_):
            self.run.left(len(open_), len(goals.cell), "protection levels to meet with fewer cells")
            self.run.check()
            hidden, flows = joint_flows(self.system, goals, hidden, open_, within, self._rng, run=self.run)
            for flow in flows:
                served.credit_both(flow)
            left = open_[~served.mask()[open_]]
            if len(left) > self.policy.threaded * len(open_):
                break
            open_ = left
        self.keep(self._single_flows(hidden, open_, within))

    def flow(self, hidden: BoolArray, open_: LongArray, within: BoolArray | None = None) -> BoolArray:
        """Suppress what flows for the open targets need: joint ones, then single ones for the last.

        Joint flows of a large set are of blocks; of counts, which protection level whole ones, of all. Where there are
        flows ``within`` some cells, those are taken.
        """
        if self.oracle.vast and not self.counted:
            return self._single_flows(
                *flow_by_blocks(self.propagation, self.repairer.neighbours, hidden, open_, self._rng, self.run)
            )
        goals = self.propagation.goals
        for number in range(self.policy.flow_rounds):
            before = len(open_)
            among = within
            if among is None:
                among = self._around(hidden, goals.cell[open_], number + self.policy.flow_steps)
            if self.oracle.vast and among.sum() > self.policy.whole_flows:
                break
            self.run.left(before, len(goals.cell), "protection levels to repair")
            self.run.check()
            vast = self.oracle.vast
            hidden, flows = joint_flows(self.system, goals, hidden, open_, among, self._rng, rough=vast, run=self.run)
            served = Coverage(self.propagation)
            for flow in flows:
                served.credit_both(flow)
            open_ = open_[~served.mask()[open_]]
            if vast:
                open_ = self.oracle.unproven(hidden, self.run, among=open_, split=True)
            if not len(open_) or (len(open_) == before and (among is within or among.all())):
                break
            self.run.check()
        return self._single_flows(hidden, open_, within)

    def unproven_nearby(self, open_: LongArray) -> LongArray:
        """Return those of some targets that no short move of suppressed cells near them serves; of counts, no whole
        one.
        """
        served, hidden = Coverage(self.propagation), self.state.hidden
        for number, target in enumerate(open_.tolist()):
            if number % self.policy.told_each == 0:
                self.run.tell(f"{len(open_) - number:,} protection levels left to prove")
                self.run.check()
            if not served.has(target):
                way = self.repairer.short(
                    self._target(target), hidden, self.guide, hidden, self.policy.nearby, whole=self.counted
                )
                if way is not None and (way.is_whole or not self.counted):
                    served.credit_both(way.moves, way.cells)
        return open_[~served.mask()[open_]]

    def _single_flows(self, hidden: BoolArray, open_: LongArray, within: BoolArray | None = None) -> BoolArray:
        """Suppress what a flow for each open target needs, one after another, unless one before it serves it too.

        Where there are flows ``within`` some cells, one of those is taken.
        """
        hidden, served, free = hidden.copy(), Coverage(self.propagation), ~self.system.never
        for number, target in enumerate(open_.tolist()):
            if number % self.policy.told_each == 0:
                self.run.left(len(open_) - number, len(self.propagation.goals.cell), "protection levels to repair")
            self.run.check()
            if served.has(target):
                continue
            single = self._target(target)
            way = None
            if self.oracle.vast:
                way = self.repairer.short(single, hidden, self.guide, free, self.policy.narrow, whole=self.counted)
            if within is not None:
                way = self.repairer.flow(single, hidden, self.guide, allowed=within)
            way = way or self.repairer.flow(single, hidden, self.guide)
            if way is None:
                raise Unprotectable(single)
            hidden[way.cells] = True
            served.credit_both(way.moves, way.cells)
        return hidden

    def _target(self, number: int) -> Target:
        """Return a target by its number."""
        goals = self.propagation.goals
        amount = -goals.need[number] if goals.kind[number] == DOWN else goals.need[number]
        return Target(int(goals.cell[number]), float(amount))

    def _around(self, hidden: BoolArray, cells: LongArray, rounds: int) -> BoolArray:
        """Mark all cells of a small set; of a large one those near some cells."""
        if self.system.n <= self.policy.whole_flows:
            return np.ones(self.system.n, bool)
        near = np.zeros(self.system.n, bool)
        for cell in np.unique(cells).tolist():
            near[self.repairer.near(cell, rounds, hidden)] = True
        return near

    def repair(
        self,
        open_: LongArray,
        allowed: float,
        *,
        limit: float = np.inf,
        patience: int | None = None,
        few: int = 0,
    ) -> LongArray:
        """Cover violated exact cuts until every target but a few is served; return those left.

        Gives up once the work is used up, the state costs more than the limit, or so many rounds did not halve what is
        open.
        """
        patience = self.policy.repair_rounds if patience is None else patience
        end, history = self.work + allowed, [2 * len(open_)] * patience
        for _ in range(self.policy.repair_rounds):
            look = self.oracle.look(self.state.hidden, open_, self.run, allowed=max(end - self.work, 0.0))
            open_ = look.open
            if len(open_) <= few or not look.cuts:
                break
            self.watch(look.cuts)
            self.run.left(len(open_), len(self.propagation.goals.cell), "protection levels to repair")
            self.run.check()
            history.append(len(open_))
            if self.work > end or self.state.cost >= limit or 2 * len(open_) > history[-1 - patience]:
                break
            if len(open_) > max(self.policy.pooled_again, 4 * self.oracle.pool_worth):
                open_ = self.oracle.unproven(self.state.hidden, self.run, among=open_, patience=1)
        return open_

    def watch(self, cuts: list[Cut]) -> None:
        """Keep cuts for good, and suppress in the state what they and propagation ask for."""
        self.cuts += cuts
        self.state.watch(cuts)
        self.state.cover(self.state.unserved(), self.guide)

    def mend(self, hidden: BoolArray, allowed: float) -> None:
        """Make a pattern safe by cuts and, once the work allowed is used up, by flows; keep it if it is cheaper."""
        self.state.move_to(hidden)
        open_ = self.prove_or_repair(allowed)
        self.keep(self.flow(self.state.hidden, open_) if len(open_) else self.state.hidden)

    def try_pattern(self, allowed: float) -> bool:
        """Prove the state's pattern, repairing it where needed; keep it if that worked and it is cheaper."""
        open_ = self.prove_or_repair(allowed, limit=self.cost(self.pattern()))
        return not len(open_) and self.keep(self.state.hidden)

    def prove_or_repair(self, allowed: float, *, limit: float = np.inf, patience: int | None = None) -> LongArray:
        """Prove the state's pattern, repairing it where needed; return the targets that are left open."""
        open_ = self.oracle.unproven(self.state.hidden, self.run, patience=1)
        return self.repair(open_, allowed, limit=limit, patience=patience) if len(open_) else open_

    def report_progress(self, step: str) -> None:
        """Describe how far the search is, by counts and shares: a cost is a sum of suppressed values."""
        best = self.pattern()
        secondary = int((best & ~self.system.hidden).sum())
        rate = self._rate(self.cost(best))
        self.run.tell(f"{step}: {secondary:,} secondaries, at most {self.gap:.1%} above the optimum{rate}")
        self.run.check()

    def _rate(self, cost: float) -> str:
        """Return in words what the work so far saved, if there was enough of it to speak of a rate."""
        self._history.append((self.work, cost))
        start, first = self._history[0]
        seconds = (self.work - start) / SECOND
        if seconds < 1 or not first:
            return ""
        return f", {(first - cost) / first / seconds:.2%} saved per second of work"

    def is_stale(self, share: float, least: float) -> bool:
        """Return whether the last share of all work saved less than that part of the cost."""
        if self.work < self.policy.settled * self.budget:
            return False
        past = [cost for work, cost in self._history if work <= self.work * (1 - share)]
        return bool(past) and past[-1] - self.cost(self.pattern()) < least * past[-1]

    def exchange(self, many: int) -> float:
        """Try to exchange some secondaries, the dear ones likelier, and to insert cells that the master likes."""
        system, hidden = self.system, self.state.hidden
        secondary = np.flatnonzero(hidden & ~system.hidden)
        liked = np.flatnonzero((self.guide < 0.98 * system.cost) & ~hidden & ~system.never)
        if not len(secondary):
            return 0.0
        weight = np.maximum(system.cost[secondary], 1e-9) ** 0.7
        some = self._rng.choice(secondary, min(many, len(secondary)), replace=False, p=weight / weight.sum())
        others = self._rng.choice(liked, min(many // 3, len(liked)), replace=False)
        cells = self._rng.permutation(np.concatenate([some, others]))
        return self.state.improve(cells, self.guide, sizes=self.policy.sizes, noise=self.policy.noise)
