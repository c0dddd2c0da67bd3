"""Circuits through the roomiest cells: most of what proves unsafe cells against insiders, without a program.

Order the cells by their room. Elimination from left to right gives each cell the circuit (a move of as few cells as can
be) whose narrowest cell is the widest possible: what is best in a matroid the greedy algorithm finds. A cell of one
respondent counts as narrower, since that one notices whenever it moves. Each circuit is as long as the unsafe cells on
it need, and proves them against all who do not notice it; further rounds put the cells of those who did at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray, Positions
from cellguard.attack.insider_proofs import InsiderProofSearch
from cellguard.linalg.circuits import Circuits, circuits
from cellguard.proofs.scale import UNLIMITED
from cellguard.proofs.stack import Stack
from cellguard.solver.program import SEED

_ROUNDS = 12
_PATIENCE = 2  # rounds in a row that help few, after which it ends
# rounds after which only what those protection level who are left is looked for: shorter moves, which fewer notice
_AFRESH = 3
_WORTH = 0.004  # share of the open cells: helping fewer is helping few
_ALONE = 0.9  # how much narrower a cell of one respondent looks than it is
_CROWD = 400  # insiders who notice all moves of a cell: if more do, they are not remembered one by one
_LARGEST = 1_000  # times that a circuit has its smallest step; beyond, values are residues of a prime
_LONGEST = 2**56  # grains that a circuit may move a cell


@dataclass(eq=False)
class _Left:
    """Who is left of the insiders that notice all moves of a cell, one way or the other; nobody yet if it has none."""

    prover: InsiderProofSearch
    need: tuple[LongArray, LongArray]
    who: dict[tuple[int, int], frozenset[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, prover: InsiderProofSearch) -> _Left:
        """Return who is left of all that a search has proven, and the protection levels of cells against these."""
        unproven = prover.unproven()
        left = cls(prover, prover.knowledge.most_asked(unproven, outsider=prover.outsider))
        for cell in np.flatnonzero(unproven).tolist():
            noticing = prover.noticing(cell) if cell in prover.served else None
            if noticing is not None and len(noticing) <= _CROWD:
                left._recall(cell)
        return left

    def _recall(self, cell: int) -> None:
        open_ = self.prover.open(cell)
        up, down = open_.up < open_.asked.up, open_.down < open_.asked.down
        slides = (open_.up + open_.down < open_.asked.width) & ~up & ~down
        wanted = np.where(slides, open_.asked.width, open_.asked.up), open_.asked.down
        for need, way, short, asked in zip(self.need, (1, -1), (up | slides, down), wanted, strict=True):
            need[cell] = asked[short].max(initial=0)
            who = open_.who[short].tolist()
            if who and min(who) >= 0:
                self.who[cell, way] = frozenset(who)

    def open(self) -> Positions:
        """Return the unsafe cells for which somebody is left."""
        return np.array(
            sorted(
                {
                    cell
                    for way, need in zip((1, -1), self.need, strict=True)
                    for cell in np.flatnonzero(need).tolist()
                    if self.who.get((cell, way)) != frozenset()
                }
            ),
            np.intp,
        )

    def helps(self, cell: int, way: int, notices: frozenset[int]) -> bool:
        """Return whether one more move leaves fewer, and remember them."""
        before, after = self.who.get((cell, way)), notices - {int(self.prover.knowledge.owner[cell])}
        if before is not None:
            after &= before
            if len(after) == len(before):
                return False
        self.who[cell, way] = after
        return True

    def noticing(self, cells: Positions) -> Positions:
        """Return those who are left for some cells, but for the respondents of the cells themselves."""
        owner, some = self.prover.knowledge.owner, set[int]()
        for cell in cells.tolist():
            if int(owner[cell]) not in some:
                some.update(*(self.who.get((cell, way), ()) for way in (1, -1)))
        return np.array(sorted(some), np.intp)


def enter_widest(prover: InsiderProofSearch, hidden: BoolArray, rounds: int = _ROUNDS) -> None:
    """Enter the widest circuits of suppressed cells into a search, as long as they prove more."""
    knowledge, cells = prover.knowledge, np.flatnonzero(hidden)
    left = _Left.of(prover)
    columns, rng, width = sp.csc_array(prover.neighbours.matrix), np.random.default_rng(SEED), _widths(prover)[cells]
    idle = 0
    for number in range(rounds):
        if number and number % _AFRESH == 0:
            left = _Left.of(prover)
        some = left.open()
        if not len(some) or idle > _PATIENCE:
            break
        order = width * np.exp(rng.normal(0, 0.5 * (number > 0), len(cells)))
        if number % 2:
            noticing = left.noticing(rng.permutation(some)[: max(len(some) // 4, 20)])
            order = np.where(np.isin(knowledge.knowing[cells], noticing), order * 1e-12, order)
        helped = 0
        ranked = cells[np.argsort(-order, kind="stable")]
        for moves, proven in _circuits(columns, ranked, left, some):
            helped += _enter(left, moves, proven)
        idle = idle + 1 if helped < _WORTH * len(some) else 0
        prover.tell(len(some))
        prover.run.check()


def _widths(prover: InsiderProofSearch) -> FloatArray:
    """Return how far each cell can move both ways, at most, for insiders who are not alone in it."""
    knowledge = prover.knowledge
    up, down = knowledge.problem.up, np.where(knowledge.owner >= 0, knowledge.floor, np.maximum(knowledge.calm, 1))
    return np.minimum(up, down) * np.where(knowledge.owner >= 0, _ALONE, 1.0)


def _circuits(
    columns: sp.csc_array, ranked: Positions, left: _Left, some: Positions
) -> Iterator[tuple[Stack, list[Positions]]]:
    """Return the circuits of ranked cells that prove some, first one way and then the other, and the cells of each."""
    stack = _whole(circuits(sp.csr_array(columns[:, ranked]), len(ranked)), ranked, columns)
    still = np.zeros(columns.shape[1], bool)
    still[some] = True
    for moves in (stack, stack.reversed()):
        number, times = moves.number, _times(moves, left)
        entries = np.flatnonzero((times > 0) & still[moves.cells])
        if not len(entries):
            continue
        key, group = np.unique(np.stack([number[entries], times[entries]]), axis=1, return_inverse=True)
        length = np.diff(moves.start)[key[0]]
        start = np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
        entry = np.repeat(moves.start[key[0]] - start[:-1], length) + np.arange(start[-1])
        factor = np.repeat(key[1], length)
        proven = moves.cells[entries[np.argsort(group, kind="stable")]]
        served = np.split(proven, np.cumsum(np.bincount(group, minlength=len(length)))[:-1])
        yield Stack(start, moves.cells[entry], moves.n[entry] * factor, moves.denominator[entry]), served


def _times(moves: Stack, left: _Left) -> LongArray:
    """Return how many times to take a circuit for each of its cells, so that it gets its protection level; 0 if that is
    none.

    One that only singletons notice may as well be long enough for all whom it serves.
    """
    knowledge, cells, number = left.prover.knowledge, moves.cells, moves.number
    if not len(moves):
        return np.zeros(0, np.int64)
    size, ahead, first = np.abs(moves.n), moves.n > 0, moves.start[:-1]
    calm = np.where(ahead | (knowledge.owner[cells] >= 0), UNLIMITED, knowledge.calm[cells])
    room = np.where(ahead, knowledge.problem.up[cells], knowledge.floor[cells])
    most, quiet = (np.minimum.reduceat(limit // size, first)[number] for limit in (room, calm))
    times = -(-np.where(ahead, left.need[0][cells], left.need[1][cells]) // size)
    times[(times > most) | (times > _LONGEST // _LARGEST)] = 0
    longest = np.maximum.reduceat(np.where(times <= quiet, times, 0), first)[number]
    return np.where((times > 0) & (times <= quiet), longest, times)


def _whole(some: Circuits, ranked: Positions, columns: sp.csc_array) -> Stack:
    """Return the circuits that are moves in whole numbers too, and small ones."""
    small = some.some(np.bincount(some.circuit, np.abs(some.moves) > _LARGEST, len(some)) == 0)
    holds = _stack(small, ranked).still(sp.csr_array(columns.T))
    return _stack(small.some(holds), ranked)


def _stack(some: Circuits, ranked: Positions) -> Stack:
    cells = ranked[some.columns]
    order = np.lexsort((cells, some.circuit))
    return Stack(some.start, cells[order], some.moves[order], np.ones(len(cells), np.int64))


def _enter(left: _Left, moves: Stack, served: list[Positions]) -> int:
    """Enter circuits for the cells that they help; return how many these are."""
    helped = 0
    for number, (notices, cells) in enumerate(zip(left.prover.knowledge.notices(moves), served, strict=True)):
        move, known = moves[number], frozenset(notices.tolist())
        signs = move.n[np.searchsorted(move.variables, cells)] > 0
        ways = zip(cells.tolist(), signs.tolist(), strict=True)
        some = [cell for cell, ahead in ways if left.helps(cell, 1 if ahead else -1, known)]
        if some:
            left.prover.enter(move, notices, np.array(some))
        helped += len(some)
    return helped
