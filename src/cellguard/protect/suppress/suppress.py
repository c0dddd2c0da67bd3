"""`suppress`: from requirements to a pattern that hides as little as possible; and what to do if none can be safe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cellguard.attack.pairs import Hint
from cellguard.errors import NotProtected, Stopped
from cellguard.protect.suppress.advice import advice
from cellguard.protect.suppress.behind import first_system
from cellguard.protect.suppress.costs import Cost, costs_by
from cellguard.protect.suppress.effort import NORMAL, Effort, effort_named
from cellguard.protect.suppress.engines import ENGINES, Engine, engine_named, usual_engine
from cellguard.protect.suppress.master import Impossible
from cellguard.protect.suppress.mending import mend_inside
from cellguard.protect.suppress.system import System
from cellguard.protect.suppress.witness import Unprotectable, mend
from cellguard.protection import Requirements
from cellguard.table.contributions import Contributions, contributions_of
from cellguard.table.pattern import Pattern
from cellguard.types import UNWATCHED, BoolArray, FloatArray, Run

Grow = Callable[[Pattern], Requirements | None]
_OUTSIDERS_ONLY = "`attack: {insiders: false}` looks at outsiders only"


@dataclass(frozen=True, eq=False)
class Suppression:
    """The pattern, what its secondaries cost, and a bound on what any safe pattern costs.

    ``costs`` is what hiding each distinct cell would cost. ``cuts`` are the kinds of cuts that the bound rests on,
    ``engine`` is which one chose the pattern. ``hints`` are moves that an audit may look at first.

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

    def __repr__(self) -> str:
        return f"<Suppression: {self.pattern!r}, gap {self.gap:.1%}>"

    @property
    def gap(self) -> float:
        """How far the cost may be above the optimum, as a share of it; 0 if it is proven to be the optimum."""
        gap = 0.0 if self.cost == 0 else (self.cost - self.bound) / self.cost
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
    """Hide cells until every unsafe one is protected, at the least cost.

    ``cost`` is what hiding a cell costs: by name (``value``: its size, ``count``: its respondents, ``constant``,
    ``log``, ``distance``), as a function of a table and its unsafe cells, or as one number per distinct cell.
    ``start`` marks distinct cells to begin with, say the secondaries of an earlier run. ``known`` are sums of cells
    that an attacker has from elsewhere. With ``insiders``, the respondents behind the cells, cells are suppressed until
    none of them, or up to ``coalition`` together, can estimate another too closely. ``grow`` returns the requirements
    with the unsafe sums that a pattern tells, None if it tells none: then more is suppressed. ``effort`` says how long
    to look for a cheaper pattern: quick, normal or best. ``engine`` is one by name (``witness``, ``gauss``,
    ``optimal``) or a function like them, else the usual one.

    Raises `NotProtected`, with advice, if no pattern can protect all unsafe cells, and `InputError` for a bad cost.

    >>> import cellguard as cg
    >>> t = cg.cells({"r": ["Total", "N", "S", "W"], "x": [100, 20, 50, 30], "n": [19, 1, 9, 9]},
    ...              by=["r"], value="x", count="n")
    >>> needs = cg.require(cg.assess(t, [cg.MinFrequency(3)]))
    >>> suppress(needs).pattern.secondary.tolist(), suppress(needs, "constant").cost
    ([False, False, False, True], 1.0)
    """
    name = engine if isinstance(engine, str) else usual_engine(needs)
    choose = engine_named(name) if engine is None or isinstance(engine, str) else engine
    costs = costs_by(needs.tables, needs.primary, cost)
    looked = effort_named(effort) if isinstance(effort, str) else effort
    system, hints = first_system(needs, costs, known), list[Hint]()
    if not needs.primary.any():  # nothing to protect, and so nothing to compile or to search
        return Suppression(system.pattern(system.hidden), 0.0, 0.0, costs, engine=name)
    try:
        solved = choose(system, start=None if start is None else system.merge(start), effort=looked, run=run)
        pattern = system.pattern(solved.hidden)
        if system.behind is not None:
            # The smaller world's bound holds in the whole one; its pattern may need a few cells more, even out of time.
            system = system.behind.system_for(pattern, run=run.endless())
            pattern = system.pattern(mend(system, system.merge(pattern.hidden), run=run.endless()))
        while True:
            if grow is not None:
                system, pattern = _with_sums(system, pattern, costs, known, grow, run=run)
            if insiders is None:
                break
            who = insiders if system.needs is needs else contributions_of(system.needs.tables)
            with _saying_what_is_there(run, stopped=solved.by_hand):
                mended = mend_inside(
                    system, pattern, padded(costs, system.needs), who, known, coalition=coalition, run=run
                )
            pattern, hints = mended.pattern, mended.hints
            if grow is None or (more := grow(pattern)) is None:
                break
            system, pattern = _mended(more, pattern, costs, known, run=run)
        costs = padded(costs, system.needs)
    except Stopped as stop:
        raise Stopped(f"{stop}, and no safe pattern was found yet") from None
    except (Unprotectable, Impossible):
        again = partial(choose, start=None, effort=looked, run=run)
        raise NotProtected(advice(system, costs, known, again, run=run)) from None
    paid = float(costs[pattern.secondary].sum())
    said = name if choose is ENGINES.get(name) else getattr(choose, "__name__", "own")
    return Suppression(pattern, paid, solved.bound, costs, solved.finished, solved.cuts, said, hints)


def _with_sums(
    system: System, pattern: Pattern, costs: FloatArray, known: sp.csr_array | None, grow: Grow, *, run: Run
) -> tuple[System, Pattern]:
    """Suppress more until a pattern tells no unsafe sum that is not protected as a cell."""
    while (more := grow(pattern)) is not None:
        system, pattern = _mended(more, pattern, costs, known, run=run)
    return system, pattern


def _mended(
    needs: Requirements, pattern: Pattern, costs: FloatArray, known: sp.csr_array | None, *, run: Run
) -> tuple[System, Pattern]:
    """Return a pattern, of a set with fewer sums, with as many cells more as these need, and the system of all."""
    system = first_system(needs, padded(costs, needs), known)
    hidden = system.merge(pattern.hidden)
    if system.behind is not None:
        system = system.behind.system_for(system.pattern(hidden), run=run.endless())
        hidden = system.merge(pattern.hidden)
    return system, system.pattern(mend(system, hidden, run=run.endless()))


def padded(costs: FloatArray, needs: Requirements) -> FloatArray:
    """Return costs for a set with sums of its cells, which nobody shows, and so cost nothing."""
    return np.concatenate([costs, np.zeros(len(needs.tables) - len(costs))])


@contextmanager
def _saying_what_is_there(run: Run, *, stopped: bool) -> Iterator[None]:
    """Say what is looked at, and, if that is stopped by hand, what would have been enough for the pattern."""
    again = "the search is stopped; Ctrl-C again ends all, with nothing to release: " if stopped else ""
    run.tell(f"{again}looking at what respondents know")
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(f"stopped while looking at what respondents know ({_OUTSIDERS_ONLY})") from None
