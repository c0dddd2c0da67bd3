"""`suppress`: from requirements to a pattern that hides as little as possible; and what to do if none can be safe."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import numpy.typing as npt
import scipy.sparse as sp

from cellguard.attack.pairs import Hint
from cellguard.attack.unions import Watch
from cellguard.errors import NotProtected, Stopped
from cellguard.protect.suppress.advice import advice
from cellguard.protect.suppress.behind import first_system
from cellguard.protect.suppress.costs import Cost, costs_by
from cellguard.protect.suppress.effort import NORMAL, Effort, effort_named
from cellguard.protect.suppress.engines import ENGINES, Engine, engine_named, usual_engine
from cellguard.protect.suppress.master import Impossible
from cellguard.protect.suppress.mending import mend_inside
from cellguard.protect.suppress.witness import Unprotectable, mend
from cellguard.protection import Requirements
from cellguard.table.contributions import Contributions
from cellguard.table.pattern import Pattern
from cellguard.types import UNWATCHED, BoolArray, FloatArray, Run

_OUTSIDERS_ONLY = "`attack: {insiders: false}` looks at outsiders only"


@dataclass(frozen=True, eq=False)
class Suppression:
    """The pattern, what its secondaries cost, and a bound on what any safe pattern costs.

    ``costs`` is what hiding each distinct cell would cost. ``cuts`` are the kinds of cuts that the bound rests on,
    ``engine`` is which one chose the pattern. ``hints`` are moves that an audit may look at first. ``seed`` is that of
    random costs, secret; cost and ``costs`` are then those without randomness, and there is no bound.

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

    def __repr__(self) -> str:
        gap = f"gap {self.gap:.1%}" if self.seed is None else "random costs"
        return f"<Suppression: {self.pattern!r}, {gap}>"

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
    watch: Watch | None = None,
    effort: Effort | str = NORMAL,
    run: Run = UNWATCHED,
) -> Suppression:
    """Hide cells until every unsafe one is protected, at the least cost.

    ``cost`` is what hiding a cell costs: by name (``value``: its size, ``count``: its respondents, ``constant``,
    ``log``, ``distance``), as a function of a table and its unsafe cells, or as one number per distinct cell.
    ``start`` marks distinct cells to begin with, say the secondaries of an earlier run. ``known`` are sums of cells
    that an attacker has from elsewhere. With ``insiders``, the respondents behind the cells, as much more is hidden
    as none of them, or up to ``coalition`` together, comes too near to another, and that no reader knows an unsafe
    sum that ``watch`` finds. ``effort`` says how long to look for a cheaper pattern: quick, normal or best.
    ``engine`` is one by name (``witness``, ``gauss``, ``optimal``) or a function like them, else the usual one.

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
        if insiders is not None:
            with _saying_what_is_there(run, stopped=solved.by_hand):
                mended = mend_inside(system, pattern, costs, insiders, known, coalition=coalition, watch=watch, run=run)
            pattern, hints = mended.pattern, mended.hints
    except Stopped as stop:
        raise Stopped(f"{stop}, and no safe pattern was found yet") from None
    except (Unprotectable, Impossible):
        again = partial(choose, start=None, effort=looked, run=run)
        raise NotProtected(advice(system, costs, known, again, run=run)) from None
    paid = float(costs[pattern.secondary].sum())
    said = name if choose is ENGINES.get(name) else getattr(choose, "__name__", "own")
    return Suppression(pattern, paid, solved.bound, costs, solved.finished, solved.cuts, said, hints)


@contextmanager
def _saying_what_is_there(run: Run, *, stopped: bool) -> Iterator[None]:
    """Say what is looked at, and, if that is stopped by hand, what would have been enough for the pattern."""
    again = "the search is stopped; Ctrl-C again ends all, with nothing to release: " if stopped else ""
    run.tell(f"{again}looking at what respondents know")
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(f"stopped while looking at what respondents know ({_OUTSIDERS_ONLY})") from None
