"""What several respondents know together: the same as one respondent with the contributions of all of them.

Coalition S of at most k respondents contributes y, the sum of what its members do, to cell c. So it knows that c is y
or more, and c itself if nobody else is in it. The largest contributor outside S, with x, is protected from S if the
cell can move up by y + (1 + p/100) x - v, and down by as much as S's own bound lets it: the criterion of `standing`,
with S for h. Who is not listed in a cell counts as contributing what such respondents do at most, and there count
as many as S may have members.

A smaller coalition is not always the weaker one: a member that joins it is no longer protected from it. So all
coalitions of up to k members are looked at.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cellguard.arrays import LongArray
from cellguard.attack.insider_knowledge import InsiderKnowledge
from cellguard.proofs.levels import Level
from cellguard.proofs.moves import Move
from cellguard.proofs.scale import UNLIMITED

Members = frozenset[int]


class Place(NamedTuple):
    """A cell that a move changes: who contributes what, what others do at most, what is left, and if k know it."""

    amounts: dict[int, int]
    rest: int
    left: int
    few: bool


@dataclass(frozen=True, eq=False)
class Trace:
    """Where coalitions of up to ``size`` may notice a move: the cells in which each respondent can help them to.

    ``always`` says that nobody's help is needed: respondents who are not listed may have more than is left of a cell.
    """

    size: int
    places: dict[int, list[Place]]
    always: bool

    @cached_property
    def members(self) -> Members:
        """The respondents who can help to notice it."""
        return frozenset(self.places)

    def noticed_by(self, members: Collection[int]) -> bool:
        """Return whether a coalition knows that a move is none: it fills a cell that moves, or has more than is left.

        Where it does, each of its members who are in the cell helps: so their own places are all that count.
        """
        if self.always or self.members.isdisjoint(members):
            return self.always
        for member in members:
            for amounts, rest, left, few in self.places.get(member, ()):
                own = [amounts[m] for m in members if m in amounts]
                if (few and len(own) == len(amounts)) or sum(own) + (self.size - len(own)) * rest > left:
                    return True
        return False


@dataclass(frozen=True, eq=False)
class Coalitions:
    """What coalitions of up to ``size`` respondents know of the unknown cells of a problem."""

    knowledge: InsiderKnowledge
    size: int

    @cached_property
    def floor(self) -> LongArray:
        """How far down cells may go from the view of respondents who are listed in none of them."""
        knowledge = self.knowledge
        down = knowledge.problem.down
        bounded = np.minimum(down, np.maximum(knowledge.value - self.size * knowledge.rest, 0))
        return np.where(knowledge.signed, down, bounded)

    def limits(self, members: Collection[int]) -> tuple[LongArray, LongArray]:
        """Return how far cells may go down and up from the view of a coalition."""
        knowledge = self.knowledge
        down, up = self.floor.copy(), knowledge.problem.up.copy()
        parts = [knowledge.known_to(member) for member in members if member >= 0]
        if not parts:
            return down, up
        cells, place = np.unique(np.concatenate([cell for cell, _ in parts]), return_inverse=True)
        own, many = np.zeros(len(cells), np.int64), np.bincount(place, minlength=len(cells))
        np.add.at(own, place, np.concatenate([amount for _, amount in parts]))
        own += (self.size - many) * knowledge.rest[cells]
        bounded = np.where(knowledge.signed[cells], down[cells], np.maximum(knowledge.value[cells] - own, 0))
        down[cells] = np.minimum(down[cells], bounded)
        filled = cells[(many == np.diff(knowledge.start)[cells]) & ~knowledge.unlisted[cells]]
        down[filled] = up[filled] = 0
        return down, up

    def worst(self, cell: int) -> Members:
        """Return the coalition against which a cell needs most: the next ones after its largest contributor."""
        return frozenset(self.knowledge.contributors(cell)[1 : self.size + 1].tolist())

    def asked(self, cell: int, members: Collection[int]) -> Level:
        """Return how far a cell must move down, up and either way for a coalition that does not fill it."""
        own, other = self.parties(cell, members)
        return self.knowledge.against(cell, np.array([own]), np.array([other])).rows()[0]

    def parties(self, cell: int, members: Collection[int]) -> tuple[int, int]:
        """Return what a coalition contributes to a cell, at most, and what the largest other respondent does."""
        knowledge = self.knowledge
        part, rest = slice(knowledge.start[cell], knowledge.start[cell + 1]), int(knowledge.rest[cell])
        own, others = list[int](), list[int]()
        for who, amount in zip(knowledge.who[part].tolist(), knowledge.amount[part].tolist(), strict=True):
            (own if who in members else others).append(amount)
        return sum(own) + (self.size - len(own)) * rest, max([*others, rest])

    def most_asked(self, cell: int) -> Level:
        """Return the largest protection level of a cell against any coalition: the largest one is to be protected from
        the next.
        """
        knowledge = self.knowledge
        ranked = knowledge.amount[knowledge.start[cell] : knowledge.start[cell + 1]][: self.size + 1].tolist()
        ranked += [int(knowledge.rest[cell])] * (self.size + 1 - len(ranked))
        own, other, problem = np.array([sum(ranked[1:])]), np.array([ranked[0]]), knowledge.problem
        up = int(knowledge.against(cell, own, other).up[0])
        if knowledge.signed[cell] or problem.whole[cell] or not knowledge.told[cell]:
            outside = problem.levels.take(slice(cell, cell + 1)).rows()[0]
            return outside._replace(up=up)
        down = min(int(knowledge.level(cell, own, other)[0]), int(problem.down[cell]))
        return Level(down, up, int(knowledge.unit[cell]))

    def trace(self, move: Move) -> Trace:
        """Return where coalitions may notice a move."""
        knowledge, places, always = self.knowledge, dict[int, list[Place]](), False
        left = knowledge.value[move.variables] + move.n // move.denominator
        for cell, n, rounded in zip(move.variables.tolist(), move.n.tolist(), left.tolist(), strict=True):
            part, rest = slice(knowledge.start[cell], knowledge.start[cell + 1]), int(knowledge.rest[cell])
            amounts = dict(zip(knowledge.who[part].tolist(), knowledge.amount[part].tolist(), strict=True))
            few = 0 < len(amounts) <= self.size and not knowledge.unlisted[cell]
            after = rounded if n < 0 and not knowledge.signed[cell] and knowledge.told[cell] else UNLIMITED
            who = set(amounts) if few else self._helping(amounts, rest, after)
            always |= self.size * rest > after
            for member in who:
                places.setdefault(member, []).append(Place(amounts, rest, after, few))
        return Trace(self.size, places, always)

    def _helping(self, amounts: dict[int, int], rest: int, left: int) -> set[int]:
        """Return the respondents who, with the largest others, have more than is left of a cell."""
        largest = sorted([*amounts.values(), *[rest] * self.size], reverse=True)[: self.size]
        helping = set()
        for who, amount in amounts.items():
            with_others = sum(largest) if amount >= largest[-1] else amount + sum(largest[:-1])
            if with_others > left:
                helping.add(who)
        return helping
