"""A store of proofs, and the search for what is missing in it.

A move that touches few cells is noticed by few insiders, so that it proves a cell against all others. One more move,
that none of those few notices, completes the proof. What neither a joint move nor one for each of them gives is left
open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cellguard.arrays import LongArray, Positions
from cellguard.attack.insider_pairs import OpenLevels, Pair, way_of
from cellguard.attack.insider_witnesses import InsiderWitnesses
from cellguard.proofs.local import Goal, Rooms
from cellguard.proofs.moves import Move
from cellguard.proofs.stack import Stack

Find = Callable[["InsiderProofSearch", Goal, LongArray], Move | None]
_CHEAP, _DEAR = 1e-3, 1.0
_OFTEN = 500  # targets between two words of progress
_LOOKS, _LEAST = 2_000, 12_000_000  # cells that may be looked at, per unsafe cell and at least: 5 to 8 CPU s a million
_ONCE_OVER = 16  # cells that propagation goes over in the time in which a program looks at one


@dataclass(eq=False)
class InsiderProofSearch(InsiderWitnesses):
    """Proofs, and how to look for more of them within what may be looked at."""

    def is_spent(self, share: float = 1.0) -> bool:
        """Return whether as much was looked at as the unsafe cells are worth, or a share of that."""
        return self.looked > share * max(_LEAST, _LOOKS * int(self.target.sum()))

    def cheapest(self, cells: Positions, goal: Goal, rooms: Rooms) -> Move | None:
        """Return the cheapest exact move through some cells that moves the goal by its amount, or None."""
        self.looked += len(cells)
        return self.neighbours.cheapest(cells, goal, rooms, run=self.run)

    def hopeless(self, goal: Goal, down: LongArray, up: LongArray) -> bool:
        """Return whether propagation shows that no move within these rooms takes a goal as far as it must."""
        self.looked += self.neighbours.n // _ONCE_OVER
        return self.neighbours.hopeless(goal, down, up)

    def tell(self, left: int, stuck: int = 0) -> None:
        """Return how many unsafe cells are left to look at; ``stuck`` others were looked at in vain."""
        total = int(self.target.sum())
        self.run.tell(f"{left:,} cells to prove against insiders", total - left - stuck, total)

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
                self.tell(len(cells) - number, len({pair.cell for pair in stuck}))
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
            open_ = open_.take(keep)
            if not self._serve(cell, open_, find):
                stuck.update((pair.insider, pair) for pair in self._each(cell, open_, find if each else None))
        if not stuck:
            self.closed.add(cell)
        return list(stuck.values())

    def _each(self, cell: int, open_: OpenLevels, find: Find | None) -> list[Pair]:
        """Serve insiders one by one, until one is served; return those who are not, without ``find`` all of them."""
        stuck = []
        for place in range(len(open_.who)):
            single = open_.take(slice(place, place + 1))
            several = len(open_.who) > 1 and not self.is_spent()
            if find is not None and several and self._serve(cell, single, find):
                break
            sign, amount = way_of(single)
            stuck.append(Pair(int(open_.who[place]), cell, sign, amount))
        return stuck

    def _serve(self, cell: int, open_: OpenLevels, find: Find) -> bool:
        """Find a move that brings all of some insiders a step nearer to their protection levels; return whether there
        is one.
        """
        sign, amount = way_of(open_)
        for way in (1, -1) if sign == 0 else (sign,):
            move = self._scaled(cell, way * amount, open_.who)
            move = move or find(self, Goal((cell,), way * amount), open_.who)
            if move is not None and self.credit(move):
                return True
        return False

    def _scaled(self, cell: int, amount: int, insiders: LongArray) -> Move | None:
        """Return a shorter copy of a move that goes further than needed, if then none of these insiders notices."""
        if self.knowledge.problem.whole[cell]:
            return None
        for reach, notices, number in self.entries(cell):
            times = reach // amount if reach * amount > 0 else 0
            if times >= 2 and not notices.isdisjoint(insiders.tolist()):
                move = self.moves[number]
                if move.denominator * times < 2**40:
                    short = Move(move.variables, move.n, move.denominator * times)
                    if not np.isin(insiders, self.knowledge.notices(Stack.of([short]))[0]).any():
                        return short
        return None

    def rooms(self, cell: int, insiders: LongArray) -> Rooms:
        """Return rooms in which none of some insiders notices a move, and prices for being noticed by others."""
        knowledge = self.knowledge
        down, up = knowledge.limits(insiders[insiders >= 0])
        calm, alone = self._calm.copy(), knowledge.knowing >= 0
        if knowledge.owner[cell] >= 0:
            own, _ = knowledge.known_to(int(knowledge.owner[cell]))
            own = own[knowledge.owner[own] == knowledge.owner[cell]]
            calm[own], alone[own] = down[own], False
        cheap, dear = np.full(len(down), _CHEAP), np.full(len(down), _DEAR)
        return Rooms(down, up, calm, cheap, dear, np.where(alone, _DEAR, _CHEAP))
