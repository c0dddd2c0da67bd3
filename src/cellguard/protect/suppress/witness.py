"""The witness engine: safe first, then better, as far as the effort allows; the audit proves it."""

from __future__ import annotations

from dataclasses import dataclass, field

from cellguard.errors import Stopped
from cellguard.protect.suppress.closing import Closing
from cellguard.protect.suppress.cuts import targets_of
from cellguard.protect.suppress.effort import BEST, NORMAL, QUICK, Effort
from cellguard.protect.suppress.policy import POLICY
from cellguard.protect.suppress.search import Search, Unprotectable
from cellguard.protect.suppress.system import System
from cellguard.types import BoolArray, Run

__all__ = ["Solved", "Unprotectable", "mend", "refuse_fixed", "witness"]


@dataclass(frozen=True, eq=False)
class Solved:
    """The hidden merged cells, what the secondaries among them cost, and a bound on what any safe pattern costs.

    ``finished`` is false if the search was stopped: by the clock, by hand, or by a failure. ``cuts`` are the kinds of
    cuts that the bound rests on.
    """

    hidden: BoolArray
    cost: float
    bound: float
    finished: bool = True
    cuts: frozenset[str] = field(default_factory=frozenset)


def witness(system: System, *, start: BoolArray | None = None, effort: Effort = NORMAL, run: Run) -> Solved:
    """Return a cheap safe pattern. ``start`` is a pattern to begin with, say from an earlier run.

    If the search is stopped, by Ctrl-C, the clock or a failure, the best safe pattern so far is returned; without one
    the interruption goes on.
    """
    refuse_fixed(system)
    search = Search(system, effort, run)
    closing: Closing | None = None
    finished = True
    try:
        search.begin(start)
        if search.cost(search.pattern()) > 0:
            closing = Closing(search)
            _improve(search, closing)
    except (KeyboardInterrupt, Stopped):
        if search.best is None:
            raise
        finished = False
    except Unprotectable:
        raise
    except Exception as error:
        if search.best is None or _ends_the_process(error):
            raise
        finished = False
        run.tell("the search failed; the best safe pattern so far is kept")
    best = search.pattern()
    return Solved(best, search.cost(best), search.bound, finished, frozenset(closing.kinds if closing else ()))


def _ends_the_process(error: BaseException) -> bool:
    """Tell whether an error is what some library made of the exit that a signal asked for."""
    chain: BaseException | None = error
    while chain is not None:
        if isinstance(chain, SystemExit):
            return True
        chain = chain.__cause__ or chain.__context__
    return False


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


def _improve(search: Search, closing: Closing) -> None:
    """Make the first safe pattern cheaper, and bound what any safe one costs."""
    system, effort = search.system, search.effort
    free = int((~system.hidden & ~system.never).sum())
    closing.propagated()
    if effort is QUICK:
        return
    few = free <= POLICY.program_free and len(search.propagation.goals.cell) <= POLICY.program_targets
    if few and (free <= POLICY.optimal_free or system.matrix.nnz <= POLICY.program_terms * system.n):
        closing.programmed(POLICY.program_rounds)
    search.told("bounded")
    if search.gap > effort.gap:
        search.resume()
        search.polish()
        closing.take_over()
        if POLICY.optimal_free < free <= POLICY.bounded_free:
            closing.raise_bound()
    goal = 1e-6 if free <= POLICY.optimal_free or effort is BEST else effort.gap
    most = POLICY.whole_free if effort is BEST else POLICY.optimal_free
    if free <= most and goal < search.gap <= (1.0 if effort is BEST else POLICY.far):
        closing.close(max(1, round(POLICY.idle * effort.seconds / NORMAL.seconds)), free <= POLICY.optimal_free)
