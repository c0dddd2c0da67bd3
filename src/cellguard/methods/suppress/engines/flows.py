"""Joint flows: one program moves many targets at once, through suppressed cells for nothing and through others for a
price.

    minimise  the sum of price_c |d_c|  and, for each target, much times what it falls short of its protection level
    with M d = 0 and d within the rooms.

The cells that move are suppressed, and d is a witness for all that reach their protection level. What suppressing a
cell costs does not depend on how far it moves, so this is dear; but it is safe after a few programs, whatever the
number of targets.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cellguard import solver
from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.methods.suppress.engines.propagation_kernel import DOWN, WIDTH, Goals
from cellguard.methods.suppress.engines.system import System
from cellguard.proofs.scale import decades
from cellguard.run_context import Run
from cellguard.solver.program import Program, Status

_FAR = 1e5
_MUCH = 10.0  # times the dearest cell
_ROUGH = 1e-5  # times the usual need: interior points move by less than this what a vertex would not move


def joint_flows(
    system: System,
    goals: Goals,
    hidden: BoolArray,
    targets: LongArray,
    among: BoolArray,
    rng: np.random.Generator,
    *,
    rough: bool = False,
    run: Run,
) -> tuple[BoolArray, list[FloatArray]]:
    """Return the pattern with the cells that joint flows for these targets need, and the flows, which are witnesses.

    Only cells ``among`` the given ones move. A target goes one way, by chance where both are asked for, so that some
    stay open. ``rough`` flows are made by interior points; they say which cells to suppress, and are no witnesses.
    """
    order = rng.permutation(targets)
    _, first = np.unique(goals.cell[order], return_index=True)
    chosen = order[np.sort(first)]  # one direction a cell
    down = (goals.kind[chosen] == DOWN) | ((goals.kind[chosen] == WIDTH) & (system.up[goals.cell[chosen]] < 1))
    amounts = np.where(down, -goals.need[chosen], goals.need[chosen])
    pattern, flows = hidden.copy(), []
    # A rough flow takes as long for two targets as for thousands; it is no witness, so one serves needs of all sizes.
    for group in [np.arange(len(amounts))] if rough else decades(np.abs(amounts)):
        usable = np.flatnonzero(among & ~system.never)
        flow = _joint_flow(system, usable, pattern, goals.cell[chosen[group]], amounts[group], rough, run)
        if flow is not None:
            pattern |= flow != 0
            flows += [] if rough else [flow]
    return pattern, flows


def _joint_flow(
    system: System,
    usable: Positions,
    hidden: BoolArray,
    cells: LongArray,
    amounts: FloatArray,
    rough: bool,
    run: Run,
) -> FloatArray | None:
    """Return the cheapest joint flow of targets of like size, in grains."""
    n, many = len(usable), len(cells)
    scale = float(2.0 ** np.round(np.log2(np.median(np.abs(amounts)))))
    up, down = (np.minimum(room[usable] / scale, _FAR) for room in (system.up, system.down))
    some = system.cost[system.cost > 0]
    price = np.where(hidden[usable], 0.0, system.cost[usable] / (np.median(some) if len(some) else 1.0) + 1e-6)
    slope_up, slope_down = (price / np.clip(room, 1e-6, 1.0) for room in (up, down))
    place = np.full(system.n, -1)
    place[usable] = np.arange(n)
    at, sign, number = place[cells], np.sign(amounts), np.arange(many)
    moves = sp.csr_array(system.matrix[:, usable])
    moves = sp.csr_array(moves[np.flatnonzero(np.diff(moves.indptr))])
    goal = sp.csr_array(
        (
            np.concatenate([sign, -sign, np.ones(many)]),
            (np.tile(number, 3), np.concatenate([at, n + at, 2 * n + number])),
        ),
        shape=(many, 2 * n + many),
    )
    top = sp.hstack([moves, -moves, sp.csr_array((moves.shape[0], many))], format="csr")
    size = np.abs(amounts) / scale
    solution = solver.solve(
        Program(
            sp.csr_array(sp.vstack([top, goal], format="csr")),
            np.concatenate([np.zeros(moves.shape[0]), size]),
            np.concatenate([np.zeros(moves.shape[0]), np.full(many, np.inf)]),
            np.zeros(2 * n + many),
            np.concatenate([up, down, np.full(many, np.inf)]),
            np.concatenate([slope_up, slope_down, _MUCH * (price.max(initial=0) + 1) / size]),
        ),
        interior=rough,
        run=run,
    )
    if solution.status is not Status.optimal:
        return None
    moved = solution.x[:n] - solution.x[n : 2 * n]
    flow = np.zeros(system.n)
    flow[usable] = np.where(np.abs(moved) > (_ROUGH if rough else 1e-7), moved * scale, 0.0)
    return flow
