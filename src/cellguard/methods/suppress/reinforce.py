"""`reinforced`: a pattern with more slack where the audit could not prove it, so that rounding does not decide.

A cell whose interval ends exactly where its protection level does can be safe and yet beyond proof: programs work in
floating-point numbers, proofs in whole ones. So what an audit leaves open is asked for a little more than it needs, and
then for much more; whatever a repair suppresses for that only widens intervals, so that what was proven stays so.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray
from cellguard.attack.audit import Audit
from cellguard.methods.suppress.engines.insider_repair import mend_inside
from cellguard.methods.suppress.engines.search import Unprotectable
from cellguard.methods.suppress.suppress import Suppression, widened_pattern
from cellguard.protection import Requirements
from cellguard.run_context import Run
from cellguard.table.contributions import Contributions

SLACKS = (1e-5, 1e-2, 0.5)  # more than a protection level, turn by turn: rounding error first, and then more cells
_INSIDE = 0.1  # ... at least, where it is respondents who may come too near: they have contributions to subtract


def not_proven(judged: Audit) -> BoolArray:
    """Return the distinct cells that an audit could not prove: against outsiders, or against some respondent."""
    n = len(judged.needs.tables)
    open_ = (judged.failing | judged.undecided)[:n].copy()
    if judged.inside is not None:
        pairs = (*judged.inside.failing, *judged.inside.undecided)
        cells = judged.problem.cells[[pair.cell for pair in pairs]] if pairs else np.zeros(0, np.intp)
        open_[cells[cells < n]] = True
    return np.asarray(open_ & judged.needs.primary, bool)


def can_be_reinforced(judged: Audit) -> bool:
    """Return whether suppressing more could help: not where it is relations that nobody could look at."""
    return judged.verdict != "safe" and not judged.needs.world.open and bool(not_proven(judged).any())


def reinforced(
    judged: Audit,
    chosen: Suppression,
    slack: float,
    *,
    known: sp.csr_array | None = None,
    insiders: Contributions | None = None,
    coalition: int = 1,
    run: Run,
) -> Suppression | None:
    """Return a suppression whose pattern gives the cells that were not proven more slack; None if there is none.

    ``slack`` is how much more than their protection levels they are asked for, as a share of these.
    """
    open_ = not_proven(judged)
    inside = judged.inside is not None and bool(judged.inside.failing or judged.inside.undecided)
    asked = with_slack(judged.needs, open_, max(slack, _INSIDE) if inside else slack)
    run.tell(f"{int(open_.sum()):,} cells could not be proven, and get more slack")
    try:
        pattern, system = widened_pattern(asked, judged.pattern, chosen.costs, known, run=run)
        hints = chosen.hints
        if insiders is not None:
            mended = mend_inside(system, pattern, chosen.costs, insiders, known, coalition=coalition, run=run)
            pattern, hints = mended.pattern, mended.hints
    except Unprotectable:
        return None
    if (pattern.secondary == judged.pattern.secondary).all():
        return None
    return replace(chosen, pattern=pattern, cost=float(chosen.costs[pattern.secondary].sum()), hints=hints)


def with_slack(needs: Requirements, cells: BoolArray, slack: float) -> Requirements:
    """Return the requirements with larger protection levels for some cells.

    >>> import cellguard as cg
    >>> t = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 2, 7]}, by=["r"], value="x", count="n")
    >>> needs = cg.require(cg.assess(t, cg.MinFrequency(3)))
    >>> with_slack(needs, needs.primary, 0.5).upper.tolist()
    [0.0, 0.75, 0.0]
    """
    more = np.where(cells, 1.0 + slack, 1.0)
    return replace(needs, lower=needs.lower * more, upper=needs.upper * more, sliding=needs.sliding * more)
