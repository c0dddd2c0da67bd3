"""`attack_inside`: can a respondent who subtracts what it knows of itself estimate another one too closely?

Short moves prove most unsafe cells against every insider at once (`InsiderProofSearch`). What they leave open is
decided pair by pair: relations near the cell refute most of it, with all their cells in the room that the insider
leaves them; the rest goes to the same programs as an outsider's attack, within the insider's bounds. Where that takes
too long, it ends, and what is open then is undecided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cellguard import solver
from cellguard.arrays import BoolArray
from cellguard.attack.deciding import decide
from cellguard.attack.insider_circuits import enter_circuits
from cellguard.attack.insider_coverage import Coverage
from cellguard.attack.insider_groups import TURNS, dominating, enter_pooled, groups, is_done, pays, problem_of
from cellguard.attack.insider_hints import Hints
from cellguard.attack.insider_knowledge import InsiderKnowledge, stand
from cellguard.attack.insider_pairs import Hint, Pair
from cellguard.attack.insider_proof import enter_hints, proof_of
from cellguard.attack.insider_proofs import InsiderProofSearch
from cellguard.attack.insider_search import STEPS, Search
from cellguard.attack.insider_system import system_of
from cellguard.attack.local_moves import settle_among
from cellguard.proofs.levels import Levels
from cellguard.proofs.local import Goal, Neighbours
from cellguard.proofs.moves import Move
from cellguard.proofs.problem import Grains, Problem
from cellguard.proofs.scale import as_floats, hair
from cellguard.protection import Requirements
from cellguard.run_context import Run
from cellguard.solver.program import Program, Status
from cellguard.table.contributions import Contributions

_ROUNDS = 60  # of circuits
_LOOKS, _LEAST = 3_000, 8_000_000  # cells that local programs may have, per open cell and at least
_FLAT = 3.5  # relations per cell up to which a table is like one of two dimensions
_NEAR = (3, 0, 120)
_DECIDING = 20  # looks at each cell of a problem that deciding all of it takes
_WIDE = 1e5  # times the amount that matters: bounds beyond that are cut off where only refuting counts


@dataclass(frozen=True, eq=False)
class Inside:
    """What insiders can work out. ``failing`` and ``undecided`` are pairs of an insider and an unsafe cell.

    Cells are positions among the unknown ones of the problem. ``proof`` are the moves that prove all other pairs.
    ``linked`` says that an insider who is in several cells is known to be one. ``size`` is how many respondents were
    put together at most, ``searched`` a search with all of the proof, if there is one.
    """

    knowledge: InsiderKnowledge
    proof: Hints
    failing: list[Pair]
    undecided: list[Pair]
    linked: bool
    run: Run
    size: int = 1
    searched: InsiderProofSearch | None = None

    @property
    def moves(self) -> Sequence[Move]:
        """The moves of the proof."""
        return self.proof.moves

    @cached_property
    def prover(self) -> InsiderProofSearch:
        """Who is proven against whom, cell by cell: for those who ask about single pairs."""
        if self.searched is not None:
            return self.searched
        problem = self.knowledge.problem
        prover = InsiderProofSearch(self.knowledge, Neighbours(problem.matrix, problem.whole), self.run)
        prover.enter_hints(self.proof)
        return prover


def attack_inside(
    problem: Problem,
    grains: Grains,
    needs: Requirements,
    known: Contributions,
    *,
    complete: bool = True,
    hints: Sequence[Hint] = (),
    run: Run,
) -> Inside:
    """Decide for every insider and every unsafe cell whether the insider's interval reaches what it must.

    If the problem is not ``complete``, since some latent cells stay fixed, nothing is refuted. Ctrl-C ends it, and
    leaves undecided what is not proven.
    """
    knowledge = stand(problem, grains, needs, known)
    coverage = Coverage(system_of(knowledge))
    proof, failing, undecided = Hints.of([]), list[Pair](), list[Pair]()
    try:
        _prove(coverage, Hints.of(hints).among(problem.cells), run)
        proof = proof_of(coverage)
        if len(coverage.open()):
            proof, failing, undecided = _look_closer(coverage, proof, run)
    except KeyboardInterrupt:
        failing, undecided = [], coverage.open_pairs()
    if not complete:
        failing, undecided = [], failing + undecided
    return Inside(knowledge, proof, failing, undecided, known.linked, run)


def _prove(coverage: Coverage, hints: Hints, run: Run) -> None:
    """Prove what hints, circuits and short moves prove against everybody."""
    enter_hints(coverage, hints)
    everything = np.ones(coverage.system.n, bool)
    if len(coverage.open()):
        enter_circuits(coverage, everything, _ROUNDS, run=run)
    if coverage.system.matrix.nnz > _FLAT * coverage.system.n:
        return  # groups take less time there
    search, most = Search.of(coverage, everything, run), max(_LEAST, _LOOKS * len(coverage.open_cells()))
    for step in STEPS[:2]:
        search.settle_all(search.ranked(), (step,), most=most)


def _look_closer(coverage: Coverage, proof: Hints, run: Run) -> tuple[Hints, list[Pair], list[Pair]]:
    """Decide on the cells that are left, pair by pair; return the whole proof, and pairs that fail or stay open."""
    system = coverage.system
    problem = system.problem
    open_ = np.isin(system.at, coverage.open_cells()) & problem.levels.asked()
    prover = InsiderProofSearch(system.knowledge, Neighbours(problem.matrix, problem.whole), run)
    prover.closed |= set(np.flatnonzero(problem.levels.asked() & ~open_).tolist())
    prover.enter_hints(Hints.of([hint for hint in proof if open_[hint.cells].any()]))
    everything = np.ones(len(problem.cells), bool)
    _pool(prover, everything)
    failing, undecided = _decide(prover, settle_among(prover, everything))
    return proof.with_more(prover.used()), failing, undecided


def _pool(prover: InsiderProofSearch, everything: BoolArray) -> None:
    """Enter pooled moves against groups of insiders, where many cells have no short ones."""
    dominant = dominating(prover, prover.unproven())
    for turn in range(TURNS if pays(prover) else 0):
        cells = prover.unproven()
        for group in [] if is_done(prover) else groups(prover, cells, dominant, turn):
            enter_pooled(prover, problem_of(prover, group, cells), everything)


def _decide(prover: InsiderProofSearch, stuck: list[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Decide pairs that short moves left open; what is proven after all is entered in the search.

    A move that proves a cell against those who contribute nothing may be one that contributors of other cells notice:
    then these are open, and decided in turn.
    """
    failing, undecided, looked_at = list[Pair](), list[Pair](), set[tuple[int, int]]()
    while stuck:
        worse, open_ = _decide_once(prover, stuck)
        failing += worse
        undecided += open_
        looked_at |= {(pair.insider, pair.cell) for pair in stuck}
        cells = list(dict.fromkeys(pair.cell for pair in stuck))
        stuck = [pair for pair in prover.open_pairs(cells) if (pair.insider, pair.cell) not in looked_at]
    return failing, undecided


