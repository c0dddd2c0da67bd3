"""Patterns that are safe against respondents too: what a safe pattern lacks is suppressed, and what is idle then
published.

Suppressing more only adds moves, so that whatever was proven stays proven. First circuits prove most unsafe cells
against everybody. Cells that always move together with a singleton of some insider can never be proven against that
one: for these others are suppressed at once. Then come local programs among suppressed cells, and for what they leave
open local programs that may suppress others. At last the dearest secondaries are published again where all that relied
on them finds another proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import FloatArray
from cellguard.attack.insider_circuits import enter_circuits
from cellguard.attack.insider_coverage import Coverage
from cellguard.attack.insider_knowledge import stand
from cellguard.attack.insider_programs import Programs, Step
from cellguard.attack.insider_proof import proof_of
from cellguard.attack.insider_search import STEPS, Failing
from cellguard.attack.insider_system import system_of
from cellguard.methods.suppress.engines.group_repair import mend_in_groups
from cellguard.methods.suppress.engines.insider_cleaning import clean
from cellguard.methods.suppress.engines.insider_hiding import HIDING, LAST, Hiding
from cellguard.methods.suppress.engines.insider_start import Mended, posed
from cellguard.methods.suppress.engines.system import System
from cellguard.run_context import Run
from cellguard.table.contributions import Contributions
from cellguard.table.pattern import Pattern

_CIRCUITS, _AGAIN, _MORE = 60, 20, 2  # rounds of circuits: at first, for what hopeless pairs gave, and in between
_TURNS = 9  # of proving and suppressing more
_BATCHES, _FEW = 4, 40  # pairs for which cells are suppressed before circuits are looked for: a share, and at least
_LOOKS, _LEAST = (
    3_000,
    30_000_000,
)  # cells that programs may have, per unsafe cell and at least: 3 CPU s a million
_ASKS = 200  # open ones from which on circuits are looked for in between
_FLAT = 2  # dimensions up to which asks are looked at one by one; local moves in more go through too many cells
_SMALL = 60_000  # merged cells up to which groups look at what asks leave open


def mend_inside(
    system: System,
    pattern: Pattern,
    costs: FloatArray,
    insiders: Contributions,
    known: sp.csr_array | None,
    *,
    coalition: int = 1,
    run: Run,
) -> Mended:
    """Return a pattern that is also safe against every single respondent, as far as suppressing more cells makes it so.

    It is safe against up to ``coalition`` respondents who tell each other what they contribute, too.
    """
    if any(len(table.dimensions) > _FLAT for table in system.needs.tables.tables):
        return mend_in_groups(system, pattern, costs, insiders, known, coalition=coalition, run=run)
    mended = mend_by_asks(system, pattern, costs, insiders, known, run=run)
    if coalition == 1 and (mended.is_whole or system.n > _SMALL):
        return mended
    together = partial(mend_in_groups, coalition=coalition, hints=mended.hints, run=run)
    return together(system, mended.pattern, costs, insiders, known)


def mend_by_asks(
    system: System,
    pattern: Pattern,
    costs: FloatArray,
    insiders: Contributions,
    known: sp.csr_array | None,
    *,
    run: Run,
) -> Mended:
    """Return a pattern that is also safe against every single respondent, as far as that can be had."""
    run = run.endless()
    start = posed(system, pattern, costs, known)
    merged = system_of(stand(start.problem, start.grains, system.needs, insiders))
    coverage = Coverage(merged)
    cost = np.bincount(merged.at, start.cost, merged.n).astype(float)
    hidden, may = merged.any_of(start.hidden), np.ones(merged.n, bool)
    hiding = Hiding(coverage, hidden.copy(), Programs(merged, run), run, cost, may)
    _prove(hiding)
    clean(hiding, ~merged.any_of(start.fixed) & (cost > 0), hidden)
    proof = proof_of(coverage).renumbered(start.problem.cells)
    return Mended(start.pattern(hiding.hidden[merged.at]), proof, not len(coverage.open()))


def _prove(hiding: Hiding) -> None:
    """Prove all asks, suppressing what that takes, as far as that can be had."""
    coverage, run = hiding.coverage, hiding.run
    most = max(_LEAST, _LOOKS * len(coverage.open_cells()))
    enter_circuits(coverage, hiding.hidden, _CIRCUITS, run=run)
    _suppress(hiding, hiding.hopeless(), HIDING, most)
    enter_circuits(coverage, hiding.hidden, _AGAIN, seed=1, run=run)
    for turn in range(_TURNS):
        failing = list[Failing]()
        steps = STEPS[: 1 + turn]
        for step in steps:
            failing = hiding.settle_all(hiding.ranked(), (step,), deep=step is steps[-1], most=most)
            if step is steps[0]:
                _circuits_for_many(hiding, _MORE + 1, seed=turn + 2)
        failing = [one for one in failing if hiding.is_open(*one)]
        if not failing:
            break
        before = int(hiding.hidden.sum()), len(coverage.open())
        _suppress(hiding, failing, HIDING if turn + 1 < _TURNS else LAST, most)
        if before == (int(hiding.hidden.sum()), len(coverage.open())) or hiding.programs.looked > most:
            break
    _finish(hiding)


def _circuits_for_many(hiding: Hiding, rounds: int, *, seed: int) -> None:
    """Look for circuits again, where more asks are open than programs settle in the time of a round."""
    if len(hiding.coverage.open()) >= _ASKS:
        enter_circuits(hiding.coverage, hiding.hidden, rounds, seed=seed, run=hiding.run)


def _finish(hiding: Hiding) -> None:
    """Look for the widest moves for the last open cells, and suppress whatever they need.

    An ask may be open against dozens, of whom one is served at a time: it goes on as long as there are fewer of them.
    """
    most = hiding.programs.looked + _LEAST
    while any(hiding.left()):
        before = hiding.left()
        failing = hiding.settle_all(hiding.ranked(), LAST[1:], deep=True, most=most)
        _suppress(hiding, failing, LAST, most)
        if hiding.left() >= before or hiding.programs.looked > most:
            return


def _suppress(hiding: Hiding, failing: Sequence[Failing], steps: Sequence[Step], most: int) -> None:
    """Suppress for what fails, a share of it at a time, with circuits in between, which serve others for nothing."""
    asks = hiding.coverage.asks
    left = sorted(failing, key=lambda one: (-asks.need[one.ask], one))
    while left and hiding.programs.looked <= most:
        hiding.run.tell(f"{len(left):,} pairs of respondents and cells that need secondaries")
        size = max(len(left) // _BATCHES, _FEW)
        hiding.serve(left[:size], steps)
        left = left[size:]
        _circuits_for_many(hiding, 1, seed=len(left))
        left = [one for one in left if hiding.is_open(*one)]
