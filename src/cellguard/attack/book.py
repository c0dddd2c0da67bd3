"""Who is proven against which insider by which move: what is still open, and the search for what is missing.

A move that touches few cells is noticed by few insiders, so that it proves a cell against all others. One more move,
that none of those few notices, completes the proof. What neither a joint move nor one for each of them gives is left
open.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from cellguard.attack.standing import ANYBODY, OUTSIDER, Asked, Standing
from cellguard.moves.exact import Move, fits, room_of
from cellguard.moves.local import Goal, Neighbours, Rooms
from cellguard.types import BoolArray, LongArray, Run

Entry = tuple[int, LongArray, int]  # how far a move takes a cell, who notices it, and its number
Find = Callable[["Book", Goal, LongArray], Move | None]
Step = tuple[int, int, int]
CLOSE: Step = (6, 3, 300)  # rounds, cells per relation (0: all), and cells in all
WIDE: Step = (8, 6, 1_000)
FAR: Step = (40, 0, 6_000)
_CHEAP, _DEAR = 1e-3, 1.0
_OFTEN = 500  # targets between two words of progress


class Open(NamedTuple):
    """Insiders against whom a cell may not be proven yet: what it needs, and what it has."""

    who: LongArray
    asked: Asked
    down: LongArray
    up: LongArray


class Pair(NamedTuple):
    """An insider, an unsafe cell, the way that it does not move far enough (1 up, -1 down, 0 either) and the amount."""

    insider: int
    cell: int
    sign: int
    amount: int


@dataclass(eq=False)
class Book:
    """Moves and whom they prove against whom. Cells are positions among the unknown ones of a problem.

    With ``outsider`` cells are proven against outsiders too, and not only against respondents. Moves are no longer
    entered for ``closed`` cells, which need no more. Moves that are ``dead`` prove nothing any more.
    """

    standing: Standing
    neighbours: Neighbours
    run: Run
    outsider: bool = False
    moves: list[Move] = field(default_factory=list)
    served: dict[int, list[Entry]] = field(default_factory=dict)
    closed: set[int] = field(default_factory=set)
    dead: set[int] = field(default_factory=set)
    target: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        problem = self.standing.problem
        self.target = (problem.lower > 0) | (problem.upper > 0) | (problem.sliding > 0)
        self._floor, self._calm = self.standing.floor, self.standing.calm

    def targets(self) -> list[int]:
        """Return the unsafe cells, those that need most first."""
        problem = self.standing.problem
        most = np.maximum(np.maximum(problem.lower, problem.upper), problem.sliding)
        cells = np.flatnonzero(self.target)
        return [int(c) for c in cells[np.argsort(-most[cells], kind="stable")]]

    def open(self, cell: int) -> Open:
        """Return the insiders against whom a cell is not proven."""
        all_of = self.reached(cell)
        short = _short(all_of.asked, all_of.down, all_of.up)
        asked = Asked(*(need[short] for need in all_of.asked))
        return Open(all_of.who[short], asked, all_of.down[short], all_of.up[short])

    def open_pairs(self) -> list[Pair]:
        """Return all unsafe cells with the insiders against whom they are not proven."""
        return [Pair(who, cell, 0, 0) for cell in self.targets() for who in self.open(cell).who.tolist()]

    def reached(self, cell: int) -> Open:
        """Return all insiders who may matter to a cell: what it needs against each, and what it has."""
        entries = self._entries(cell)
        who, asked = self._against(cell, entries)
        reach = np.array([entry[0] for entry in entries], np.int64)[:, None]
        far = np.where(_blind(who, entries), reach, 0)
        return Open(who, asked, np.max(-far, axis=0, initial=0), np.max(far, axis=0, initial=0))

    def _entries(self, cell: int) -> list[Entry]:
        return [entry for entry in self.served.get(cell, ()) if entry[2] not in self.dead]

    def _against(self, cell: int, entries: Sequence[Entry]) -> tuple[LongArray, Asked]:
        """Return the insiders who may matter to a cell: all who are in it or notice some move, and what it needs."""
        standing = self.standing
        others = np.array([ANYBODY, OUTSIDER] if self.outsider else [ANYBODY])
        some = [standing.contributors(cell), others, *(notices for _, notices, _ in entries)]
        who = np.unique(np.concatenate(some))
        who = who[(who != standing.owner[cell]) | (who < 0)]
        return who, standing.asked(cell, who)

    def credit(self, move: Move) -> bool:
        """Enter a move, and its reverse, for every unsafe cell that it moves; return whether it is one at all."""
        holding = [one for one in (move, move.reversed()) if self._holds(one)]
        for one in holding:
            self._enter(one)
        return bool(holding)

    def _enter(self, move: Move) -> None:
        notices, number = self.standing.notices(move), len(self.moves)
        self.moves.append(move)
        moved = np.flatnonzero(self.target[move.variables])
        reach = move.reach()
        for place in moved[reach[moved] != 0].tolist():
            cell = int(move.variables[place])
            if cell in self.closed:
                continue
            self.served.setdefault(cell, []).append((int(reach[place]), notices, number))

    def _holds(self, move: Move) -> bool:
        """Check a move exactly: M n = 0, within bounds, whole for counts."""
        problem, moving = self.standing.problem, move.variables
        part = self.neighbours.relations_of(moving)
        if float((abs(part) @ np.abs(move.n).astype(float)).max(initial=0)) > 2.0**62 or (part @ move.n).any():
            return False
        if move.denominator != 1 and problem.whole[moving].any():
            return False
        return fits(np.abs(move.n), room_of(move, problem), move.denominator) and self.standing.fits_all(move)

    def used(self) -> list[Move]:
        """Return the moves that the proof needs: of each cell those that fewest notice, until nobody is left."""
        kept: set[int] = set()
        for cell in self.served:
            kept.update(self.needed(cell, kept))
        return [self.moves[number] for number in sorted(kept)]

    def needed(self, cell: int, kept: Container[int] = ()) -> list[int]:
        """Return the numbers of moves that prove a cell: if they can be had, those that are kept anyway."""
        entries, needed = self._entries(cell), []
        ranked = sorted(entries, key=lambda entry: (entry[2] not in kept, len(entry[1]), entry[2]))
        who, asked = self._against(cell, entries)
        up, down = np.zeros(len(who), np.int64), np.zeros(len(who), np.int64)
        for (reach, _, number), blind in zip(ranked, _blind(who, ranked), strict=True):
            short = _short(asked, down, up)
            if not short.any():
                break
            if (short & blind & (reach > up if reach > 0 else -reach > down)).any():
                needed.append(number)
                up = np.where(blind, np.maximum(up, reach), up)
                down = np.where(blind, np.maximum(down, -reach), down)
        return needed

    def settle(self, find: Find, cells: Sequence[int], *, each: bool = True) -> list[Pair]:
        """Look for moves until some unsafe cells are proven against every insider; return what is left open."""
        stuck: list[Pair] = []
        for number, cell in enumerate(cells):
            stuck += self.settle_cell(cell, find, each=each)
            if number % _OFTEN == 0:
                self.run.tell(f"{len(cells) - number:,} cells to prove against insiders")
                self.run.check()
        return stuck

    def settle_among(self, hidden: BoolArray) -> list[Pair]:
        """Prove what can be by moves of hidden cells: first by close ones, which may serve others too, then from afar.

        Close ones are looked for against all insiders of a cell at once, others also against each by itself.
        """
        cells, stuck = self.targets(), list[Pair]()
        for step in (CLOSE, WIDE, FAR):
            stuck = self.settle(partial(find_among, hidden=hidden, step=step), cells, each=step is not CLOSE)
            cells = list(dict.fromkeys(pair.cell for pair in stuck))
        return stuck

    def settle_cell(self, cell: int, find: Find, *, each: bool = True) -> list[Pair]:
        """Prove one cell against all insiders, as far as moves are found; unless ``each``, only moves for all."""
        stuck: dict[int, Pair] = {}
        while True:
            open_ = self.open(cell)
            keep = np.array([who not in stuck for who in open_.who.tolist()], bool)
            if not keep.any():
                break
            open_ = Open(open_.who[keep], Asked(*(a[keep] for a in open_.asked)), open_.down[keep], open_.up[keep])
            if not self._serve(cell, open_, find):
                stuck.update((pair.insider, pair) for pair in self._each(cell, open_, find if each else None))
        if not stuck:
            self.closed.add(cell)
        return list(stuck.values())

    def _each(self, cell: int, open_: Open, find: Find | None) -> list[Pair]:
        """Serve insiders one by one, until one is served; return those who are not, without ``find`` all of them."""
        stuck = []
        for place in range(len(open_.who)):
            one = slice(place, place + 1)
            single = Open(open_.who[one], Asked(*(a[one] for a in open_.asked)), open_.down[one], open_.up[one])
            if find is not None and len(open_.who) > 1 and self._serve(cell, single, find):
                break
            sign, amount = _way(single)
            stuck.append(Pair(int(open_.who[place]), cell, sign, amount))
        return stuck

    def _serve(self, cell: int, open_: Open, find: Find) -> bool:
        """Find a move that brings all of some insiders a step nearer to what they need; tell whether there is one."""
        sign, amount = _way(open_)
        for way in (1, -1) if sign == 0 else (sign,):
            move = self._scaled(cell, way * amount, open_.who)
            move = move or find(self, Goal((cell,), way * amount), open_.who)
            if move is not None and self.credit(move):
                return True
        return False

    def _scaled(self, cell: int, amount: int, insiders: LongArray) -> Move | None:
        """Return a shorter copy of a move that goes further than needed, if then none of these insiders notices."""
        if self.standing.problem.whole[cell]:
            return None
        for reach, notices, number in self._entries(cell):
            times = reach // amount if reach * amount > 0 else 0
            if times >= 2 and np.isin(insiders, notices).any():
                move = self.moves[number]
                if move.denominator * times < 2**40:
                    short = Move(move.variables, move.n, move.denominator * times)
                    if not np.isin(insiders, self.standing.notices(short)).any():
                        return short
        return None

    def rooms(self, cell: int, insiders: LongArray) -> Rooms:
        """Return rooms in which none of some insiders notices a move, and prices for being noticed by others."""
        standing = self.standing
        down, up = standing.limits(insiders[insiders >= 0])
        calm, alone = self._calm.copy(), standing.owner >= 0
        if standing.owner[cell] >= 0:
            own, _ = standing.known_to(int(standing.owner[cell]))
            own = own[standing.owner[own] == standing.owner[cell]]
            calm[own], alone[own] = down[own], False
        cheap, dear = np.full(len(down), _CHEAP), np.full(len(down), _DEAR)
        return Rooms(down, up, calm, cheap, dear, np.where(alone, _DEAR, _CHEAP))


def find_among(book: Book, goal: Goal, insiders: LongArray, *, hidden: BoolArray, step: Step) -> Move | None:
    """Return a short move, among the hidden cells near a goal, that none of some insiders notices."""
    rooms, near = book.rooms(goal.cells[0], insiders), book.neighbours
    if step is not CLOSE and near.hopeless(goal, np.where(hidden, rooms.down, 0), np.where(hidden, rooms.up, 0)):
        return None
    cells = near.near(goal.cells, step, np.zeros(near.n, bool) if step[1] else hidden, ~hidden)
    return near.cheapest(cells, goal, rooms, run=book.run)


def _way(open_: Open) -> tuple[int, int]:
    """Return which way to go next for some insiders, 1 up, -1 down or 0 either, and how far."""
    up, down = open_.asked.up > open_.up, open_.asked.down > open_.down
    if up.any():
        return 1, int(open_.asked.up[up].max())
    if down.any():
        return -1, int(open_.asked.down[down].max())
    return 0, int(open_.asked.sliding.max())


def _blind(who: LongArray, entries: Sequence[Entry]) -> BoolArray:
    """Tell who of some insiders, which are in order, does not notice each of some moves: a row per move."""
    blind = np.ones((len(entries), len(who)), bool)
    if entries:
        noticing = np.concatenate([entry[1] for entry in entries])
        row = np.repeat(np.arange(len(entries)), [len(entry[1]) for entry in entries])
        place = np.minimum(np.searchsorted(who, noticing), len(who) - 1)
        some = who[place] == noticing
        blind[row[some], place[some]] = False
    return blind


def _short(asked: Asked, down: LongArray, up: LongArray) -> BoolArray:
    return (up < asked.up) | (down < asked.down) | (up + down < asked.sliding)
