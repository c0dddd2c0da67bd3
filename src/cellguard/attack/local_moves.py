"""Moves among suppressed cells, for one unsafe cell at a time: close ones first, then from further and further away.

A move that is 0 outside a neighbourhood is a move of the whole set, so a small program over the relations near a cell
proves as much as one over all of them. It can only miss: what has no close move may have a longer one. So each step
looks further, and only propagation over all suppressed cells, which bounds every move, refutes.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from cellguard.arrays import BoolArray, LongArray, Positions
from cellguard.attack.insider_pairs import Pair
from cellguard.attack.insider_proofs import InsiderProofSearch
from cellguard.proofs.local import Goal, Rooms
from cellguard.proofs.moves import Move

Step = tuple[int, int, int]
CLOSE: Step = (6, 3, 300)  # rounds, cells per relation (0: all), and cells in all
WIDE: Step = (8, 6, 1_000)
FAR: Step = (40, 0, 6_000)
_SHARE = 0.5  # of what may be looked at: the rest is for refuting what is stuck


def settle_among(prover: InsiderProofSearch, hidden: BoolArray) -> list[Pair]:
    """Prove what can be by moves of suppressed cells: first by close ones, which may serve others too, then from afar.

    Close ones are looked for against all insiders of a cell at once, others also against each by itself.
    """
    unproven, stuck = prover.unproven(), list[Pair]()
    cells = [cell for cell in prover.targets() if unproven[cell]]
    for step in (CLOSE, WIDE, FAR):
        stuck = prover.settle(
            partial(find_among, hidden=hidden, step=step), cells, each=step is not CLOSE, share=_SHARE
        )
        # What is open against everybody needs a long move, which few programs find: that comes last.
        everybody = {pair.cell for pair in stuck if pair.insider < 0}
        cells = sorted(dict.fromkeys(pair.cell for pair in stuck), key=everybody.__contains__)
    return stuck


def find_among(
    prover: InsiderProofSearch, goal: Goal, insiders: LongArray, *, hidden: BoolArray, step: Step
) -> Move | None:
    """Return a short move, among the suppressed cells near a goal, that none of some insiders notices."""
    # Bounds in which none of the insiders notices: the narrowest of what each of them can tell.
    rooms = prover.rooms(goal.cells[0], insiders)
    if step is not CLOSE and hopeless_among(prover, goal, rooms, hidden):
        return None
    return prover.cheapest(near_among(prover, goal, hidden, step), goal, rooms)


def hopeless_among(prover: InsiderProofSearch, goal: Goal, rooms: Rooms, hidden: BoolArray) -> bool:
    """Return whether propagation shows that no move of suppressed cells within these rooms reaches a goal."""
    return prover.hopeless(goal, np.where(hidden, rooms.down, 0), np.where(hidden, rooms.up, 0))


def near_among(prover: InsiderProofSearch, goal: Goal, hidden: BoolArray, step: Step) -> Positions:
    """Return the suppressed cells near a goal."""
    near = prover.neighbours
    return near.near(goal.cells, step, np.zeros(near.n, bool) if step[1] else hidden, ~hidden)
