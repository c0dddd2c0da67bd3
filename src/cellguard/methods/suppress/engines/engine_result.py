"""`EngineResult`: what an engine returns; and `anytime`, which returns it whenever a search ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from cellguard.arrays import BoolArray
from cellguard.errors import Stopped
from cellguard.methods.suppress.engines.search import Search, Unprotectable


@dataclass(frozen=True, eq=False)
class EngineResult:
    """The suppressed merged cells, what the secondaries among them cost, and a bound on what any safe pattern costs.

    ``finished`` is false if the search was stopped: by the clock, by hand (``by_hand``), or by a failure. ``cuts`` are
    the kinds of cuts that the bound rests on.
    """

    hidden: BoolArray
    cost: float
    bound: float
    finished: bool = True
    cuts: frozenset[str] = field(default_factory=frozenset)
    by_hand: bool = False


def anytime(search: Search, steps: Callable[[], object]) -> EngineResult:
    """Take the steps of a search, and return the best safe pattern.

    If they are stopped, by hand, the clock or a failure, that is the best one so far; without one, or if all shall end,
    the interruption goes on.
    """
    finished, by_hand, cancel = True, False, search.run.cancel
    try:
        with cancel.search():
            steps()
    except (KeyboardInterrupt, Stopped) as stop:
        interrupted = isinstance(stop, KeyboardInterrupt)
        if search.best is None or cancel.ended or (interrupted and cancel.stopped):
            raise
        finished, by_hand = False, interrupted or cancel.stopped
    except Unprotectable:
        raise
    except Exception as error:
        if search.best is None or _ends_the_process(error):
            raise
        finished = False
        search.run.tell("the search failed; the best safe pattern so far is kept")
    best = search.pattern()
    return EngineResult(best, search.cost(best), search.bound, finished, frozenset(search.kinds), by_hand)


def _ends_the_process(error: BaseException) -> bool:
    """Return whether an error is what some library made of the exit that a signal asked for."""
    chain: BaseException | None = error
    while chain is not None:
        if isinstance(chain, SystemExit):
            return True
        chain = chain.__cause__ or chain.__context__
    return False
