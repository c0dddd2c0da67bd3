"""The witness engine: safe first, then better, as far as the effort allows; the audit proves it."""

from __future__ import annotations

from cellguard.arrays import BoolArray
from cellguard.methods.suppress.engines import algebra
from cellguard.methods.suppress.engines.count_repair import is_exact, repair_counts
from cellguard.methods.suppress.engines.cuts import targets_of
from cellguard.methods.suppress.engines.effort import NORMAL, QUICK, Effort
from cellguard.methods.suppress.engines.engine_result import EngineResult, anytime
from cellguard.methods.suppress.engines.phases import search_by_phases
from cellguard.methods.suppress.engines.search import Search, Unprotectable
from cellguard.methods.suppress.engines.system import System
from cellguard.run_context import Run

__all__ = ["EngineResult", "Unprotectable", "mend", "refuse_fixed", "witness"]


def witness(system: System, *, start: BoolArray | None = None, effort: Effort = NORMAL, run: Run) -> EngineResult:
    """Return a cheap safe pattern. ``start`` is a pattern to begin with, say from an earlier run."""
    refuse_fixed(system)
    by_algebra = algebra.solved(system, start, effort, run=run)
    if by_algebra is not None:
        return by_algebra
    search = Search(system, effort, run)
    return anytime(search, lambda: search_by_phases(search, start))


def mend(system: System, start: BoolArray, *, run: Run) -> BoolArray:
    """Return a pattern with as few cells more as repairs need to make it safe."""
    search, begin = Search(system, QUICK, run), (start | system.hidden) & ~system.never
    if is_exact(system.needs):
        repair_counts(search, begin)
    else:
        search.mend(begin, system.policy.first_repair)
    return search.pattern()


def refuse_fixed(system: System) -> None:
    """Refuse an unsafe cell that must not be suppressed, because it equals a cell that is published or known to
    be 0.
    """
    for target in targets_of(system):
        if system.never[target.cell]:
            raise Unprotectable(target)
