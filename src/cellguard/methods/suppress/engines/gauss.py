"""The gauss engine: suppress the cheapest cells with which no unsafe cell is determined by linear algebra.

An attacker who knows no bounds can work out cell p exactly if no move d with M d = 0 that is 0 on the published cells
has d_p != 0. How the cheapest cells are found with which there is one is in `elimination`.

The arithmetic is exact, modulo a prime. A move that is not 0 modulo the prime is not 0; that one that is not 0 vanishes
modulo the prime is next to impossible, and costs a cell at most. Bounds and whole numbers it does not see: in 0 = x + x
the x cannot move although algebra lets them. So the witness engine looks at the pattern, and repairs what is left.
"""

from __future__ import annotations

from cellguard.arrays import BoolArray
from cellguard.methods.suppress.engines.count_repair import is_exact, repair_counts
from cellguard.methods.suppress.engines.effort import NORMAL, QUICK, Effort
from cellguard.methods.suppress.engines.elimination import eliminated
from cellguard.methods.suppress.engines.packing import packed_bound
from cellguard.methods.suppress.engines.search import Search
from cellguard.methods.suppress.engines.system import System
from cellguard.methods.suppress.engines.witness import EngineResult, refuse_fixed, witness
from cellguard.protection import Requirements
from cellguard.run_context import Run


def gauss(system: System, *, start: BoolArray | None = None, effort: Effort = NORMAL, run: Run) -> EngineResult:
    """Return a safe pattern that starts from elimination; cells of ``start`` are taken before others.

    Of a large set whose needs are all exact counts, elimination leaves little to do, and the pattern is only repaired.
    Small sets and other needs the witness engine searches from there, as far as the effort allows.
    """
    refuse_fixed(system)
    free = int((~system.hidden & ~system.never).sum())
    pattern = eliminated(system, start, run=run)
    if effort is QUICK or (effort is NORMAL and is_exact(system.needs) and free > system.policy.optimal_free):
        search = Search(system, QUICK, run)
        repair_counts(search, pattern)
        chosen = search.pattern()
        return EngineResult(chosen, search.cost(chosen), packed_bound(system), cuts=frozenset({"relations"}))
    return witness(system, start=pattern, effort=effort, run=run)


def usual_engine(needs: Requirements) -> str:
    """Return `gauss` for counts that must only not be told exactly, and `witness` for everything else."""
    return "gauss" if needs.primary.any() and is_exact(needs) else "witness"
