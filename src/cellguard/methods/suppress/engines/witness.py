"""The witness engine: safe first, then better, as far as the effort allows; the audit proves it."""

from __future__ import annotations

from contextlib import suppress

from cellguard.arrays import BoolArray
from cellguard.methods.suppress.engines import algebra, descent
from cellguard.methods.suppress.engines.bounds import Closing
from cellguard.methods.suppress.engines.cuts import targets_of
from cellguard.methods.suppress.engines.effort import BEST, NORMAL, QUICK, Effort
from cellguard.methods.suppress.engines.engine_result import EngineResult, anytime
from cellguard.methods.suppress.engines.master import Impossible
from cellguard.methods.suppress.engines.policy import POLICY
from cellguard.methods.suppress.engines.search import Search, Unprotectable
from cellguard.methods.suppress.engines.system import System
from cellguard.run_context import Run

__all__ = ["EngineResult", "Unprotectable", "begin", "improve", "mend", "refuse_fixed", "witness"]


def witness(system: System, *, start: BoolArray | None = None, effort: Effort = NORMAL, run: Run) -> EngineResult:
    """Return a cheap safe pattern. ``start`` is a pattern to begin with, say from an earlier run."""
    refuse_fixed(system)
    by_algebra = algebra.solved(system, start, effort, run=run)
    if by_algebra is not None:
        return by_algebra
    search = Search(system, effort, run)

    def steps() -> None:
        closing = begin(search, start)
        if search.cost(search.pattern()) > 0:
            improve(search, closing)

    return anytime(search, steps)


def mend(system: System, start: BoolArray, *, run: Run) -> BoolArray:
    """Return a pattern with as few cells more as repairs need to make it safe."""
    search = Search(system, QUICK, run)
    search.mend((start | system.hidden) & ~system.never, POLICY.first_repair)
    return search.pattern()


def refuse_fixed(system: System) -> None:
    """Refuse an unsafe cell that must not be hidden, because it equals a cell that is published or known to be 0."""
    for target in targets_of(system):
        if system.never[target.cell]:
            raise Unprotectable(target)


def begin(search: Search, start: BoolArray | None) -> Closing:
    """Make the first safe pattern; in two dimensions the relaxed master is quick, and what it likes makes it better."""
    closing = Closing(search)
    if search.is_steep:
        descent.begin(search, start)
        return closing
    if search.system.is_flat:
        with suppress(Impossible):  # the search says which cell it is that cannot be protected
            closing.propagated()
    search.begin(start)
    return closing


def improve(search: Search, closing: Closing) -> None:
    """Make the first safe pattern cheaper, and bound what any safe one costs."""
    system, effort = search.system, search.effort
    free = int((~system.hidden & ~system.never).sum())
    if not system.is_flat:
        closing.propagated()
    if search.is_steep:
        descent.descend(search)
    if effort is QUICK:
        search.resume()
        return
    few = free <= POLICY.program_free and len(search.propagation.goals.cell) <= POLICY.program_targets
    if few and (free <= POLICY.optimal_free or system.is_flat):
        closing.programmed(POLICY.program_rounds)
        if system.is_flat:
            search.again()
    search.told("bounded")
    if search.gap > effort.gap:
        search.resume()
        # Where programs of all hidden cells are slow, one trial takes a minute, and hardly any saves something.
        if effort is BEST or not (search.is_steep and search.oracle.is_large(search.pattern())):
            search.polish()
        closing.take_over()
        if POLICY.optimal_free < free <= POLICY.bounded_free:
            closing.raise_bound()
    goal = POLICY.proven if free <= POLICY.optimal_free or effort is BEST else effort.gap
    most = POLICY.whole_free if effort is BEST else POLICY.optimal_free
    if free <= most and goal < search.gap <= (1.0 if effort is BEST else POLICY.far):
        closing.close(max(1, round(POLICY.idle * effort.seconds / NORMAL.seconds)), free <= POLICY.optimal_free)
