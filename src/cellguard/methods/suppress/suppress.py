"""`suppress`: from requirements to a pattern that suppresses as little as possible; and what to do if none can be
safe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray
from cellguard.attack.insider_hints import Hints
from cellguard.attack.insider_pairs import Hint
from cellguard.errors import InputError, NotProtected, Stopped
from cellguard.methods.suppress.advice import advice
from cellguard.methods.suppress.costs import Cost, costs_by
from cellguard.methods.suppress.determined import publish_determined
from cellguard.methods.suppress.engines.catalogue import CLASSICAL, Engine, engine_named
from cellguard.methods.suppress.engines.crossing_cuts import first_system
from cellguard.methods.suppress.engines.effort import NORMAL, Effort, effort_named
from cellguard.methods.suppress.engines.engine_result import EngineResult
from cellguard.methods.suppress.engines.gauss import usual_engine
from cellguard.methods.suppress.engines.insider_repair import mend_inside
from cellguard.methods.suppress.engines.master import Impossible
from cellguard.methods.suppress.engines.system import System
from cellguard.methods.suppress.engines.witness import Unprotectable, mend
from cellguard.protection import Requirements
from cellguard.run_context import UNWATCHED, Run
from cellguard.table.contributions import Contributions, contributions_of
from cellguard.table.pattern import Pattern

Grow = Callable[[Pattern], Requirements | None]
_OUTSIDERS_ONLY = "`attack: {insiders: false}` looks at outsiders only"


@dataclass(frozen=True, eq=False)
class Suppression:
    """A pattern, the cost of its secondary suppressions, and a lower bound on that of any safe pattern.

    Parameters
    ----------
    pattern
        The pattern.
    cost
        The cost of its secondaries.
    bound
        A lower bound on the cost of any safe pattern.
    costs
        The cost of suppressing each distinct cell.
    finished
        Whether the search ended by itself, not by a deadline.
    cuts
        The kinds of capacity cuts that the bound rests on.
    engine
        The engine that chose the pattern.
    hints
        Moves that an audit may look at first.
    seed
        The secret seed of random costs; ``cost`` and ``costs`` are then those without randomness, and there is no
        bound.
    effort
        The effort of the search.
    search_gap
        How far the search's own pattern may be above the optimum: before cells for sums and respondents were added.

    Examples
    --------
    >>> import cellguard as cg
    >>> t = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 2, 7]}, by=["r"], value="x", count="n")
    >>> cg.suppress(cg.require(cg.assess(t, cg.MinFrequency(3))))
    <Suppression: <Pattern: 1 primary and 1 secondary of 3 distinct cells>, gap 0.0%>
    """

    pattern: Pattern
    cost: float
    bound: float
    costs: FloatArray
    finished: bool = True
    cuts: frozenset[str] = field(default_factory=frozenset)
    engine: str = "witness"
    hints: Sequence[Hint] = ()
    seed: int | None = None
    effort: str = ""
    search_gap: float = 0.0

    def __repr__(self) -> str:
        gap = f"gap {self.gap:.1%}" if self.seed is None else "random costs"
        return f"<Suppression: {self.pattern!r}, {gap}>"

    @property
    def gap(self) -> float:
        """How far the cost may be above the optimum, as a share of it; 0 if it is proven to be the optimum."""
        return gap_between(self.cost, self.bound)


def gap_between(cost: float, bound: float) -> float:
    """Return how far a cost may be above the optimum, as a share of it; 0 up to what solvers do not resolve.

    >>> gap_between(4.0, 3.0), gap_between(3.0, 3.0), gap_between(0.0, 0.0)
    (0.25, 0.0, 0.0)
    """
    gap = 0.0 if cost == 0 else (cost - bound) / cost
    return gap if gap > 1e-6 else 0.0


def suppress(
    needs: Requirements,
    cost: str | Cost | npt.ArrayLike = "value",
    *,
    engine: str | Engine | None = None,
    start: BoolArray | None = None,
    known: sp.csr_array | None = None,
    insiders: Contributions | None = None,
    coalition: int = 1,
    grow: Grow | None = None,
    effort: Effort | str = NORMAL,
    run: Run = UNWATCHED,
) -> Suppression:
    """Suppress cells until every unsafe one is protected, at the least cost that is found.

    The default engine solves a master problem over capacity cuts, which also gives a lower bound on the cost, and
    repairs its pattern by witnesses.

    Parameters
    ----------
    needs
        The protection levels, as `require` returns them.
    cost
        What suppressing a cell costs: by name (``value``: its size, ``count``: its respondents, ``constant``, ``log``,
        ``distance``), as a function of a table and its unsafe cells, or as one number per distinct cell.
    engine
        ``witness``, ``gauss``, ``optimal``, or a function like them.
    start
        Distinct cells to begin with, such as the secondaries of an earlier run.
    known
        Sums of cells that an attacker has from elsewhere.
    insiders
        The respondents behind the cells: none of them may be able to estimate another too closely.
    coalition
        Up to how many respondents pool what they know.
    grow
        A function that returns the requirements with the unsafe sums that follow from a pattern, or None.
    effort
        ``quick``, ``normal`` or ``best``: how long to look for a cheaper pattern.
    run
        Progress, a deadline and threads.

    Returns
    -------
    Suppression
        The pattern, its cost, and a lower bound.

    Raises
    ------
    NotProtected
        If no pattern can protect all unsafe cells; the message has advice.
    InputError
        If the cost is unknown or no cost.

    References
    ----------
    Fischetti, M. and Salazar, J. J. (2001). Solving the cell suppression problem on tabular data with linear
    constraints. *Management Science* 47(7), 1008-1027.

    Examples
    --------
    >>> import cellguard as cg
    >>> t = cg.cells({"r": ["Total", "N", "S", "W"], "x": [100, 20, 50, 30], "n": [19, 1, 9, 9]},
    ...              by=["r"], value="x", count="n")
    >>> needs = cg.require(cg.assess(t, [cg.MinFrequency(3)]))
    >>> suppress(needs).pattern.secondary.tolist(), suppress(needs, "constant").cost
    ([False, False, False, True], 1.0)
    """
    if not isinstance(needs, Requirements):
        raise InputError(
            f"suppress takes what cg.require gives, not {type(needs).__name__}; from a frame or a file take cg.protect"
        )
    name = engine if isinstance(engine, str) else usual_engine(needs) if engine is None else ""
    choose = engine_named(name) if engine is None or isinstance(engine, str) else engine
    costs = costs_by(needs.tables, needs.primary, cost)
    looked = effort_named(effort) if isinstance(effort, str) else effort
    work, hints = _Work(first_system(needs, costs, known), costs, known, run), Hints.of([])
    solved = EngineResult(work.system.hidden, 0.0, 0.0)
    try:
        if needs.primary.any():  # else there is nothing to compile or to search
            begin = None if start is None else work.system.merge(start)
            solved = choose(work.system, start=begin, effort=looked, run=run)
        work.begin(solved.hidden)
        while work.grown(grow) or insiders is not None:
            if insiders is None or not work.system.needs.primary.any():
                break
            who = insiders if work.system.needs is needs else contributions_of(work.system.needs.tables)
            with _saying_what_is_there(run, stopped=solved.by_hand):
                mended = mend_inside(work.system, work.pattern, work.costs, who, known, coalition=coalition, run=run)
            work.pattern, hints = mended.pattern, mended.hints
            if not work.grown(grow):
                break
    except Stopped as stop:
        raise Stopped(f"{stop}, and no safe pattern was found yet") from None
    except (Unprotectable, Impossible):
        # The classical engines are not after the cheapest way out.
        search = engine_named("witness") if getattr(choose, "__name__", "") in CLASSICAL else choose
        again = partial(search, start=None, effort=looked, run=run)
        raise NotProtected(advice(work.system, work.costs, known, again, run=run)) from None
    work.pattern = publish_determined(work.system.needs, work.pattern)
    paid = float(work.costs[work.pattern.secondary].sum())
    said = getattr(choose, "__name__", "own")
    return Suppression(
        work.pattern,
        paid,
        solved.bound,
        work.costs,
        solved.finished,
        solved.cuts,
        said,
        hints,
        effort=looked.name,
        search_gap=gap_between(solved.cost, solved.bound),
    )


class _Work:
    """A pattern while sums join its set: the system of the set as it is now, its costs and the pattern."""

    def __init__(self, system: System, costs: FloatArray, known: sp.csr_array | None, run: Run) -> None:
        self.system, self.costs, self._known, self._run = system, costs, known, run.endless()
        self.pattern = system.pattern(system.hidden)

    def begin(self, hidden: BoolArray) -> None:
        """Take over the pattern of a search."""
        self.pattern = self.system.pattern(hidden)
        if self.system.behind is not None and self.system.needs.primary.any():
            # The smaller world's bound holds in the whole one; its pattern may need a few cells more, even out of time.
            self.system = self.system.behind.system_for(self.pattern, run=self._run)
            self._mend()

    def grown(self, grow: Grow | None) -> bool:
        """Suppress more until the pattern tells no unsafe sum that is not protected as a cell; return whether it
        did.
        """
        before = self.system
        while grow is not None and (needs := grow(self.pattern)) is not None:
            self.costs = padded(self.costs, needs)
            self.system = first_system(needs, self.costs, self._known)
            if self.system.behind is not None:
                wider = self.system.pattern(self.system.merge(self.pattern.hidden))
                self.system = self.system.behind.system_for(wider, run=self._run)
            self._mend()
        return self.system is not before

    def widen(self, pattern: Pattern) -> None:
        """Take over a pattern, and suppress what the set's protection levels ask for besides."""
        self.pattern = self.system.pattern(self.system.merge(pattern.hidden))
        if self.system.behind is not None:
            self.system = self.system.behind.system_for(self.pattern, run=self._run)
        self._mend()

    def _mend(self) -> None:
        hidden = self.system.merge(self.pattern.hidden)
        self.pattern = self.system.pattern(mend(self.system, hidden, run=self._run))


def widened_pattern(
    needs: Requirements, pattern: Pattern, costs: FloatArray, known: sp.csr_array | None, *, run: Run
) -> tuple[Pattern, System]:
    """Return a pattern with the few cells more that some protection levels ask for, and the system that says so."""
    work = _Work(first_system(needs, costs, known), costs, known, run)
    work.widen(pattern)
    return work.pattern, work.system


def padded(costs: FloatArray, needs: Requirements) -> FloatArray:
    """Return costs for a set with sums of its cells, which nobody shows, and so cost nothing."""
    return np.concatenate([costs, np.zeros(len(needs.tables) - len(costs))])


@contextmanager
def _saying_what_is_there(run: Run, *, stopped: bool) -> Iterator[None]:
    """Describe what is looked at, and, if that is stopped by hand, what would have been enough for the
    pattern.
    """
    again = "the search is stopped; Ctrl-C again ends all, with nothing to release: " if stopped else ""
    run.tell(f"{again}looking at what respondents know")
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(f"stopped while looking at what respondents know ({_OUTSIDERS_ONLY})") from None
