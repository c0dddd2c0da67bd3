"""`attack_together`: can several respondents who tell each other what they contribute estimate another one too closely?

What is proven against every single respondent is mostly proven against coalitions too, by the same moves: three moves
of a cell that no two respondents notice all of are enough against all pairs. Only for coalitions that notice all of
them are further moves looked for, near the cell first; the last ones are decided by programs within the coalition's
bounds.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from cellguard.attack.coalition_proofs import CoalitionProofSearch, Reached, pair_of
from cellguard.attack.deciding import decide
from cellguard.attack.insider_hints import Hints
from cellguard.attack.insider_pairs import Pair
from cellguard.attack.insiders import Inside
from cellguard.attack.local_moves import CLOSE, FAR, WIDE, find_among
from cellguard.proofs.levels import Levels
from cellguard.proofs.problem import Problem

_OFTEN = 50  # latent cells two words of progress


def attack_together(inside: Inside, size: int, *, complete: bool = True) -> Inside:
    """Decide for every unsafe cell whether all coalitions of up to ``size`` respondents stay far enough from others.

    Nothing may be open against single respondents. Of the coalitions that estimate a cell one is named too closely. As
    with single respondents nothing is refuted unless the problem is ``complete``, and Ctrl-C leaves cells undecided.
    """
    prover = CoalitionProofSearch.of(inside.prover, size)
    failing, undecided = list[Pair](), list[Pair]()
    cells = prover.targets()
    run = prover.run.during("auditing against coalitions")
    try:
        for number, cell in enumerate(cells):
            if number % _OFTEN == 0:
                run.left(len(cells) - number, len(cells), "cells to prove against coalitions")
            prover.run.check()
            pair, refuted = _settle(prover, cell)
            if pair is not None:
                (failing if refuted and complete else undecided).append(pair)
    except KeyboardInterrupt:
        gaps = [(cell, prover.gap(cell, prover.entries(cell))) for cell in cells]
        undecided = [pair_of(gap, cell) for cell, gap in gaps if gap is not None]
        failing = []
    return replace(
        inside, searched=prover, proof=Hints.of(prover.used()), failing=failing, undecided=undecided, size=size
    )


def _settle(prover: CoalitionProofSearch, cell: int) -> tuple[Pair | None, bool]:
    """Prove a cell against all coalitions; else return one that is left, and whether it comes too close."""
    everything, before = np.ones(prover.neighbours.n, bool), None
    finds = [partial(find_among, hidden=everything, step=step) for step in (CLOSE, WIDE, FAR)]
    while all(prover.settle_cell(cell, find) for find in finds):
        gap = prover.gap(cell, prover.entries(cell))
        if gap is None or gap == before:
            return Pair(-1, cell, 0, 0) if gap is None else pair_of(gap, cell), False
        judged = decide(_in_the_eyes_of(prover, gap, cell), run=prover.run)
        if judged.failing[cell]:
            return pair_of(gap, cell), True
        for move in judged.moves:
            prover.credit(judged.reduction.lift(move))
        before = gap
    return None, False


def _in_the_eyes_of(prover: CoalitionProofSearch, gap: Reached, cell: int) -> Problem:
    """Return the problem of one coalition, with the protection levels of one cell."""
    down, up = prover.limits(gap.members)
    needs = [(0, 0, 0)] * len(down)
    needs[cell] = gap.asked
    return replace(prover.knowledge.problem, down=down, up=up, levels=Levels.of_rows(needs))
