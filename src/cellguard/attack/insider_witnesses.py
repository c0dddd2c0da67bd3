"""Who is proven against which insider by which move, and what is still open.

A move proves a cell against all who do not notice it. Most insiders contribute nothing to a cell: its protection level
against them is the same for all, so that it is proven once nobody notices all the moves that go that far. Contributors
need more or less, and are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, LongArray, Positions
from cellguard.attack.insider_knowledge import ANYBODY, OUTSIDER, InsiderKnowledge
from cellguard.attack.insider_pairs import NONE_OPEN, Entry, Hint, OpenLevels, Pair, Reached, listed
from cellguard.proofs.levels import Level
from cellguard.proofs.local import Neighbours
from cellguard.proofs.moves import Move, MoveStore
from cellguard.proofs.stack import Stack
from cellguard.run_context import Run

Helped = Callable[[Move, frozenset[int], Positions], Positions]
_NONE = 0.1  # share of cells without any move from which on everybody is left


@dataclass(eq=False)
class InsiderWitnesses:
    """Moves and whom they prove against whom. Cells are positions among the unknown ones of a problem.

    With ``outsider`` cells are proven against outsiders too, and not only against respondents. Moves are no longer
    entered for ``closed`` cells, which need no more. Moves that are ``dead`` prove nothing any more. ``walked`` counts
    the coalitions that were looked at, and ``looked`` the cells of all programs: where looking takes too long, it ends,
    and what is open then stays so.
    """

    knowledge: InsiderKnowledge
    neighbours: Neighbours
    run: Run
    outsider: bool = False
    moves: MoveStore = field(default_factory=MoveStore)
    served: dict[int, list[Entry]] = field(default_factory=dict)
    closed: set[int] = field(default_factory=set)
    dead: set[int] = field(default_factory=set)
    walked: int = 0
    looked: int = 0
    target: BoolArray = field(init=False)

    def __post_init__(self) -> None:
        problem = self.knowledge.problem
        self.target = problem.levels.asked()
        self._floor, self._calm = self.knowledge.floor, self.knowledge.calm
        self._columns = sp.csr_array(self.neighbours.matrix.T)
        self._needs: dict[int, dict[int, Level]] = {}
        self._more: dict[int, frozenset[int]] = {}
        self._always: dict[int, tuple[int, list[frozenset[int] | None]]] = {}

    def targets(self) -> list[int]:
        """Return the unsafe cells, those that need most first."""
        most = self.knowledge.problem.levels.most()
        cells = np.flatnonzero(self.target)
        return [int(c) for c in cells[np.argsort(-most[cells], kind="stable")]]

    def open(self, cell: int) -> OpenLevels:
        """Return the insiders against whom a cell is not proven."""
        return self._open(cell, self.entries(cell))

    def _open(self, cell: int, entries: Sequence[Entry]) -> OpenLevels:
        short = self._short(cell, entries)
        return listed(short) if short else NONE_OPEN

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

    def _asked(self, cell: int) -> dict[int, Level]:
        """Return how far a cell must move down, up and either way for its contributors, and for anybody else."""
        if cell not in self._needs:
            owner = self.knowledge.owner[cell]
            others = [who for who in self.knowledge.contributors(cell).tolist() if who != owner]
            who = np.array([ANYBODY, OUTSIDER, *others])
            self._needs[cell] = dict(zip(who.tolist(), self.knowledge.asked(cell, who).rows(), strict=True))
        return self._needs[cell]

    def _demanding(self, cell: int) -> frozenset[int]:
        """Return the contributors of a cell that needs more against them than against anybody, one way or another."""
        if cell not in self._more:
            asked = self._asked(cell)
            usual = asked[ANYBODY]
            more = (who for who, need in asked.items() if any(n > u for n, u in zip(need, usual, strict=True)))
            self._more[cell] = frozenset(more) - {OUTSIDER}
        return self._more[cell]

    def asked_against(self, cell: int, group: frozenset[int]) -> Level:
        """Return how far a cell must move down, up and either way for those of a group who are short of that.

        They need not all be short of the same; of those who contribute nothing it is enough to know if one is.
        """
        asked, always = self._asked(cell), self.always(cell)
        known = asked.keys() | {int(self.knowledge.owner[cell])}
        most = [
            need if need > 0 and not (group if who is None else group & who) <= known else 0
            for need, who in zip(asked[ANYBODY], always, strict=True)
        ]
        for one in self._reached(cell, self.entries(cell), set(asked.keys() & group)):
            missing = one.down < one.asked.down, one.up < one.asked.up, one.down + one.up < one.asked.width
            most = [max(m, a) if short else m for m, a, short in zip(most, one.asked, missing, strict=True)]
        return Level(*most)

    def unproven(self) -> BoolArray:
        """Return which unsafe cells are not proven against everybody, and close the others."""
        self.closed |= {cell for cell in self.served if cell not in self.closed and self._is_proven(cell)}
        unproven = self.target.copy()
        unproven[list(self.closed)] = False
        return unproven

    def _is_proven(self, cell: int) -> bool:
        """Return whether a cell is proven against everybody."""
        asked, always = self._asked(cell), self.always(cell)
        known = asked.keys() | {int(self.knowledge.owner[cell])}
        if any(
            need > 0 and (who is None or who - known) for need, who in zip(asked[ANYBODY][:2], always, strict=False)
        ):
            return False
        return not self._short(cell, self.entries(cell))

    def always(self, cell: int) -> list[frozenset[int] | None]:
        """Return who notices all moves that take a cell as far as any protection level, down, up and either way.

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

    def noticing(self, cell: int) -> frozenset[int] | None:
        """Return who notices all moves that take a cell as far as any protection level, one way or another, but for its
        owner.

        It is None where no move goes that far one way.
        """
        ways = [who for who, need in zip(self.always(cell), self._asked(cell)[ANYBODY], strict=True) if need > 0]
        if None in ways:
            return None
        return frozenset().union(*(who or () for who in ways)) - {int(self.knowledge.owner[cell])}

    def dominating(self, cell: int) -> list[int]:
        """Return the only contributor of a cell, or its two largest contributors."""
        return [int(who) for who in self.knowledge.contributors(cell)[:2].tolist()]

    def left(self, cells: BoolArray) -> LongArray:
        """Return the insiders against whom some cells are not proven; everybody if many of them have no move at all."""
        some, none = set[int](), 0
        for cell in np.flatnonzero(cells).tolist():
            noticing = self.noticing(cell)
            none += noticing is None
            contributors = self._reached(cell, self.entries(cell), set(self._asked(cell)))
            some.update(noticing or (), (one.who for one in contributors if one.short))
        if none > _NONE * cells.sum():
            return np.unique(self.knowledge.who)
        return np.array(sorted(who for who in some if who >= 0), np.int64)

    def narrows(self, cell: int, reach: int, notices: frozenset[int]) -> bool:
        """Return whether a move that goes as far as any protection level leaves fewer who notice all of them."""
        asked, always = self._asked(cell)[ANYBODY], self.always(cell)
        return any(
            0 < asked[place] <= abs(reach) and (before is None or not before <= notices)
            for place, before in ((int(reach > 0), always[int(reach > 0)]), (2, always[2]))
        )

    def helps(self, cell: int, reach: int, notices: frozenset[int]) -> bool:
        """Return whether a move proves a cell against more: those who contribute nothing to it, or a contributor."""
        if self.narrows(cell, reach, notices):
            return True
        contributors = self._reached(cell, self.entries(cell), set(self._asked(cell)))
        return any(one.short and one.helped_by((reach, notices, 0)) for one in contributors)

    def open_pairs(self, cells: Sequence[int] | None = None) -> list[Pair]:
        """Return unsafe cells, or all of them, with the insiders against whom they are not proven."""
        some = self.targets() if cells is None else cells
        return [Pair(who, cell, 0, 0) for cell in some for who in self.open(cell).who.tolist()]

    def reached(self, cell: int) -> OpenLevels:
        """Return all insiders who may matter to a cell: its protection level against each, and what it has."""
        entries = self.entries(cell)
        contributors = self._asked(cell).keys() - {OUTSIDER}
        return listed(self._reached(cell, entries, {ANYBODY}.union(contributors, *(who for _, who, _ in entries))))

    def _reached(self, cell: int, entries: Sequence[Entry], some: set[int]) -> list[Reached]:
        """Return some insiders: the protection levels of a cell against each, and what it has."""
        asked, owner = self._asked(cell), int(self.knowledge.owner[cell])
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
            notices = self.knowledge.notices(stack)
            for number in np.flatnonzero(holds).tolist():
                move, known = stack[number], notices[number]
                cells = move.variables[self.target[move.variables]]
                cells = cells if helped is None else helped(move, frozenset(known.tolist()), cells)
                if len(cells):
                    self.enter(move, known, cells)
        return holding.tolist()

    def enter_hints(self, hints: Sequence[Hint]) -> None:
        """Enter moves for the unsafe cells that they are said to help, as far as they are moves at all."""
        stack = Stack.of([hint.move for hint in hints])
        notices = self.knowledge.notices(stack)
        for number in np.flatnonzero(stack.still(self._columns) & self._fits(stack)).tolist():
            cells = np.intersect1d(hints[number].cells, hints[number].move.variables)
            self.enter(stack[number], notices[number], cells[self.target[cells]])

    def enter(self, move: Move, notices: LongArray, cells: Positions) -> None:
        """Enter a move that holds, and who notices it, for some of the unsafe cells that it moves."""
        reach, number, known = move.reach(), len(self.moves), frozenset(notices.tolist())
        self.moves.append(move)
        for cell, far in zip(cells.tolist(), reach[np.searchsorted(move.variables, cells)].tolist(), strict=True):
            if far and cell not in self.closed:
                self.served.setdefault(cell, []).append((far, known, number))

    def _fits(self, moves: Stack) -> BoolArray:
        """Return which moves are within bounds, everybody's floor among them, and whole for counts."""
        problem, cells = self.knowledge.problem, moves.cells
        room = np.where(moves.n > 0, problem.up[cells], self._floor[cells])
        whole, rest = np.divmod(np.abs(moves.n), moves.denominator)
        beyond = (whole > room) | ((whole == room) & (rest > 0)) | (problem.whole[cells] & (moves.denominator != 1))
        return ~moves.any(beyond)

    def used(self) -> list[Hint]:
        """Return the moves that the proof needs: of each cell those that fewest notice, until nobody is left."""
        kept: dict[int, list[int]] = {}
        for cell in self.served:
            for number in self.needed(cell, kept):
                kept.setdefault(number, []).append(cell)
        return [Hint(self.moves[number], np.array(kept[number], np.intp)) for number in sorted(kept)]

    def needed(self, cell: int, kept: Container[int] = ()) -> list[int]:
        """Return the numbers of moves that prove a cell: if they can be had, those that are kept anyway."""
        entries = sorted(self.entries(cell), key=lambda entry: (entry[2] not in kept, len(entry[1]), entry[2]))
        needed = self._narrowing(cell, entries)
        short = self._short(cell, needed)
        for entry in entries:
            if not short:
                break
            if any(one.helped_by(entry) for one in short):
                needed.append(entry)
                short = self._short(cell, needed)
        return [number for _, _, number in needed]

    def _narrowing(self, cell: int, entries: Sequence[Entry]) -> list[Entry]:
        """Return moves each of which leaves fewer who notice all that go as far as any protection level: most of a
        proof.
        """
        asked, narrowing = self._asked(cell)[ANYBODY], list[Entry]()
        always: list[frozenset[int] | None] = [None, None, None]
        for entry in entries:
            reach, notices, _ = entry
            helped = False
            for place in (int(reach > 0), 2):
                before = always[place]
                if 0 < asked[place] <= abs(reach) and (before is None or not before <= notices):
                    always[place], helped = notices if before is None else before & notices, True
            if helped:
                narrowing.append(entry)
        return narrowing

    def _short(self, cell: int, entries: Sequence[Entry]) -> list[Reached]:
        """Return those against whom some moves do not prove a cell."""
        some = self._suspects(cell, entries) | self._demanding(cell)
        return [one for one in self._reached(cell, entries, some) if one.short]


def _furthest(insiders: set[int], entries: Sequence[Entry], way: int) -> dict[int, int]:
    """Return how far the moves that each insider does not notice take a cell one way."""
    far, left = dict.fromkeys(insiders, 0), insiders
    for reach, notices, _ in sorted((e for e in entries if way * e[0] > 0), key=lambda entry: -way * entry[0]):
        far.update(dict.fromkeys(left - notices, way * reach))
        left = left & notices
        if not left:
            break
    return far