def _decide_once(prover: InsiderProofSearch, stuck: list[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Decide pairs one by one; return those that fail and those that are undecided."""
    failing, undecided = list[Pair](), list[Pair]()
    deciding = prover.run.during("deciding on single respondents") if stuck else prover.run
    by_insider: dict[int, list[Pair]] = {}
    for number, pair in enumerate(stuck):
        if prover.is_spent():
            return failing, undecided + [pair for pairs in by_insider.values() for pair in pairs] + stuck[number:]
        if _refuted(prover, pair):
            failing.append(pair)
        else:
            by_insider.setdefault(pair.insider, []).append(pair)
        if number % 500 == 0:
            deciding.left(len(stuck) - number, len(stuck), "pairs of insiders and cells to decide")
            prover.run.check()
    for insider, pairs in by_insider.items():
        if prover.is_spent():
            undecided += [pair for pair in pairs if insider in prover.open(pair.cell).who]
            continue
        cells = [pair.cell for pair in pairs]
        prover.looked += _DECIDING * prover.neighbours.n
        judged = decide(_in_the_eyes_of(prover.knowledge, insider, cells), run=prover.run)
        for move in judged.moves:
            prover.credit(judged.reduction.lift(move))
        for pair in pairs:
            if judged.failing[pair.cell]:
                failing.append(pair)
            elif insider in prover.open(pair.cell).who:
                undecided.append(pair)
    return failing, undecided


def _in_the_eyes_of(knowledge: InsiderKnowledge, insider: int, cells: list[int]) -> Problem:
    """Return the problem of one insider, with the protection levels of some cells."""
    problem = knowledge.problem
    down, up = knowledge.limits(np.array([insider]))
    needs = [(0, 0, 0)] * len(down)
    for cell in cells:
        needs[cell] = knowledge.asked(cell, np.array([insider])).rows()[0]
    return replace(problem, down=down, up=up, levels=Levels.of_rows(needs))


def _refuted(prover: InsiderProofSearch, pair: Pair) -> bool:
    """Return whether the relations near a cell alone keep it from moving as far as it must against an insider."""
    insiders = np.array([pair.insider])
    level = prover.knowledge.asked(pair.cell, insiders).rows()[0]
    limits = prover.knowledge.limits(insiders[insiders >= 0])
    if pair.sign and prover.hopeless(Goal((pair.cell,), pair.sign * pair.amount), *limits):
        return True
    everything = np.ones(prover.neighbours.n, bool)
    cells = prover.neighbours.near((pair.cell,), _NEAR, everything, ~everything)
    scale = float(max(*level, 1))
    matrix, terms = prover.neighbours.touching(cells)
    prover.looked += 2 * len(terms)
    low, high = (np.minimum(as_floats(limit[terms]) / scale, _WIDE) for limit in limits)
    place = int(np.searchsorted(terms, pair.cell))
    zero = np.zeros(matrix.shape[0])
    program = Program(matrix.astype(float), zero, zero, -low, high, np.zeros(len(terms)))
    session = solver.open(program, run=prover.run)
    ends = []
    for sign in (1.0, -1.0):
        session.set_cost(np.array([place]), np.array([-sign]))
        solution = session.solve()
        if solution.status is not Status.optimal or (np.abs(solution.x) > _WIDE / 2).any():
            return False
        reach = abs(float(solution.x[place])) * scale
        ends.append(int(np.floor(reach + hair(reach))))
    return ends[0] < level.up or ends[1] < level.down or sum(ends) < level.width
