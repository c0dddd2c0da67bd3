"""Why there is no adjustment: the unsafe cells that cannot move far enough, and what holds them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import Positions
from cellguard.methods.adjust.plan import FAR, Plan
from cellguard.run_context import Run
from cellguard.solver.program import Program, Status

_NAMED, _TRIED = 3, 200  # cells that a message names, and cells that are looked at one by one
_LARGE = 8_000  # cells beyond which no cell is looked at by itself
_CURE = "keep fewer cells, give the tables more detail, or suppress them"


def why_not(plan: Plan, run: Run) -> str:
    """Explain which unsafe cells cannot move: alone, or only all together."""
    stuck = np.flatnonzero(plan.stuck)
    if len(stuck):
        zero = np.flatnonzero(plan.stuck & (plan.grains.value == 0))
        if len(zero):
            return f"true zeros stay 0, but these are unsafe and would have to move: {_names(plan, zero)}"
        return (
            f"no adjustment: both sides of these unsafe cells are beyond their bounds: {_names(plan, stuck)}; {_CURE}"
        )
    held = _held(plan, run) if len(plan.start) <= _LARGE else np.zeros(0, np.intp)
    if len(held):
        return (
            "no adjustment: kept cells, zeros and bounds hold these unsafe cells, whatever side others move to: "
            f"{_names(plan, held)}; {_CURE}"
        )
    unsafe = np.flatnonzero(plan.primary)
    return f"no adjustment was found that moves all unsafe cells together far enough: {_names(plan, unsafe)}; {_CURE}"


def _held(plan: Plan, run: Run) -> Positions:
    """Return the unsafe cells that cannot reach a side even if no other unsafe cell had to move."""
    matrix = sp.csr_array(plan.tables.relations.astype(float))
    right = -plan.left_over(plan.start).astype(float)
    fixed = plan.low == plan.high
    down = np.where((plan.low > -FAR) | fixed, plan.low - plan.start, -np.inf).astype(float)
    up = np.where((plan.high < FAR) | fixed, plan.high - plan.start, np.inf).astype(float)
    session = solver.open(Program(matrix, right, right, down, up, np.zeros(len(down))), run=run)
    held = []
    try:
        for cell in np.flatnonzero(plan.primary)[:_TRIED].tolist():
            run.check()
            one = np.array([cell])
            reached = False
            for may, sign, far in (
                (plan.may_rise[cell], -1.0, plan.above[cell] - plan.start[cell]),
                (plan.may_fall[cell], 1.0, plan.start[cell] - plan.below[cell]),
            ):
                if not may or reached:
                    continue
                session.set_cost(one, np.array([sign]))
                done = session.solve()
                reached = done.status is Status.unbounded or (
                    done.status is Status.optimal and -sign * float(done.x[cell]) * 1.0 >= far - 1e-6
                )
            session.set_cost(one, np.zeros(1))
            if not reached:
                held.append(cell)
    finally:
        session.close()
    return np.array(held, np.intp)


def _names(plan: Plan, cells: Positions) -> str:
    named = "; ".join(plan.tables.message_name(int(cell)) for cell in cells[:_NAMED])
    return f"{named}{f' and {len(cells) - _NAMED:,} more' if len(cells) > _NAMED else ''}"
