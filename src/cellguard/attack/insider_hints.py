"""Moves that prove unsafe cells against insiders, handed from the engine to the audit in flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellguard.arrays import LongArray, Positions
from cellguard.attack.insider_pairs import Hint
from cellguard.proofs.made_items import MadeItems
from cellguard.proofs.moves import Move
from cellguard.proofs.stack import Stack


@dataclass(frozen=True, eq=False)
class Hints(MadeItems[Hint]):
    """Moves, and the unsafe cells that each helps to prove: those of move k are ``helped`` from ``start[k]`` on.

    >>> hints = Hints.of([Hint(Move(np.array([0, 3]), np.array([1, -1]), 2), np.array([3]))])
    >>> len(hints), hints[0].move.denominator, hints[0].cells.tolist()
    (1, 2, [3])
    """

    stack: Stack
    helped: Positions
    start: LongArray

    @classmethod
    def of(cls, hints: Sequence[Hint]) -> Hints:
        """Return hints in flat arrays."""
        if isinstance(hints, Hints):
            return hints
        size = [len(hint.cells) for hint in hints]
        helped = np.concatenate([np.zeros(0, np.intp), *(hint.cells for hint in hints)]).astype(np.intp)
        return cls(Stack.of([hint.move for hint in hints]), helped, np.cumsum([0, *size]).astype(np.int64))

    def __len__(self) -> int:
        return len(self.stack)

    def item(self, number: int) -> Hint:
        """Return one hint."""
        return Hint(self.stack[number], self.helped[self.start[number] : self.start[number + 1]])

    @property
    def moves(self) -> Sequence[Move]:
        """The moves."""
        return MoveList(self.stack)

    def renumbered(self, cells: Positions) -> Hints:
        """Return hints on positions among some cells as hints on these cells, which are in rising order."""
        stack = Stack(self.stack.start, cells[self.stack.cells], self.stack.n, self.stack.denominator)
        return Hints(stack, cells[self.helped], self.start)

    def among(self, cells: Positions) -> Hints:
        """Return hints on cells as hints on positions among ``cells``, as far as all that they move are there."""
        if not len(cells):
            return Hints.of([])
        place = np.minimum(np.searchsorted(cells, self.stack.cells), len(cells) - 1)
        missing = self.stack.any(cells[place] != self.stack.cells)
        where = np.minimum(np.searchsorted(cells, self.helped), len(cells) - 1)
        there = cells[where] == self.helped
        number = np.repeat(np.arange(len(self)), np.diff(self.start))
        kept = ~missing
        size = np.bincount(number[there & kept[number]], minlength=len(self))[kept]
        entries = np.repeat(kept, np.diff(self.stack.start))
        start = np.concatenate([[0], np.cumsum(np.diff(self.stack.start)[kept])]).astype(np.int64)
        stack = Stack(start, place[entries].astype(np.intp), self.stack.n[entries], self.stack.denominator[entries])
        return Hints(
            stack, where[there & kept[number]].astype(np.intp), np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        )

    def with_more(self, more: Sequence[Hint]) -> Hints:
        """Return these hints and others after them."""
        other = Hints.of(more)
        a, b = self.stack, other.stack
        stack = Stack(
            np.concatenate([a.start, b.start[1:] + a.start[-1]]),
            np.concatenate([a.cells, b.cells]),
            np.concatenate([a.n, b.n]),
            np.concatenate([a.denominator, b.denominator]),
        )
        start = np.concatenate([self.start, other.start[1:] + self.start[-1]])
        return Hints(stack, np.concatenate([self.helped, other.helped]), start)


@dataclass(frozen=True, eq=False)
class MoveList(MadeItems[Move]):
    """Moves in flat arrays, to be gone through one by one."""

    stack: Stack

    def __len__(self) -> int:
        return len(self.stack)

    def item(self, number: int) -> Move:
        """Return one move."""
        return self.stack[number]
