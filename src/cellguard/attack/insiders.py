"""`attack_inside`: can a respondent who subtracts what it knows of itself estimate another one too closely?

Short moves prove most unsafe cells against every insider at once (`InsiderProofSearch`). What they leave open is
decided pair by pair: relations near the cell refute most of it, with all their cells in the room that the insider
leaves them; the rest goes to the same programs as an outsider's attack, within the insider's bounds. Where that takes
too long, it ends, and what is open then is undecided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellguard import solver
from cellguard.arrays import BoolArray
from cellguard.attack.bottleneck_circuits import enter_widest
from cellguard.attack.deciding import decide
from cellguard.attack.insider_groups import TURNS, dominating, enter_pooled, groups, is_done, pays, problem_of
from cellguard.attack.insider_knowledge import InsiderKnowledge, stand
from cellguard.attack.insider_pairs import Hint, Pair
from cellguard.attack.insider_proofs import InsiderProofSearch
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

_NEAR = (3, 0, 120)
_DECIDING = 20  # looks at each cell of a problem that deciding all of it takes
_WIDE = 1e5  # times the amount that matters: bounds beyond that are cut off where only refuting counts


@dataclass(frozen=True, eq=False)
class Inside:
    """What insiders can work out. ``failing`` and ``undecided`` are pairs of an insider and an unsafe cell.

    Cells are positions among the unknown ones of the problem. ``moves`` prove all other pairs. ``linked`` says that an
    insider who is in several cells is known to be one. ``size`` is how many respondents were put together at most.
    """

    book: InsiderProofSearch
    moves: list[Move]
    failing: list[Pair]
    undecided: list[Pair]
    linked: bool
    size: int = 1

    @property
    def standing(self) -> InsiderKnowledge:
        """What each insider knows by itself."""
        return self.book.standing


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
    standing = stand(problem, grains, needs, known)
    book = InsiderProofSearch(standing, Neighbours(problem.matrix, problem.whole), run)
    try:
        everything = np.ones(len(problem.cells), bool)
        _take(book, hints)
        enter_widest(book, everything)
        _pool(book, everything)
        stuck = settle_among(book, everything)
        failing, undecided = _decide(book, stuck)
    except KeyboardInterrupt:
        failing, undecided = [], book.open_pairs()
    if not complete:
        failing, undecided = [], failing + undecided
    return Inside(book, [hint.move for hint in book.used()], failing, undecided, known.linked)


def _pool(book: InsiderProofSearch, everything: BoolArray) -> None:
    """Enter pooled moves against groups of insiders, where many cells have no short ones."""
    dominant = dominating(book, book.unproven())
    for turn in range(TURNS if pays(book) else 0):
        cells = book.unproven()
        for group in [] if is_done(book) else groups(book, cells, dominant, turn):
            enter_pooled(book, problem_of(book, group, cells), everything)


def _take(book: InsiderProofSearch, hints: Sequence[Hint]) -> None:
    """Enter moves of cells of the world that somebody suggests, as far as all their cells are unknown."""
    cells, here = book.standing.problem.cells, list[Hint]()
    for move, helped in hints:
        place = np.minimum(np.searchsorted(cells, move.variables), max(len(cells) - 1, 0))
        if len(cells) and np.array_equal(cells[place], move.variables):
            here.append(Hint(Move(place, move.n, move.denominator), np.flatnonzero(np.isin(cells, helped))))
    book.enter_hints(here)


def _decide(book: InsiderProofSearch, stuck: list[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Decide pairs that short moves left open; what is proven after all is entered in the book.

    A move that proves a cell against those who contribute nothing may be one that contributors of other cells notice:
    then these are open, and decided in turn.
    """
    failing, undecided, looked_at = list[Pair](), list[Pair](), set[tuple[int, int]]()
    while stuck:
        worse, open_ = _decide_once(book, stuck)
        failing += worse
        undecided += open_
        looked_at |= {(pair.insider, pair.cell) for pair in stuck}
        cells = list(dict.fromkeys(pair.cell for pair in stuck))
        stuck = [pair for pair in book.open_pairs(cells) if (pair.insider, pair.cell) not in looked_at]
    return failing, undecided


def _decide_once(book: InsiderProofSearch, stuck: list[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Decide pairs one by one; return those that fail and those that are undecided."""
    failing, undecided = list[Pair](), list[Pair]()
    deciding = book.run.during("deciding on single respondents") if stuck else book.run
    by_insider: dict[int, list[Pair]] = {}
    for number, pair in enumerate(stuck):
        if book.is_spent():
            return failing, undecided + [pair for pairs in by_insider.values() for pair in pairs] + stuck[number:]
        if _refuted(book, pair):
            failing.append(pair)
        else:
            by_insider.setdefault(pair.insider, []).append(pair)
        if number % 500 == 0:
            deciding.left(len(stuck) - number, len(stuck), "pairs of insiders and cells to decide")
            book.run.check()
    for insider, pairs in by_insider.items():
        if book.is_spent():
            undecided += [pair for pair in pairs if insider in book.open(pair.cell).who]
            continue
        cells = [pair.cell for pair in pairs]
        book.looked += _DECIDING * book.neighbours.n
        judged = decide(_in_the_eyes_of(book.standing, insider, cells), run=book.run)
        for move in judged.moves:
            book.credit(judged.reduction.lift(move))
        for pair in pairs:
            if judged.failing[pair.cell]:
                failing.append(pair)
            elif insider in book.open(pair.cell).who:
                undecided.append(pair)
    return failing, undecided


def _in_the_eyes_of(standing: InsiderKnowledge, insider: int, cells: list[int]) -> Problem:
    """Return the problem of one insider, with the protection levels of some cells."""
    problem = standing.problem
    down, up = standing.limits(np.array([insider]))
    needs = [(0, 0, 0)] * len(down)
    for cell in cells:
        needs[cell] = standing.asked(cell, np.array([insider])).rows()[0]
    return replace(problem, down=down, up=up, levels=Levels.of_rows(needs))


def _refuted(book: InsiderProofSearch, pair: Pair) -> bool:
    """Return whether the relations near a cell alone keep it from moving as far as it must against an insider."""
    insiders = np.array([pair.insider])
    level = book.standing.asked(pair.cell, insiders).rows()[0]
    limits = book.standing.limits(insiders[insiders >= 0])
    if pair.sign and book.hopeless(Goal((pair.cell,), pair.sign * pair.amount), *limits):
        return True
    everything = np.ones(book.neighbours.n, bool)
    cells = book.neighbours.near((pair.cell,), _NEAR, everything, ~everything)
    scale = float(max(*level, 1))
    matrix, terms = book.neighbours.touching(cells)
    book.looked += 2 * len(terms)
    low, high = (np.minimum(as_floats(limit[terms]) / scale, _WIDE) for limit in limits)
    place = int(np.searchsorted(terms, pair.cell))
    zero = np.zeros(matrix.shape[0])
    program = Program(matrix.astype(float), zero, zero, -low, high, np.zeros(len(terms)))
    session = solver.open(program, run=book.run)
    ends = []
    for sign in (1.0, -1.0):
        session.set_cost(np.array([place]), np.array([-sign]))
        solution = session.solve()
        if solution.status is not Status.optimal or (np.abs(solution.x) > _WIDE / 2).any():
            return False
        reach = abs(float(solution.x[place])) * scale
        ends.append(int(np.floor(reach + hair(reach))))
    return ends[0] < level.up or ends[1] < level.down or sum(ends) < level.width
