"""The witness engine: a master problem says what is likely to be hidden, repairs make it safe, the audit proves it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.errors import InternalError, Stopped
from cellguard.protect.suppress.cuts import Target, deepen, relation_cuts, separate, targets_of, unproven
from cellguard.protect.suppress.master import Master
from cellguard.protect.suppress.policy import POLICY
from cellguard.protect.suppress.polish import Polisher
from cellguard.protect.suppress.repair import Repairer
from cellguard.protect.suppress.system import System
from cellguard.types import BoolArray, FloatArray, Run


@dataclass(frozen=True, eq=False)
class Solved:
    """The hidden merged cells, what the secondaries among them cost, and a bound on what any safe pattern costs.

    ``finished`` is false if the search was stopped: by the clock, or by hand.
    """

    hidden: BoolArray
    cost: float
    bound: float
    finished: bool = True


def witness(system: System, *, start: BoolArray | None = None, rounds: int = 8, run: Run) -> Solved:
    """Return a cheap safe pattern. ``rounds`` of whole master problems are solved; more of them make it cheaper.

    ``start`` is a pattern to begin with, say from an earlier run. If the search is stopped, by Ctrl-C or because the
    run is over, the best safe pattern so far is returned; without one the interruption goes on.
    """
    _refuse_fixed(system)
    free = int((~system.hidden & ~system.never).sum())
    many = int((system.need_up > 0).sum() + (system.need_down > 0).sum())
    rounds = rounds if free <= POLICY.cut_free and many <= POLICY.cut_targets else 0
    search = _Search(system, run, crowded=many > POLICY.thinned_targets)
    try:
        if start is not None:
            search.keep(search.mend(start & ~system.never, start.astype(float)))
        search.fractional(POLICY.fractional_rounds if rounds else 0)
        search.keep(search.mend(search.x > 0.5, search.x))
        _improve(search, free, many, rounds)
    except (KeyboardInterrupt, Stopped):
        if search.best is None:
            raise
        return Solved(search.best, search.cost(search.best), search.bound, finished=False)
    best = search.pattern()
    return Solved(best, search.cost(best), search.bound)


def mend(system: System, start: BoolArray, *, run: Run) -> BoolArray:
    """Return a pattern with as few cells more as repairs need to make it safe."""
    search = _Search(system, run, crowded=False)
    return search.mend((start | system.hidden) & ~system.never, start.astype(float))


def _refuse_fixed(system: System) -> None:
    """Refuse an unsafe cell that must not be hidden, because it equals a cell that is published or known to be 0."""
    for target in targets_of(system):
        if system.never[target.cell]:
            raise Unprotectable(target)


def _improve(search: _Search, free: int, many: int, rounds: int) -> None:
    """Make the first safe pattern cheaper: by whole masters, then by dropping and exchanging secondaries."""
    if free <= POLICY.optimal_free:
        search.close(max(POLICY.optimal_rounds, rounds), nodes=POLICY.optimal_nodes, gap=0.0, all_cells=True, deep=True)
    elif free <= POLICY.whole_free:
        search.close(rounds, nodes=1, gap=0.002, all_cells=True)
    else:
        search.close(2 * rounds, nodes=1, gap=0.002, all_cells=False)
        if rounds and free <= POLICY.bounded_free:
            search.raise_bound()
    if search.proven_optimal:
        return
    if many <= POLICY.polished_targets:
        search.polish(3 * many + 2_000)
    elif many <= POLICY.thinned_targets:
        search.thin(POLICY.batches)


class _Search:
    """The best safe pattern so far, the cuts so far and the bound that they prove."""

    def __init__(self, system: System, run: Run, *, crowded: bool) -> None:
        self.system = system
        self.run = run
        self.crowded = crowded
        self.master = Master(system, relation_cuts(system), run=run)
        self.repairer = Repairer(system, run=run)
        self.x: FloatArray = system.hidden.astype(float)
        self.bound = 0.0
        self.best: BoolArray | None = None

    def _tell(self, step: str) -> None:
        self.run.tell(step)
        self.run.check()

    def pattern(self) -> BoolArray:
        """Return the best safe pattern; there is one once `keep` was called."""
        if self.best is None:
            raise InternalError("no safe pattern yet")
        return self.best

    def cost(self, hidden: BoolArray) -> float:
        """Return the cost of a pattern's secondaries."""
        return float(self.system.cost[hidden & ~self.system.hidden].sum())

    @property
    def proven_optimal(self) -> bool:
        """Whether nothing can be cheaper."""
        return self.cost(self.pattern()) - self.bound <= 1e-6 * max(self.bound, 1.0)

    def keep(self, hidden: BoolArray) -> None:
        """Keep a safe pattern if it is the cheapest so far."""
        if self.best is None or self.cost(hidden) < self.cost(self.best):
            self.best = hidden

    def fractional(self, rounds: int) -> None:
        """Solve the fractional master until no cut is violated, or rounds gain little."""
        self.x, self.bound = self.master.fractional()
        for number in range(rounds):
            look = separate(self.system, self.x, seed=number, run=self.run)
            if not self.master.add(look.cuts):
                break
            self.x, bound = self.master.fractional()
            self._tell(f"{len(self.master.cuts):,} cuts, {len(look.unserved):,} needs open")
            little = bound - self.bound < 1e-4 * bound and number > 5
            self.bound = bound
            if little:
                break

    def close(self, rounds: int, *, nodes: int, gap: float, all_cells: bool, deep: bool = False) -> None:
        """Solve whole masters, each with the cuts that the last pattern violates; mend what is nearly safe.

        ``deep`` looks for many cuts before the next master, which pays while its programs are small.
        """
        fresh = 1
        limited = rounds == POLICY.optimal_rounds  # fewer rounds end by themselves; whoever asks for more has a clock
        for number in range(rounds):
            among = None if all_cells else (self.x > 0.01) | self.pattern()
            # As long as the best pattern is far from the bound, the next cuts matter more than this master's last bit.
            rough = max(gap, POLICY.rough * self.gap()) if fresh and deep and self.gap() > 0.005 else gap
            chosen, bound = self.master.whole(nodes=nodes, gap=rough, start=self.best, among=among)
            if all_cells:
                self.bound = max(self.bound, bound)
            chosen |= self.system.hidden
            look = separate(self.system, chosen.astype(float), seed=100 + number, run=self.run)
            fresh = self.master.add(look.cuts)
            if deep and len(look.unserved) < POLICY.open_worth:
                self.master.add(deepen(self.system, chosen.astype(float), look.unserved, run=self.run))
            if len(look.unserved) < POLICY.open_worth:
                self.keep(self.mend(chosen, chosen.astype(float), look.unserved))
            self._tell(f"round {number + 1}: {self.gap():.1%} above the bound")
            settled = not fresh and rough == gap
            if settled or self.proven_optimal or (limited and self.master.work > POLICY.work and number >= 3):
                break

    def raise_bound(self) -> None:
        """Look at all free cells once: whole masters among the likely ones prove nothing about the others."""
        _, bound = self.master.whole(nodes=1, gap=0.002, start=self.pattern())
        self.bound = max(self.bound, bound)

    def gap(self) -> float:
        """Return how far the best pattern may be above the optimum, as a share of its cost."""
        cost = self.cost(self.pattern())
        return (cost - self.bound) / max(cost, 1e-9)

    def mend(self, hidden: BoolArray, x: FloatArray, open_: list[Target] | None = None) -> BoolArray:
        """Hide what the cheapest flows need until every target is served; each flow is a witness for good."""
        hidden = hidden | self.system.hidden
        targets = unproven(self.system, hidden, run=self.run) if open_ is None else open_
        guide = self.system.cost * (1.0 - 0.9 * np.clip(x, 0, 1)) + 1e-9
        served: set[Target] = set()
        for number, target in enumerate(targets):
            if target in served:
                continue
            flow = self.repairer.flow(target, hidden, guide, local=self.crowded)
            if flow is None and self.crowded:
                flow = self.repairer.flow(target, hidden, guide)
            if flow is None:
                raise Unprotectable(target)
            hidden[flow.cells] = True
            served |= self.repairer.serves(flow)
            if number % 200 == 0:
                self._tell(f"{len(targets) - number:,} needs to repair")
        return hidden

    def thin(self, batches: int) -> None:
        """Drop the dearest secondaries batch by batch, and repair what that breaks, where that is cheaper."""
        order = np.flatnonzero(self.pattern() & ~self.system.hidden)
        order = order[np.argsort(-self.system.cost[order], kind="stable")]
        # Batches of equal cost: the dearest cells are looked at one by one, the cheap ones by the hundred.
        share = np.cumsum(self.system.cost[order]) / max(self.cost(self.pattern()), 1e-9)
        idle = 0
        for number, batch in enumerate(np.split(order, np.searchsorted(share, np.arange(1, batches) / batches))):
            trial, before = self.pattern().copy(), self.cost(self.pattern())
            trial[batch] = False
            open_ = unproven(self.system, trial, seed=number, run=self.run)
            if len(open_) <= POLICY.open_worth:
                self.keep(self.mend(trial, trial.astype(float), open_))
            idle = 0 if self.cost(self.pattern()) < before else idle + 1
            self._tell(f"thinning {number + 1}: {int((self.pattern() & ~self.system.hidden).sum()):,} secondary cells")
            if idle >= POLICY.patience:
                break

    def polish(self, programs: int) -> None:
        """Drop and exchange secondaries of the best pattern."""
        polisher = Polisher(self.system, self.repairer, self.pattern())
        self.keep(polisher.polish(most=programs, run=self.run))


class Unprotectable(Exception):
    """No flow serves a target, whatever is hidden."""

    def __init__(self, target: Target) -> None:
        super().__init__(str(target.cell))
        self.target = target
