"""Large sets in blocks: pooled programs, and joint flows, of a few thousand cells around one target after another.

What moves in a block moves in the whole set, so a need that is served there is served. One program of all of a large
set takes minutes and serves no more needs than a few blocks do in a second.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.methods.suppress.engines.coverage import Coverage
from cellguard.methods.suppress.engines.flows import joint_flows
from cellguard.methods.suppress.engines.hidden_system import HiddenSystem
from cellguard.methods.suppress.engines.propagation import Propagation
from cellguard.proofs.local import Neighbours
from cellguard.proofs.pool import pooled_moves
from cellguard.proofs.scale import decades
from cellguard.run_context import Run

Wanted = Callable[[], tuple[Positions, FloatArray]]


def serve_by_blocks(classes: HiddenSystem, served: Coverage, wanted: Wanted, run: Run) -> None:
    """Serve targets by pooled programs of blocks, small ones first, as long as each block serves enough of them.

    ``wanted`` are the classes with open targets, and how far each is to move.
    """
    policy = classes.system.policy
    neighbours, rng = Neighbours(classes.matrix), np.random.default_rng(1)
    for rows in policy.block_rows:
        tried, left = np.zeros(len(classes.roots), bool), [int((~served.mask()).sum())]
        while True:
            columns, amounts = wanted()
            fresh = columns[~tried[columns]]
            last = left[-policy.block_last - 1 :]
            if not len(fresh) or (
                len(last) > policy.block_last and last[0] - last[-1] < policy.block_worth * len(last)
            ):
                break
            middle = int(rng.choice(fresh))
            tried[middle] = True
            inside, matrix = neighbours.block(middle, rows)
            chosen = np.isin(columns, inside)
            places, far = np.searchsorted(inside, columns[chosen]), amounts[chosen]
            for group in decades(np.abs(far)):
                rooms = classes.down[inside], classes.up[inside]
                moves = pooled_moves(matrix, *rooms, places[group], far[group], run=run)
                if moves is not None:
                    moving = np.flatnonzero(moves)
                    cells, own = classes.expand_some(inside[moving], moves[moving])
                    served.credit_both(own, cells)
            left.append(int((~served.mask()).sum()))
            if len(left) % policy.block_last == 0:
                run.left(left[-1], len(served.said), "protection levels left to prove")
            run.check()


def flow_by_blocks(
    propagation: Propagation,
    neighbours: Neighbours,
    hidden: BoolArray,
    open_: LongArray,
    rng: np.random.Generator,
    run: Run,
) -> tuple[BoolArray, LongArray]:
    """Suppress what joint flows in blocks around open targets need, ever wider blocks; return the targets left open
    too.
    """
    system, goals = propagation.system, propagation.goals
    served, pattern = Coverage(propagation), hidden.copy()
    served.said[:] = True
    served.said[open_] = False
    for step in system.policy.blocks:
        tried = np.zeros(len(goals.cell), bool)
        while len(fresh := np.flatnonzero(~served.mask() & ~tried)):
            middle = int(rng.choice(fresh))
            tried[middle] = True
            among = np.zeros(system.n, bool)
            near = neighbours.near([int(goals.cell[middle])], step, pattern, system.never)
            among[neighbours.movable(near)] = True
            inside = np.flatnonzero(~served.mask() & among[goals.cell])
            if len(inside):
                pattern, flows = joint_flows(system, goals, pattern, inside, among, rng, run=run)
                for flow in flows:
                    served.credit_both(flow)
            run.left(len(fresh), len(goals.cell), "protection levels to repair")
            run.check()
    return pattern, np.flatnonzero(~served.mask())
