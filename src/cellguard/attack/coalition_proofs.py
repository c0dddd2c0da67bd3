"""Who is proven against which coalition by which move, and the search for coalitions against whom nobody is.

A coalition that notices all moves of a cell that go far enough is made of respondents who notice them, alone or with
others. So begin with nobody; whoever a coalition lacks to notice the two moves that serve it is a respondent whom these
moves name, and joins it; after as many steps as a coalition may have members, all that matter were looked at. The
cell's contributors join as well, since these change its protection level, unless the two moves reach that against
the worst of all coalitions. What was served once stays served by further moves, so that one walk is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from cellguard.arrays import BoolArray, LongArray
from cellguard.attack.coalition_knowledge import Coalitions, Members, Trace
from cellguard.attack.insider_pairs import Entry, OpenLevels, Pair, listed, way_of
from cellguard.attack.insider_pairs import Reached as Single
from cellguard.attack.insider_proofs import Find, InsiderProofSearch
from cellguard.proofs.levels import Level
from cellguard.proofs.local import Rooms
from cellguard.proofs.moves import Move


class Reached(NamedTuple):
    """One coalition: how far a cell must move down, up and either way for it, and how far it does."""

    members: Members
    asked: Level
    down: int
    up: int

    @property
    def short(self) -> bool:
        """Whether that is not far enough."""
        return Single(0, self.asked, self.down, self.up).short

    def open(self) -> OpenLevels:
        """Return the same, as if each member by itself needed what all do."""
        return listed([Single(who, self.asked, self.down, self.up) for who in sorted(self.members) or [-1]])


@dataclass(frozen=True, eq=False)
class _Ways:
    """The moves of a cell up and down, the first that a coalition accepts being the best for it.

    First those that are enough against any coalition (``up`` and ``down``), by how many help to notice them; then the
    others, by how far they go. ``many`` is how many moves there are.
    """

    up: int
    down: int
    ups: list[tuple[int, Trace]]
    downs: list[tuple[int, Trace]]
    many: int

    def serve(self, members: Members) -> tuple[int, int, Members, bool]:
        """Return how far a cell goes down and up for a coalition, who helps to notice that, and if it is enough.

        It is enough if it would be so for any coalition, whoever joins this one.
        """
        up, noticing_up = _first(self.ups, members)
        enough = up >= self.up
        if enough and not self.down:
            return 0, up, noticing_up, True
        down, noticing_down = _first(self.downs, members)
        return -down, up, noticing_up | noticing_down, enough and -down >= self.down


@dataclass(eq=False)
class CoalitionProofSearch(InsiderProofSearch):
    """A search in which cells are proven against all coalitions of up to ``size`` respondents, single ones included."""

    size: int = 2
    traces: dict[int, Trace] = field(default_factory=dict)

    @classmethod
    def of(cls, prover: InsiderProofSearch, size: int) -> CoalitionProofSearch:
        """Return a search with all that one about single respondents has proven."""
        served = {cell: list(entries) for cell, entries in prover.served.items()}
        return cls(
            prover.knowledge, prover.neighbours, prover.run, prover.outsider, prover.moves.copy(), served,
            dead=set(prover.dead), size=size,
        )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        self.coalitions = Coalitions(self.knowledge, self.size)

    def looked_at(self, cell: int, entries: Callable[[], Sequence[Entry]]) -> Iterator[Reached]:
        """Return all coalitions that may be short: the protection levels of a cell for each of them, and what it has.

        A coalition that is short is returned again if there are more ``entries`` by then.
        """
        known, contributors = self.coalitions, frozenset(self.knowledge.contributors(cell).tolist())
        asked: dict[Members, Level] = {}
        ways = self._ways(cell, entries())
        waiting: list[Members] = [frozenset(), known.worst(cell)]
        seen = set(waiting)
        while waiting:
            members = waiting.pop()
            own = members & contributors
            if contributors and own == contributors and not self.knowledge.rest[cell]:
                continue  # nobody is left to be protected from them
            if own not in asked:
                asked[own] = known.asked(cell, own)
            self.walked += 1
            down, up, joining, enough = ways.serve(members)
            reached = Reached(members, asked[own], down, up)
            yield reached
            if reached.short:
                if len(entries()) > ways.many:
                    ways = self._ways(cell, entries())
                    waiting.append(members)
            elif len(members) < self.size:
                others = joining if enough else joining | contributors
                joined = [members | {who} for who in sorted(others - members)]
                waiting += [more for more in joined if more not in seen]
                seen.update(joined)

    def _ways(self, cell: int, entries: Sequence[Entry]) -> _Ways:
        down, up, sliding = self.coalitions.most_asked(cell)
        moves = [(reach, self._trace(number)) for reach, _, number in entries]
        ups, downs = (_ordered(moves, sign, max(need, sliding)) for sign, need in ((1, up), (-1, down)))
        return _Ways(max(up, sliding), down, ups, downs, len(entries))

    def _trace(self, number: int) -> Trace:
        if number not in self.traces:
            self.traces[number] = self.coalitions.trace(self.moves[number])
        return self.traces[number]

    def gap(self, cell: int, entries: Sequence[Entry]) -> Reached | None:
        """Return a coalition against which some moves do not prove a cell; None if there is none."""
        return next((reached for reached in self.looked_at(cell, lambda: entries) if reached.short), None)

    def unproven(self) -> BoolArray:
        """Return which unsafe cells are not proven against every coalition, and close the others."""
        closed = set(self.closed)
        super().unproven()  # closes what is proven against single respondents
        self.closed = closed | {c for c in self.closed - closed if self.gap(c, self.entries(c)) is None}
        unproven = self.target.copy()
        unproven[list(self.closed)] = False
        return unproven

    def settle_cell(self, cell: int, find: Find, *, each: bool = True) -> list[Pair]:
        """Prove one cell against single respondents and then against coalitions, as far as moves are found."""
        stuck = super().settle_cell(cell, find, each=each)
        self.closed.discard(cell)
        before = None
        for reached in self.looked_at(cell, lambda: self.entries(cell)) if not stuck else ():
            if reached.short and (reached == before or not self._serve(cell, reached.open(), find)):
                stuck = [pair_of(reached, cell)]
                break
            before = reached
        if not stuck:
            self.closed.add(cell)
        return stuck

    def needed(self, cell: int, kept: Container[int] = ()) -> list[int]:
        """Return the numbers of moves that prove a cell: if they can be had, those that are kept anyway."""
        single = set(super().needed(cell, kept))
        entries = sorted(self.entries(cell), key=lambda entry: (entry[2] not in kept, len(entry[1]), entry[2]))
        needed = [entry for entry in entries if entry[2] in single]
        for reached in self.looked_at(cell, lambda: needed):
            if reached.short:
                helping = next((e for e in entries if e not in needed and self._helps(reached, e)), None)
                if helping is None:
                    break
                needed.append(helping)
        return [number for _, _, number in needed]

    def _helps(self, gap: Reached, entry: Entry) -> bool:
        """Return whether a move goes further for a coalition, where that is not far enough, without being noticed."""
        single = Single(-1, gap.asked, gap.down, gap.up)
        return single.helped_by((entry[0], frozenset(), 0)) and not self._trace(entry[2]).noticed_by(gap.members)

    def rooms(self, cell: int, insiders: LongArray) -> Rooms:
        """Return rooms in which none of some insiders notices a move, nor all of them together if they are few."""
        rooms = super().rooms(cell, insiders)
        down, up = self.limits(insiders.tolist())
        return replace(rooms, down=np.minimum(rooms.down, down), up=np.minimum(rooms.up, up))

    def limits(self, members: Collection[int]) -> tuple[LongArray, LongArray]:
        """Return how far cells may go from the view of some respondents together; of nobody, if they are too many."""
        return self.coalitions.limits(members if len(members) <= self.size else ())

    def _scaled(self, cell: int, amount: int, insiders: LongArray) -> Move | None:
        move = super()._scaled(cell, amount, insiders)
        if move is None or len(insiders) > self.size:
            return move
        return None if self.coalitions.trace(move).noticed_by(insiders.tolist()) else move


def _ordered(moves: Sequence[tuple[int, Trace]], sign: int, need: int) -> list[tuple[int, Trace]]:
    """Return the moves one way, the best first."""

    def place(move: tuple[int, Trace]) -> tuple[bool, int, int]:
        far = sign * move[0]
        return far < need, len(move[1].members) if far >= need else 0, -far

    return sorted((move for move in moves if sign * move[0] > 0), key=place)


def _first(moves: Sequence[tuple[int, Trace]], members: Members) -> tuple[int, Members]:
    """Return how far the first of some moves goes that a coalition does not notice, and who helps to notice it."""
    return next(((reach, trace.members) for reach, trace in moves if not trace.noticed_by(members)), (0, frozenset()))


def pair_of(gap: Reached, cell: int) -> Pair:
    """Return a coalition as an insider and those who tell it more, with a cell that is not proven against them."""
    sign, amount = way_of(gap.open())
    first, *others = sorted(gap.members) or [-1]
    return Pair(first, cell, sign, amount, tuple(others))
