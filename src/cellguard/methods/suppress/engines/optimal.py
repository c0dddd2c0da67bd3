"""The optimal engine: whole masters until one's pattern is safe, which proves that no safe pattern is cheaper."""

from __future__ import annotations

from contextlib import suppress

from cellguard.arrays import BoolArray
from cellguard.errors import InputError
from cellguard.methods.suppress.engines import algebra
from cellguard.methods.suppress.engines.bounds import Bounds
from cellguard.methods.suppress.engines.effort import NORMAL, Effort
from cellguard.methods.suppress.engines.engine_result import EngineResult, anytime
from cellguard.methods.suppress.engines.master import Impossible
from cellguard.methods.suppress.engines.phases import search_by_phases
from cellguard.methods.suppress.engines.search import Search
from cellguard.methods.suppress.engines.system import System
from cellguard.methods.suppress.engines.witness import refuse_fixed
from cellguard.run_context import Run


def optimal(system: System, *, start: BoolArray | None = None, effort: Effort = NORMAL, run: Run) -> EngineResult:
    """Return the cheapest safe pattern, proven to be so (bound = cost) unless its limits or the clock end it earlier.

    The witness engine's search comes first, with normal effort whatever is asked, or elimination where the attacker
    knows no bounds; then each master, solved by branch and bound, gives a bound and a pattern, and what that pattern
    violates are the cuts of the next (branch and cut with cuts between the masters). Where the system leaves out a
    crossing table, an optimum that is not safe with it gives further cuts, until one is. Sets with too many cells that
    may be suppressed are refused.
    """
    refuse_fixed(system)
    free = int((~system.hidden & ~system.never).sum())
    if free > (most := system.policy.whole_free):
        raise InputError(
            f"the engine optimal is for sets with up to {most:,} cells that may be suppressed, and this one "
            f"has {free:,}; use the engine witness with effort best"
        )
    eliminated = algebra.solved(system, start, NORMAL, run=run)
    if eliminated is not None and not eliminated.finished:
        return eliminated
    search = Search(system, NORMAL, run)
    if eliminated is not None:
        search.keep(eliminated.hidden)
        search.bound = eliminated.bound
        search.kinds |= eliminated.cuts
    return anytime(search, lambda: _close(search, _first(search, start)))


def _first(search: Search, start: BoolArray | None) -> Bounds:
    """Make the first safe pattern cheap, unless elimination has done so, and bound what any safe one costs."""
    if search.best is not None:
        bounds = Bounds(search)
        bounds.add_propagation_cuts()
        return bounds
    return search_by_phases(search, start)


def _close(search: Search, bounds: Bounds) -> None:
    """Drive the masters to the optimum, with the cuts of the world behind the system as soon as one is found."""
    behind, policy = search.system.behind, search.policy
    with suppress(Impossible):  # in the world behind: then the repair there says which cell cannot be protected
        while True:
            if search.gap > policy.proven:
                bounds.solve_masters(policy.optimal_rounds, True)
            if behind is None or search.gap > policy.proven:
                return
            search.run.tell("looking at the crossing table")
            cuts = behind.cuts(search.pattern(), run=search.run)
            if not cuts:
                return
            search.adopt_cuts(cuts)
            bounds.add_search_cuts()
