"""A search as a list of phases: each says to which searches it applies, and what it does.

A policy may leave phases out, and what they gain is then measured. No phase decides whether a pattern is safe: whatever
is left out, only patterns that are served whole are kept, and the audit proves them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from cellguard.arrays import BoolArray
from cellguard.methods.suppress.engines import descent
from cellguard.methods.suppress.engines.bounds import Bounds
from cellguard.methods.suppress.engines.effort import BEST, NORMAL, QUICK
from cellguard.methods.suppress.engines.master import Impossible
from cellguard.methods.suppress.engines.polishing import polish
from cellguard.methods.suppress.engines.search import Search


@dataclass(frozen=True, eq=False)
class Progress:
    """A search, the master that bounds what safe patterns cost, and the pattern to begin with, if there is one."""

    search: Search
    bounds: Bounds
    start: BoolArray | None = None

    @property
    def free(self) -> int:
        """The number of cells that may be suppressed or not."""
        return int((~self.search.system.hidden & ~self.search.system.never).sum())

    @property
    def is_open(self) -> bool:
        """Whether the best pattern is further from the bound than the effort asks for."""
        return self.search.gap > self.search.effort.gap


@dataclass(frozen=True, slots=True)
class Phase:
    """A step of a search by name: whether it applies, and what it does."""

    name: str
    applies: Callable[[Progress], bool]
    run: Callable[[Progress], None]


def follow(phases: Sequence[Phase], progress: Progress) -> None:
    """Run the phases that apply, but for those that the policy leaves out."""
    for phase in phases:
        if phase.name not in progress.search.policy.left_out and phase.applies(progress):
            phase.run(progress)


def search_by_phases(search: Search, start: BoolArray | None) -> Bounds:
    """Make the first safe pattern and, unless it costs nothing, make it cheaper; return the master that bounds it."""
    progress = Progress(search, Bounds(search), start)
    follow(FIRST, progress)
    if search.cost(search.pattern()) > 0:
        follow(BETTER, progress)
    return progress.bounds


def _bound_first(now: Progress) -> None:
    with suppress(Impossible):  # the search says which cell it is that cannot be protected
        now.bounds.add_propagation_cuts()


def _rests_on_flows(now: Progress) -> bool:
    """Return whether what flows hid of a first pattern is worth a second look."""
    return not now.search.is_steep and now.search.effort is not QUICK and now.search.rests_on_flows


def _trims(now: Progress) -> bool:
    return not (now.search.is_steep or now.search.system.is_flat or now.search.rests_on_flows)


def _few_cuts_of_programs(now: Progress) -> bool:
    """Return whether cuts of programs are quick, and worth it."""
    search, policy = now.search, now.search.policy
    few = now.free <= policy.program_free and len(search.propagation.goals.cell) <= policy.program_targets
    return search.effort is not QUICK and few and (now.free <= policy.optimal_free or search.system.is_flat)


def _polishes(now: Progress) -> bool:
    """Return whether trials are quick enough: where programs of all suppressed cells are slow, one takes a minute."""
    search = now.search
    slow = search.effort is not BEST and search.is_steep and search.oracle.is_large(search.pattern())
    return search.effort is not QUICK and now.is_open and not slow


def _raises(now: Progress) -> bool:
    """Return whether one whole master is worth it for its bound."""
    policy = now.search.policy
    return now.search.effort is not QUICK and now.is_open and policy.optimal_free < now.free <= policy.bounded_free


def _masters(now: Progress) -> bool:
    """Return whether whole masters are small enough, and the pattern near enough to the optimum for them."""
    search, policy = now.search, now.search.policy
    best, small = search.effort is BEST, now.free <= policy.small_free
    goal = policy.proven if now.free <= policy.optimal_free or best else search.effort.gap
    most = policy.mastered_free if search.system.is_flat else policy.optimal_free
    far = 1.0 if best or small else policy.far
    return search.effort is not QUICK and now.free <= (policy.whole_free if best else most) and goal < search.gap <= far


def _solve_masters(now: Progress) -> None:
    search, policy, effort = now.search, now.search.policy, now.search.effort
    patience = max(1, round(policy.idle * effort.seconds / NORMAL.seconds))
    now.bounds.solve_masters(patience, now.free <= policy.optimal_free, policy.mastered * search.budget)


# In two dimensions the relaxed master is quick, and what it likes makes the first pattern better.
FIRST = (
    Phase("bound", lambda now: now.search.system.is_flat, _bound_first),
    Phase("circuits", lambda now: now.search.is_steep, lambda now: descent.first_pattern(now.search, now.start)),
    Phase("construct", lambda now: not now.search.is_steep, lambda now: now.search.begin(now.start)),
    Phase("reroute", _rests_on_flows, lambda now: now.search.reroute_flows()),
    Phase("trim", _trims, lambda now: now.search.trim()),
)
BETTER = (
    Phase("bound", lambda now: not now.search.system.is_flat, lambda now: now.bounds.add_propagation_cuts()),
    Phase("tiers", lambda now: now.search.is_steep, lambda now: descent.publish_tiers(now.search)),
    Phase("reroute", lambda now: now.search.is_steep, lambda now: now.search.reroute_flows()),
    Phase("report", lambda now: now.search.is_steep, lambda now: now.search.report_progress("descended")),
    Phase("programs", _few_cuts_of_programs, lambda now: now.bounds.add_program_cuts(now.search.policy.program_rounds)),
    Phase(
        "reconstruct",
        lambda now: _few_cuts_of_programs(now) and now.search.system.is_flat,
        lambda now: now.search.reconstruct(),
    ),
    Phase("report", lambda now: now.search.effort is not QUICK, lambda now: now.search.report_progress("bounded")),
    Phase("polish", _polishes, lambda now: polish(now.search)),
    Phase(
        "take_over",
        lambda now: now.search.effort is not QUICK and now.is_open,
        lambda now: now.bounds.add_search_cuts(),
    ),
    Phase("raise", _raises, lambda now: now.bounds.raise_bound()),
    Phase("masters", _masters, _solve_masters),
)
