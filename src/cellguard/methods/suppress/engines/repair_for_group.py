"""What to suppress so that cells move far enough within other bounds than an outsider's: those of a group of insiders.

Suppressing is shared by all, so the search begins with what is suppressed already: propagation finds the cheap cells
that are missing, and exact cuts the rest, as for outsiders. What stays open when the work is used up is left to others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cellguard.arrays import BoolArray, Positions
from cellguard.methods.suppress.engines.effort import QUICK
from cellguard.methods.suppress.engines.search import Search
from cellguard.methods.suppress.engines.system import System, largest, pin, smallest
from cellguard.proofs.problem import Problem
from cellguard.proofs.scale import as_floats
from cellguard.run_context import Run

_ALLOWED = 2.0e8  # work of the repair for one group, about 10 CPU s


def hide_within(system: System, problem: Problem, merged: Positions, hidden: BoolArray, *, run: Run) -> BoolArray:
    """Return which of a problem's cells to suppress so that they get their protection levels within its bounds, as far
    as it works.

    ``merged`` are the merged cells of the system that the problem's cells belong to.
    """
    search = Search(_narrowed(system, problem, merged, hidden), QUICK, run)
    search.state.construct(search.guide, run)
    search.state.clean()
    open_ = search.oracle.unproven(search.state.hidden, run, patience=1)
    if len(open_):
        search.repair(open_, _ALLOWED, patience=search.policy.patient_rounds)
    return np.asarray(hidden | search.state.hidden[merged], bool)


def _narrowed(system: System, problem: Problem, merged: Positions, hidden: BoolArray) -> System:
    """Return the system with the bounds and needs of a problem, and what is suppressed already for nothing."""
    n = system.n
    down, up = (
        np.minimum(old, smallest(as_floats(new), merged, n))
        for old, new in ((system.down, problem.down), (system.up, problem.up))
    )
    asked = largest(problem.levels, merged, n)
    levels, pinned, two_sided = pin(asked, down, up)
    return replace(
        system,
        down=down,
        up=up,
        levels=levels,
        hidden=system.hidden | (np.bincount(merged, hidden, n) > 0),
        pinned=pinned,
        two_sided=two_sided,
        asked=asked,
    )
