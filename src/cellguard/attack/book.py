"""Who is proven against which insider by which move: what is still open, and the search for what is missing.

A move that touches few cells is noticed by few insiders, so that it proves a cell against all others. One more move,
that none of those few notices, completes the proof. What neither a joint move nor one for each of them gives is left
open.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from cellguard.attack.pairs import NOBODY_OPEN, Entry, Open, Pair, Reached, listed, way_of
from cellguard.attack.standing import ANYBODY, OUTSIDER, Asked, Standing
from cellguard.moves.exact import Move
from cellguard.moves.local import Goal, Neighbours, Rooms
from cellguard.moves.stack import Stack
from cellguard.types import BoolArray, LongArray, Positions, Run

Helped = Callable[[Move, frozenset[int], Positions], Positions]
Find = Callable[["Book", Goal, LongArray], Move | None]
_CHEAP, _DEAR = 1e-3, 1.0
_OFTEN = 500  # targets between two words of progress
_LOOKS, _LEAST = 2_000, 12_000_000  # cells that may be looked at, per unsafe cell and at least: 5 to 8 CPU s a million
_ONCE_OVER = 16  # cells that propagation goes over in the time in which a program looks at one


@dataclass(eq=False)
class Book:
    """Moves and whom they prove against whom. Cells are positions among the unknown ones of a problem.

    With ``outsider`` cells are proven against outsiders too, and not only against respondents. Moves are no longer
    entered for ``closed`` cells, which need no more. Moves that are ``dead`` prove nothing any more. ``walked`` counts
    the coalitions that were looked at, and ``looked`` the cells of all programs: where looking takes too long, it ends,
    and what is open then stays so.
    """

    standing: Standing
    neighbours: Neighbours
    run: Run
    outsider: bool = False
    moves: list[Move] = field(default_factory=list)
    served: dict[int, list[Entry]] = field(default_factory=dict)
    closed: set[int] = field(default_factory=set)
    dead: set[int] = field(default_factory=set)
    walked: int = 0
    looked: int = 0
    target: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        problem = self.standing.problem
        self.target = (problem.lower > 0) | (problem.upper > 0) | (problem.sliding > 0)
        self._floor, self._calm = self.standing.floor, self.standing.calm
        self._columns = sp.csr_array(self.neighbours.matrix.T)
        self._needs: dict[int, dict[int, tuple[int, int, int]]] = {}
        self._more: dict[int, frozenset[int]] = {}
        self._always: dict[int, tuple[int, list[frozenset[int] | None]]] = {}

    def is_spent(self, share: float = 1.0) -> bool:
        """Tell whether as much was looked at as the unsafe cells are worth, or a share of that."""
        return self.looked > share * max(_LEAST, _LOOKS * int(self.target.sum()))

    def cheapest(self, cells: Positions, goal: Goal, rooms: Rooms) -> Move | None:
        """Return the cheapest exact move through some cells that moves the goal by its amount, or None."""
        self.looked += len(cells)
        return self.neighbours.cheapest(cells, goal, rooms, run=self.run)

    def hopeless(self, goal: Goal, down: LongArray, up: LongArray) -> bool:
        """Tell whether propagation shows that no move within these rooms takes a goal as far as it must."""
        self.looked += self.neighbours.n // _ONCE_OVER
        return self.neighbours.hopeless(goal, down, up)

    def targets(self) -> list[int]:
        """Return the unsafe cells, those that need most first."""
        problem = self.standing.problem
        most = np.maximum(np.maximum(problem.lower, problem.upper), problem.sliding)
        cells = np.flatnonzero(self.target)
        return [int(c) for c in cells[np.argsort(-most[cells], kind="stable")]]

    def open(self, cell: int) -> Open:
        """Return the insiders against whom a cell is not proven."""
        return self._open(cell, self.entries(cell))

    def _open(self, cell: int, entries: Sequence[Entry]) -> Open:
        short = self._short(cell, entries)
        return listed(short) if short else NOBODY_OPEN

    def _suspects(self, cell: int, entries: Sequence[Entry]) -> set[int]:
        """Return all against whom these moves may not prove a cell, but for those who need more than others.

        The others need no more than anybody does. So whoever misses one move that is far enough is no suspect.
        """
        suspects = {ANYBODY, OUTSIDER} if self.outsider else {ANYBODY}
        down, up, either = self._asked(cell)[ANYBODY]
        for sign, need in ((1, up), (-1, down), (0, either)):
            if need > 0:
                enough = [notices for reach, notices, _ in entries if (sign * reach if sign else abs(reach)) >= need]
                if not enough:
                    return suspects.union(*(notices for _, notices, _ in entries))
                suspects |= frozenset.intersection(*sorted(enough, key=len))
        return suspects

    def _asked(self, cell: int) -> dict[int, tuple[int, int, int]]:
        """Return how far a cell must move down, up and either way for its contributors, and for anybody else."""
        if cell not in self._needs:
            owner = self.standing.owner[cell]
            others = [who for who in self.standing.contributors(cell).tolist() if who != owner]
            who = np.array([ANYBODY, OUTSIDER, *others])
            needs = zip(*(need.tolist() for need in self.standing.asked(cell, who)), strict=True)
            self._needs[cell] = dict(zip(who.tolist(), needs, strict=True))
        return self._needs[cell]

    def _demanding(self, cell: int) -> frozenset[int]:
        """Return the contributors of a cell that needs more against them than against anybody, one way or another."""
        if cell not in self._more:
            asked = self._asked(cell)
            usual = asked[ANYBODY]
            more = (who for who, need in asked.items() if any(n > u for n, u in zip(need, usual, strict=True)))
            self._more[cell] = frozenset(more) - {OUTSIDER}
        return self._more[cell]

    def asked_against(self, cell: int, group: frozenset[int]) -> tuple[int, int, int]:
        """Return how far a cell must move down, up and either way for those of a group who are short of that.

        They need not all be short of the same; of those who contribute nothing it is enough to know if one is.
        """
        asked, always = self._asked(cell), self.always(cell)
        others = group - asked.keys() - {int(self.standing.owner[cell])}
        most = [need if who is None or who & others else 0 for need, who in zip(asked[ANYBODY], always, strict=True)]
        for one in self._reached(cell, self.entries(cell), set(asked.keys() & group)):
            missing = one.down < one.asked[0], one.up < one.asked[1], one.down + one.up < one.asked[2]
            most = [max(m, a) if short else m for m, a, short in zip(most, one.asked, missing, strict=True)]
        return most[0], most[1], most[2]

    def unproven(self) -> BoolArray:
        """Tell which unsafe cells are not proven against everybody, and close the others."""
        self.closed |= {cell for cell in self.served if cell not in self.closed and self._is_proven(cell)}
        unproven = self.target.copy()
        unproven[list(self.closed)] = False
        return unproven

    def _is_proven(self, cell: int) -> bool:
        """Tell whether a cell is proven against everybody."""
        asked, always = self._asked(cell), self.always(cell)
        known = asked.keys() | {int(self.standing.owner[cell])}
        if any(
            need > 0 and (who is None or who - known) for need, who in zip(asked[ANYBODY][:2], always, strict=False)
        ):
            return False
        return not self._short(cell, self.entries(cell))

    def always(self, cell: int) -> list[frozenset[int] | None]:
        """Return who notices all moves that take a cell as far as anybody needs, down, up and either way.

        It is None where no move does.
        """
        entries = self.entries(cell)
        none: tuple[int, list[frozenset[int] | None]] = 0, [None] * 3
        count, always = none if self.dead else self._always.get(cell, none)
        for place, (sign, need) in enumerate(zip((-1, 1, 0), self._asked(cell)[ANYBODY], strict=True)):
            for reach, notices, _ in entries[count:]:
                if (sign * reach if sign else abs(reach)) >= need:
                    before = always[place]
                    always[place] = notices if before is None else before & notices
        if not self.dead:
            self._always[cell] = len(entries), always
        return always

    def left(self) -> LongArray:
        """Return the insiders against whom cells are not proven; all of them while most cells have no move at all."""
        some, none, cells = set[int](), 0, np.flatnonzero(self.unproven()).tolist()
        for cell in cells:
            always = [who for who, need in zip(self.always(cell), self._asked(cell)[ANYBODY], strict=True) if need > 0]
            none += None in always
            some.update(*(who or () for who in always), self._asked(cell))
        if 5 * none > len(cells):
            return np.unique(self.standing.who)
        return np.array(sorted(who for who in some if who >= 0), np.int64)

    def narrows(self, cell: int, reach: int, notices: frozenset[int]) -> bool:
        """Tell whether a move that goes as far as anybody needs leaves fewer who notice all of them."""
        place, need = (1, self._asked(cell)[ANYBODY][1]) if reach > 0 else (0, self._asked(cell)[ANYBODY][0])
        before = self.always(cell)[place]
        return 0 < need <= abs(reach) and (before is None or not before <= notices)

    def open_pairs(self, cells: Sequence[int] | None = None) -> list[Pair]:
        """Return unsafe cells, or all of them, with the insiders against whom they are not proven."""
        some = self.targets() if cells is None else cells
        return [Pair(who, cell, 0, 0) for cell in some for who in self.open(cell).who.tolist()]

    def reached(self, cell: int) -> Open:
        """Return all insiders who may matter to a cell: what it needs against each, and what it has."""
        entries = self.entries(cell)
        contributors = self._asked(cell).keys() - {OUTSIDER}
        return listed(self._reached(cell, entries, {ANYBODY}.union(contributors, *(who for _, who, _ in entries))))

    def _reached(self, cell: int, entries: Sequence[Entry], some: set[int]) -> list[Reached]:
        """Return some insiders: what a cell needs against each, and what it has."""
        asked, owner = self._asked(cell), int(self.standing.owner[cell])
        insiders = some - {owner} if owner >= 0 else some
        up, down = (_furthest(insiders, entries, way) for way in (1, -1))
        return [Reached(who, asked.get(who, asked[ANYBODY]), down[who], up[who]) for who in sorted(insiders)]

    def entries(self, cell: int) -> list[Entry]:
        """Return the moves that prove something of a cell."""
        return [entry for entry in self.served.get(cell, ()) if entry[2] not in self.dead]

    def credit(self, move: Move) -> bool:
        """Enter a move, and its reverse, for every unsafe cell that it moves; return whether it is one at all."""
        return self.credit_all([move])[0]

    def credit_all(self, moves: Sequence[Move], helped: Helped | None = None) -> list[bool]:
        """Enter moves, each with its reverse, for all cells or those ``helped``; return which are moves at all."""
        ahead, holding = Stack.of(moves), np.zeros(len(moves), bool)
        still = ahead.still(self._columns)
        for stack in (ahead, ahead.reversed()):
            holds = still & self._fits(stack)
            holding |= holds
            notices = self.standing.notices(stack)
            for number in np.flatnonzero(holds).tolist():
                move, known = stack[number], notices[number]
                cells = move.variables[self.target[move.variables]]
                cells = cells if helped is None else helped(move, frozenset(known.tolist()), cells)
                if len(cells):
                    self.enter(move, known, cells)
        return holding.tolist()

    def enter(self, move: Move, notices: LongArray, cells: Positions) -> None:
        """Enter a move that holds, and who notices it, for some of the unsafe cells that it moves."""
        reach, number, known = move.reach(), len(self.moves), frozenset(notices.tolist())
        self.moves.append(move)
        for cell, far in zip(cells.tolist(), reach[np.searchsorted(move.variables, cells)].tolist(), strict=True):
            if far and cell not in self.closed:
                self.served.setdefault(cell, []).append((far, known, number))

    def _fits(self, moves: Stack) -> BoolArray:
        """Tell which moves are within bounds, everybody's floor among them, and whole for counts."""
        problem, cells = self.standing.problem, moves.cells
        room = np.where(moves.n > 0, problem.up[cells], self._floor[cells])
        whole, rest = np.divmod(np.abs(moves.n), moves.denominator)
        beyond = (whole > room) | ((whole == room) & (rest > 0)) | (problem.whole[cells] & (moves.denominator != 1))
        return ~moves.any(beyond)

    def used(self) -> list[Move]:
        """Return the moves that the proof needs: of each cell those that fewest notice, until nobody is left."""
        kept: set[int] = set()
        for cell in self.served:
            kept.update(self.needed(cell, kept))
        return [self.moves[number] for number in sorted(kept)]

    def needed(self, cell: int, kept: Container[int] = ()) -> list[int]:
        """Return the numbers of moves that prove a cell: if they can be had, those that are kept anyway."""
        entries = sorted(self.entries(cell), key=lambda entry: (entry[2] not in kept, len(entry[1]), entry[2]))
        needed: list[Entry] = []
        short = self._short(cell, needed)
        for entry in entries:
            if any(one.helped_by(entry) for one in short):
                needed.append(entry)
                short = self._short(cell, needed)
        return [number for _, _, number in needed]

    def _short(self, cell: int, entries: Sequence[Entry]) -> list[Reached]:
        """Return those against whom some moves do not prove a cell."""
        some = self._suspects(cell, entries) | self._demanding(cell)
        return [one for one in self._reached(cell, entries, some) if one.short]

    def settle(self, find: Find, cells: Sequence[int], *, each: bool = True, share: float = 1.0) -> list[Pair]:
        """Look for moves until some unsafe cells are proven against every insider; return what is left open.

        It ends once a ``share`` of what may be looked at is spent.
        """
        stuck: list[Pair] = []
        for number, cell in enumerate(cells):
            if self.is_spent(share):
                return stuck + self.open_pairs(cells[number:])
            stuck += self.settle_cell(cell, find, each=each)
            if number % _OFTEN == 0:
                self.run.tell(f"{len(cells) - number:,} cells to prove against insiders")
                self.run.check()
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
            sign, amount = way_of(single)
            stuck.append(Pair(int(open_.who[place]), cell, sign, amount))
        return stuck

    def _serve(self, cell: int, open_: Open, find: Find) -> bool:
        """Find a move that brings all of some insiders a step nearer to what they need; tell whether there is one."""
        sign, amount = way_of(open_)
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
        for reach, notices, number in self.entries(cell):
            times = reach // amount if reach * amount > 0 else 0
            if times >= 2 and not notices.isdisjoint(insiders.tolist()):
                move = self.moves[number]
                if move.denominator * times < 2**40:
                    short = Move(move.variables, move.n, move.denominator * times)
                    if not np.isin(insiders, self.standing.notices(Stack.of([short]))[0]).any():
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


def _furthest(insiders: set[int], entries: Sequence[Entry], way: int) -> dict[int, int]:
    """Return how far the moves that each insider does not notice take a cell one way."""
    far, left = dict.fromkeys(insiders, 0), insiders
    for reach, notices, _ in sorted((e for e in entries if way * e[0] > 0), key=lambda entry: -way * entry[0]):
        far.update(dict.fromkeys(left - notices, way * reach))
        left = left & notices
        if not left:
            break
    return far
