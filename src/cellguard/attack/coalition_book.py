"""Who is proven against which coalition by which move, and the search for coalitions against whom nobody is.

A coalition that notices all moves of a cell that go far enough is made of respondents who notice them, alone or with
others. So begin with nobody; whoever a coalition lacks to notice the two moves that serve it is a respondent whom these
moves name, and joins it; after as many steps as a coalition may have members, all that matter were looked at. Where no
move goes as far as the cell needs against the worst of all coalitions, its contributors may join as well, since these
change what it needs.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from cellguard.attack.book import Book, Find
from cellguard.attack.joint import Coalitions, Members, Trace
from cellguard.attack.pairs import Entry, Open, Pair, listed, way_of
from cellguard.attack.pairs import Reached as Single
from cellguard.moves.exact import Move
from cellguard.moves.local import Rooms
from cellguard.types import BoolArray, LongArray


class Reached(NamedTuple):
    """One coalition: how far a cell must move down, up and either way for it, and how far it does."""

    members: Members
    asked: tuple[int, int, int]
    down: int
    up: int

    @property
    def short(self) -> bool:
        """Whether that is not far enough."""
        return Single(0, self.asked, self.down, self.up).short

    def open(self) -> Open:
        """Return the same, as if each member by itself needed what all do."""
        return listed([Single(who, self.asked, self.down, self.up) for who in sorted(self.members) or [-1]])


@dataclass(eq=False)
class CoalitionBook(Book):
    """A book in which cells are proven against all coalitions of up to ``size`` respondents, single ones included."""

    size: int = 2
    traces: dict[int, Trace] = field(default_factory=dict)

    @classmethod
    def of(cls, book: Book, size: int) -> CoalitionBook:
        """Return a book with all that is in one about single respondents."""
        served = {cell: list(entries) for cell, entries in book.served.items()}
        return cls(
            book.standing, book.neighbours, book.run, book.outsider, list(book.moves), served, dead=set(book.dead),
            size=size,
        )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        self.coalitions = Coalitions(self.standing, self.size)

    def looked_at(self, cell: int, entries: Sequence[Entry]) -> Iterator[Reached]:
        """Return coalitions until one is short, or all are that may be: what a cell needs for each, and what it has."""
        known = self.coalitions
        moves = [(reach, self._trace(number)) for reach, _, number in entries]
        waiting: list[Members] = [frozenset()]
        seen = set(waiting)
        while waiting:
            members = waiting.pop()
            if known.fills(cell, members):
                continue
            accepted = [(reach, trace) for reach, trace in moves if not trace.noticed_by(members)]
            far = [reach for reach, _ in accepted]
            yield Reached(members, known.asked(cell, members), -min(0, *far, 0), max(0, *far, 0))
            if len(members) < self.size:
                joined = [members | {who} for who in sorted(self._joining(cell, accepted) - members)]
                waiting += [more for more in joined if more not in seen]
                seen.update(joined)

    def _joining(self, cell: int, accepted: Sequence[tuple[int, Trace]]) -> set[int]:
        """Return who may make a coalition that accepts some moves one that they do not serve."""
        down, up, sliding = self.coalitions.most_asked(cell)
        joining: set[int] = set()
        for sign, need in ((1, max(up, sliding)), (-1, down)):
            enough = [trace.members for reach, trace in accepted if sign * reach >= need]
            if need > 0 and not enough:
                return set(self.standing.contributors(cell).tolist()).union(*(trace.members for _, trace in accepted))
            joining |= min(enough, key=len) if need > 0 else set()
        return joining

    def _trace(self, number: int) -> Trace:
        if number not in self.traces:
            self.traces[number] = self.coalitions.trace(self.moves[number])
        return self.traces[number]

    def gap(self, cell: int, entries: Sequence[Entry]) -> Reached | None:
        """Return a coalition against which some moves do not prove a cell; None if there is none."""
        return next((reached for reached in self.looked_at(cell, entries) if reached.short), None)

    def unproven(self) -> BoolArray:
        """Tell which unsafe cells are not proven against every coalition, and close the others."""
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
        while not stuck and (gap := self.gap(cell, self.entries(cell))) is not None:
            if gap == before or not self._serve(cell, gap.open(), find):
                stuck = [pair_of(gap, cell)]
            before = gap
        if not stuck:
            self.closed.add(cell)
        return stuck

    def needed(self, cell: int, kept: Container[int] = ()) -> list[int]:
        """Return the numbers of moves that prove a cell: if they can be had, those that are kept anyway."""
        single = set(super().needed(cell, kept))
        entries = sorted(self.entries(cell), key=lambda entry: (entry[2] not in kept, len(entry[1]), entry[2]))
        needed = [entry for entry in entries if entry[2] in single]
        while (gap := self.gap(cell, needed)) is not None:
            helping = [e for e in entries if e not in needed and self._helps(gap, e)]
            if not helping:
                break
            needed.append(helping[0])
        return [number for _, _, number in needed]

    def _helps(self, gap: Reached, entry: Entry) -> bool:
        """Tell whether a move goes further for a coalition, where that is not far enough, without being noticed."""
        single = Single(-1, gap.asked, gap.down, gap.up)
        return single.helped_by((entry[0], frozenset(), 0)) and not self._trace(entry[2]).noticed_by(gap.members)

    def rooms(self, cell: int, insiders: LongArray) -> Rooms:
        """Return rooms in which none of some insiders notices a move, nor all of them together if they are few."""
        rooms = super().rooms(cell, insiders)
        down, up = self.limits(insiders.tolist())
        return replace(rooms, down=np.minimum(rooms.down, down), up=np.minimum(rooms.up, up))

    def limits(self, members: Collection[int]) -> tuple[LongArray, LongArray]:
        """Return how far cells may go in the eyes of some respondents together; of nobody, if they are too many."""
        return self.coalitions.limits(members if len(members) <= self.size else ())

    def _scaled(self, cell: int, amount: int, insiders: LongArray) -> Move | None:
        move = super()._scaled(cell, amount, insiders)
        if move is None or len(insiders) > self.size:
            return move
        return None if self.coalitions.trace(move).noticed_by(insiders.tolist()) else move


def pair_of(gap: Reached, cell: int) -> Pair:
    """Return a coalition as an insider and those who tell it more, with a cell that is not proven against them."""
    sign, amount = way_of(gap.open())
    first, *others = sorted(gap.members) or [-1]
    return Pair(first, cell, sign, amount, tuple(others))
