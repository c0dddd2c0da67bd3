"""Groups of insiders: what none of a group notices, pooled for hundreds of cells at once.

Where cells have no short move, hundreds of insiders notice each move that they have, and moves for single insiders are
hopeless. But within the narrowest bounds of a whole group the problem is an outsider's, with other bounds and needs, so
that one program moves hundreds of cells at once, and none of the group notices. One such move per group proves a cell
against everybody, but that whoever dominates the cell itself holds it still for its own group: so groups are drawn
again a few times.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, LongArray, Positions
from cellguard.attack.deciding import propagated
from cellguard.attack.insider_proofs import InsiderProofSearch
from cellguard.attack.pooling import pool_briefly
from cellguard.attack.witness_ledger import WitnessLedger
from cellguard.proofs.levels import Levels
from cellguard.proofs.moves import Move
from cellguard.proofs.problem import Problem
from cellguard.solver.program import SEED

TURNS = 3  # in which groups are drawn to attack: then few are left for a cell by chance, and most for a reason
_GROUPS = 4
_MANY = 200  # cells without any short move from which on groups pay
_MANY_ASIDE = 2_000  # who dominate no cell, and are worth groups of their own
_CROWD = 400  # insiders that cannot all be kept apart from one
_FEW = 10  # open cells that are left to single programs
_PER_CELL = ("cells", "down", "up", "whole")


def pays(prover: InsiderProofSearch) -> bool:
    """Return whether many cells have no short move at all, so that pooled programs are worth their time."""
    return sum(not prover.entries(cell) for cell in np.flatnonzero(prover.unproven()).tolist()) >= _MANY


def is_done(prover: InsiderProofSearch) -> bool:
    """Return whether so few cells are open that single programs are quicker."""
    return int(prover.unproven().sum()) < _FEW


def nearly(prover: InsiderProofSearch, cells: BoolArray, most: int) -> BoolArray:
    """Return which of some cells are open against ``most`` insiders at most."""
    near = np.zeros(len(cells), bool)
    for cell in np.flatnonzero(cells).tolist():
        noticing = prover.noticing(cell)
        near[cell] = most >= len(prover.knowledge.by_start) or (noticing is not None and len(noticing) <= most)
    return near


def dominating(prover: InsiderProofSearch, cells: BoolArray) -> LongArray:
    """Return all who are alone in some cells, or among their two largest contributors."""
    some = (who for cell in np.flatnonzero(cells).tolist() for who in prover.dominating(cell))
    return np.array(sorted(set(some)), np.int64)


def groups(prover: InsiderProofSearch, cells: BoolArray, dominant: LongArray, turn: int) -> list[LongArray]:
    """Return those against whom some cells are open in a few groups.

    Whoever dominates a cell holds it still for its own group. So those who are ``dominant`` are parted so that few of
    them are with one whose cell is open against them, and all others, if they are many, come by themselves, by chance.
    """
    left, rng = prover.left(cells), np.random.default_rng([SEED, turn])
    aside = rng.permutation(np.setdiff1d(left, dominant))
    if len(aside) < _MANY_ASIDE:
        return _kept_apart(prover, cells, left, rng)
    parts = [np.sort(aside[digit::_GROUPS]) for digit in range(_GROUPS)]
    return parts + _kept_apart(prover, cells, np.intersect1d(left, dominant), rng)


def _kept_apart(
    prover: InsiderProofSearch, cells: BoolArray, some: LongArray, rng: np.random.Generator
) -> list[LongArray]:
    """Return insiders in groups, each with few of those against whom the cells that it dominates are open."""
    place = {who: number for number, who in enumerate(some.tolist())}
    near: list[list[int]] = [[] for _ in place]
    for cell in np.flatnonzero(cells).tolist():
        noticing = prover.noticing(cell)
        if noticing is not None and len(noticing) <= _CROWD:
            others = [place[who] for who in noticing & place.keys()]
            for number in (place[who] for who in prover.dominating(cell) if who in place):
                near[number] += others
                for other in others:
                    near[other].append(number)
    group, size = np.full(len(some), -1), np.zeros(_GROUPS)
    order = rng.permutation(len(some))
    for number in order[np.argsort([-len(near[n]) for n in order], kind="stable")].tolist() * 2:
        size[group[number]] -= group[number] >= 0
        group[number] = -1
        taken = group[near[number]]
        conflicts = np.bincount(taken[taken >= 0], minlength=_GROUPS)
        group[number] = np.lexsort((size, conflicts))[0]
        size[group[number]] += 1
    return [some[group == digit] for digit in range(_GROUPS) if (group == digit).any()]


def problem_of(prover: InsiderProofSearch, group: LongArray, cells: BoolArray) -> Problem:
    """Return the problem of a group: the narrowest bounds of its members, and the protection levels of some cells
    against them.

    What cells need that they can never have within these bounds, whatever is suppressed, is left out.
    """
    knowledge, members = prover.knowledge, frozenset(group.tolist())
    needs = [(0, 0, 0)] * len(knowledge.owner)
    for cell in np.flatnonzero(cells & prover.unproven()).tolist():
        needs[cell] = prover.asked_against(cell, members)
    down, up = knowledge.limits(group)
    problem = replace(knowledge.problem, down=down, up=up, levels=Levels.of_rows(needs))
    return propagated(problem).hopeful


def enter_pooled(prover: InsiderProofSearch, problem: Problem, hidden: BoolArray) -> None:
    """Enter moves of suppressed cells that pool the protection levels of cells in the problem of a group."""
    cells = np.flatnonzero(hidden)
    _, reduction, least, most = propagated(_among(problem, cells))
    low, high = reduction.cell_ends(least, most)
    cells = cells[(low < 0) | (high > 0)]  # without those that the group holds still far fewer variables are left
    _, reduction, _, _ = propagated(_among(problem, cells))
    ledger = WitnessLedger(reduction)
    pool_briefly(ledger, run=prover.run)
    moves = [reduction.lift(move) for move in ledger.moves]
    here = [Move(cells[move.variables], move.n, move.denominator) for move in moves]
    prover.credit_all(here, partial(_helped, prover, problem, set()))


def _helped(
    prover: InsiderProofSearch,
    problem: Problem,
    given: set[tuple[int, bool]],
    move: Move,
    notices: frozenset[int],
    cells: Positions,
) -> Positions:
    """Return the open cells that a move proves against more, or that it gives the protection levels of a group and none
    did before.

    ``given`` are the cells and ways that have it.
    """
    reach = move.reach()[np.searchsorted(move.variables, cells)]
    levels = problem.levels.take(cells)
    way = np.where(reach > 0, levels.up, levels.down)
    asked = np.where(way > 0, way, levels.width)
    some = []
    for cell, far, need in zip(cells.tolist(), reach.tolist(), asked.tolist(), strict=True):
        if cell in prover.closed:
            continue
        serves = 0 < need <= abs(far) and (cell, far > 0) not in given
        if serves or prover.narrows(cell, far, notices):
            some.append(cell)
            given |= {(cell, far > 0)} if serves else set()
    return np.array(some, np.intp)


def _among(problem: Problem, cells: Positions) -> Problem:
    """Return the problem in which only some cells move."""
    matrix = sp.csr_array(problem.matrix[:, cells])
    arrays = {name: getattr(problem, name)[cells] for name in _PER_CELL}
    rows = matrix[np.flatnonzero(np.diff(matrix.indptr))]
    return replace(problem, matrix=rows, levels=problem.levels.take(cells), **arrays)
